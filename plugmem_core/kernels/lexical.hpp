// An incremental inverted index with BM25 scoring.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"
#include "logarithm.hpp"

namespace plugmem {

class Lexical {
public:
    Dictionary terms;

    // What makes the term of a word; without it a word is its own term. Asked once for each word.
    std::function<std::string(std::string_view)> stem;

    // The term of a word of a document, made if it is new.
    Id intern(std::string_view word, Id document) {
        if (!stem) return terms.intern(word);
        const Id known = words_.find(word);
        if (known != NONE) return term_of_[known];
        const Id term = terms.intern(stem(word));
        words_.intern(word);
        term_of_.push_back(term);
        met_.push_back(document);
        return term;
    }

    // The term of a word; `NONE` where no document ever had it.
    Id find(std::string_view word) const {
        if (!stem) return terms.find(word);
        const Id known = words_.find(word);
        return known == NONE ? terms.find(stem(word)) : term_of_[known];
    }

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
        const auto& lists = question.rarest_first;
        size_t postings = 0;
        float most = 0.0f;
        for (const auto& term : lists) {
            postings += term.list->ids.size();
            most += term.bound();
        }
        TopK top(limit, most);
        if (scope.allowed && scope.allowed->count() * lists.size() < postings)
            search_among(question, top, facts, scope);
        else if (lists.size() == 1)
            search_one(lists[0], top, facts, scope);
        else if (!lists.empty())
            search_many(question, top, facts, scope);
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

