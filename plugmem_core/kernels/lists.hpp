// Strings to dense ids, and dense ids to sorted lists of facts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts.hpp"

namespace plugmem {

// Gives each distinct string the next id; open addressing over one text arena.
class Dictionary {
public:
    Dictionary() : table_(64, NONE) {}

    Id intern(std::string_view text) {
        const uint64_t hash = hash_of(text);
        const size_t slot = find_slot(text, hash);
        if (table_[slot] != NONE) return table_[slot];
        const Id id = static_cast<Id>(ends_.size());
        table_[slot] = id;
        arena_.append(text);
        ends_.push_back(arena_.size());
        if (ends_.size() * 2 > table_.size()) rehash(table_.size() * 2);
        return id;
    }

    Id find(std::string_view text) const { return table_[find_slot(text, hash_of(text))]; }

    std::string_view name(Id id) const {
        const uint64_t start = id ? ends_.at(id - 1) : 0;
        return std::string_view(arena_).substr(start, ends_.at(id) - start);
    }

    size_t size() const { return ends_.size(); }

    std::vector<Id> containing(std::string_view part) const {
        std::vector<Id> out;
        for (Id id = 0; id < ends_.size(); ++id)
            if (name(id).find(part) != std::string_view::npos) out.push_back(id);
        return out;
    }

    void write(Writer& out) const {
        out.text(arena_);
        out.array(ends_);
    }

    void read(Reader& in) {
        arena_ = in.text();
        ends_ = in.array<uint64_t>();
        uint64_t last = 0;
        for (const uint64_t end : ends_) {
            Reader::require(last <= end && end <= arena_.size(), "dictionary is damaged");
            last = end;
        }
        Reader::require(last == arena_.size(), "dictionary is damaged");
        size_t slots = 64;
        while (slots < ends_.size() * 2 + 2) slots *= 2;
        rehash(slots);
    }

private:
    // FNV-1a over eight bytes at a time, then a final mix.
    static uint64_t hash_of(std::string_view text) {
        uint64_t hash = 0xcbf29ce484222325ULL ^ text.size();
        while (text.size() >= 8) {
            uint64_t word;
            std::memcpy(&word, text.data(), 8);
            hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
            hash ^= hash >> 29;
            text.remove_prefix(8);
        }
        for (const char c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        hash ^= hash >> 32;
        hash *= 0x9e3779b97f4a7c15ULL;
        return hash ^ (hash >> 29);
    }

    size_t find_slot(std::string_view text, uint64_t hash) const {
        const size_t mask = table_.size() - 1;
        size_t slot = hash & mask;
        while (table_[slot] != NONE && name(table_[slot]) != text) slot = (slot + 1) & mask;
        return slot;
    }

    void rehash(size_t slots) {
        table_.assign(slots, NONE);
        for (Id id = 0; id < ends_.size(); ++id)
            table_[find_slot(name(id), hash_of(name(id)))] = id;
    }

    std::string arena_;
    std::vector<uint64_t> ends_;
    std::vector<Id> table_;
};

// Ascending fact ids by dense key: the facts of a tag, the facts of an entity.
class IdLists {
public:
    void add(Id key, Id fact) {
        if (key >= lists_.size()) lists_.resize(key + size_t{1});
        auto& list = lists_[key];
        if (list.empty() || list.back() < fact) {
            list.push_back(fact);
            return;
        }
        const auto at = std::lower_bound(list.begin(), list.end(), fact);
        if (*at != fact) list.insert(at, fact);
    }

    void remove(Id key, Id fact) {
        if (key >= lists_.size()) return;
        auto& list = lists_[key];
        const auto at = std::lower_bound(list.begin(), list.end(), fact);
        if (at != list.end() && *at == fact) list.erase(at);
    }

    void remove_facts(const FactTable& facts) {
        for (auto& list : lists_)
            list.erase(std::remove_if(list.begin(), list.end(),
                                      [&facts](Id id) { return !facts.has(id); }),
                       list.end());
    }

    const std::vector<Id>& list(Id key) const {
        static const std::vector<Id> empty;
        return key < lists_.size() ? lists_[key] : empty;
    }

    // The last `count` facts of a key that come before a fact.
    std::vector<Id> last(Id key, size_t count, Id before) const {
        const auto& all = list(key);
        const auto end = std::lower_bound(all.begin(), all.end(), before);
        const auto size = static_cast<size_t>(end - all.begin());
        return {end - static_cast<ptrdiff_t>(std::min(count, size)), end};
    }

    size_t count(Id key, const FactTable& facts, const Scope& scope) const {
        size_t total = 0;
        for (const Id id : list(key)) total += facts.admits(scope, id);
        return total;
    }

    void collect(Id key, IdSet& into) const {
        for (const Id id : list(key)) into.add(id);
    }

    size_t size() const { return lists_.size(); }

    // The facts of all keys together.
    size_t total() const {
        size_t count = 0;
        for (const auto& list : lists_) count += list.size();
        return count;
    }

    void write(Writer& out) const {
        out.lists(lists_, [](const auto& list) -> const auto& { return list; });
    }

    void read(Reader& in) { lists_ = in.lists<Id>(); }

private:
    std::vector<std::vector<Id>> lists_;
};

} // namespace plugmem
