// The columns of facts that recall reads, and the admission test over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "archive.hpp"

namespace plugmem {

using Id = uint32_t;
using Millis = int64_t;

constexpr Id NONE = std::numeric_limits<Id>::max();
constexpr Millis OPEN = std::numeric_limits<Millis>::max();

// A set of fact ids, one bit each.
class IdSet {
public:
    explicit IdSet(size_t size) : words_((size + 63) / 64) {}

    void add(Id id) {
        if (id / 64 < words_.size()) words_[id / 64] |= uint64_t{1} << (id % 64);
    }

    bool has(Id id) const {
        return id / 64 < words_.size() && (words_[id / 64] >> (id % 64) & 1);
    }

    void intersect(const IdSet& other) {
        for (size_t i = 0; i < words_.size(); ++i)
            words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
    }

    void unite(const IdSet& other) {
        if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
        for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    }

    void subtract(const IdSet& other) {
        const size_t shared = std::min(words_.size(), other.words_.size());
        for (size_t i = 0; i < shared; ++i) words_[i] &= ~other.words_[i];
    }

    void complement() {
        for (auto& word : words_) word = ~word;
    }

    size_t count() const {
        size_t total = 0;
        for (const auto word : words_) total += static_cast<size_t>(__builtin_popcountll(word));
        return total;
    }

    std::vector<Id> ids() const {
        std::vector<Id> out;
        for (size_t i = 0; i < words_.size(); ++i)
            for (uint64_t rest = words_[i]; rest; rest &= rest - 1)
                out.push_back(static_cast<Id>(i * 64 + static_cast<size_t>(__builtin_ctzll(rest))));
        return out;
    }

private:
    std::vector<uint64_t> words_;
};

// One recall's view of the facts: which instant, which knowledge, which namespaces, which set.
struct Scope {
    Millis valid_at = 0;
    Millis known_at = OPEN;
    Millis expired_by = 0;
    bool closed = false;          // superseded facts are admitted too
    bool unknown_closings = false; // an end of validity learned after known_at does not count
    std::vector<uint8_t> namespaces; // by namespace id; empty admits all
    std::shared_ptr<IdSet> allowed;  // null admits all

    bool admits_namespace(Id space) const {
        return namespaces.empty() || (space < namespaces.size() && namespaces[space]);
    }

    bool holds(Millis recorded, Millis from, Millis to, Millis closed_at) const {
        if (recorded > known_at || from > valid_at) return false;
        if (closed) return true;
        return valid_at < to || (unknown_closings && closed_at > known_at);
    }
};

// A ranked list of facts with each one's raw score.
struct Ranked {
    std::vector<Id> ids;
    std::vector<float> scores;

    void push(Id id, float score) {
        ids.push_back(id);
        scores.push_back(score);
    }
};

// Keeps the best `limit` of the pairs offered, by (score desc, id asc).
class TopK {
public:
    explicit TopK(size_t limit) : limit_(limit) { heap_.reserve(std::min<size_t>(limit, 1024)); }

    bool wants(float score, Id id) const {
        return heap_.size() < limit_ || before({score, id}, heap_.front());
    }

    float threshold() const {
        return heap_.size() < limit_ ? -std::numeric_limits<float>::infinity() : heap_.front().score;
    }

    void offer(float score, Id id) {
        if (heap_.size() == limit_) {
            std::pop_heap(heap_.begin(), heap_.end(), before);
            heap_.back() = {score, id};
        } else {
            heap_.push_back({score, id});
        }
        std::push_heap(heap_.begin(), heap_.end(), before);
    }

    Ranked take() {
        std::sort(heap_.begin(), heap_.end(), before);
        Ranked out;
        for (const auto& entry : heap_) out.push(entry.id, entry.score);
        return out;
    }

private:
    struct Entry {
        float score;
        Id id;
    };

    static bool before(const Entry& a, const Entry& b) {
        return a.score != b.score ? a.score > b.score : a.id < b.id;
    }

    size_t limit_;
    std::vector<Entry> heap_; // the worst kept entry is at the front
};

class FactTable {
public:
    void put(Id id, Id space, Id entity, Millis recorded, Millis from, Millis to, Millis closed_at,
             Millis expires, uint32_t bytes, bool forgotten) {
        if (id >= state_.size()) grow(id + size_t{1});
        if (state_[id] == ABSENT) {
            recorded_[id] = recorded;
            insert_by_time(id);
        }
        space_[id] = space;
        entity_[id] = entity;
        from_[id] = from;
        to_[id] = to;
        closed_at_[id] = closed_at;
        expires_[id] = expires;
        bytes_[id] = bytes;
        state_[id] = forgotten ? FORGOTTEN : PRESENT;
    }

    void remove(const std::vector<Id>& ids) {
        for (const Id id : ids)
            if (id < state_.size()) state_[id] = ABSENT;
        by_time_.erase(std::remove_if(by_time_.begin(), by_time_.end(),
                                      [this](Id id) { return state_[id] == ABSENT; }),
                       by_time_.end());
    }

