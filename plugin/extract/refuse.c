/* Refusals: the table, and how the first one is kept. */
#include "plugin/extract/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *code, *hint;
} rows[CTUNE_N_REFUSALS] = {
    [CTUNE_REFUSE_NONE] = {"none", NULL},
#define X(id, text, help) [CTUNE_REFUSE_##id] = {text, help},
#include "plugin/extract/extract_refusals.def"
#undef X
};

static const struct {
    const char *why, *before, *after;
} page_rows[CTUNE_N_REFUSALS] = {
#define PAGE(id, why, before, after) [CTUNE_REFUSE_##id] = {why, before, after},
#include "plugin/extract/refusal_pages.def"
#undef PAGE
};
enum {
    N_PAGES = 0
#define PAGE(id, why, before, after) +1
#include "plugin/extract/refusal_pages.def"
#undef PAGE
};
_Static_assert(N_PAGES == CTUNE_N_REFUSALS - 1, "each refusal has a page in refusal_pages.def");

bool ctune_refusal_page_get(int i, ctune_refusal_page *out) {
    if (i < 0 || i >= N_PAGES) {
        return false;
    }
    *out = (ctune_refusal_page){rows[i + 1].code, rows[i + 1].hint, page_rows[i + 1].why,
                                page_rows[i + 1].before, page_rows[i + 1].after};
    return true;
}

const char *ctune_refusal_code(ctune_refusal refusal) {
    return rows[refusal].code;
}
const char *ctune_refusal_hint(ctune_refusal refusal) {
    return rows[refusal].hint;
}

static bool keep(ctune_build *b, ctune_refusal refusal, size_t offset, const char *format,
                 va_list args) {
    if (b->why.refusal == CTUNE_REFUSE_NONE && !b->why.is_error) {
        b->why.refusal = refusal;
        b->why.offset = offset;
        vsnprintf(b->why.text, sizeof b->why.text, format, args);
    }
    return false;
}

bool ctune_build_refuse(ctune_build *b, ctune_refusal refusal, CXCursor at, const char *format,
                        ...) {
    va_list args;
    va_start(args, format);
    size_t offset = ctune_cx_begin(at);
    keep(b, refusal, offset < b->begin || offset > b->end ? b->begin : offset, format, args);
    va_end(args);
    return false;
}

bool ctune_build_refuse_at(ctune_build *b, ctune_refusal refusal, size_t offset, const char *format,
                           ...) {
    va_list args;
    va_start(args, format);
    keep(b, refusal, offset, format, args);
    va_end(args);
    return false;
}

bool ctune_build_cure(ctune_build *b, const char *format, ...) {
    if (b->why.refusal != CTUNE_REFUSE_NONE && b->why.cure[0] == '\0') {
        va_list args;
        va_start(args, format);
        vsnprintf(b->why.cure, sizeof b->why.cure, format, args);
        va_end(args);
    }
    return false;
}

/* Can the text stand in assume(...)? Members and elements need a variable of their own. */
static bool is_plain(const char *text) {
    return strstr(text, "->") == NULL && strpbrk(text, "[].?/&|!") == NULL &&
           strstr(text, "(long)") == NULL;
}

bool ctune_build_cure_needs(ctune_build *b, int n_cons, const ctune_aff *const *cons,
                            const ctune_aff *aff) {
    ctune_why kept = b->why;
    const char *needs = ctune_facts_text(b, n_cons, cons, aff);
    b->why = kept;
    if (needs == NULL || strlen(needs) > 100) {
        return false;
    }
    return is_plain(needs)
               ? ctune_build_cure(b, "if it always holds: assume(%s), and sizes(...) that have it",
                                  needs)
               : ctune_build_cure(b, "it must hold that %s: sizes(...) that have it", needs);
}

bool ctune_build_error(ctune_build *b, const char *code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (b->why.refusal == CTUNE_REFUSE_NONE && !b->why.is_error) {
        b->why.is_error = true;
        b->why.code = code;
        vsnprintf(b->why.text, sizeof b->why.text, format, args);
    }
    va_end(args);
    return false;
}

const char *ctune_build_text(ctune_build *b, CXCursor cursor) {
    const char *text =
        ctune_source_line(b->source, b->arena, ctune_cx_begin(cursor), ctune_cx_end(cursor));
    if (text == NULL || text[0] == '\0') {
        return "this";
    }
    size_t n = strlen(text);
    if (n <= 48) {
        return text;
    }
    size_t cut = 45;
    while (cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80) {
        cut--; /* not inside a UTF-8 sequence */
    }
    const char *shorter = ctune_arena_printf(b->arena, "%.*s...", (int)cut, text);
    return shorter != NULL ? shorter : "this";
}

bool ctune_list_grow(ctune_arena *arena, void **at, int n, int *size, size_t elem_bytes) {
    if (n < *size) {
        return true;
    }
    int bigger = *size == 0 ? 8 : 2 * *size;
    void *copy = ctune_arena_array(arena, (size_t)bigger, elem_bytes);
    if (copy == NULL) {
        return false;
    }
    if (n > 0) {
        memcpy(copy, *at, (size_t)n * elem_bytes);
    }
    *at = copy;
    *size = bigger;
    return true;
}
