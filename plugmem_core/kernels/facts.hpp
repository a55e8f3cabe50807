// What recall reads of facts, and the admission test over it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "archive.hpp"

namespace plugmem {

using Id = uint32_t;
using Millis = int64_t;

constexpr Id NONE = std::numeric_limits<Id>::max();
constexpr Millis OPEN = std::numeric_limits<Millis>::max();

// What the calls of a thread have looked at so far. Told on request, and held by tests in place of
// times; a call adds to it once or twice.
struct Work {
    uint64_t postings = 0;  // added up, or looked up for one document
    uint64_t distances = 0; // products of two vectors
    uint64_t edges = 0;     // versions met by walks
    uint64_t facts = 0;     // examined for an entity or a range
};

inline thread_local Work work;

// A set of fact ids below a size, one bit each.
class IdSet {
public:
    explicit IdSet(size_t size) : size_(size), words_((size + 63) / 64) {}

    void add(Id id) {
        if (id >= size_) return;
        auto& word = words_[id / 64];
        const uint64_t bit = uint64_t{1} << (id % 64);
        count_ += !(word & bit);
        word |= bit;
    }

    bool has(Id id) const { return id < size_ && (words_[id / 64] >> (id % 64) & 1); }

    void intersect(const IdSet& other) {
        for (size_t i = 0; i < words_.size(); ++i)
            words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
        recount();
    }

    void subtract(const IdSet& other) {
        const size_t shared = std::min(words_.size(), other.words_.size());
        for (size_t i = 0; i < shared; ++i) words_[i] &= ~other.words_[i];
        recount();
    }

    void complement() {
        for (auto& word : words_) word = ~word;
        if (size_ % 64) words_.back() &= (uint64_t{1} << (size_ % 64)) - 1;
        count_ = size_ - count_;
    }

    size_t count() const { return count_; }

    std::vector<Id> ids() const {
        std::vector<Id> out;
        out.reserve(count_);
        for (size_t i = 0; i < words_.size(); ++i)
            for (uint64_t rest = words_[i]; rest; rest &= rest - 1)
                out.push_back(static_cast<Id>(i * 64 + static_cast<size_t>(__builtin_ctzll(rest))));
        return out;
    }

private:
    void recount() {
        count_ = 0;
        for (const auto word : words_) count_ += static_cast<size_t>(__builtin_popcountll(word));
    }

    size_t size_;
    size_t count_ = 0;            // bits that are set; asked several times a recall
    std::vector<uint64_t> words_; // no bit at or beyond the size is set
};

// One recall's view of the facts: which instant, which knowledge, which namespaces, which set.
struct Scope {
    Millis valid_at = 0;
    Millis known_at = OPEN;
    Millis expired_by = 0;
    bool closed = false;          // superseded facts are admitted too
    bool unknown_closings = false; // an end of validity learned after known_at does not count
    std::vector<uint8_t> namespaces; // by namespace id; empty admits all
    std::shared_ptr<IdSet> allowed;  // null admits all

    bool admits_namespace(Id space) const {
        return namespaces.empty() || (space < namespaces.size() && namespaces[space]);
    }

    bool holds(Millis recorded, Millis from, Millis to, Millis closed_at) const {
        if (recorded > known_at || from > valid_at) return false;
        if (closed) return true;
        return valid_at < to || (unknown_closings && closed_at > known_at);
    }
};

// A ranked list of facts with each one's raw score.
struct Ranked {
    std::vector<Id> ids;
    std::vector<float> scores;

