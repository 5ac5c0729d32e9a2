/* Tokens of the TE text. Lines matter: a newline is a token; '#' starts a comment. */
#ifndef CTUNE_SEARCH_TE_TE_LEX_H
#define CTUNE_SEARCH_TE_TE_LEX_H

#include "runtime/arena.h"

typedef enum te_token_kind {
    TE_END,
    TE_NEWLINE,
    TE_IDENT,  /* letters, digits, _ $ . */
    TE_NUMBER, /* a C preprocessing number, without sign */
    TE_STRING, /* text: unescaped */
    TE_PUNCT,  /* one or two characters */
    TE_BAD     /* text: why */
} te_token_kind;

typedef struct te_token {
    te_token_kind kind;
    const char *text; /* in the arena */
    int line, col;    /* 1-based */
} te_token;

typedef struct te_lexer {
    ctune_arena *arena;
    const char *at; /* next byte */
    const char *line_start;
    int line;
} te_lexer;

void te_lexer_init(te_lexer *lexer, ctune_arena *arena, const char *text);
te_token te_lexer_next(te_lexer *lexer);

#endif
