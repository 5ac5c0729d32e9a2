/*
 * The parser of a program's text: what its files share (loops_parse.c: names, lines;
 * loops_parse_value.c: indices and values). Tokens, errors and constants are te's (te_parse.h).
 */
#ifndef CTUNE_SEARCH_LOOPS_LOOPS_PARSE_H
#define CTUNE_SEARCH_LOOPS_LOOPS_PARSE_H

#include "search/loops/loops.h"
#include "search/te/te_parse.h"

/* A variable or buffer by the word that stands for it: "i.3", "B_pack.b0", or its name. */
typedef struct loops_symbol {
    const char *word; /* NULL: a free slot */
    bool is_buffer;
    int id;
} loops_symbol;

typedef struct loops_parser {
    te_parser te; /* first: errors, tokens, the region's names */
    ctune_loops *l;
    int n_symbols, cap_symbols; /* hash table, open addressing */
    loops_symbol *symbol;
    int height;       /* of the value that was parsed last */
    int64_t n_opened; /* terms made by multiplying sums out; printed text has none */
} loops_parser;

/* NULL: no such word has been bound so far. */
const loops_symbol *loops_find(const loops_parser *p, const char *word);
/* What ends at the current token cannot be built: memory, or 64 bits. */
void loops_fail_build(loops_parser *p);

/* NULL after a failure. */
const ctune_aff *loops_parse_aff(loops_parser *p);
const ctune_value *loops_parse_value(loops_parser *p);
/* A[i][j:8]; false after a failure. */
bool loops_parse_place(loops_parser *p, ctune_place *place, int *lanes);
/* "f32", "f32x8" */
ctune_type loops_parse_type(loops_parser *p, int *lanes);

#endif
