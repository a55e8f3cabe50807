// An int8-quantised vector pool with exact search.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "facts.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define PLUGMEM_X86 1
#include <immintrin.h>
#endif

namespace plugmem {

// The products of an int8 vector with `count` others that lie one after another, all of them
// `width` long, a multiple of 64. Written out for the widest registers: what compilers make of
// the plain loop takes twice the time.
using DotProducts = void (*)(const int8_t* query, const int8_t* rows, size_t count, size_t width,
                             int32_t* out);

inline void dots_baseline(const int8_t* query, const int8_t* rows, size_t count, size_t width,
                          int32_t* out) {
    for (size_t row = 0; row < count; ++row, rows += width) {
        int32_t sum = 0;
        for (size_t i = 0; i < width; ++i) sum += query[i] * rows[i];
        out[row] = sum;
    }
}

#ifdef PLUGMEM_X86
__attribute__((target("avx2"))) inline __m256i widened_256(const int8_t* values) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
}

__attribute__((target("avx2"))) inline void dots_avx2(const int8_t* query, const int8_t* rows,
                                                      size_t count, size_t width, int32_t* out) {
    for (size_t row = 0; row < count; ++row, rows += width) {
        __m256i even = _mm256_setzero_si256(), odd = even;
        for (size_t i = 0; i < width; i += 32) {
            even = _mm256_add_epi32(even, _mm256_madd_epi16(widened_256(query + i), widened_256(rows + i)));
            odd = _mm256_add_epi32(odd, _mm256_madd_epi16(widened_256(query + i + 16), widened_256(rows + i + 16)));
        }
        alignas(32) int32_t lanes[8];
        _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi32(even, odd));
        out[row] = 0;
        for (const int32_t lane : lanes) out[row] += lane;
    }
}

__attribute__((target("avx512f,avx512bw"))) inline __m512i widened_512(const int8_t* values) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)));
}

__attribute__((target("avx512f,avx512bw"))) inline void dots_avx512(const int8_t* query, const int8_t* rows,
                                                                    size_t count, size_t width,
                                                                    int32_t* out) {
    for (size_t row = 0; row < count; ++row, rows += width) {
        __m512i even = _mm512_setzero_si512(), odd = even;
        for (size_t i = 0; i < width; i += 64) {
            even = _mm512_add_epi32(even, _mm512_madd_epi16(widened_512(query + i), widened_512(rows + i)));
            odd = _mm512_add_epi32(odd, _mm512_madd_epi16(widened_512(query + i + 32), widened_512(rows + i + 32)));
        }
        out[row] = _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd));
    }
}

// The instruction multiplies unsigned by signed bytes. With the sign bit turned over, a row is
// 128 more in every component, which adds 128 times the sum of the query to each product.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) inline void dots_vnni(
    const int8_t* query, const int8_t* rows, size_t count, size_t width, int32_t* out) {
    int32_t added = 0;
    for (size_t i = 0; i < width; ++i) added += query[i];
    added *= 128;
    const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
    for (size_t row = 0; row < count; ++row, rows += width) {
        __m512i sums = _mm512_setzero_si512();
        for (size_t i = 0; i < width; i += 64)
            sums = _mm512_dpbusd_epi32(sums, _mm512_xor_si512(_mm512_loadu_si512(rows + i), sign),
                                       _mm512_loadu_si512(query + i));
        out[row] = _mm512_reduce_add_epi32(sums) - added;
    }
}
#endif

struct Instructions {
    const char* name;
    DotProducts dots;
};

// What this machine can run, the fastest first.
inline std::vector<Instructions> usable_instructions() {
    std::vector<Instructions> usable;
#ifdef PLUGMEM_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"))
        usable.push_back({"avx512vnni", dots_vnni});
    if (__builtin_cpu_supports("avx512bw")) usable.push_back({"avx512", dots_avx512});
    if (__builtin_cpu_supports("avx2")) usable.push_back({"avx2", dots_avx2});
#endif
    usable.push_back({"baseline", dots_baseline});
    return usable;
}

inline const Instructions INSTRUCTIONS = usable_instructions().front();