    bool admits(const Scope& scope, Id id) const {
        return id < state_.size() && state_[id] == PRESENT &&
               (!scope.allowed || scope.allowed->has(id)) && scope.admits_namespace(space_[id]) &&
               expires_[id] > scope.expired_by &&
               scope.holds(recorded_[id], from_[id], to_[id], closed_at_[id]);
    }

    std::vector<Id> admitted(const Scope& scope, const std::vector<Id>& ids) const {
        std::vector<Id> out;
        for (const Id id : ids)
            if (admits(scope, id)) out.push_back(id);
        return out;
    }

    // Admitted ids above `after`, ascending.
    std::vector<Id> page(const Scope& scope, int64_t after, size_t limit) const {
        std::vector<Id> out;
        for (size_t id = static_cast<size_t>(after + 1); id < state_.size() && out.size() < limit; ++id)
            if (admits(scope, static_cast<Id>(id))) out.push_back(static_cast<Id>(id));
        return out;
    }

    // Admitted facts with from <= recorded < to, newest first, ties by the higher id.
    Ranked newest(const Scope& scope, Millis from, Millis to, size_t limit) const {
        Ranked out;
        auto it = std::lower_bound(by_time_.begin(), by_time_.end(), to,
                                   [this](Id id, Millis time) { return recorded_[id] < time; });
        while (it != by_time_.begin() && out.ids.size() < limit) {
            const Id id = *--it;
            if (recorded_[id] < from) break;
            if (admits(scope, id)) out.push(id, 0.0f);
        }
        return out;
    }

    size_t count(const Scope& scope) const {
        size_t total = 0;
        for (size_t id = 0; id < state_.size(); ++id) total += admits(scope, static_cast<Id>(id));
        return total;
    }

    // Every column of a stored fact, for comparison with truth.
    std::vector<Millis> row(Id id) const {
        return {recorded_.at(id), from_[id], to_[id], closed_at_[id], expires_[id], Millis{space_[id]},
                Millis{entity_[id]}, Millis{bytes_[id]}, Millis{state_[id]}};
    }

    const std::vector<Id>& ids() const { return by_time_; }
    size_t size() const { return state_.size(); }
    size_t stored() const { return by_time_.size(); }
    size_t forgotten() const {
        return static_cast<size_t>(std::count(state_.begin(), state_.end(), FORGOTTEN));
    }
    bool has(Id id) const { return id < state_.size() && state_[id] != ABSENT; }
    Id entity(Id id) const { return entity_.at(id); }
    Id space(Id id) const { return space_.at(id); }
    uint32_t bytes(Id id) const { return bytes_[id]; }
    Millis recorded(Id id) const { return recorded_[id]; }

    std::string save() const {
        Writer out;
        out.array(recorded_);
        out.array(from_);
        out.array(to_);
        out.array(closed_at_);
        out.array(expires_);
        out.array(space_);
        out.array(entity_);
        out.array(bytes_);
        out.array(state_);
        out.array(by_time_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        FactTable fresh;
        fresh.recorded_ = in.array<Millis>();
        fresh.from_ = in.array<Millis>();
        fresh.to_ = in.array<Millis>();
        fresh.closed_at_ = in.array<Millis>();
        fresh.expires_ = in.array<Millis>();
        fresh.space_ = in.array<Id>();
        fresh.entity_ = in.array<Id>();
        fresh.bytes_ = in.array<uint32_t>();
        fresh.state_ = in.array<uint8_t>();
        fresh.by_time_ = in.array<Id>();
        in.finish();
        const size_t n = fresh.state_.size();
        for (const size_t other : {fresh.recorded_.size(), fresh.from_.size(), fresh.to_.size(),
                                   fresh.closed_at_.size(), fresh.expires_.size(), fresh.space_.size(),
                                   fresh.entity_.size(), fresh.bytes_.size()})
            Reader::require(other == n, "fact columns differ in length");
        for (const Id id : fresh.by_time_) Reader::require(id < n, "time order names an unknown fact");
        *this = std::move(fresh);
    }

private:
    enum : uint8_t { ABSENT = 0, PRESENT = 1, FORGOTTEN = 2 };

    void grow(size_t size) {
        recorded_.resize(size);
        from_.resize(size);
        to_.resize(size);
        closed_at_.resize(size);
        expires_.resize(size);
        space_.resize(size);
        entity_.resize(size);
        bytes_.resize(size);
        state_.resize(size, ABSENT);
    }

    void insert_by_time(Id id) {
        const auto earlier = [this](Id a, Id b) {
            return recorded_[a] != recorded_[b] ? recorded_[a] < recorded_[b] : a < b;
        };
        if (by_time_.empty() || earlier(by_time_.back(), id)) {
            by_time_.push_back(id);
        } else {
            by_time_.insert(std::lower_bound(by_time_.begin(), by_time_.end(), id, earlier), id);
        }
    }

    std::vector<Millis> recorded_, from_, to_, closed_at_, expires_;
    std::vector<Id> space_, entity_;
    std::vector<uint32_t> bytes_;
    std::vector<uint8_t> state_;
    std::vector<Id> by_time_; // stored facts by (recorded, id)
};

} // namespace plugmem
