/* Lexer of the TE text: see te_lex.h. */
#include "search/te/te_lex.h"

#include <string.h>

void te_lexer_init(te_lexer *lexer, ctune_arena *arena, const char *text) {
    *lexer = (te_lexer){arena, text, text, 1};
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *ident_end(const char *p) {
    while (is_letter(*p) || is_digit(*p) || *p == '.') {
        p++;
    }
    return p;
}

static const char *number_end(const char *p) {
    bool is_hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    for (;;) {
        bool is_exponent = *p == 'p' || *p == 'P' || (!is_hex && (*p == 'e' || *p == 'E'));
        if (is_exponent && (p[1] == '+' || p[1] == '-')) {
            p += 2;
        } else if (is_letter(*p) || is_digit(*p) || *p == '.') {
            p++;
        } else {
            return p;
        }
    }
}

static int hex_digit(char c) {
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The string at lexer->at (a quote); NULL when it is malformed or memory is out. */
static const char *string_read(te_lexer *lexer) {
    const char *p = lexer->at + 1;
    size_t len = strcspn(p, "\n");
    char *out = ctune_arena_alloc(lexer->arena, len + 1), *w = out;
    while (out != NULL && *p != '"') {
        char c = *p++;
        if (c == '\0' || c == '\n') {
            return NULL;
        }
        if (c == '\\') {
            c = *p++;
            if (c == 'x' && hex_digit(p[0]) >= 0 && hex_digit(p[1]) >= 0) {
                c = (char)(hex_digit(p[0]) * 16 + hex_digit(p[1]));
                p += 2;
                if (c == '\0') {
                    return NULL;
                }
            } else if (c == 'n') {
                c = '\n';
            } else if (c != '"' && c != '\\') {
                return NULL;
            }
        }
        *w++ = c;
    }
    lexer->at = p + 1;
    return out;
}

static size_t punct_length(const char *p) {
    static const char *const pairs[] = {">=", "<=", "==", "!=", "&&", "||", "<<", ">>",
                                        "+=", "-=", "*=", "/=", "&=", "|=", "^="};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strncmp(p, pairs[i], 2) == 0) {
            return 2;
        }
    }
    return strchr("+-*/%&|^~<>!=()[]{},:;?@", *p) != NULL ? 1 : 0;
}

static void skip_blanks(te_lexer *lexer) {
    while (*lexer->at == ' ' || *lexer->at == '\t' || *lexer->at == '\r') {
        lexer->at++;
    }
    if (*lexer->at == '#') {
        lexer->at += strcspn(lexer->at, "\n");
    }
}

te_token te_lexer_next(te_lexer *lexer) {
    skip_blanks(lexer);
    const char *start = lexer->at, *end = start;
    te_token token = {TE_BAD, NULL, lexer->line, (int)(start - lexer->line_start) + 1};
    if (*start == '\0') {
        token.kind = TE_END;
    } else if (*start == '\n') {
        token.kind = TE_NEWLINE;
        end = start + 1;
        lexer->line++;
        lexer->line_start = end;
    } else if (is_letter(*start)) {
        token.kind = TE_IDENT;
        end = ident_end(start);
    } else if (is_digit(*start)) {
        token.kind = TE_NUMBER;
        end = number_end(start);
    } else if (*start == '"') {
        token.text = string_read(lexer);
        token.kind = token.text != NULL ? TE_STRING : TE_BAD;
        token.text = token.text != NULL ? token.text : "malformed string";
        return token;
    } else if (punct_length(start) > 0) {
        token.kind = TE_PUNCT;
        end = start + punct_length(start);
    } else {
        token.text = "unexpected character";
        return token;
    }
    lexer->at = end;
    token.text = ctune_arena_strndup(lexer->arena, start, (size_t)(end - start));
    if (token.text == NULL) {
        token = (te_token){TE_BAD, "out of memory", token.line, token.col};
    }
    return token;
}