// One quantised vector: x^ = x / |x|, scale = max|x^| / 127, q = round(x^ / scale).
struct Quantised {
    float scale = 0.0f;
    std::vector<int8_t> values;
};

class VectorPool {
public:
    explicit VectorPool(size_t dim) : dim_(dim), width_((dim + 63) / 64 * 64) {}

    Quantised quantise(const float* x) const {
        Quantised out;
        out.values.resize(width_);
        float norm2 = 0.0f;
        for (size_t i = 0; i < dim_; ++i) norm2 += x[i] * x[i];
        const float inverse = 1.0f / std::sqrt(norm2);
        float largest = 0.0f;
        for (size_t i = 0; i < dim_; ++i) largest = std::max(largest, std::fabs(x[i] * inverse));
        out.scale = largest / 127.0f;
        for (size_t i = 0; i < dim_; ++i) {
            const float q = std::round(x[i] * inverse / out.scale);
            out.values[i] = static_cast<int8_t>(std::min(127.0f, std::max(-127.0f, q)));
        }
        return out;
    }

    // Store or replace the vector of a fact; `x` has `dim` finite values, not all zero.
    void put(Id fact, const float* x) {
        const Quantised q = quantise(x);
        if (fact >= slot_of_.size()) slot_of_.resize(fact + size_t{1}, NONE);
        if (slot_of_[fact] == NONE) {
            slot_of_[fact] = static_cast<Id>(facts_.size());
            facts_.push_back(fact);
            scales_.push_back(q.scale);
            values_.insert(values_.end(), q.values.begin(), q.values.end());
            return;
        }
        const size_t slot = slot_of_[fact];
        scales_[slot] = q.scale;
        std::copy(q.values.begin(), q.values.end(), values_.begin() + static_cast<ptrdiff_t>(slot * width_));
    }

    // Whether this is the vector of a fact, as far as the quantised form tells.
    bool holds(Id fact, const float* x) const {
        if (!has(fact)) return false;
        const Quantised q = quantise(x);
        const size_t slot = slot_of_[fact];
        return scales_[slot] == q.scale &&
               std::equal(q.values.begin(), q.values.end(),
                          values_.begin() + static_cast<ptrdiff_t>(slot * width_));
    }

    // Drop vectors, keeping the order of the others. Returns the facts that were in the first
    // `prefix` slots.
    std::vector<Id> remove(const std::vector<Id>& facts, size_t prefix) {
        std::vector<Id> below;
        bool any = false;
        for (const Id fact : facts) {
            if (!has(fact)) continue;
            any = true;
            if (slot_of_[fact] < prefix) below.push_back(fact);
            facts_[slot_of_[fact]] = NONE;
            slot_of_[fact] = NONE;
        }
        if (!any) return below;
        size_t kept = 0;
        for (size_t slot = 0; slot < facts_.size(); ++slot) {
            if (facts_[slot] == NONE) continue;
            facts_[kept] = facts_[slot];
            scales_[kept] = scales_[slot];
            std::copy_n(values_.begin() + static_cast<ptrdiff_t>(slot * width_), width_,
                        values_.begin() + static_cast<ptrdiff_t>(kept * width_));
            slot_of_[facts_[kept]] = static_cast<Id>(kept);
            ++kept;
        }
        facts_.resize(kept);
        scales_.resize(kept);
        values_.resize(kept * width_);
        return below;
    }

    // Exact search of the slots from `first` on: the best `limit` admitted facts whose
    // similarity reaches `floor`.
    Ranked search(const float* query, size_t first, size_t limit, float floor,
                  const FactTable& facts, const Scope& scope) const {
        if (scope.allowed && scope.allowed->count() * ALONE < facts_.size() - first)
            return rescore(query, behind(first, scope.allowed->ids()), limit, floor, facts, scope);
        const Quantised q = quantise(query);
        TopK top(limit);
        int32_t dots[BLOCK];
        for (size_t slot = first; slot < facts_.size(); slot += BLOCK) {
            const size_t count = std::min(BLOCK, facts_.size() - slot);
            INSTRUCTIONS.dots(q.values.data(), values_.data() + slot * width_, count, width_, dots);
            for (size_t i = 0; i < count; ++i) offer(top, q, slot + i, dots[i], floor, facts, scope);
        }
        work.distances += facts_.size() - std::min(first, facts_.size());
        return top.take();
    }

