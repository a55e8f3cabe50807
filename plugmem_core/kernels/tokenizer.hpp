// The tokens of ASCII text.
//
// A token is a run of letters and digits, lower-cased, which may hold single joiners: `_` between
// any two of them, `.` between two letters or two digits, `'` between two letters and `,` between
// two digits. Every other byte separates. This is what the Unicode word rules and the folding of
// plugmem_core/text/tokenizer.py come to on ASCII.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace plugmem {

constexpr size_t MAX_TOKEN_BYTES = 64;

inline bool is_ascii(std::string_view text) {
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= text.size(); i += sizeof(uint64_t)) {
        uint64_t chunk;
        std::memcpy(&chunk, text.data() + i, sizeof chunk);
        if (chunk & 0x8080808080808080) return false;
    }
    for (; i < text.size(); ++i)
        if (static_cast<unsigned char>(text[i]) >= 0x80) return false;
    return true;
}

namespace ascii {

enum Kind : uint8_t { OTHER, LETTER, DIGIT };

struct Tables {
    std::array<Kind, 256> kind{};
    std::array<char, 256> lower{};
};

constexpr Tables make_tables() {
    Tables tables;
    for (int c = 0; c < 256; ++c) tables.lower[c] = static_cast<char>(c);
    for (int c = '0'; c <= '9'; ++c) tables.kind[c] = DIGIT;
    for (int c = 'a'; c <= 'z'; ++c) tables.kind[c] = LETTER;
    for (int c = 'A'; c <= 'Z'; ++c) {
        tables.kind[c] = LETTER;
        tables.lower[c] = static_cast<char>(c - 'A' + 'a');
    }
    return tables;
}

inline constexpr Tables TABLES = make_tables();

inline Kind kind_of(char c) { return TABLES.kind[static_cast<unsigned char>(c)]; }

// Whether `c` stays inside a token, given its neighbours; `before` is a letter or a digit.
inline bool joins(Kind before, char c, Kind after) {
    switch (c) {
        case '_': return after != OTHER;
        case '.': return before == after;
        case '\'': return before == LETTER && after == LETTER;
        case ',': return before == DIGIT && after == DIGIT;
        default: return false;
    }
}

}  // namespace ascii

// Calls `emit(std::string_view)` for each token of `text`, in order. The view points into
// `scratch` and is valid until `emit` returns. A token over MAX_TOKEN_BYTES keeps its beginning.
template <class Emit>
void tokenize_ascii(std::string_view text, std::string& scratch, Emit&& emit) {
    using namespace ascii;
    scratch.resize(MAX_TOKEN_BYTES);
    char* const token = scratch.data();
    const size_t end = text.size();
    for (size_t i = 0; i < end; ++i) {
        Kind last = kind_of(text[i]);
        if (last == OTHER) continue;
        size_t size = 0;
        for (; i < end; ++i) {
            const Kind kind = kind_of(text[i]);
            if (kind != OTHER) {
                last = kind;
            } else if (i + 1 == end || !joins(last, text[i], kind_of(text[i + 1]))) {
                break;
            }
            if (size < MAX_TOKEN_BYTES)
                token[size++] = TABLES.lower[static_cast<unsigned char>(text[i])];
        }
        // Only a cut can leave a joiner last, and joiners never stand side by side.
        if (kind_of(token[size - 1]) == OTHER) --size;
        emit(std::string_view(token, size));
    }
}

}  // namespace plugmem
