// Every edge version, the current ones by node, and a bounded breadth-first walk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"
#include "places.hpp"

namespace plugmem {

struct Edge {
    Id src = NONE, dst = NONE, relation = NONE, provenance = NONE;
    Millis recorded = 0, from = 0, to = OPEN, closed_at = OPEN;
};

// Copies of edge versions, which stay as they were when they were made.
struct EdgeRows {
    std::vector<Id> ids;
    std::vector<Edge> edges;

    EdgeRows first(size_t count) const {
        EdgeRows out{ids, edges};
        out.ids.resize(std::min(count, ids.size()));
        out.edges.resize(out.ids.size());
        return out;
    }
};

struct WalkLimits {
    size_t depth, edges, nodes;
    float decay;
};

struct CandidateLimits {
    size_t facts, examined, kept;
    float provenance_weight;
};

// What a walk saw: edges in the order met, nodes in the order reached with their weights.
struct Walk {
    std::vector<Id> edges;
    std::vector<Id> nodes;
    std::vector<float> weights;
};

class Graph {
    // Orders of a node's edges; first, because their types are deduced.
    auto by_start() const {
        return [this](Id a, Id b) {
            return edges_[a].from != edges_[b].from ? edges_[a].from < edges_[b].from : a < b;
        };
    }

    auto by_relation(bool outgoing) const {
        return [this, outgoing](Id a, Id b) {
            const Edge &x = edges_[a], &y = edges_[b];
            const uint64_t rank_x = rank(x.relation), rank_y = rank(y.relation);
            if (rank_x != rank_y) return rank_x < rank_y;
            if (x.relation != y.relation) return x.relation < y.relation;
            const Id far_x = outgoing ? x.dst : x.src, far_y = outgoing ? y.dst : y.src;
            return far_x != far_y ? far_x < far_y : a < b;
        };
    }

public:
    // The place of a relation in the order in which current edges are walked.
    void put_relation(Id relation, uint64_t rank) {
        if (relation >= ranks_.size()) ranks_.resize(relation + size_t{1});
        ranks_[relation] = rank;
    }

    void put(Id id, const Edge& edge) {
        if (id >= edges_.size()) edges_.resize(id + size_t{1});
        if (edges_[id].src != NONE) detach(id);
        edges_[id] = edge;
        const size_t nodes = std::max(edge.src, edge.dst) + size_t{1};
        if (nodes > nodes_.size()) nodes_.resize(nodes);
        insert(nodes_[edge.src].out, id, by_start());
        insert(nodes_[edge.dst].in, id, by_start());
        if (edge.to == OPEN) ++open_;
        if (!may_hold(edge)) return;
        insert(nodes_[edge.src].open_out, id, by_relation(true));
        insert(nodes_[edge.dst].open_in, id, by_relation(false));
    }

    // Breadth first from the anchors. With `history`, versions that hold in the scope, the
    // latest start first; without, the open edges by relation and far node.
    Walk walk(const std::vector<Id>& anchors, const WalkLimits& limits, const Scope& scope,
              bool history) const {
        Walk seen;
        Places known_nodes(64);
        Statements known_edges;
        for (const Id anchor : anchors) reach(seen, known_nodes, anchor, 1.0f);
        size_t start = 0;
        float weight = 1.0f;
        bool full = false;
        for (size_t hop = 0; hop < limits.depth && start < seen.nodes.size(); ++hop) {
            const size_t end = seen.nodes.size();
            weight *= limits.decay;
            for (; start < end; ++start) {
                const Id node = seen.nodes[start];
                for (const bool outgoing : {true, false}) {
                    each_at(node, outgoing, scope, history, [&](Id id) {
                        ++work.edges;
                        if (seen.edges.size() < limits.edges && known_edges.add(edges_[id], id, edges_))
                            seen.edges.push_back(id);
                        const Id far = outgoing ? edges_[id].dst : edges_[id].src;
                        if (seen.nodes.size() < limits.nodes) reach(seen, known_nodes, far, weight);
                        full = seen.edges.size() >= limits.edges && seen.nodes.size() >= limits.nodes;
                        return !full;
                    });
                    if (full) return seen;
                }
            }
        }
        return seen;
    }

