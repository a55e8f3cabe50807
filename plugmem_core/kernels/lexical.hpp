// An incremental inverted index with BM25 scoring.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"

namespace plugmem {

class Lexical {
public:
    // Index one document; ids must arrive ascending, so that postings stay sorted.
    void add(Id id, std::vector<Id>& terms) {
        if (id < length_.size()) throw std::invalid_argument("documents are added in ascending order");
        length_.resize(id + size_t{1}, ABSENT);
        std::sort(terms.begin(), terms.end());
        uint32_t length = 0;
        for (size_t i = 0; i < terms.size();) {
            size_t end = i;
            while (end < terms.size() && terms[end] == terms[i]) ++end;
            const auto tf = static_cast<uint8_t>(std::min<size_t>(end - i, 255));
            if (terms[i] >= postings_.size()) postings_.resize(terms[i] + size_t{1});
            postings_[terms[i]].ids.push_back(id);
            postings_[terms[i]].tfs.push_back(tf);
            if (forward_ready_) forward_.push_back(terms[i]);
            length += tf;
            i = end;
        }
        if (forward_ready_) close_forward(id);
        length_[id] = static_cast<uint16_t>(std::min<uint32_t>(length, LONGEST));
        longest_ = std::max<uint32_t>(longest_, length_[id]);
        total_length_ += length_[id];
        ++documents_;
    }

    void remove(const std::vector<Id>& ids) {
        ensure_forward();
        std::vector<Id> touched;
        for (const Id id : ids) {
            if (!has(id)) continue;
            const auto [first, last] = forward_span(id);
            touched.insert(touched.end(), first, last);
            total_length_ -= length_[id];
            length_[id] = ABSENT;
            --documents_;
        }
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        for (const Id term : touched) drop_absent(postings_[term]);
        forward_ready_ = false; // rebuilt without the holes when it is needed again
        forward_.clear();
        forward_end_.clear();
    }

    // The best `limit` admitted documents for the terms; a term given twice counts twice.
    //   idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
    //   score  = sum of idf * tf (k1 + 1) / (tf + k1 (1 - b + b len / avg))
    // Contributions are added in the order of the terms, in single precision.
    Ranked search(const std::vector<Id>& terms, float k1, float b, size_t limit,
                  const FactTable& facts, const Scope& scope) const {
        thread_local std::vector<float> scores; // all zero between calls
        if (scores.size() < length_.size()) scores.resize(length_.size());
        Weights weights(*this, k1, b);
        for (const Id term : terms) {
            const auto& list = postings_.at(term);
            weights.set_term(list.ids.size());
            for (size_t i = 0; i < list.ids.size(); ++i)
                scores[list.ids[i]] += weights.of(list.tfs[i], length_[list.ids[i]]);
        }
        TopK top(limit);
        for (const Id term : terms) {
            for (const Id id : postings_[term].ids) {
                const float score = scores[id];
                if (score == 0.0f) continue; // seen already
                scores[id] = 0.0f;
                if (top.wants(score, id) && facts.admits(scope, id)) top.offer(score, id);
            }
        }
        return top.take();
    }

    // Share of distinct terms in common between `terms` and each document.
    std::vector<float> overlap(std::vector<Id> terms, size_t unknown, const std::vector<Id>& ids) {
        ensure_forward();
        std::sort(terms.begin(), terms.end());
        terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
        std::vector<float> out;
        for (const Id id : ids) {
            if (!has(id)) {
                out.push_back(0.0f);
                continue;
            }
            const auto [first, last] = forward_span(id);
            const size_t shared = count_shared(terms, first, last);
            const size_t all = terms.size() + unknown + static_cast<size_t>(last - first) - shared;
            out.push_back(all ? static_cast<float>(shared) / static_cast<float>(all) : 0.0f);
        }
        return out;
    }

    // Distinct terms of a document.
    std::vector<Id> terms_of(Id id) {
        if (!has(id)) return {};
        ensure_forward();
        const auto [first, last] = forward_span(id);
        return {first, last};
    }

    bool has(Id id) const { return id < length_.size() && length_[id] != ABSENT; }
    size_t df(Id term) const { return term < postings_.size() ? postings_[term].ids.size() : 0; }
    size_t documents() const { return documents_; }
    Id first_document(Id term) const { return df(term) ? postings_[term].ids.front() : NONE; }

    Dictionary terms;

