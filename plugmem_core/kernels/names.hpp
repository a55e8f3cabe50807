// The names a text mentions.
#pragma once

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"

namespace plugmem {

// Names as sequences of tokens, each leading to entities in namespaces: a tree whose branches are
// tokens. A name that leads nowhere visible is none.
class NameFinder {
public:
    // What a name leads to; ordered by namespace.
    struct Lead {
        Id space, entity;
        bool operator==(const Lead& other) const { return space == other.space && entity == other.entity; }
        bool operator<(const Lead& other) const {
            return space != other.space ? space < other.space : entity < other.entity;
        }
    };
    using Leads = std::vector<Lead>;

    // `key` is the tokens of a name, joined by spaces.
    void add(std::string_view key, Id space, Id entity) {
        Id node = ROOT;
        for (size_t start = 0, end; start <= key.size(); start = end + 1) {
            end = std::min(key.find(' ', start), key.size());
            node = grow(node, words_.intern(key.substr(start, end - start)));
        }
        auto& leads = leads_[node];
        size_ += leads.empty();
        const Lead lead{space, entity};
        const auto at = std::lower_bound(leads.begin(), leads.end(), lead);
        if (at == leads.end() || !(*at == lead)) leads.insert(at, lead);
    }

    Id word(std::string_view token) const { return words_.find(token); }

    // The node that a token leads to; NONE if no name goes on with it.
    Id next(Id node, Id word) const {
        if (word == NONE) return NONE;
        if (node == ROOT) return word < firsts_.size() ? firsts_[word] : NONE;
        const auto at = branches_.find(branch(node, word));
        return at == branches_.end() ? NONE : at->second;
    }

    // What the name that ends at a node leads to.
    const Leads& leads(Id node) const { return leads_[node]; }

    size_t size() const { return size_; }

    static constexpr Id ROOT = 0;

private:
    static uint64_t branch(Id node, Id word) { return uint64_t{node} << 32 | word; }

    Id grow(Id node, Id word) {
        Id& grown = node == ROOT ? first(word) : branches_.try_emplace(branch(node, word), NONE).first->second;
        if (grown == NONE) {
            grown = static_cast<Id>(leads_.size());
            leads_.emplace_back();
        }
        return grown;
    }

    Id& first(Id word) {
        if (word >= firsts_.size()) firsts_.resize(word + size_t{1}, NONE);
        return firsts_[word];
    }

    Dictionary words_;
    std::vector<Id> firsts_;                    // nodes below the root, by word
    std::unordered_map<uint64_t, Id> branches_; // all other nodes, by their parent and word
    std::vector<Leads> leads_ = {{}};           // by node; the root's are none
    size_t size_ = 0;
};

// The namespace of a text, as the one whose names it may mention.
struct OneSpace {
    Id space;

    template <class Use> void each(const NameFinder::Leads& leads, Use&& use) const {
        for (auto at = std::lower_bound(leads.begin(), leads.end(), NameFinder::Lead{space, 0});
             at != leads.end() && at->space == space; ++at)
            use(at->entity);
    }
};

// Those namespaces that a mask has a byte other than 0 for; all of them if there is none.
struct Masked {
    std::string_view mask;
    bool all = false;

    template <class Use> void each(const NameFinder::Leads& leads, Use&& use) const {
        for (const auto& lead : leads)
            if (all || (lead.space < mask.size() && mask[lead.space])) use(lead.entity);
    }
};

inline std::string_view without_genitive(std::string_view name) {
    for (const std::string_view ending : {std::string_view("'s"), std::string_view("\xe2\x80\x99s")})
        if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending)
            return name.substr(0, name.size() - ending.size());
    return name;
}

// A text as the words that a finder knows.
class Passage {
public:
    explicit Passage(const NameFinder& finder) : finder_(&finder) {}

    void add(std::string_view token) {
        words_.push_back(finder_->word(token));
        const std::string_view bare = without_genitive(token);
        bare_.push_back(bare.size() == token.size() ? NONE : finder_->word(bare));
    }

    size_t size() const { return words_.size(); }

    // A name: its tokens, whether it is spelled as it is known, and the node it ends at.
    struct Name {
        size_t tokens = 0;
        bool exact = false;
        Id node = NameFinder::ROOT;

        bool beats(const Name& other) const {
            return tokens != other.tokens ? tokens > other.tokens : exact > other.exact;
        }
    };

    // The longest visible name that begins at a place.
    template <class Visible> Name longest(size_t start, const Visible& visible) const {
        Name best;
        Id node = NameFinder::ROOT;
        for (size_t at = start; at < words_.size() && node != NONE; ++at) {
            // The last token of a name may be in the genitive.
            const Id owner = finder_->next(node, bare_[at]);
            node = finder_->next(node, words_[at]);
            if (leads(node, visible)) best = {at - start + 1, true, node};
            else if (leads(owner, visible)) best = {at - start + 1, false, owner};
        }
        return best;
    }

    // Call `use` with every visible entity of a name.
    template <class Visible, class Use> void each(const Name& name, const Visible& visible, Use&& use) const {
        visible.each(finder_->leads(name.node), use);
    }

private:
    template <class Visible> bool leads(Id node, const Visible& visible) const {
        bool found = false;
        if (node != NONE) visible.each(finder_->leads(node), [&found](Id) { found = true; });
        return found;
    }

    const NameFinder* finder_;
    std::vector<Id> words_, bare_; // as written, and out of the genitive
};

// The entities whose names occur in a text, each once, in the order met: at each place the longest
// name that any of the finders knows counts, and the next one begins behind it. A name may be in
// the English genitive. Each passage is the same text; at each of its tokens as many are looked at
// as the longest name has.
template <class Visible>
std::vector<Id> find_names(const std::vector<Passage>& passages, const Visible& visible) {
    std::vector<Id> found;
    std::unordered_set<Id> met;
    std::vector<Passage::Name> names(passages.size());
    const size_t size = passages.empty() ? 0 : passages.front().size();
    for (size_t at = 0; at < size;) {
        Passage::Name best;
        for (size_t i = 0; i < passages.size(); ++i) {
            names[i] = passages[i].longest(at, visible);
            if (names[i].beats(best)) best = names[i];
        }
        for (size_t i = 0; best.tokens && i < passages.size(); ++i)
            if (!best.beats(names[i]))
                passages[i].each(names[i], visible, [&](Id entity) {
                    if (met.insert(entity).second) found.push_back(entity);
                });
        at += std::max(best.tokens, size_t{1});
    }
    return found;
}

} // namespace plugmem
