// The turns of sessions: which fact comes before and after which.
#pragma once

#include <vector>

#include "facts.hpp"

namespace plugmem {

class Turns {
public:
    // Put a fact at the end of a session; a new version of one of its turns goes behind that turn.
    void put(Id fact, Id session, Id revised) {
        if (has(fact)) return;
        if (fact >= turns_.size()) turns_.resize(fact + size_t{1});
        if (session >= last_.size()) last_.resize(session + size_t{1}, NONE);
        const bool in_place = has(revised) && turns_[revised].session == session;
        const Id before = in_place ? revised : last_[session];
        const Id after = in_place ? turns_[revised].next : NONE;
        turns_[fact] = {before, after, session};
        if (before != NONE) turns_[before].next = fact;
        (after != NONE ? turns_[after].previous : last_[session]) = fact;
    }

    void remove(const std::vector<Id>& facts) {
        for (const Id fact : facts) {
            if (!has(fact)) continue;
            const Turn gone = turns_[fact];
            if (gone.previous != NONE) turns_[gone.previous].next = gone.next;
            (gone.next != NONE ? turns_[gone.next].previous : last_[gone.session]) = gone.previous;
            turns_[fact] = {};
        }
    }

    bool has(Id fact) const { return fact < turns_.size() && turns_[fact].session != NONE; }

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

    // A session from its last turn to its first, whether admitted or not.
    std::vector<Id> backwards(Id session) const {
        std::vector<Id> out;
        for (Id at = session < last_.size() ? last_[session] : NONE; at != NONE; at = turns_[at].previous)
            out.push_back(at);
        return out;
    }

    bool empty() const { return turns_.empty(); }

    std::string save() const {
        Writer out;
        out.array(turns_);
        out.array(last_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        Turns fresh;
        fresh.turns_ = in.array<Turn>();
        fresh.last_ = in.array<Id>();
        in.finish();
        const auto follows = [&](Id at, Id Turn::*step, Id back) { // the two sides of a link agree
            return at == NONE || (fresh.has(at) && fresh.turns_[at].*step == back);
        };
        for (Id fact = 0; fact < fresh.turns_.size(); ++fact) {
            const Turn& turn = fresh.turns_[fact];
            Reader::require(turn.session == NONE ||
                                (turn.session < fresh.last_.size() && follows(turn.previous, &Turn::next, fact) &&
                                 follows(turn.next, &Turn::previous, fact)),
                            "turns are damaged");
        }
        for (const Id last : fresh.last_) Reader::require(follows(last, &Turn::next, NONE), "turns are damaged");
        *this = std::move(fresh);
    }

private:
    struct Turn {
        Id previous = NONE, next = NONE;
        Id session = NONE; // `NONE` for a fact that is no turn
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
    std::vector<Id> last_;    // the last turn of each session
};

} // namespace plugmem
