// The candidates of a recall, each with its exact scores and with the points every signal gives it.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "facts.hpp"
#include "fusion.hpp"
#include "lexical.hpp"
#include "lists.hpp"
#include "turns.hpp"
#include "vectors.hpp"

namespace plugmem {

// Where a candidate leads: facts, each with the weight of the entity that leads there.
struct Links {
    std::vector<Id> facts;
    std::vector<float> weights;
};

// The admitted facts about the entities that a fact mentions, the newest `most` of each. An
// entity weighs the less, the more of the N facts there are mention it or are about it:
//   weight = (1 - ln(1 + uses) / ln(1 + N))^2
inline Links links_of(Id fact, const IdLists& mentions, const IdLists& mentioned, const IdLists& about,
                      size_t most, const FactTable& facts, const Scope& scope) {
    Links out;
    const float all = std::log1p(static_cast<float>(facts.stored()));
    for (const Id entity : mentions.list(fact)) {
        const auto& named = about.list(entity);
        const auto uses = static_cast<float>(named.size() + mentioned.list(entity).size());
        const float rarity = std::max(0.0f, 1.0f - std::log1p(uses) / all);
        size_t found = 0;
        for (auto at = named.rbegin(); at != named.rend() && found < most; ++at) {
            if (*at == fact || !facts.admits(scope, *at)) continue;
            out.facts.push_back(*at);
            out.weights.push_back(rarity * rarity);
            ++found;
        }
    }
    return out;
}

class Pool {
public:
    // Holds nothing yet; the sum of a candidate's points is its score.
    Pool(size_t signals, size_t lists) : points_(signals), places_(lists), index_(512) {}

    // Take candidates in that are new, and say of all that a list ranked them.
    void add(const Ranked& ranked, size_t list) {
        auto& places = places_.at(list);
        for (size_t place = 0; place < ranked.ids.size(); ++place) {
            const size_t row = row_of(ranked.ids[place]);
            if (places.size() <= row) places.resize(row + 1);
            places[row] = {static_cast<uint32_t>(place + 1), ranked.scores[place]};
        }
    }

    // Take candidates in that are new, on no list's account.
    void bring(const std::vector<Id>& ids) {
        for (const Id id : ids) row_of(id);
    }

    // The exact BM25 of every candidate that has none yet.
    void match(const Lexical& lexical, const std::vector<Id>& terms, float k1, float b) {
        const auto scores = lexical.scores(terms, k1, b, fresh());
        words_.insert(words_.end(), scores.begin(), scores.end());
    }

    // Candidates about an entity, as far as `fuse` has not seen them, count as if their text had the
    // terms of its name once.
    void name(const Lexical& lexical, const std::vector<Id>& terms, float k1, float b, Id entity,
              const FactTable& facts) {
        for (size_t row = fused_; row < words_.size(); ++row) {
            if (facts.entity(ids_[row]) != entity) continue;
            for (const Id term : terms)
                if (!lexical.holds({term}, {ids_[row]})[0]) words_[row] += lexical.worth(term, k1, b);
        }
    }

    // The candidates that `match` has not seen.
    std::vector<Id> fresh() const {
        return {ids_.begin() + static_cast<ptrdiff_t>(words_.size()), ids_.end()};
    }

    // The same by a scorer of the caller's.
    void match_as(const std::vector<float>& scores) {
        words_.insert(words_.end(), scores.begin(), scores.end());
        if (words_.size() != ids_.size()) throw std::invalid_argument("one score a new candidate");
    }

    // The exact cosine of every candidate that has none yet; NaN without a vector or below `floor`.
    void measure(const VectorPool& vectors, const float* query, float floor) {
        const std::vector<Id> fresh(ids_.begin() + static_cast<ptrdiff_t>(cosines_.size()), ids_.end());
        for (const float cosine : vectors.cosines(query, fresh))
            cosines_.push_back(cosine < floor ? NAN : cosine);
    }

    // Points for words and for the vector of every candidate that has none yet, each on a scale
    // from 0 to its weight:
    //   words  = weight * bm25 / max        vector = weight * (cosine - lo) / (hi - lo)
    // with max, lo and hi over those candidates that were there at the first call.
    void fuse(size_t words, float words_weight, size_t vector, float vector_weight) {
        if (fused_ == 0) set_scale();
        for (size_t row = fused_; row < ids_.size(); ++row) {
            if (row < words_.size() && most_ > 0.0f)
                give(row, words, words_weight * std::min(1.0f, words_[row] / most_));
            if (row < cosines_.size() && cosines_[row] >= low_)
                give(row, vector, vector_weight * (high_ > low_ ? std::min(1.0f, (cosines_[row] - low_) / (high_ - low_)) : 1.0f));
        }
        fused_ = ids_.size();
    }

    // Facts about one of the entities rise to its share of `points`.
    void about(size_t signal, const std::vector<Id>& entities, const std::vector<float>& shares,
               float points, const FactTable& facts) {
        for (size_t row = 0; row < ids_.size(); ++row) {
            const Id entity = facts.entity(ids_[row]);
            if (entity == NONE) continue;
            for (size_t i = 0; i < entities.size(); ++i)
                if (entities[i] == entity) lift(row, signal, points * std::min(1.0f, shares[i]));
        }
    }

    // What a list ranked rises to `points` times its raw score, at most `points`.
    void listed(size_t signal, size_t list, float points) {
        const auto& places = places_.at(list);
        for (size_t row = 0; row < places.size(); ++row)
            if (places[row].rank) lift(row, signal, points * std::min(1.0f, places[row].raw));
    }

