// Saved form of the kernel's structures: plain arrays, each led by its length.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plugmem {

class Writer {
public:
    template <class T> void scalar(T value) {
        static_assert(std::is_trivially_copyable_v<T>);
        out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }

    template <class T> void array(const std::vector<T>& values) {
        static_assert(std::is_trivially_copyable_v<T>);
        scalar<uint64_t>(values.size());
        out_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    }

    void text(std::string_view value) {
        scalar<uint64_t>(value.size());
        out_.append(value);
    }

    std::string take() { return std::move(out_); }

private:
    std::string out_;
};

// Every read is bounds-checked: a damaged archive throws, it never reads beyond its end.
class Reader {
public:
    explicit Reader(std::string_view in) : in_(in) {}

    template <class T> T scalar() {
        T value;
        std::memcpy(&value, span(sizeof(T)), sizeof(T));
        return value;
    }

    template <class T> std::vector<T> array() {
        std::vector<T> values;
        const size_t count = length(sizeof(T));
        values.resize(count);
        if (count) std::memcpy(values.data(), span(count * sizeof(T)), count * sizeof(T));
        return values;
    }

    std::string text() {
        const size_t count = length(1);
        return std::string(span(count), count);
    }

    void finish() const {
        if (at_ != in_.size()) throw std::runtime_error("archive has trailing bytes");
    }

    static void require(bool holds, const char* what) {
        if (!holds) throw std::runtime_error(what);
    }

private:
    size_t length(size_t item) {
        const auto count = scalar<uint64_t>();
        require(count <= (in_.size() - at_) / item, "archive is cut short");
        return static_cast<size_t>(count);
    }

    const char* span(size_t bytes) {
        require(bytes <= in_.size() - at_, "archive is cut short");
        const char* start = in_.data() + at_;
        at_ += bytes;
        return start;
    }

    std::string_view in_;
    size_t at_ = 0;
};

} // namespace plugmem