    // What a term would add to a document of average length that has it once.
    float worth(Id term, float k1, float b) const { return Weights(*this, k1, b).idf(df(term)); }

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
            out.push_back(jaccard(terms, unknown, id));
        }
        return out;
    }

    // The share of distinct terms that two documents have in common.
    struct Likeness {
        Id id, other;
        float share;
    };

    // Documents of facts beside the last `most` of the same entity before them, where they have
    // more than `least` in common.
    std::vector<Likeness> alike(const std::vector<Id>& ids, const IdLists& of_entity, const FactTable& facts,
                                const Scope& scope, size_t most, float least) {
        ensure_forward();
        std::vector<Likeness> out;
        for (const Id id : ids) {
            const Id entity = facts.entity(id);
            if (entity == NONE || !has(id)) continue;
            const auto [first, last] = forward_span(id);
            const std::vector<Id> terms(first, last);
            for (const Id other : of_entity.last(entity, most, id)) {
                if (!has(other) || !facts.admits(scope, other)) continue;
                const float share = jaccard(terms, 0, other);
                if (share > least) out.push_back({id, other, share});
            }
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

    // The first document from one on that may have a word; `NONE` without one. Without stems it
    // does have it; with them it has a word of the same term, and none has it before it was met.
    Id next_document(std::string_view word, Id from) const {
        const Id known = stem ? words_.find(word) : terms.find(word);
        if (known == NONE) return NONE;
        const Id term = stem ? term_of_[known] : known;
        if (!df(term)) return NONE;
        const auto& ids = postings_[term].ids;
        const auto at = std::lower_bound(ids.begin(), ids.end(), stem ? std::max(from, met_[known]) : from);
        return at == ids.end() ? NONE : *at;
    }

    std::string save() const {
        Writer out;
        terms.write(out);
        words_.write(out);
        out.array(term_of_);
        out.array(met_);
        std::vector<Bounds> bounds;
        for (const auto& list : postings_) bounds.push_back(list.bounds);
        out.lists(postings_, [](const Postings& list) -> const auto& { return list.ids; });
        out.lists(postings_, [](const Postings& list) -> const auto& { return list.shapes; });
        out.array(bounds);
        out.array(length_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        Lexical fresh;
        fresh.terms.read(in);
        fresh.words_.read(in);
        fresh.term_of_ = in.array<Id>();
        fresh.met_ = in.array<Id>();
        Reader::require(fresh.words_.size() == fresh.term_of_.size(), "words are damaged");
        Reader::require(fresh.words_.size() == fresh.met_.size(), "words are damaged");
        for (const Id term : fresh.term_of_) Reader::require(term < fresh.terms.size(), "words are damaged");
        auto ids = in.lists<Id>();
        auto shapes = in.lists<uint16_t>();
        const auto bounds = in.array<Bounds>();
        fresh.length_ = in.array<uint16_t>();
        in.finish();
        Reader::require(ids.size() <= fresh.terms.size() && shapes.size() == ids.size() &&
                            bounds.size() == ids.size(),
                        "postings are damaged");
        for (const uint16_t length : fresh.length_)
            if (length != ABSENT) fresh.count(length);
        fresh.postings_.resize(ids.size());
        for (size_t term = 0; term < ids.size(); ++term) {
            auto& list = fresh.postings_[term];
            list = {std::move(ids[term]), std::move(shapes[term]), bounds[term]};
            Reader::require(list.shapes.size() == list.ids.size() &&
                                ascend_below(list.ids, fresh.length_.size()),
                            "postings are damaged");
        }
        fresh.forward_ready_ = false;
        fresh.stem = std::move(stem); // a Python object perhaps, which is not copied without the GIL
        *this = std::move(fresh);
    }

private:
    static constexpr uint16_t ABSENT = 65535;
    static constexpr uint16_t LONGEST = 65534;

    static constexpr uint8_t LONG = 255; // a length that `length_` holds in full
    static constexpr size_t LOOK_UP = 64; // postings read on in the time that one is looked up

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

    // What a posting gets of its term's idf, by shape, for the short documents that facts are and
    // the term frequencies below 16; 0 for the others, which are worked out.
    struct Shares {
        static constexpr size_t SIZE = 16 << 8;

        static size_t place(uint16_t shape) { return std::min<size_t>(shape, SIZE - 1); }

        template <class Visit> void each(Visit visit) const {
            for (size_t tf = 1; tf << 8 < SIZE; ++tf)
                for (size_t length = 0; length < width; ++length)
                    visit(tf << 8 | length, by_shape[tf << 8 | length]);
        }

        float k1 = -1.0f, b = 0.0f, average = 0.0f;
        size_t width = 0; // lengths worth tabulating
        std::array<float, SIZE> by_shape{};
    };

    // The parts of a BM25 weight that do not depend on the term.
    struct Weights {
        Weights(const Lexical& index, float k1_, float b_)
            : k1(k1_), b(b_), documents(static_cast<float>(index.documents_)),
              average(static_cast<float>(index.total_length_) /
                      static_cast<float>(std::max<size_t>(index.documents_, 1))),
              shares(tabled(std::min<size_t>(index.longest_ + size_t{1}, LONG))) {}

        float idf(size_t df) const {
            const float rarity = (documents - static_cast<float>(df) + 0.5f) / (static_cast<float>(df) + 0.5f);
            const float idf = natural_log(1.0f + rarity);
            return idf > 0.0f ? idf : rarity; // ln(1 + x) ~ x where single precision gives up
        }

        float share(float tf, float length) const {
            const float norm = k1 * ((1.0f - b) + b * length / average);
            return (tf * (k1 + 1.0f)) / (tf + norm);
        }

        float k1, b, documents, average;
        const Shares& shares;

    private:
        // Made anew only after a write: the average length is in it.
        const Shares& tabled(size_t width) const {
            thread_local Shares known;
            if (known.k1 == k1 && known.b == b && known.average == average && known.width == width)
                return known;
            known.k1 = k1, known.b = b, known.average = average, known.width = width;
            known.by_shape.fill(0.0f);
            known.each([&](size_t shape, float) {
                known.by_shape[shape] = share(static_cast<float>(shape >> 8), static_cast<float>(shape & LONG));
            });
            return known;
        }
    };

    // One distinct term of a query, and its postings.
    struct Term {
        Term(const Lexical& index, Id id_, size_t times_, const Weights& weights_)
            : id(id_), times(times_), list(&index.postings_.at(id_)), lengths(&index.length_),
              weights(&weights_), idf(weights_.idf(list->ids.size())) {}

        float weight(size_t at) const {
            const uint16_t one = list->shapes[at];
            const float share = weights->shares.by_shape[Shares::place(one)];
            if (share > 0.0f) return idf * share;
            return idf * weights->share(static_cast<float>(one >> 8),
                                        static_cast<float>((*lengths)[list->ids[at]]));
        }

        // The weight of a posting, as often as the query has the term.
        float repeated(size_t at) const {
            const float once = weight(at);
            float sum = once;
            for (size_t time = 1; time < times; ++time) sum += once;
            return sum;
        }

        // No document gets more from this term, repeats included; a little more than exact, for
        // the sake of rounding.
        float bound() const {
            const float best = idf * weights->share(list->bounds.most_tf, list->bounds.least_length);
            return best * static_cast<float>(times) * 1.0001f;
        }

        Id id;
        size_t times;
        const Postings* list;
        const std::vector<uint16_t>* lengths;
        const Weights* weights;
        float idf;
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

    // Most postings of a frequent term cannot reach the best: their shape says so at one look.
    static void search_one(const Term& term, TopK& top, const FactTable& facts, const Scope& scope) {
        const auto& ids = term.list->ids;
        const auto& shapes = term.list->shapes;
        const Shares& shares = term.weights->shares;
        work.postings += ids.size();
        std::array<uint8_t, Shares::SIZE> hopeful;
        hopeful.fill(1);
        size_t offered = 0;
        for (size_t at = 0; at < ids.size(); ++at) {
            while (at + 4 <= ids.size() &&
                   !(hopeful[Shares::place(shapes[at])] | hopeful[Shares::place(shapes[at + 1])] |
                     hopeful[Shares::place(shapes[at + 2])] | hopeful[Shares::place(shapes[at + 3])]))
                at += 4;
            if (at == ids.size()) break;
            if (!hopeful[Shares::place(shapes[at])]) continue;
            const float score = term.repeated(at);
            if (!top.beats(score) || !facts.admits(scope, ids[at])) continue;
            top.offer(score, ids[at]);
            if (++offered % 64) continue;
            const float least = top.threshold();
            shares.each([&](size_t shape, float share) {
                hopeful[shape] = term.idf * share * static_cast<float>(term.times) * 1.0001f > least;
            });
        }
    }

    // A stretch of document ids whose sums fit the nearest cache.
    struct Window {
        static constexpr size_t SIZE = 4096;

        void add(size_t at, float weight) {
            sums[at] += weight;
            met[at / 64] |= uint64_t{1} << (at % 64);
        }

        std::array<float, SIZE> sums{};
        std::array<uint64_t, SIZE / 64> met{};
    };

    // Stretch by stretch, the weights of the driving terms are added up. Once the most frequent
    // terms together can add less than the limit-th best has, they stop driving: documents that
    // have only those are out, and they are looked up for the contenders alone (the idea of
    // MaxScore, Turtle and Flood 1995).
    static void search_many(const Question& question, TopK& top, const FactTable& facts,
                            const Scope& scope) {
        const auto& terms = question.rarest_first;
        // Added in the order of the query, repeats included, the sums are the exact scores. A query
        // of little but repeats would go over the same postings too often.
        const bool in_order = question.order.size() <= 2 * terms.size();
        std::vector<size_t> passes(in_order ? question.order.size() : terms.size());
        for (size_t i = 0; i < passes.size(); ++i) passes[i] = in_order ? question.order[i] : i;
        std::vector<double> rest(terms.size() + 1); // what the terms from one on can add together
        for (size_t i = terms.size(); i-- > 0;) rest[i] = rest[i + 1] + terms[i].bound();
        std::vector<size_t> at(terms.size()), start(terms.size());
        std::vector<float> parts(terms.size());
        size_t driving = terms.size();
        thread_local Window window; // empty between calls
        while (driving > 0) {
            const Id next = first_left(terms, at, driving);
            if (next == NONE) break;
            const size_t first = next / Window::SIZE * Window::SIZE;
            std::copy_n(at.begin(), driving, start.begin());
            for (const size_t place : passes) {
                if (place >= driving) continue;
                const size_t times = in_order ? 1 : terms[place].times;
                at[place] = add_up(terms[place], start[place], times, first, window);
            }
            const bool exact = in_order && driving == terms.size();
            // What rounding may hide is far below a ten-thousandth.
            const auto hopeless = [&] {
                return static_cast<float>(top.threshold() / 1.0001 - rest[driving]);
            };
            float bar = hopeless();
            for (size_t word = 0; word < window.met.size(); ++word) {
                for (uint64_t left = window.met[word]; left; left &= left - 1) {
                    const size_t place = word * 64 + static_cast<size_t>(__builtin_ctzll(left));
                    const float sum = window.sums[place];
                    window.sums[place] = 0.0f;
                    if (sum <= bar) continue;
                    const Id id = static_cast<Id>(first + place);
                    if (!facts.admits(scope, id)) continue;
                    const float score = exact ? sum : score_from(start, id, question, parts);
                    if (!top.beats(score)) continue;
                    top.offer(score, id);
                    bar = hopeless();
                }
                window.met[word] = 0;
            }
            while (driving > 0 && rest[driving - 1] * 1.0001 < top.threshold()) --driving;
        }
    }

    // The smallest document id that a driving term still has; NONE at the end.
    static Id first_left(const std::vector<Term>& terms, const std::vector<size_t>& at, size_t driving) {
        Id first = NONE;
        for (size_t i = 0; i < driving; ++i)
            if (at[i] < terms[i].list->ids.size()) first = std::min(first, terms[i].list->ids[at[i]]);
        return first;
    }

    // Add the weights of a term within a window; returns where its postings go on.
    static size_t add_up(const Term& term, size_t at, size_t times, size_t first, Window& window) {
        const auto& ids = term.list->ids;
        const size_t before = at;
        const auto often = static_cast<float>(times);
        for (; at < ids.size() && ids[at] - first < Window::SIZE; ++at)
            window.add(ids[at] - first, often * term.weight(at));
        work.postings += at - before;
        return at;
    }

    // Where few facts are allowed, the weights of each term are gathered for those alone.
    static void search_among(const Question& question, TopK& top, const FactTable& facts,
                             const Scope& scope) {
        const auto ids = scope.allowed->ids();
        const auto& terms = question.rarest_first;
        std::vector<float> weights(terms.size() * ids.size());
        for (size_t i = 0; i < terms.size(); ++i)
            gather(terms[i], ids, *scope.allowed, weights.data() + i * ids.size());
        for (size_t at = 0; at < ids.size(); ++at) {
            float score = 0.0f;
            for (const size_t place : question.order) score += weights[place * ids.size() + at];
            if (score > 0.0f && top.beats(score) && facts.admits(scope, ids[at])) top.offer(score, ids[at]);
        }
    }

    // The weights of one term in the documents of a set, whose ids are given too.
    static void gather(const Term& term, const std::vector<Id>& ids, const IdSet& allowed, float* weights) {
        const auto& held = term.list->ids;
        if (ids.size() * LOOK_UP < held.size()) {
            work.postings += ids.size();
            size_t place = 0;
            for (size_t at = 0; at < ids.size(); ++at) {
                place = seek(held, place, ids[at]);
                if (place < held.size() && held[place] == ids[at]) weights[at] = term.weight(place);
            }
            return;
        }
        work.postings += held.size();
        size_t at = 0;
        for (size_t place = 0; place < held.size(); ++place) {
            if (!allowed.has(held[place])) continue;
            while (ids[at] < held[place]) ++at;
            weights[at] = term.weight(place);
        }
    }

    // The exact score of one document: contributions in the order of the query's terms.
    static float score_of(Id id, const Question& question, std::vector<float>& parts) {
        std::vector<size_t> start(parts.size());
        return score_from(start, id, question, parts);
    }

    // The same, looking on from a place in each term's postings, which moves up to the document.
    static float score_from(std::vector<size_t>& start, Id id, const Question& question,
                            std::vector<float>& parts) {
        for (size_t i = 0; i < parts.size(); ++i) {
            const Term& term = question.rarest_first[i];
            start[i] = seek(term.list->ids, start[i], id);
            const bool found = start[i] < term.list->ids.size() && term.list->ids[start[i]] == id;
            parts[i] = found ? term.weight(start[i]) : 0.0f;
        }
        work.postings += parts.size();
        float score = 0.0f;
        for (const size_t place : question.order) score += parts[place];
        return score;
    }

    // The first place, from one on, whose id is not below another; by steps that double.
    static size_t seek(const std::vector<Id>& ids, size_t from, Id id) {
        size_t step = 1;
        while (from + step < ids.size() && ids[from + step] < id) {
            from += step;
            step *= 2;
        }
        const auto first = ids.begin() + static_cast<ptrdiff_t>(from);
        const auto last = ids.begin() + static_cast<ptrdiff_t>(std::min(from + step, ids.size()));
        return static_cast<size_t>(std::lower_bound(first, last, id) - ids.begin());
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

    // Whether ids ascend, the last of them below a number.
    static bool ascend_below(const std::vector<Id>& ids, size_t end) {
        bool ascend = true; // no branch for each: there are millions
        for (size_t i = 1; i < ids.size(); ++i) ascend &= ids[i - 1] < ids[i];
        return ascend && (ids.empty() || ids.back() < end);
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

    // The share that distinct terms, some of them unknown, have in common with those of a document.
    float jaccard(const std::vector<Id>& terms, size_t unknown, Id id) const {
        const auto [first, last] = forward_span(id);
        const size_t shared = count_shared(terms, first, last);
        const size_t all = terms.size() + unknown + static_cast<size_t>(last - first) - shared;
        return all ? static_cast<float>(shared) / static_cast<float>(all) : 0.0f;
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

    Dictionary words_; // those met, where they are stemmed
    std::vector<Id> term_of_;
    std::vector<Id> met_; // the document each was met in first
    std::vector<Postings> postings_; // by term
    std::vector<uint16_t> length_; // tokens of a document, by fact id
    std::vector<Id> forward_;
    std::vector<uint64_t> forward_end_;
    bool forward_ready_ = true; // trivially so while empty
    uint64_t documents_ = 0;
    uint64_t total_length_ = 0;
    uint32_t longest_ = 0;
};

} // namespace plugmem