    // The same by place: points / (1 + place / depth), counted from 0.
    void placed(size_t signal, size_t list, float points, float depth) {
        const auto& places = places_.at(list);
        for (size_t row = 0; row < places.size(); ++row)
            if (places[row].rank)
                lift(row, signal, points / (1.0f + static_cast<float>(places[row].rank - 1) / depth));
    }

    // Facts that were recorded, or began to hold, in [start, end) rise to `points`; up to `after`
    // milliseconds later to half of it.
    void within(size_t signal, Millis start, Millis end, Millis after, float points, const FactTable& facts) {
        for (size_t row = 0; row < ids_.size(); ++row)
            for (const Millis at : {facts.recorded(ids_[row]), facts.from(ids_[row])})
                if (at >= start && at - after < end) lift(row, signal, at < end ? points : points / 2);
    }

    // Facts whose text has one of the terms rise to `points`.
    void naming(size_t signal, const Lexical& lexical, const std::vector<Id>& terms, float points) {
        const auto named = lexical.holds(terms, ids_);
        for (size_t row = 0; row < ids_.size(); ++row)
            if (named[row]) lift(row, signal, points);
    }

    // Each turn gets shares of what the turns before and after it have.
    void neighbours(size_t signal, const Turns& turns, float before, float after, const FactTable& facts,
                    const Scope& scope) {
        const auto scores = scores_;
        for (size_t row = 0; row < ids_.size(); ++row) {
            float points = 0.0f;
            const Id previous = turns.previous(ids_[row], facts, scope);
            const Id next = turns.next(ids_[row], facts, scope);
            if (const size_t at = find(previous); at != MISSING) points += before * scores[at];
            if (const size_t at = find(next); at != MISSING) points += after * scores[at];
            if (points > 0.0f) give(row, signal, points);
        }
    }

    // A linked candidate may rise to min(own + share * weight * seed, cap * seed); it never falls.
    void link(size_t signal, Id seed, const Links& links, float share, float cap) {
        const float best = scores_.at(find(seed));
        for (size_t i = 0; i < links.facts.size(); ++i) {
            const size_t row = find(links.facts[i]);
            if (row == MISSING || links.facts[i] == seed) continue;
            const float own = scores_[row] - points(signal, row);
            lift(row, signal, std::min(own + share * links.weights[i] * best, cap * best) - own);
        }
    }

    // The candidates with all their points, ready to be put in order.
    Fused rank(float boost, float half_life, Millis now, const FactTable& facts) const {
        Fused out{{}, boost, half_life, now, true, &facts};
        out.candidates.reserve(ids_.size());
        for (size_t row = 0; row < ids_.size(); ++row) {
            uint32_t sources = 0;
            for (size_t list = 0; list < places_.size(); ++list)
                if (row < places_[list].size() && places_[list][row].rank) sources |= 1u << list;
            out.candidates.push_back({ids_[row], scores_[row], sources});
        }
        return out;
    }

    // The best candidates so far.
    std::vector<Id> best(size_t count) const {
        TopK top(count);
        for (size_t row = 0; row < ids_.size(); ++row)
            if (top.wants(scores_[row])) top.offer(scores_[row], ids_[row]);
        return top.take().ids;
    }

    size_t size() const { return ids_.size(); }
    size_t find(Id id) const { return id == NONE ? MISSING : index_.find(id); }
    float bm25(size_t row) const { return row < words_.size() ? words_[row] : 0.0f; }
    float cosine(size_t row) const { return row < cosines_.size() ? cosines_[row] : NAN; }
    float points(size_t signal, size_t row) const {
        return row < points_[signal].size() ? points_[signal][row] : 0.0f;
    }
    size_t signals() const { return points_.size(); }
    uint32_t place(size_t list, size_t row) const {
        return row < places_[list].size() ? places_[list][row].rank : 0;
    }
    float raw(size_t list, size_t row) const {
        return row < places_[list].size() ? places_[list][row].raw : 0.0f;
    }
    size_t lists() const { return places_.size(); }

    static constexpr size_t MISSING = std::numeric_limits<size_t>::max();

private:
    struct Place {
        uint32_t rank = 0; // from 1; 0 where the list has not ranked the candidate
        float raw = 0.0f;
    };

    size_t row_of(Id id) {
        const size_t row = index_.find_or_add(id, ids_.size());
        if (row == ids_.size()) {
            ids_.push_back(id);
            scores_.push_back(0.0f);
        }
        return row;
    }

    void give(size_t row, size_t signal, float points) {
        auto& all = points_[signal];
        if (all.size() <= row) all.resize(row + 1);
        all[row] += points;
        scores_[row] += points;
    }

    void lift(size_t row, size_t signal, float points) {
        const float more = points - this->points(signal, row);
        if (more > 0.0f) give(row, signal, more);
    }

    void set_scale() {
        for (const float words : words_) most_ = std::max(most_, words);
        for (const float cosine : cosines_) {
            if (std::isnan(cosine)) continue;
            low_ = std::min(low_, cosine);
            high_ = std::max(high_, cosine);
        }
    }

    std::vector<Id> ids_;
    std::vector<float> scores_;              // by row
    std::vector<float> words_, cosines_;     // by row, as far as they are known
    std::vector<std::vector<float>> points_; // by signal and row
    std::vector<std::vector<Place>> places_; // by list and row
    Places index_;                           // the row of a fact
    size_t fused_ = 0;
    float most_ = 0.0f;
    float low_ = std::numeric_limits<float>::infinity(), high_ = -std::numeric_limits<float>::infinity();
};

} // namespace plugmem