    // Exact similarities of chosen facts; those without a vector are left out.
    Ranked rescore(const float* query, const std::vector<Id>& chosen, size_t limit, float floor,
                   const FactTable& facts, const Scope& scope) const {
        const Quantised q = quantise(query);
        TopK top(limit);
        for (const Id fact : chosen)
            if (has(fact)) offer(top, q, slot_of_[fact], product(q, slot_of_[fact]), floor, facts, scope);
        return top.take();
    }

    // The similarities of chosen facts; NaN for one without a vector.
    std::vector<float> cosines(const float* query, const std::vector<Id>& chosen) const {
        const Quantised q = quantise(query);
        std::vector<float> out;
        out.reserve(chosen.size());
        for (const Id fact : chosen)
            out.push_back(has(fact) ? similarity(q, slot_of_[fact], product(q, slot_of_[fact])) : NAN);
        return out;
    }

    bool has(Id fact) const { return fact < slot_of_.size() && slot_of_[fact] != NONE; }
    size_t size() const { return facts_.size(); }
    size_t dim() const { return dim_; }
    const std::vector<Id>& facts() const { return facts_; }

    std::string save() const {
        Writer out;
        out.scalar<uint64_t>(dim_);
        out.array(facts_);
        out.array(scales_);
        out.array(values_);
        out.array(slot_of_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        VectorPool fresh(in.scalar<uint64_t>());
        Reader::require(fresh.dim_ == dim_, "vectors have another dimension");
        fresh.facts_ = in.array<Id>();
        fresh.scales_ = in.array<float>();
        fresh.values_ = in.array<int8_t>();
        fresh.slot_of_ = in.array<Id>();
        in.finish();
        const size_t n = fresh.facts_.size();
        Reader::require(fresh.scales_.size() == n && fresh.values_.size() == n * width_,
                        "vectors are damaged");
        size_t placed = 0;
        for (size_t fact = 0; fact < fresh.slot_of_.size(); ++fact) {
            const Id slot = fresh.slot_of_[fact];
            if (slot == NONE) continue;
            Reader::require(slot < n && fresh.facts_[slot] == fact, "vectors are damaged");
            ++placed;
        }
        Reader::require(placed == n, "vectors are damaged");
        *this = std::move(fresh);
    }

private:
    static constexpr size_t BLOCK = 64; // vectors whose products are made at one go
    static constexpr size_t ALONE = 4;  // vectors read on in the time that one is looked up

    // Those of some facts whose slots are not before one.
    std::vector<Id> behind(size_t first, std::vector<Id> chosen) const {
        chosen.erase(std::remove_if(chosen.begin(), chosen.end(),
                                    [&](Id fact) { return !has(fact) || slot_of_[fact] < first; }),
                     chosen.end());
        return chosen;
    }

    // The product is cheaper than a full admission test, which only the near ones are put to.
    void offer(TopK& top, const Quantised& q, size_t slot, int32_t dot, float floor,
               const FactTable& facts, const Scope& scope) const {
        const float found = similarity(q, slot, dot);
        if (found >= floor && top.wants(found) && facts.admits(scope, facts_[slot]))
            top.offer(found, facts_[slot]);
    }

    int32_t product(const Quantised& q, size_t slot) const {
        ++work.distances;
        int32_t dot;
        INSTRUCTIONS.dots(q.values.data(), values_.data() + slot * width_, 1, width_, &dot);
        return dot;
    }

    float similarity(const Quantised& q, size_t slot, int32_t dot) const {
        return q.scale * scales_[slot] * static_cast<float>(dot);
    }

    size_t dim_, width_; // components, and components padded with zeros to whole registers
    std::vector<Id> facts_; // by slot
    std::vector<float> scales_;
    std::vector<int8_t> values_;
    std::vector<Id> slot_of_; // by fact id
};

} // namespace plugmem
