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

    // One list of each item: all their lengths, then all their values.
    template <class Items, class ListOf> void lists(const Items& items, ListOf list_of) {
        using List = std::decay_t<decltype(list_of(*items.begin()))>;
        std::vector<uint32_t> sizes;
        List all;
        for (const auto& item : items) {
            const auto& list = list_of(item);
            sizes.push_back(static_cast<uint32_t>(list.size()));
            all.insert(all.end(), list.begin(), list.end());
        }
        array(sizes);
        array(all);
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

    template <class T> std::vector<std::vector<T>> lists() {
        const auto sizes = array<uint32_t>();
        const size_t count = length(sizeof(T));
        size_t left = count;
        for (const uint32_t size : sizes) {
            require(size <= left, "lists are damaged");
            left -= size;
        }
        require(left == 0, "lists are damaged");
        std::vector<std::vector<T>> out(sizes.size());
        for (size_t i = 0; i < sizes.size(); ++i) {
            out[i].resize(sizes[i]);
            if (sizes[i]) std::memcpy(out[i].data(), span(sizes[i] * sizeof(T)), sizes[i] * sizeof(T));
        }
        return out;
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
