// A lock that many readers share, or one writer has alone.
//
// Compiled for the sake of interrupts, not of speed: a `with` statement over methods written in
// Python may be interrupted after the lock was taken and before its release is certain, and
// then nobody ever gets in again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace plugmem {

// A waiting writer goes before new readers. Not reentrant.
class Gate {
public:
    // The try_ methods never wait: they give up where the other two would.
    bool try_enter() {
        const std::lock_guard held(mutex_);
        if (!admits_reader()) return false;
        ++readers_;
        return true;
    }

    void enter() {
        std::unique_lock held(mutex_);
        free_.wait(held, [this] { return admits_reader(); });
        ++readers_;
    }

    void leave() {
        const std::lock_guard held(mutex_);
        if (--readers_ == 0) free_.notify_all();
    }

    bool try_enter_alone() {
        const std::lock_guard held(mutex_);
        if (!admits_writer()) return false;
        writing_ = true;
        return true;
    }

    void enter_alone() {
        std::unique_lock held(mutex_);
        ++waiting_;
        free_.wait(held, [this] { return admits_writer(); });
        --waiting_;
        writing_ = true;
    }

    void leave_alone() {
        const std::lock_guard held(mutex_);
        writing_ = false;
        free_.notify_all();
    }

private:
    bool admits_reader() const { return !writing_ && !waiting_; }
    bool admits_writer() const { return !writing_ && !readers_; }

    std::mutex mutex_; // held for moments only, so it may be taken with the GIL
    std::condition_variable free_;
    size_t readers_ = 0, waiting_ = 0;
    bool writing_ = false;
};

} // namespace plugmem
