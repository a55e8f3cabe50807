// The names a text mentions.
#pragma once

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"

namespace plugmem {

// The nodes that nodes of a tree branch to by words; open addressing.
class Branches {
public:
    Branches() : slots_(64) {}

    Id find(Id node, Id word) const { return slots_[slot(node, word)].child; }

    // The child, or a place for it that holds NONE.
    Id& at(Id node, Id word) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        auto& found = slots_[slot(node, word)];
        if (found.child == NONE) {
            found = {node, word, NONE};
            ++size_;
        }
        return found.child;
    }

private:
    struct Slot {
        Id node = NONE, word = NONE, child = NONE;
    };

    size_t slot(Id node, Id word) const {
        const size_t mask = slots_.size() - 1;
        const uint64_t mixed = (uint64_t{node} << 32 | word) * 0x9e3779b97f4a7c15ULL;
        size_t at = (mixed >> 32) & mask;
        while (slots_[at].child != NONE && (slots_[at].node != node || slots_[at].word != word))
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        auto before = std::move(slots_);
        slots_.assign(2 * before.size(), {});
        for (const auto& one : before)
            if (one.child != NONE) slots_[slot(one.node, one.word)] = one;
    }

    std::vector<Slot> slots_;
    size_t size_ = 0;
};

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
        ends_[node] = true;
        const Lead lead{space, entity};
        const auto at = std::lower_bound(leads.begin(), leads.end(), lead);
        if (at == leads.end() || !(*at == lead)) leads.insert(at, lead);
    }

    Id word(std::string_view token) const { return words_.find(token); }

    // The node that a token leads to; NONE if no name goes on with it.
    Id next(Id node, Id word) const {
        if (word == NONE) return NONE;
        if (node == ROOT) return word < firsts_.size() ? firsts_[word] : NONE;
        return branches_.find(node, word);
    }

    // Whether a name ends at a node.
    bool is_name(Id node) const { return ends_[node]; }

    // What the name that ends at a node leads to.
    const Leads& leads(Id node) const { return leads_[node]; }

    size_t size() const { return size_; }

    static constexpr Id ROOT = 0;

private:
    Id grow(Id node, Id word) {
        Id& grown = node == ROOT ? first(word) : branches_.at(node, word);
        if (grown == NONE) {
            grown = static_cast<Id>(leads_.size());
            leads_.emplace_back();
            ends_.push_back(false);
        }
        return grown;
    }

    Id& first(Id word) {
        if (word >= firsts_.size()) firsts_.resize(word + size_t{1}, NONE);
        return firsts_[word];
    }

    Dictionary words_;
    std::vector<Id> firsts_;           // nodes below the root, by word
    Branches branches_;                // all other nodes
    std::vector<Leads> leads_ = {{}};  // by node; the root's are none
    std::vector<bool> ends_ = {false}; // by node; small enough to stay in the cache
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
        if (node != NONE && finder_->is_name(node))
            visible.each(finder_->leads(node), [&found](Id) { found = true; });
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

// Ids as rows of facts hold them: a JSON array.
inline std::string spell_ids(const std::vector<Id>& ids) {
    std::string out = "[";
    for (const Id id : ids) out += (out.size() > 1 ? ", " : "") + std::to_string(id);
    return out + "]";
}

// The ids below `end` of what `spell_ids` made.
inline std::vector<Id> read_ids(std::string_view text, Id end) {
    const auto fail = [&text] { throw std::invalid_argument("no ids: " + std::string(text)); };
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail();
    std::vector<Id> out;
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
        Id id = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), id);
        text.remove_prefix(static_cast<size_t>(stop - text.data()));
        const bool ends = text.empty() || (text.size() > 2 && text.substr(0, 2) == ", ");
        if (error != std::errc() || !ends) fail();
        text.remove_prefix(std::min(text.size(), size_t{2}));
        if (id < end) out.push_back(id);
    }
    return out;
}

} // namespace plugmem
