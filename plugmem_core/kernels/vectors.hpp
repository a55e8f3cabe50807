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

// The product of two int8 vectors, their length a multiple of 64. Written out for the widest
// registers: what compilers make of the plain loop takes twice the time.
using DotProduct = int32_t (*)(const int8_t*, const int8_t*, size_t);

inline int32_t dot_baseline(const int8_t* a, const int8_t* b, size_t n) {
    int32_t sum = 0;
    for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

#ifdef PLUGMEM_X86
__attribute__((target("avx2"))) inline __m256i widened_256(const int8_t* values) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
}

__attribute__((target("avx2"))) inline int32_t dot_avx2(const int8_t* a, const int8_t* b, size_t n) {
    __m256i even = _mm256_setzero_si256(), odd = even;
    for (size_t i = 0; i < n; i += 32) {
        even = _mm256_add_epi32(even, _mm256_madd_epi16(widened_256(a + i), widened_256(b + i)));
        odd = _mm256_add_epi32(odd, _mm256_madd_epi16(widened_256(a + i + 16), widened_256(b + i + 16)));
    }
    alignas(32) int32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi32(even, odd));
    int32_t sum = 0;
    for (const int32_t lane : lanes) sum += lane;
    return sum;
}

__attribute__((target("avx512f,avx512bw"))) inline __m512i widened_512(const int8_t* values) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)));
}

__attribute__((target("avx512f,avx512bw"))) inline int32_t dot_avx512(const int8_t* a, const int8_t* b,
                                                                      size_t n) {
    __m512i even = _mm512_setzero_si512(), odd = even;
    for (size_t i = 0; i < n; i += 64) {
        even = _mm512_add_epi32(even, _mm512_madd_epi16(widened_512(a + i), widened_512(b + i)));
        odd = _mm512_add_epi32(odd, _mm512_madd_epi16(widened_512(a + i + 32), widened_512(b + i + 32)));
    }
    return _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd));
}
#endif

struct Instructions {
    const char* name;
    DotProduct dot;
};

// What this machine can run, the widest first.
inline std::vector<Instructions> usable_instructions() {
    std::vector<Instructions> usable;
#ifdef PLUGMEM_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw")) usable.push_back({"avx512", dot_avx512});
    if (__builtin_cpu_supports("avx2")) usable.push_back({"avx2", dot_avx2});
#endif
    usable.push_back({"baseline", dot_baseline});
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
        const Quantised q = quantise(query);
        TopK top(limit);
        for (size_t slot = first; slot < facts_.size(); ++slot)
            if (!scope.allowed || scope.allowed->has(facts_[slot]))
                offer(top, q, slot, floor, facts, scope);
        return top.take();
    }

    // Exact similarities of chosen facts; those without a vector are left out.
    Ranked rescore(const float* query, const std::vector<Id>& chosen, size_t limit, float floor,
                   const FactTable& facts, const Scope& scope) const {
        const Quantised q = quantise(query);
        TopK top(limit);
        for (const Id fact : chosen)
            if (has(fact)) offer(top, q, slot_of_[fact], floor, facts, scope);
        return top.take();
    }

    // The similarities of chosen facts; NaN for one without a vector.
    std::vector<float> cosines(const float* query, const std::vector<Id>& chosen) const {
        const Quantised q = quantise(query);
        std::vector<float> out;
        out.reserve(chosen.size());
        for (const Id fact : chosen) out.push_back(has(fact) ? similarity(q, slot_of_[fact]) : NAN);
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
    // The product is cheaper than a full admission test, which only the near ones are put to.
    void offer(TopK& top, const Quantised& q, size_t slot, float floor, const FactTable& facts,
               const Scope& scope) const {
        const float found = similarity(q, slot);
        if (found >= floor && top.wants(found) && facts.admits(scope, facts_[slot]))
            top.offer(found, facts_[slot]);
    }

    float similarity(const Quantised& q, size_t slot) const {
        ++work.distances;
        const int32_t dot = INSTRUCTIONS.dot(q.values.data(), values_.data() + slot * width_, width_);
        return q.scale * scales_[slot] * static_cast<float>(dot);
    }

    size_t dim_, width_; // components, and components padded with zeros to whole registers
    std::vector<Id> facts_; // by slot
    std::vector<float> scales_;
    std::vector<int8_t> values_;
    std::vector<Id> slot_of_; // by fact id
};

} // namespace plugmem
