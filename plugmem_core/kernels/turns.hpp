// The turns of sessions: which fact comes before and after which.
#pragma once

#include <vector>

#include "facts.hpp"

namespace plugmem {

class Turns {
public:
    // Put a fact behind another one, or at the beginning of a session behind `NONE`.
    void put(Id fact, Id behind) {
        if (has(fact)) return;
        const size_t size = std::max(fact, behind == NONE ? 0 : behind) + size_t{1};
        if (size > turns_.size()) turns_.resize(size);
        const Id next = behind == NONE ? NONE : turns_[behind].next;
        turns_[fact] = {behind, next, true};
        if (behind != NONE) turns_[behind].next = fact;
        if (next != NONE) turns_[next].previous = fact;
    }

    void remove(const std::vector<Id>& facts) {
        for (const Id fact : facts) {
            if (!has(fact)) continue;
            const Turn gone = turns_[fact];
            if (gone.previous != NONE) turns_[gone.previous].next = gone.next;
            if (gone.next != NONE) turns_[gone.next].previous = gone.previous;
            turns_[fact] = {};
        }
    }

    bool has(Id fact) const { return fact < turns_.size() && turns_[fact].present; }

    // The admitted turn before a fact; superseded versions and the like are passed over.
    Id previous(Id fact, const FactTable& facts, const Scope& scope) const {
        return walk(fact, &Turn::previous, facts, scope);
    }

    Id next(Id fact, const FactTable& facts, const Scope& scope) const {
        return walk(fact, &Turn::next, facts, scope);
    }

    // The admitted turns beside some facts.
    std::vector<Id> beside(const std::vector<Id>& chosen, const FactTable& facts, const Scope& scope) const {
        std::vector<Id> out;
        for (const Id fact : chosen)
            for (const Id other : {previous(fact, facts, scope), next(fact, facts, scope)})
                if (other != NONE) out.push_back(other);
        return out;
    }

    Id behind(Id fact) const { return has(fact) ? turns_[fact].previous : NONE; }
    bool empty() const { return turns_.empty(); }

    std::string save() const {
        Writer out;
        out.array(turns_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        Turns fresh;
        fresh.turns_ = in.array<Turn>();
        in.finish();
        for (const Turn& turn : fresh.turns_)
            for (const Id other : {turn.previous, turn.next})
                Reader::require(other == NONE || fresh.has(other), "turns are damaged");
        *this = std::move(fresh);
    }

private:
    struct Turn {
        Id previous = NONE, next = NONE;
        uint32_t present = 0;
    };

    static constexpr size_t FARTHEST = 8; // turns that are not admitted, between two that are

    Id walk(Id fact, Id Turn::*step, const FactTable& facts, const Scope& scope) const {
        if (!has(fact)) return NONE;
        for (size_t steps = 0; steps < FARTHEST; ++steps) {
            fact = turns_[fact].*step;
            if (fact == NONE || facts.admits(scope, fact)) return fact;
        }
        return NONE;
    }

    std::vector<Turn> turns_; // by fact id; empty while no fact belongs to a session
};

} // namespace plugmem
