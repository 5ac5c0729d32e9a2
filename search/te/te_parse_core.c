/*
 * The parser's floor: tokens, errors, names. See te_parse.h.
 */
#include "search/te/te_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 2200 };

/* ---- tokens ---------------------------------------------------------------------------------- */

void te_fail_at(te_parser *p, int line, int col, const char *text, const char *detail) {
    if (p->status != CTUNE_OK) {
        return;
    }
    bool is_memory = ctune_arena_has_failed(p->arena);
    p->status = is_memory ? CTUNE_ENOMEM : CTUNE_EUSAGE;
    if (is_memory) {
        ctune_fail(p->ctx, CTUNE_ENOMEM, "out of memory");
    } else {
        ctune_fail(p->ctx, CTUNE_EUSAGE, "%s:%d:%d: %s%s%.80s%s", p->format, line, col, text,
                   detail != NULL ? " '" : "", detail != NULL ? detail : "",
                   detail != NULL ? "'" : "");
    }
    p->token.kind = p->ahead.kind = TE_END;
}

void te_fail(te_parser *p, const char *text, const char *detail) {
    te_fail_at(p, p->token.line, p->token.col, text, detail);
}

void te_advance(te_parser *p) {
    if (p->status != CTUNE_OK) {
        return;
    }
    p->token = p->ahead;
    if (p->token.kind == TE_BAD) {
        te_fail(p, p->token.text, NULL);
    } else if (p->token.kind != TE_END) {
        p->ahead = te_lexer_next(&p->lexer);
    }
}

bool te_is_punct(const te_token *token, const char *text) {
    return token->kind == TE_PUNCT && strcmp(token->text, text) == 0;
}

bool te_is_word(const te_token *token, const char *text) {
    return token->kind == TE_IDENT && strcmp(token->text, text) == 0;
}

bool te_accept(te_parser *p, const char *text) {
    bool found = te_is_punct(&p->token, text) || te_is_word(&p->token, text);
    if (found) {
        te_advance(p);
    }
    return found;
}

const char *te_token_words(const te_token *token) {
    return token->kind == TE_END       ? "end of text"
           : token->kind == TE_NEWLINE ? "end of line"
                                       : token->text;
}

void te_expect(te_parser *p, const char *text) {
    if (!te_accept(p, text)) {
        char words[64];
        size_t n = strlen(text) < 16 ? strlen(text) : 16;
        memcpy(words, "expected ", 9);
        memcpy(words + 9, text, n);
        memcpy(words + 9 + n, ", found", 8);
        te_fail(p, words, te_token_words(&p->token));
    }
}

const char *te_expect_kind(te_parser *p, te_token_kind kind, const char *what) {
    if (p->token.kind != kind) {
        te_fail(p, what, te_token_words(&p->token));
        return "";
    }
    const char *text = p->token.text;
    te_advance(p);
    return text;
}

const char *te_expect_ident(te_parser *p) {
    return te_expect_kind(p, TE_IDENT, "expected a name, found");
}

const char *te_expect_string(te_parser *p) {
    return te_expect_kind(p, TE_STRING, "expected a string, found");
}

void te_expect_line_end(te_parser *p) {
    if (p->token.kind == TE_NEWLINE) {
        te_advance(p);
    } else if (p->token.kind != TE_END) {
        te_fail(p, "unexpected", te_token_words(&p->token));
    }
}

void te_skip_newlines(te_parser *p) {
    while (p->token.kind == TE_NEWLINE) {
        te_advance(p);
    }
}

bool te_enter(te_parser *p) {
    if (++p->depth > MAX_NESTING) {
        te_fail(p, "nested too deeply", NULL);
    }
    return p->status == CTUNE_OK;
}

/* An integer with an optional sign. */
int64_t te_expect_int(te_parser *p) {
    bool negative = te_accept(p, "-");
    te_token token = p->token;
    const char *text = te_expect_kind(p, TE_NUMBER, "expected an integer, found");
    char *end;
    errno = 0;
    /* as unsigned, so that the smallest int64 has a magnitude */
    unsigned long long size = strtoull(text, &end, 10);
    if (p->status == CTUNE_OK &&
        (*end != '\0' || errno != 0 || size > (1ull << 63) - (negative ? 0 : 1))) {
        te_fail_at(p, token.line, token.col, "not a 64-bit integer:", text);
        return 0;
    }
    return negative ? (int64_t)(0 - size) : (int64_t)size;
}

int te_expect_small(te_parser *p, int64_t lo, int64_t hi) {
    te_token token = p->token;
    int64_t value = te_expect_int(p);
    if (p->status == CTUNE_OK && (value < lo || value > hi)) {
        te_fail_at(p, token.line, token.col, "number out of range:", token.text);
    }
    return p->status == CTUNE_OK ? (int)value : 0;
}

int te_find_type(const char *name) {
    for (int t = 0; t < CTUNE_N_TYPES; t++) {
        if (strcmp(ctune_type_get((ctune_type)t)->name, name) == 0) {
            return t;
        }
    }
    return -1;
}

ctune_type te_expect_type(te_parser *p) {
    te_token token = p->token;
    const char *name = te_expect_ident(p);
    int type = te_find_type(name);
    if (p->status == CTUNE_OK && type < 0) {
        te_fail_at(p, token.line, token.col, "unknown type", name);
    }
    return type < 0 ? CTUNE_I32 : (ctune_type)type;
}

/* Append to an arena array; returns the new element (zeroed) or NULL. */
void *te_list_append(te_parser *p, const void **list, int *n, size_t elem_bytes) {
    bool is_full = *n == 0 || (*n >= 8 && (*n & (*n - 1)) == 0);
    if (is_full) {
        char *grown = ctune_arena_array(p->arena, *n == 0 ? 8 : (size_t)*n * 2, elem_bytes);
        if (grown == NULL) {
            te_fail(p, "out of memory", NULL);
            return NULL;
        }
        if (*n > 0) {
            memcpy(grown, *list, (size_t)*n * elem_bytes);
        }
        *list = grown;
    }
    return (char *)(uintptr_t)*list + (size_t)(*n)++ * elem_bytes;
}

/* ---- names ----------------------------------------------------------------------------------- */

int te_find_axis(const te_parser *p, const char *name) {
    for (int i = 0; i < p->region->n_axes; i++) {
        if (strcmp(p->region->axes[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int te_find_param(const te_parser *p, const char *name) {
    for (int i = 0; i < p->region->n_params; i++) {
        if (strcmp(p->region->params[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int te_find_tensor(const te_parser *p, const char *name) {
    for (int i = 0; i < p->region->n_tensors; i++) {
        if (strcmp(p->region->tensors[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int te_find_stage(const te_parser *p, const char *name) {
    for (int i = 0; i < p->region->n_stages; i++) {
        if (strcmp(p->region->stages[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
