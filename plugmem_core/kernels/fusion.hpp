// Reciprocal-rank fusion with a recency boost.
#pragma once

#include <cmath>
#include <vector>

#include "facts.hpp"
#include "places.hpp"

namespace plugmem {

// Candidates with their points. Scores are points times 1 + boost * 2^(-age / half_life).
struct Fused {
    struct Candidate {
        Id id;
        float points;
        uint32_t sources; // bit i is set when list i ranked the fact
    };

    struct Row {
        Id id;
        float score;
        uint32_t sources;
        uint32_t bytes; // of its text
        Millis recorded;
    };

    // The best `count`: by score descending, then the later recorded first if that is asked, then
    // by id.
    std::vector<Row> rows(size_t count) const {
        std::vector<Row> out;
        count = std::min(count, candidates.size());
        // A score is between the points and the points times 1 + boost, so that most candidates
        // cannot be among the best, and their age is not looked at.
        const float least = nth(count);
        for (const auto& one : candidates) {
            if (one.points * (1.0f + boost) < least) continue;
            facts->prefetch(one.id);
            out.push_back({one.id, one.points, one.sources, 0, 0});
        }
        for (auto& row : out) {
            row.bytes = facts->bytes(row.id);
            row.recorded = facts->recorded(row.id);
            const Millis elapsed = now - row.recorded;
            const float age = elapsed > 0 ? static_cast<float>(elapsed) : 0.0f;
            row.score *= 1.0f + boost * std::exp2(-age / half_life);
        }
        std::partial_sort(out.begin(), out.begin() + static_cast<ptrdiff_t>(count), out.end(),
                          [this](const Row& a, const Row& b) {
                              if (a.score != b.score) return a.score > b.score;
                              if (newest_first && a.recorded != b.recorded) return a.recorded > b.recorded;
                              return a.id < b.id;
                          });
        out.resize(count);
        return out;
    }

    std::vector<Candidate> candidates;
    float boost, half_life;
    Millis now;
    bool newest_first;
    const FactTable* facts;

private:
    // The points of the candidate at a place, counted from 1, by points.
    float nth(size_t place) const {
        if (place == 0 || place == candidates.size()) return -std::numeric_limits<float>::infinity();
        std::vector<float> points;
        points.reserve(candidates.size());
        for (const auto& one : candidates) points.push_back(one.points);
        const auto at = points.begin() + static_cast<ptrdiff_t>(place - 1);
        std::nth_element(points.begin(), at, points.end(), std::greater<float>());
        return *at;
    }
};

// points(f) = sum over lists of weight / (k + rank), rank counted from 1; in single precision,
// lists in the order given.
inline Fused fuse(const std::vector<const Ranked*>& lists, const std::vector<float>& weights, float k,
                  float boost, float half_life, Millis now, const FactTable& facts) {
    Fused out{{}, boost, half_life, now, false, &facts};
    size_t most = 0;
    for (const auto* list : lists) most += list->ids.size();
    out.candidates.reserve(most);
    Places places(most);
    for (size_t list = 0; list < lists.size(); ++list) {
        const auto& ids = lists[list]->ids;
        for (size_t rank = 0; rank < ids.size(); ++rank) {
            const size_t place = places.find_or_add(ids[rank], out.candidates.size());
            if (place == out.candidates.size()) out.candidates.push_back({ids[rank], 0.0f, 0});
            auto& one = out.candidates[place];
            one.points += weights[list] / (k + static_cast<float>(rank) + 1.0f);
            one.sources |= 1u << list;
        }
    }
    return out;
}

} // namespace plugmem
