// Reciprocal-rank fusion with a recency boost.
#pragma once

#include <cmath>
#include <vector>

#include "facts.hpp"
#include "places.hpp"

namespace plugmem {

struct Fused {
    struct Row {
        Id id;
        float score;
        uint32_t sources; // bit i is set when list i ranked the fact
        uint32_t bytes;   // of its text
    };

    // Put the best `count` rows in order, by (score desc, id asc) unless they are in another already;
    // most are never looked at.
    void order(size_t count) {
        count = std::min(count, rows.size());
        if (count <= ordered) return;
        std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), rows.end(),
                          [](const auto& a, const auto& b) {
                              return a.score != b.score ? a.score > b.score : a.id < b.id;
                          });
        ordered = count;
    }

    std::vector<Row> rows;
    size_t ordered = 0; // so many are in order, all others behind them
};

// score(f) = sum over lists of weight / (k + rank), rank counted from 1, times
// 1 + boost * 2^(-age / half_life); in single precision, lists in the order given.
inline Fused fuse(const std::vector<const Ranked*>& lists, const std::vector<float>& weights, float k,
                  float boost, float half_life, Millis now, const FactTable& facts) {
    Fused out;
    size_t most = 0;
    for (const auto* list : lists) most += list->ids.size();
    out.rows.reserve(most);
    for (const auto* list : lists)
        for (const Id id : list->ids) facts.prefetch(id);
    Places places(most);
    for (size_t list = 0; list < lists.size(); ++list) {
        const auto& ids = lists[list]->ids;
        for (size_t rank = 0; rank < ids.size(); ++rank) {
            const size_t place = places.find_or_add(ids[rank], out.rows.size());
            if (place == out.rows.size()) out.rows.push_back({ids[rank], 0.0f, 0, facts.bytes(ids[rank])});
            auto& row = out.rows[place];
            row.score += weights[list] / (k + static_cast<float>(rank) + 1.0f);
            row.sources |= 1u << list;
        }
    }
    for (auto& row : out.rows) {
        const Millis elapsed = now - facts.recorded(row.id);
        const float age = elapsed > 0 ? static_cast<float>(elapsed) : 0.0f;
        row.score *= 1.0f + boost * std::exp2(-age / half_life);
    }
    return out;
}

} // namespace plugmem
