/*
 * The parser of the TE text: what its three files share (te_parse_core.c: tokens and names,
 * te_parse_expr.c: forms and expressions, te_parse.c: lines and order).
 *
 * The first error wins: it is kept in status, the current token becomes END, and all functions
 * below return at once.
 */
#ifndef CTUNE_SEARCH_TE_TE_PARSE_H
#define CTUNE_SEARCH_TE_TE_PARSE_H

#include "search/te/te.h"
#include "search/te/te_lex.h"

/* A div that is an element of a tensor, which its line only names. */
typedef struct te_load {
    const char *name;
    int line, col;
    ctune_access *load;
} te_load;

typedef struct te_parser {
    ctune_ctx *ctx;
    const char *format; /* what errors call the text, "te" */
    ctune_arena *arena;
    te_lexer lexer;
    te_token token, ahead; /* current, next */
    ctune_status status;
    int depth; /* of the recursion */
    ctune_region *region;
    int n_loads;
    const void *loads; /* te_load [n_loads] */
} te_parser;

/* Errors at a place, at the current token; detail (may be NULL) is quoted. */
void te_fail_at(te_parser *p, int line, int col, const char *text, const char *detail);
void te_fail(te_parser *p, const char *text, const char *detail);

void te_advance(te_parser *p);
bool te_is_punct(const te_token *token, const char *text);
bool te_is_word(const te_token *token, const char *text);
const char *te_token_words(const te_token *token);
/* Consume the token when it is this punctuation or word. */
bool te_accept(te_parser *p, const char *text);
void te_expect(te_parser *p, const char *text);
const char *te_expect_kind(te_parser *p, te_token_kind kind, const char *what);
const char *te_expect_ident(te_parser *p);
const char *te_expect_string(te_parser *p);
void te_expect_line_end(te_parser *p);
void te_skip_newlines(te_parser *p);
int64_t te_expect_int(te_parser *p);
int te_expect_small(te_parser *p, int64_t lo, int64_t hi);
int te_find_type(const char *name); /* -1: none */
ctune_type te_expect_type(te_parser *p);
/* Deeper in the recursion; false when too deep. The caller decrements p->depth on its way out. */
bool te_enter(te_parser *p);
/* Append to an arena array; the new element, zeroed, or NULL after a failure. */
void *te_list_append(te_parser *p, const void **list, int *n, size_t elem_bytes);

/* Index or -1. */
int te_find_axis(const te_parser *p, const char *name);
int te_find_param(const te_parser *p, const char *name);
int te_find_tensor(const te_parser *p, const char *name);
int te_find_stage(const te_parser *p, const char *name);

const ctune_aff *te_parse_aff(te_parser *p);
/* `0 <= i < n`: appends constraints to a list of const ctune_aff *. */
void te_parse_chain(te_parser *p, const void **list, int *n);
const ctune_expr *te_parse_expr(te_parser *p);
/* Constants: 2, 0.5f; f32(0x1.8p+0 "1.5f") behind its type name. */
const ctune_expr *te_parse_literal(te_parser *p);
const ctune_expr *te_parse_typed_const(te_parser *p, ctune_type type);
bool te_parse_access(te_parser *p, ctune_access *access);

#endif
