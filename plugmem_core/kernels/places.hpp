// Few ids, numbered in the order met.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "facts.hpp"

namespace plugmem {

// Rows by id; open addressing, for the few hundred facts or nodes that one recall meets.
class Places {
public:
    explicit Places(size_t most) {
        size_t size = 16;
        while (size < 2 * most) size *= 2;
        places_.assign(size, {NONE, 0});
    }

    // The row of a fact, or `next` for one not met before.
    size_t find_or_add(Id id, size_t next) {
        if (2 * (next + 1) > places_.size()) grow();
        auto& place = places_[slot(id)];
        if (place.first == NONE) place = {id, static_cast<uint32_t>(next)};
        return place.second;
    }

    // The row of a fact; the greatest number there is for one not met.
    size_t find(Id id) const {
        const auto& place = places_[slot(id)];
        return place.first == NONE ? std::numeric_limits<size_t>::max() : place.second;
    }

private:
    size_t slot(Id id) const {
        size_t at = (id * 2654435769u) & (places_.size() - 1);
        while (places_[at].first != NONE && places_[at].first != id) at = (at + 1) & (places_.size() - 1);
        return at;
    }

    void grow() {
        auto before = std::move(places_);
        places_.assign(2 * before.size(), {NONE, 0});
        for (const auto& place : before)
            if (place.first != NONE) places_[slot(place.first)] = place;
    }

    std::vector<std::pair<Id, uint32_t>> places_;
};

} // namespace plugmem