    // Admitted facts about the nodes of a walk, then those its edges follow from.
    Ranked candidates(const Walk& walk, const IdLists& facts_of, const CandidateLimits& limits,
                      const FactTable& facts, const Scope& scope) const {
        Places known(256);
        std::vector<std::pair<float, Id>> found;
        size_t examined = 0;
        bool full = false; // of facts, or of what may be examined
        for (size_t i = 0; i < walk.nodes.size() && !full; ++i) {
            for (const Id fact : facts_of.list(walk.nodes[i])) {
                full = found.size() >= limits.facts || ++examined > limits.examined;
                if (full) break;
                if (facts.admits(scope, fact) && known.find_or_add(fact, found.size()) == found.size())
                    found.push_back({walk.weights[i], fact});
            }
        }
        for (const Id edge : walk.edges) {
            const Id fact = edges_[edge].provenance;
            if (found.size() >= limits.facts) break;
            if (fact != NONE && facts.admits(scope, fact) &&
                known.find_or_add(fact, found.size()) == found.size())
                found.push_back({limits.provenance_weight, fact});
        }
        work.facts += examined;
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        if (found.size() > limits.kept) found.resize(limits.kept);
        Ranked out;
        for (const auto& [weight, fact] : found) out.push(fact, weight);
        return out;
    }

    // Every field of a version, for comparison with truth; empty where there is none.
    std::vector<Millis> row(Id id) const {
        if (id >= edges_.size() || edges_[id].src == NONE) return {};
        const Edge& edge = edges_[id];
        return {Millis{edge.src}, Millis{edge.relation}, Millis{edge.dst}, Millis{edge.provenance},
                edge.recorded, edge.from, edge.to, edge.closed_at};
    }

    EdgeRows rows(const Walk& walk) const {
        EdgeRows out{walk.edges, {}};
        out.edges.reserve(out.ids.size());
        for (const Id id : out.ids) out.edges.push_back(edges_.at(id));
        return out;
    }

    size_t size() const { return edges_.size(); }
    size_t open() const { return open_; }

    std::string save() const {
        Writer out;
        out.array(edges_);
        out.array(ranks_);
        for (const auto member : LISTS)
            out.lists(nodes_, [member](const Node& node) -> const auto& { return node.*member; });
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        Graph fresh;
        fresh.edges_ = in.array<Edge>();
        fresh.ranks_ = in.array<uint64_t>();
        for (const auto member : LISTS) {
            auto lists = in.lists<Id>();
            if (member == LISTS[0]) fresh.nodes_.resize(lists.size());
            Reader::require(lists.size() == fresh.nodes_.size(), "edges are damaged");
            for (size_t node = 0; node < lists.size(); ++node) {
                for (const Id id : lists[node]) Reader::require(id < fresh.edges_.size(), "edges are damaged");
                fresh.nodes_[node].*member = std::move(lists[node]);
            }
        }
        in.finish();
        for (const auto& edge : fresh.edges_) {
            if (edge.src == NONE) continue;
            Reader::require(edge.relation < fresh.ranks_.size(), "edges are damaged");
            Reader::require(std::max(edge.src, edge.dst) < fresh.nodes_.size(), "edges are damaged");
            if (edge.to == OPEN) ++fresh.open_;
        }
        *this = std::move(fresh);
    }

private:
    struct Node {
        std::vector<Id> out, in;           // every version, by (valid_from, id)
        std::vector<Id> open_out, open_in; // those that may hold now, by (relation, far node)
    };

    static constexpr std::vector<Id> Node::*LISTS[] = {&Node::out, &Node::in, &Node::open_out, &Node::open_in};

    // The statements of the edges met; of one statement, two versions may hold at an instant
    // when starts were chosen by hand.
    class Statements {
    public:
        // Whether an edge says what none before it said.
        bool add(const Edge& edge, Id id, const std::vector<Edge>& edges) {
            if (2 * ++size_ > slots_.size()) grow(edges);
            Id& slot = slots_[place(edge, edges)];
            if (slot != NONE) return --size_, false;
            slot = id;
            return true;
        }