    std::string save() const {
        Writer out;
        terms.write(out);
        std::vector<uint32_t> sizes;
        std::vector<Id> ids;
        std::vector<uint8_t> tfs;
        for (const auto& list : postings_) {
            sizes.push_back(static_cast<uint32_t>(list.ids.size()));
            ids.insert(ids.end(), list.ids.begin(), list.ids.end());
            tfs.insert(tfs.end(), list.tfs.begin(), list.tfs.end());
        }
        out.array(sizes);
        out.array(ids);
        out.array(tfs);
        out.array(length_);
        out.scalar<uint64_t>(documents_);
        out.scalar<uint64_t>(total_length_);
        out.scalar<uint32_t>(longest_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        Lexical fresh;
        fresh.terms.read(in);
        const auto sizes = in.array<uint32_t>();
        const auto ids = in.array<Id>();
        const auto tfs = in.array<uint8_t>();
        fresh.length_ = in.array<uint16_t>();
        fresh.documents_ = in.scalar<uint64_t>();
        fresh.total_length_ = in.scalar<uint64_t>();
        fresh.longest_ = in.scalar<uint32_t>();
        in.finish();
        Reader::require(ids.size() == tfs.size(), "postings are damaged");
        Reader::require(sizes.size() <= fresh.terms.size(), "postings are damaged");
        for (const Id id : ids) Reader::require(id < fresh.length_.size(), "postings are damaged");
        fresh.postings_.resize(sizes.size());
        size_t at = 0;
        for (size_t term = 0; term < sizes.size(); ++term) {
            Reader::require(sizes[term] <= ids.size() - at, "postings are damaged");
            const auto from = static_cast<ptrdiff_t>(at);
            at += sizes[term];
            const auto to = static_cast<ptrdiff_t>(at);
            fresh.postings_[term].ids.assign(ids.begin() + from, ids.begin() + to);
            fresh.postings_[term].tfs.assign(tfs.begin() + from, tfs.begin() + to);
        }
        *this = std::move(fresh);
    }

private:
    static constexpr uint16_t ABSENT = 65535;
    static constexpr uint16_t LONGEST = 65534;

    struct Postings {
        std::vector<Id> ids;
        std::vector<uint8_t> tfs;
    };

    // BM25 weights of one term, tabulated for the short documents that facts are.
    class Weights {
    public:
        Weights(const Lexical& index, float k1, float b)
            : index_(index), k1_(k1), b_(b),
              average_(static_cast<float>(index.total_length_) /
                       static_cast<float>(std::max<size_t>(index.documents_, 1))),
              width_(std::min<size_t>(index.longest_ + size_t{1}, MAX_WIDTH)),
              table_(width_ * TABLED_TF) {}

        void set_term(size_t df) {
            const auto n = static_cast<float>(index_.documents_);
            const auto d = static_cast<float>(df);
            const float rarity = (n - d + 0.5f) / (d + 0.5f);
            idf_ = std::log(1.0f + rarity);
            if (idf_ <= 0.0f) idf_ = rarity; // ln(1 + x) ~ x where single precision gives up
            for (size_t tf = 1; tf <= TABLED_TF; ++tf)
                for (size_t length = 0; length < width_; ++length)
                    table_[(tf - 1) * width_ + length] =
                        weight(static_cast<float>(tf), static_cast<float>(length));
        }

        float of(uint8_t tf, uint16_t length) const {
            if (tf <= TABLED_TF && length < width_) return table_[(tf - size_t{1}) * width_ + length];
            return weight(static_cast<float>(tf), static_cast<float>(length));
        }

    private:
        static constexpr size_t MAX_WIDTH = 256;
        static constexpr size_t TABLED_TF = 3;

        float weight(float tf, float length) const {
            const float norm = k1_ * ((1.0f - b_) + b_ * length / average_);
            return idf_ * (tf * (k1_ + 1.0f)) / (tf + norm);
        }

        const Lexical& index_;
        float k1_, b_, average_, idf_ = 0.0f;
        size_t width_;
        std::vector<float> table_;
    };

    void drop_absent(Postings& list) {
        size_t kept = 0;
        for (size_t i = 0; i < list.ids.size(); ++i) {
            if (length_[list.ids[i]] == ABSENT) continue;
            list.ids[kept] = list.ids[i];
            list.tfs[kept] = list.tfs[i];
            ++kept;
        }
        list.ids.resize(kept);
        list.tfs.resize(kept);
    }

    // The forward index (document -> its distinct terms) serves overlap and removal only,
    // so it is made from the postings on first need and kept current from then on.
    void ensure_forward() {
        if (forward_ready_) return;
        std::vector<uint64_t> counts(length_.size() + 1);
        for (const auto& list : postings_)
            for (const Id id : list.ids) ++counts[id + size_t{1}];
        for (size_t id = 1; id < counts.size(); ++id) counts[id] += counts[id - 1];
        forward_.resize(counts.back());
        auto next = counts;
        for (Id term = 0; term < postings_.size(); ++term)
            for (const Id id : postings_[term].ids) forward_[next[id]++] = term;
        forward_end_.assign(counts.begin() + 1, counts.end());
        forward_ready_ = true;
    }

    void close_forward(Id id) {
        const uint64_t before = forward_end_.empty() ? 0 : forward_end_.back();
        forward_end_.resize(id, before); // ids never indexed have no terms
        forward_end_.push_back(forward_.size());
    }

    std::pair<const Id*, const Id*> forward_span(Id id) const {
        const uint64_t start = id ? forward_end_[id - 1] : 0;
        return {forward_.data() + start, forward_.data() + forward_end_[id]};
    }

    static size_t count_shared(const std::vector<Id>& terms, const Id* first, const Id* last) {
        size_t shared = 0;
        auto term = terms.begin();
        while (term != terms.end() && first != last) {
            if (*term == *first) ++shared;
            if (*term <= *first) ++term; else ++first;
        }
        return shared;
    }

    std::vector<Postings> postings_;
    std::vector<uint16_t> length_; // tokens of a document, by fact id
    std::vector<Id> forward_;
    std::vector<uint64_t> forward_end_;
    bool forward_ready_ = true; // trivially so while empty
    uint64_t documents_ = 0;
    uint64_t total_length_ = 0;
    uint32_t longest_ = 0;
};

} // namespace plugmem
