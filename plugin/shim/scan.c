/*
 * Does a text hold the pragma? In every compile, so: a few passes of memmem over the text, no
 * parse.
 *
 * The word `tune` must stand behind "ragma" within a stretch that no sane pragma line exceeds. Two
 * shapes are taken for the pragma wherever `tune` occurs: _Pragma with something else than a
 * literal behind it, and words that are cut by a line splice.
 */
#include "plugin/shim/shim.h"

#include <string.h>

enum { MAX_GAP = 512 }; /* from "ragma" to "tune": blanks, comments, splices */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The next `tune` that is a word of its own, NULL when there is none. */
static const char *find_word(const char *text, const char *end, const char *from) {
    while ((from = memmem(from, (size_t)(end - from), "tune", 4)) != NULL) {
        bool starts = from == text || !is_word(from[-1]);
        bool ends = from + 4 == end || !is_word(from[4]);
        if (starts && ends) {
            return from;
        }
        from += 4;
    }
    return NULL;
}

static bool has_cut_word(const char *text, const char *end) {
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), "\\\n", 2)) != NULL; p += 2) {
        if (p > text && is_word(p[-1]) && p + 2 < end && is_word(p[2])) {
            return true;
        }
    }
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), "\\\r\n", 3)) != NULL; p += 3) {
        if (p > text && is_word(p[-1]) && p + 3 < end && is_word(p[3])) {
            return true;
        }
    }
    return false;
}

/* _Pragma(x), _Pragma(#x), _Pragma /+ +/ ("..."), ... */
static bool has_odd_operator(const char *text, const char *end) {
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), "_Pragma", 7)) != NULL;) {
        p += 7;
        while (p < end && (*p == ' ' || *p == '\t')) {
            p++;
        }
        if (end - p < 2 || p[0] != '(' || p[1] != '"') {
            return true;
        }
    }
    return false;
}

bool ctune_shim_has_pragma(const char *text, size_t n_text) {
    const char *end = text + n_text;
    if (memmem(text, n_text, "ragma", 5) == NULL) {
        return memmem(text, n_text, "tune", 4) != NULL && has_cut_word(text, end);
    }
    for (const char *p = text; (p = find_word(text, end, p)) != NULL; p += 4) {
        const char *from = p - text > MAX_GAP ? p - MAX_GAP : text;
        if (memmem(from, (size_t)(p - from), "ragma", 5) != NULL || has_odd_operator(text, end)) {
            return true;
        }
    }
    return has_cut_word(text, end);
}
