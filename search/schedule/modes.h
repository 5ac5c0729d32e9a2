/* Words of ctune_poly_mode, shared by the printer and the parser of schedules. Private to
 * search/schedule. */
#ifndef CTUNE_SEARCH_SCHEDULE_MODES_H
#define CTUNE_SEARCH_SCHEDULE_MODES_H

#include "search/deps/deps.h"

#include <string.h>

#define CTUNE_POLY_MODE_TABLE(X) X(MAX, "max") X(MIN, "min") X(SMART, "smart")

static inline const char *ctune_poly_mode_name(ctune_poly_mode mode) {
    switch (mode) {
#define X(id, word)                                                                                \
    case CTUNE_POLY_##id:                                                                          \
        return word;
        CTUNE_POLY_MODE_TABLE(X)
#undef X
    }
    return "?";
}

static inline bool ctune_poly_mode_parse(const char *word, ctune_poly_mode *out) {
#define X(id, text)                                                                                \
    if (strcmp(word, text) == 0) {                                                                 \
        *out = CTUNE_POLY_##id;                                                                    \
        return true;                                                                               \
    }
    CTUNE_POLY_MODE_TABLE(X)
#undef X
    return false;
}

#endif