    private:
        static bool same(const Edge& a, const Edge& b) {
            return a.src == b.src && a.dst == b.dst && a.relation == b.relation &&
                   a.provenance == b.provenance;
        }

        size_t place(const Edge& edge, const std::vector<Edge>& edges) const {
            uint64_t hash = (uint64_t{edge.src} << 32 | edge.dst) * 0x9e3779b97f4a7c15ULL;
            hash = (hash ^ hash >> 29 ^ (uint64_t{edge.relation} << 32 | edge.provenance)) *
                   0x9e3779b97f4a7c15ULL;
            size_t at = (hash >> 32) & (slots_.size() - 1);
            while (slots_[at] != NONE && !same(edges[slots_[at]], edge)) at = (at + 1) & (slots_.size() - 1);
            return at;
        }

        void grow(const std::vector<Edge>& edges) {
            auto before = std::move(slots_);
            slots_.assign(2 * before.size(), NONE);
            for (const Id id : before)
                if (id != NONE) slots_[place(edges[id], edges)] = id;
        }

        std::vector<Id> slots_ = std::vector<Id>(256, NONE);
        size_t size_ = 0;
    };

    static void reach(Walk& walk, Places& known, Id node, float weight) {
        const size_t next = walk.nodes.size();
        if (known.find_or_add(node, next) != next) return;
        walk.nodes.push_back(node);
        walk.weights.push_back(weight);
    }

    uint64_t rank(Id relation) const { return relation < ranks_.size() ? ranks_[relation] : 0; }

    template <class Order> static void insert(std::vector<Id>& list, Id id, Order order) {
        if (list.empty() || order(list.back(), id)) {
            list.push_back(id);
        } else {
            list.insert(std::lower_bound(list.begin(), list.end(), id, order), id);
        }
    }

    template <class Order> static void erase(std::vector<Id>& list, Id id, Order order) {
        const auto at = std::lower_bound(list.begin(), list.end(), id, order);
        if (at != list.end() && *at == id) list.erase(at);
    }

    void detach(Id id) {
        const Edge& edge = edges_[id];
        erase(nodes_[edge.src].out, id, by_start());
        erase(nodes_[edge.dst].in, id, by_start());
        if (edge.to == OPEN) --open_;
        if (!may_hold(edge)) return;
        erase(nodes_[edge.src].open_out, id, by_relation(true));
        erase(nodes_[edge.dst].open_in, id, by_relation(false));
    }

    // Visit the versions at a node that hold, until `visit` returns false.
    template <class Visit>
    void each_at(Id node, bool outgoing, const Scope& scope, bool history, Visit visit) const {
        if (node >= nodes_.size()) return;
        const Node& n = nodes_[node];
        if (history) {
            const auto& versions = outgoing ? n.out : n.in;
            for (auto it = versions.rbegin(); it != versions.rend(); ++it)
                if (holds(edges_[*it], scope) && !visit(*it)) return;
            return;
        }
        const auto& open = outgoing ? n.open_out : n.open_in;
        for (size_t i = 0; i < open.size(); ++i) {
            // The edges of a node lie far apart; a few are loaded ahead.
            if (i + AHEAD < open.size()) __builtin_prefetch(&edges_[open[i + AHEAD]]);
            const Edge& edge = edges_[open[i]];
            if (edge.from <= scope.valid_at && scope.valid_at < edge.to && !visit(open[i])) return;
        }
    }

    static constexpr size_t AHEAD = 8;

    // Open, or with an end that lay ahead when it was learned.
    static bool may_hold(const Edge& edge) { return edge.to == OPEN || edge.to > edge.closed_at; }

    // Superseded edges are never walked, also where superseded facts are admitted.
    static bool holds(const Edge& edge, Scope scope) {
        scope.closed = false;
        return scope.holds(edge.recorded, edge.from, edge.to, edge.closed_at);
    }

    std::vector<Edge> edges_; // by version id; src is NONE where there is none
    std::vector<Node> nodes_; // by entity id
    std::vector<uint64_t> ranks_; // by relation id
    size_t open_ = 0;
};

} // namespace plugmem
