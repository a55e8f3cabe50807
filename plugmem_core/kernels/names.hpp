// The names a text mentions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts.hpp"
#include "lists.hpp"

namespace plugmem {

// Names as sequences of tokens, each leading to entities in namespaces.
class NameFinder {
public:
    // `key` is the tokens of a name, joined by spaces.
    void add(std::string_view key, Id space, Id entity) {
        const Id name = names_.intern(key);
        if (name == leads_.size()) leads_.emplace_back();
        for (const auto& lead : leads_[name])
            if (lead.space == space && lead.entity == entity) return;
        leads_[name].push_back({space, entity});
        const Id first = firsts_.intern(key.substr(0, key.find(' ')));
        if (first == longest_.size()) longest_.push_back(0);
        const auto tokens = static_cast<size_t>(std::count(key.begin(), key.end(), ' ')) + 1;
        longest_[first] = std::max(longest_[first], tokens);
    }

    // The tokens of the longest name that begins with a token.
    size_t longest(std::string_view first) const {
        const Id known = firsts_.find(first);
        return known == NONE ? 0 : longest_[known];
    }

    // Add the entities that a name leads to in the visible namespaces.
    template <class Visible>
    void collect(std::string_view name, const Visible& visible, std::vector<Id>& into) const {
        const Id known = names_.find(name);
        if (known == NONE) return;
        for (const auto& lead : leads_[known])
            if (visible(lead.space)) into.push_back(lead.entity);
    }

    size_t size() const { return names_.size(); }

private:
    struct Lead {
        Id space, entity;
    };

    Dictionary names_, firsts_;
    std::vector<std::vector<Lead>> leads_; // by name
    std::vector<size_t> longest_;          // by first token
};

// A text as its tokens, joined by spaces.
struct Tokens {
    std::string joined;
    std::vector<size_t> starts, ends;

    void add(std::string_view token) {
        if (!joined.empty()) joined += ' ';
        starts.push_back(joined.size());
        joined += token;
        ends.push_back(joined.size());
    }

    std::string_view span(size_t first, size_t count) const {
        return std::string_view(joined).substr(starts[first], ends[first + count - 1] - starts[first]);
    }
};

inline std::string_view without_genitive(std::string_view name) {
    for (const std::string_view ending : {std::string_view("'s"), std::string_view("\xe2\x80\x99s")})
        if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending)
            return name.substr(0, name.size() - ending.size());
    return name;
}

// The entities whose names occur in a text, each once, in the order met: at each place the
// longest name counts, and the next one begins behind it. A name may be in the English genitive.
template <class Visible>
std::vector<Id> find_names(const std::vector<const NameFinder*>& finders, const Tokens& text,
                           const Visible& visible) {
    std::vector<Id> found, here;
    const size_t size = text.starts.size();
    for (size_t at = 0; at < size;) {
        const std::string_view first = text.span(at, 1);
        size_t longest = 0;
        for (const auto* finder : finders)
            longest = std::max({longest, finder->longest(first), finder->longest(without_genitive(first))});
        size_t step = 1;
        for (size_t count = std::min(longest, size - at); count > 0; --count) {
            const std::string_view name = text.span(at, count);
            here.clear();
            for (const std::string_view spelled : {name, without_genitive(name)}) {
                for (const auto* finder : finders) finder->collect(spelled, visible, here);
                if (!here.empty() || spelled == without_genitive(name)) break;
            }
            if (here.empty()) continue;
            step = count;
            for (const Id entity : here)
                if (std::find(found.begin(), found.end(), entity) == found.end()) found.push_back(entity);
            break;
        }
        at += step;
    }
    return found;
}

} // namespace plugmem
