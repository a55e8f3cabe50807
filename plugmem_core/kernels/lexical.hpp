// An incremental inverted index with BM25 scoring.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"
#include "logarithm.hpp"

namespace plugmem {

class Lexical {
public:
    // Index one document; ids must arrive ascending, so that postings stay sorted.
    void add(Id id, std::vector<Id>& terms) {
        if (id < length_.size()) throw std::invalid_argument("documents are added in ascending order");
        length_.resize(id + size_t{1}, ABSENT);
        std::sort(terms.begin(), terms.end());
        const auto runs = count_runs(terms);
        uint32_t length = 0;
        for (const auto& [term, tf] : runs) length += tf;
        length_[id] = static_cast<uint16_t>(std::min<uint32_t>(length, LONGEST));
        for (const auto& [term, tf] : runs) {
            if (term >= postings_.size()) postings_.resize(term + size_t{1});
            postings_[term].add(id, tf, length_[id]);
            if (forward_ready_) forward_.push_back(term);
        }
        if (forward_ready_) close_forward(id);
        count(length_[id]);
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

    // The best `limit` admitted documents for the terms; a term given twice counts twice. BM25
    // as Robertson and Zaragoza give it (2009), with an idf that is never negative:
    //   idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
    //   score  = sum of idf * tf (k1 + 1) / (tf + k1 (1 - b + b len / avg))
    // Contributions are added in the order of the terms, in single precision.
    Ranked search(const std::vector<Id>& terms, float k1, float b, size_t limit,
                  const FactTable& facts, const Scope& scope) const {
        const Weights weights(*this, k1, b);
        const Question question = distinct(terms, weights);
        TopK top(limit);
        if (question.rarest_first.size() == 1)
            search_one(question.rarest_first[0], top, facts, scope);
        else if (!question.rarest_first.empty())
            search_many(question, limit, top, facts, scope);
        return top.take();
    }

    // The exact scores of chosen documents, as `search` gives them; 0 without any of the terms.
    std::vector<float> scores(const std::vector<Id>& terms, float k1, float b,
                              const std::vector<Id>& ids) const {
        const Weights weights(*this, k1, b);
        const Question question = distinct(terms, weights);
        std::vector<float> parts(question.rarest_first.size()), out;
        out.reserve(ids.size());
        for (const Id id : ids) out.push_back(has(id) ? score_of(id, question, parts) : 0.0f);
        return out;
    }

    // Whether each of chosen documents has one of the terms.
    std::vector<uint8_t> holds(const std::vector<Id>& terms, const std::vector<Id>& ids) const {
        std::vector<uint8_t> out(ids.size());
        for (const Id term : terms) {
            if (!df(term)) continue;
            const auto& held = postings_[term].ids;
            for (size_t i = 0; i < ids.size(); ++i)
                if (!out[i]) out[i] = std::binary_search(held.begin(), held.end(), ids[i]);
        }
        return out;
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
        std::vector<uint16_t> shapes;
        for (const auto& list : postings_) {
            sizes.push_back(static_cast<uint32_t>(list.ids.size()));
            ids.insert(ids.end(), list.ids.begin(), list.ids.end());
            shapes.insert(shapes.end(), list.shapes.begin(), list.shapes.end());
        }
        out.array(sizes);
        out.array(ids);
        out.array(shapes);
        out.array(length_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        Lexical fresh;
        fresh.terms.read(in);
        const auto sizes = in.array<uint32_t>();
        const auto ids = in.array<Id>();
        const auto shapes = in.array<uint16_t>();
        fresh.length_ = in.array<uint16_t>();
        in.finish();
        Reader::require(ids.size() == shapes.size() && sizes.size() <= fresh.terms.size(),
                        "postings are damaged");
        for (const uint16_t length : fresh.length_)
            if (length != ABSENT) fresh.count(length);
        fresh.postings_.resize(sizes.size());
        size_t at = 0;
        for (size_t term = 0; term < sizes.size(); ++term) {
            Reader::require(sizes[term] <= ids.size() - at, "postings are damaged");
            const auto from = static_cast<ptrdiff_t>(at);
            at += sizes[term];
            const auto to = static_cast<ptrdiff_t>(at);
            auto& list = fresh.postings_[term];
            list.ids.assign(ids.begin() + from, ids.begin() + to);
            list.shapes.assign(shapes.begin() + from, shapes.begin() + to);
            Reader::require(fresh.restore_bounds(list), "postings are damaged");
        }
        Reader::require(at == ids.size(), "postings are damaged");
        fresh.forward_ready_ = false;
        *this = std::move(fresh);
    }

private:
    static constexpr uint16_t ABSENT = 65535;
    static constexpr uint16_t LONGEST = 65534;

    static constexpr uint8_t LONG = 255; // a length that `length_` holds in full

    // One posting beside its document id: how often the term occurs, and how long the document
    // is, so that scoring reads straight on.
    static uint16_t shape(uint8_t tf, uint16_t length) {
        return static_cast<uint16_t>(tf << 8 | std::min<uint16_t>(length, LONG));
    }

    // Over all documents that ever had a term.
    struct Bounds {
        uint16_t most_tf = 0;
        uint16_t least_length = LONGEST;

        void add(uint8_t tf, uint16_t length) {
            most_tf = std::max<uint16_t>(most_tf, tf);
            least_length = std::min(least_length, length);
        }
    };

    struct Postings {
        std::vector<Id> ids;
        std::vector<uint16_t> shapes;
        Bounds bounds;

        void add(Id id, uint8_t tf, uint16_t length) {
            ids.push_back(id);
            shapes.push_back(shape(tf, length));
            bounds.add(tf, length);
        }
    };

    // The parts of a BM25 weight that do not depend on the term.
    struct Weights {
        Weights(const Lexical& index, float k1_, float b_)
            : k1(k1_), b(b_), documents(static_cast<float>(index.documents_)),
              average(static_cast<float>(index.total_length_) /
                      static_cast<float>(std::max<size_t>(index.documents_, 1))),
              width(std::min<size_t>(index.longest_ + size_t{1}, LONG)) {}

        float idf(size_t df) const {
            const float rarity = (documents - static_cast<float>(df) + 0.5f) / (static_cast<float>(df) + 0.5f);
            const float idf = natural_log(1.0f + rarity);
            return idf > 0.0f ? idf : rarity; // ln(1 + x) ~ x where single precision gives up
        }

        float of(float idf, float tf, float length) const {
            const float norm = k1 * ((1.0f - b) + b * length / average);
            return idf * ((tf * (k1 + 1.0f)) / (tf + norm));
        }

        float k1, b, documents, average;
        size_t width; // lengths worth tabulating
    };

    // One distinct term of a query: its postings, and its weights for the short documents that
    // facts are.
    struct Term {
        Term(const Lexical& index, Id id_, size_t times_, const Weights& weights_)
            : id(id_), times(times_), list(&index.postings_.at(id_)), lengths(&index.length_),
              weights(&weights_), idf(weights_.idf(list->ids.size())) {
            if (list->ids.size() < (TABLED >> 8) * weights->width) return; // fewer than table cells
            table.reset(new float[TABLED]);
            for (size_t tf = 1; tf << 8 < TABLED; ++tf)
                for (size_t length = 0; length < weights->width; ++length)
                    table[tf << 8 | length] =
                        weights->of(idf, static_cast<float>(tf), static_cast<float>(length));
        }

        float weight(size_t at) const {
            const size_t one = list->shapes[at];
            if (table && one < TABLED && (one & LONG) != LONG) return table[one];
            return weights->of(idf, static_cast<float>(one >> 8),
                               static_cast<float>((*lengths)[list->ids[at]]));
        }

        // No document gets more from this term, repeats included; a little more than exact, for
        // the sake of rounding.
        float bound() const {
            const float best = weights->of(idf, list->bounds.most_tf, list->bounds.least_length);
            return best * static_cast<float>(times) * 1.0001f;
        }

        Id id;
        size_t times;
        const Postings* list;
        const std::vector<uint16_t>* lengths;
        const Weights* weights;
        float idf;

    private:
        static constexpr size_t TABLED = 4 << 8; // shapes of the term frequencies 1 to 3
        std::unique_ptr<float[]> table;          // by shape, as far as `width`
    };

    struct Question {
        std::vector<Term> rarest_first;
        std::vector<size_t> order; // the query's terms, repeats included, as places in the above
    };

    Question distinct(const std::vector<Id>& terms, const Weights& weights) const {
        Question out;
        auto ids = terms;
        std::sort(ids.begin(), ids.end());
        for (size_t at = 0; at < ids.size();) {
            const size_t first = at;
            while (at < ids.size() && ids[at] == ids[first]) ++at;
            out.rarest_first.emplace_back(*this, ids[first], at - first, weights);
        }
        std::sort(out.rarest_first.begin(), out.rarest_first.end(), [](const Term& a, const Term& b) {
            return a.list->ids.size() != b.list->ids.size() ? a.list->ids.size() < b.list->ids.size()
                                                            : a.id < b.id;
        });
        std::vector<std::pair<Id, size_t>> places;
        for (const auto& term : out.rarest_first) places.push_back({term.id, places.size()});
        std::sort(places.begin(), places.end());
        for (const Id id : terms)
            out.order.push_back(
                std::lower_bound(places.begin(), places.end(), std::pair{id, size_t{0}})->second);
        return out;
    }

    static void search_one(const Term& term, TopK& top, const FactTable& facts, const Scope& scope) {
        const auto& ids = term.list->ids;
        for (size_t at = 0; at < ids.size(); ++at) {
            float score = term.weight(at);
            for (size_t time = 1; time < term.times; ++time) score += term.weight(at);
            if (top.wants(score) && facts.admits(scope, ids[at])) top.offer(score, ids[at]);
        }
    }

    // The rarest terms are added up first. Once all the others together can add less than the
    // limit-th best has, documents that have only those are out, and their postings are looked
    // up for the contenders alone (the idea of MaxScore, Turtle and Flood 1995).
    void search_many(const Question& question, size_t limit, TopK& top, const FactTable& facts,
                     const Scope& scope) const {
        thread_local std::vector<float> sums; // all zero between calls
        if (sums.size() < length_.size()) sums.resize(length_.size());
        const auto& terms = question.rarest_first;
        double rest = 0.0; // of very many terms, single precision would lose too much
        for (const auto& term : terms) rest += term.bound();
        float threshold = -std::numeric_limits<float>::infinity();
        std::vector<Id> touched;
        // What rounding may hide is far below a ten-thousandth.
        const auto contends = [&](float sum) { return (sum + std::max(rest, 0.0)) * 1.0001 >= threshold; };
        size_t summed = 0, added = 0, left = 0;
        for (const auto& term : terms) left += term.list->ids.size();
        bool to_the_end = false; // where looking up is more work than adding up
        for (; summed < terms.size(); ++summed) {
            if (rest < threshold && !to_the_end) {
                const auto contenders = std::count_if(touched.begin(), touched.end(),
                                                      [&](Id id) { return contends(sums[id]); });
                to_the_end = static_cast<size_t>(contenders) * terms.size() > left;
                if (!to_the_end) break;
            }
            left -= terms[summed].list->ids.size();
            rest -= terms[summed].bound();
            add_up(terms[summed], sums, touched);
            added += terms[summed].list->ids.size();
            // Not after every term of a long query, which would cost more than the sums.
            if (summed + 1 < terms.size() && added * 8 >= touched.size()) {
                threshold = limit_th_best(touched, sums, limit, facts, scope);
                added = 0;
            }
        }
        // A sum of two is the same in any order; more are added again in the order of the query.
        const bool exact = summed == terms.size() && question.order.size() <= 2;
        if (!exact && summed == terms.size())
            threshold = limit_th_best(touched, sums, limit, facts, scope);
        std::vector<float> parts(terms.size());
        for (const Id id : touched) {
            const float sum = sums[id];
            sums[id] = 0.0f;
            if (!contends(sum)) continue;
            const float score = exact ? sum : score_of(id, question, parts);
            if (top.wants(score) && facts.admits(scope, id)) top.offer(score, id);
        }
    }

    static void add_up(const Term& term, std::vector<float>& sums, std::vector<Id>& touched) {
        const auto times = static_cast<float>(term.times);
        const auto& ids = term.list->ids;
        for (size_t at = 0; at < ids.size(); ++at) {
            float& sum = sums[ids[at]];
            if (sum == 0.0f) touched.push_back(ids[at]);
            sum += times * term.weight(at);
        }
    }

    static float limit_th_best(const std::vector<Id>& touched, const std::vector<float>& sums,
                               size_t limit, const FactTable& facts, const Scope& scope) {
        TopK top(limit);
        for (const Id id : touched)
            if (top.wants(sums[id]) && facts.admits(scope, id)) top.offer(sums[id], id);
        return top.threshold();
    }

    // The exact score of one document: contributions in the order of the query's terms.
    static float score_of(Id id, const Question& question, std::vector<float>& parts) {
        for (size_t i = 0; i < parts.size(); ++i) parts[i] = contribution(question.rarest_first[i], id);
        float score = 0.0f;
        for (const size_t place : question.order) score += parts[place];
        return score;
    }

    static float contribution(const Term& term, Id id) {
        const auto& ids = term.list->ids;
        const auto at = std::lower_bound(ids.begin(), ids.end(), id);
        if (at == ids.end() || *at != id) return 0.0f;
        return term.weight(static_cast<size_t>(at - ids.begin()));
    }

    // Sorted terms with how often each occurs, at most 255 times.
    static std::vector<std::pair<Id, uint8_t>> count_runs(const std::vector<Id>& terms) {
        std::vector<std::pair<Id, uint8_t>> runs;
        for (const Id term : terms) {
            if (runs.empty() || runs.back().first != term) runs.push_back({term, 0});
            if (runs.back().second < 255) ++runs.back().second;
        }
        return runs;
    }

    void count(uint16_t length) {
        longest_ = std::max<uint32_t>(longest_, length);
        total_length_ += length;
        ++documents_;
    }

    // The bounds of postings read from an archive; false where they do not fit the documents.
    bool restore_bounds(Postings& list) const {
        bool fits = true; // no branch for each test: this is most of the time of a load
        int64_t before = -1;
        Bounds bounds;
        for (size_t i = 0; i < list.ids.size(); ++i) {
            const Id id = list.ids[i];
            if (id >= length_.size()) return false;
            const uint16_t length = length_[id];
            const auto tf = static_cast<uint8_t>(list.shapes[i] >> 8);
            fits = fits & (id > before) & (tf > 0) & (length != ABSENT) &
                   (list.shapes[i] == shape(tf, length));
            bounds.add(tf, length);
            before = id;
        }
        list.bounds = bounds;
        return fits;
    }

    void drop_absent(Postings& list) {
        size_t kept = 0;
        for (size_t i = 0; i < list.ids.size(); ++i) {
            if (length_[list.ids[i]] == ABSENT) continue;
            list.ids[kept] = list.ids[i];
            list.shapes[kept] = list.shapes[i];
            ++kept;
        }
        list.ids.resize(kept);
        list.shapes.resize(kept);
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