    void push(Id id, float score) {
        ids.push_back(id);
        scores.push_back(score);
    }
};

struct Scored {
    float score;
    Id id;
};

// The order of every ranking: score descending, then id ascending.
inline bool before(const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// Keeps the best `limit` of the pairs offered: a buffer that is cut back to them whenever it is
// full. A histogram of the scores between cuts tells which are too low already, so that few are
// offered in vain; scores outside its range only make it less sharp.
class TopK {
public:
    explicit TopK(size_t limit, float most = 1.0f)
        : limit_(limit), full_(8 * std::max<size_t>(limit, 64)),
          scale_(most > 0.0f ? static_cast<float>(BINS) / most : 0.0f) {
        if (full_ <= 4096) kept_.reserve(full_);
    }

    bool wants(float score) const { return score >= threshold_ && limit_ > 0; }

    // The same for pairs that are offered by ascending id: an equal score comes too late.
    bool beats(float score) const { return score > threshold_ && limit_ > 0; }

    // No pair below this can be among the best any more.
    float threshold() const { return threshold_; }

    void offer(float score, Id id) {
        kept_.push_back({score, id});
        if (kept_.size() == full_) return cut();
        const size_t bin = bin_of(score);
        ++counts_[bin];
        if (bin < lowest_ || ++above_ - counts_[lowest_] < limit_) return;
        while (above_ - counts_[lowest_] >= limit_) above_ -= counts_[lowest_++];
        // A bin lower than the scores of that bin, whatever rounding does.
        threshold_ = std::max(threshold_, (static_cast<float>(lowest_) - 1.0f) / scale_);
    }

    Ranked take() {
        if (kept_.size() > limit_) cut();
        std::sort(kept_.begin(), kept_.end(), before);
        Ranked out;
        out.ids.reserve(kept_.size());
        out.scores.reserve(kept_.size());
        for (const auto& entry : kept_) out.push(entry.id, entry.score);
        return out;
    }

private:
    static constexpr size_t BINS = 256;

    size_t bin_of(float score) const {
        const float place = score * scale_;
        return place < static_cast<float>(BINS - 1) ? static_cast<size_t>(std::max(place, 0.0f)) : BINS - 1;
    }

    void cut() {
        const auto last = kept_.begin() + static_cast<ptrdiff_t>(limit_ - 1);
        std::nth_element(kept_.begin(), last, kept_.end(), before);
        threshold_ = last->score;
        kept_.resize(limit_);
        counts_.fill(0);
        lowest_ = 0;
        above_ = limit_;
        for (const auto& entry : kept_) ++counts_[bin_of(entry.score)];
    }

    size_t limit_, full_;
    float scale_;
    float threshold_ = -std::numeric_limits<float>::infinity();
    size_t lowest_ = 0; // the bin of the least that may be among the best
    size_t above_ = 0;  // offered since that are in that bin or a higher one
    std::array<uint32_t, BINS> counts_{};
    std::vector<Scored> kept_;
};

class FactTable {
public:
    void put(Id id, Id space, Id entity, Millis recorded, Millis from, Millis to, Millis closed_at,
             Millis expires, uint32_t bytes, bool forgotten) {
        if (id >= rows_.size()) rows_.resize(id + size_t{1});
        const bool known = rows_[id].state != ABSENT;
        rows_[id] = {recorded, from, to, closed_at, expires, space, entity, bytes,
                     forgotten ? FORGOTTEN : PRESENT};
        if (!known) insert_by_time(id);
        note(id);
    }

    void remove(const std::vector<Id>& ids) {
        for (const Id id : ids) {
            if (id >= rows_.size()) continue;
            rows_[id].state = ABSENT;
            note(id);
        }
        by_time_.erase(std::remove_if(by_time_.begin(), by_time_.end(),
                                      [this](Id id) { return rows_[id].state == ABSENT; }),
                       by_time_.end());
    }

    bool admits(const Scope& scope, Id id) const {
        if (id >= rows_.size() || (scope.allowed && !scope.allowed->has(id))) return false;
        if (is_plain(id) && scope.namespaces.empty() && latest_ <= std::min(scope.valid_at, scope.known_at))
            return true;
        const Row& row = rows_[id];
        return row.state == PRESENT && scope.admits_namespace(row.space) &&
               row.expires > scope.expired_by &&
               scope.holds(row.recorded, row.from, row.to, row.closed_at);
    }

    std::vector<Id> admitted(const Scope& scope, const std::vector<Id>& ids) const {
        std::vector<Id> out;
        for (const Id id : ids)
            if (admits(scope, id)) out.push_back(id);
        return out;
    }

    // The best `limit` admitted of facts with their scores, none below `floor`.
    Ranked ranked(const Scope& scope, const uint64_t* ids, const float* scores, size_t count,
                  size_t limit, float floor) const {
        TopK top(limit);
        for (size_t i = 0; i < count; ++i) {
            const auto id = static_cast<Id>(ids[i]);
            if (scores[i] >= floor && top.wants(scores[i]) && admits(scope, id)) top.offer(scores[i], id);
        }
        return top.take();
    }

    // Admitted ids above `after`, ascending.
    std::vector<Id> page(const Scope& scope, int64_t after, size_t limit) const {
        std::vector<Id> out;
        for (size_t id = static_cast<size_t>(after + 1); id < rows_.size() && out.size() < limit; ++id)
            if (admits(scope, static_cast<Id>(id))) out.push_back(static_cast<Id>(id));
        return out;
    }

    // Admitted facts with from <= recorded < to, newest first, ties by the higher id.
    Ranked newest(const Scope& scope, Millis from, Millis to, size_t limit) const {
        Ranked out;
        auto it = std::lower_bound(by_time_.begin(), by_time_.end(), to,
                                   [this](Id id, Millis time) { return rows_[id].recorded < time; });
        while (it != by_time_.begin() && out.ids.size() < limit) {
            const Id id = *--it;
            ++work.facts;
            if (rows_[id].recorded < from) break;
            if (admits(scope, id)) out.push(id, 0.0f);
        }
        return out;
    }

    size_t count(const Scope& scope) const {
        size_t total = 0;
        for (size_t id = 0; id < rows_.size(); ++id) total += admits(scope, static_cast<Id>(id));
        return total;
    }

    // How many admitted facts each namespace holds, by namespace id.
    std::vector<size_t> by_namespace(const Scope& scope) const {
        std::vector<size_t> counts;
        for (size_t id = 0; id < rows_.size(); ++id) {
            if (!admits(scope, static_cast<Id>(id))) continue;
            const Id space = rows_[id].space;
            if (space >= counts.size()) counts.resize(space + size_t{1});
            ++counts[space];
        }
        return counts;
    }

    // Every field of a stored fact, for comparison with truth.
    std::vector<Millis> row(Id id) const {
        const Row& row = rows_.at(id);
        return {row.recorded, row.from, row.to, row.closed_at, row.expires, Millis{row.space},
                Millis{row.entity}, Millis{row.bytes}, Millis{row.state}};
    }

    const std::vector<Id>& ids() const { return by_time_; }
    size_t size() const { return rows_.size(); }
    size_t stored() const { return by_time_.size(); }
    size_t forgotten() const {
        return static_cast<size_t>(std::count_if(rows_.begin(), rows_.end(), [](const Row& row) {
            return row.state == FORGOTTEN;
        }));
    }
    bool has(Id id) const { return id < rows_.size() && rows_[id].state != ABSENT; }
    Id entity(Id id) const { return rows_.at(id).entity; }
    uint32_t bytes(Id id) const { return rows_.at(id).bytes; }
    Millis recorded(Id id) const { return rows_.at(id).recorded; }
    Millis from(Id id) const { return rows_.at(id).from; }
    Millis closed_at(Id id) const { return rows_.at(id).closed_at; }

    // Begin to load the row of a fact that is read soon; the rows of a recall lie far apart.
    void prefetch(Id id) const { __builtin_prefetch(&rows_[id]); }

    std::string save() const {
        Writer out;
        out.array(rows_);
        out.array(by_time_);
        return out.take();
    }

    void load(std::string_view data) {
        Reader in(data);
        FactTable fresh;
        fresh.rows_ = in.array<Row>();
        fresh.by_time_ = in.array<Id>();
        in.finish();
        for (const Id id : fresh.by_time_)
            Reader::require(id < fresh.rows_.size(), "time order names an unknown fact");
        for (size_t id = 0; id < fresh.rows_.size(); ++id) fresh.note(static_cast<Id>(id));
        *this = std::move(fresh);
    }

private:
    enum : uint32_t { ABSENT = 0, PRESENT = 1, FORGOTTEN = 2 };

    // What admission reads of a fact stands together, in one or two cache lines.
    struct Row {
        Millis recorded = 0, from = 0, to = OPEN, closed_at = OPEN, expires = OPEN;
        Id space = 0, entity = NONE;
        uint32_t bytes = 0;
        uint32_t state = ABSENT;
    };

    // Most facts are plain: they held from when they were recorded, or before, and hold for
    // ever. At an instant after the last record all of them are admitted, so a bit tells what
    // would otherwise take a row from far away in memory.
    bool is_plain(Id id) const { return plain_[id / 64] >> (id % 64) & 1; }

    // Bring the bit of a fact in line with its row.
    void note(Id id) {
        const Row& row = rows_[id];
        if (plain_.size() * 64 < rows_.size()) plain_.resize((rows_.size() + 63) / 64);
        const uint64_t bit = uint64_t{1} << (id % 64);
        const bool plain = row.state == PRESENT && row.from <= row.recorded && row.to == OPEN &&
                           row.closed_at == OPEN && row.expires == OPEN;
        plain_[id / 64] = plain ? plain_[id / 64] | bit : plain_[id / 64] & ~bit;
        if (row.state != ABSENT) latest_ = std::max(latest_, row.recorded);
    }

    void insert_by_time(Id id) {
        const auto earlier = [this](Id a, Id b) {
            const Millis x = rows_[a].recorded, y = rows_[b].recorded;
            return x != y ? x < y : a < b;
        };
        if (by_time_.empty() || earlier(by_time_.back(), id)) {
            by_time_.push_back(id);
        } else {
            by_time_.insert(std::lower_bound(by_time_.begin(), by_time_.end(), id, earlier), id);
        }
    }

    std::vector<Row> rows_;   // by fact id
    std::vector<Id> by_time_; // stored facts by (recorded, id)
    std::vector<uint64_t> plain_; // a bit a fact
    Millis latest_ = std::numeric_limits<Millis>::min(); // no fact was recorded later
};

} // namespace plugmem
