/*
 * The text side of the pragma grammar: splits a line into C tokens, joins tokens into a line, reads
 * and writes string literals. In: bytes that may be anything (fuzzed). Out: arena tokens, or text.
 *
 * Why not the compiler's lexer: front ends give their own tokens and use only the joining; the
 * splitter serves tests, fuzzing and front ends that see a pragma as a string. It knows just enough
 * C: words, preprocessing numbers, literals, comments, continued lines, and the longest punctuator.
 */
#include "plugin/pragma/token.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool ctune_token_is_word(const char *text) {
    if (!is_letter(text[0])) {
        return false;
    }
    while (is_letter(*text) || is_digit(*text)) {
        text++;
    }
    return *text == '\0';
}

bool ctune_token_is_comment(const char *text) {
    return text[0] == '/' && (text[1] == '/' || text[1] == '*');
}

/* ---- splitting --------------------------------------------------------------------------- */
typedef struct cursor {
    const char *at;
    int line, col;
} cursor;

static void advance(cursor *c) {
    if (*c->at == '\n') {
        c->line++;
        c->col = 0;
    }
    c->at++;
    c->col++;
}

/* Bytes of "backslash newline" at p, 0 when there is none. */
static int splice_bytes(const char *p) {
    if (p[0] != '\\') {
        return 0;
    }
    return p[1] == '\n' ? 2 : p[1] == '\r' && p[2] == '\n' ? 3 : 0;
}

static void skip_blank(cursor *c) {
    for (;;) {
        int n = splice_bytes(c->at);
        if (n == 0 && *c->at != '\0' && strchr(" \t\r\n\v\f", *c->at) != NULL) {
            n = 1;
        } else if (c->at[0] == '/' && c->at[1] == '/') {
            n = (int)strcspn(c->at, "\n");
        } else if (c->at[0] == '/' && c->at[1] == '*') {
            const char *end = strstr(c->at + 2, "*/");
            n = (int)(end != NULL ? (size_t)(end + 2 - c->at) : strlen(c->at));
        }
        if (n == 0) {
            return;
        }
        while (n-- > 0) {
            advance(c);
        }
    }
}

static size_t literal_bytes(const char *p) {
    char quote = p[0];
    size_t n = 1;
    while (p[n] != '\0' && p[n] != '\n' && p[n] != quote) {
        n += p[n] == '\\' && p[n + 1] != '\0' && p[n + 1] != '\n' ? 2 : 1;
    }
    return p[n] == quote ? n + 1 : n;
}

static size_t number_bytes(const char *p) {
    size_t n = 1;
    while (is_letter(p[n]) || is_digit(p[n]) || p[n] == '.' ||
           ((p[n] == '+' || p[n] == '-') && strchr("eEpP", p[n - 1]) != NULL)) {
        n++;
    }
    return n;
}

static size_t word_bytes(const char *p) {
    size_t n = 0;
    while (is_letter(p[n]) || is_digit(p[n])) {
        n++;
    }
    return n;
}

static size_t punctuator_bytes(const char *p) {
    static const char *const longer[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>",
                                         "<=",  ">=",  "==",  "!=", "&&", "||", "*=", "/=",
                                         "%=",  "+=",  "-=",  "&=", "^=", "|=", "##"};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t n = strlen(longer[i]);
        if (strncmp(p, longer[i], n) == 0) {
            return n;
        }
    }
    return 1;
}

static size_t token_bytes(const char *p) {
    if (is_letter(p[0])) {
        return word_bytes(p);
    }
    if (is_digit(p[0]) || (p[0] == '.' && is_digit(p[1]))) {
        return number_bytes(p);
    }
    return p[0] == '"' || p[0] == '\'' ? literal_bytes(p) : punctuator_bytes(p);
}

bool ctune_token_is_open(const char *text) {
    if (text[0] != '"' && text[0] != '\'') {
        return false;
    }
    size_t n = 1;
    while (text[n] != '\0' && text[n] != text[0]) {
        n += text[n] == '\\' && text[n + 1] != '\0' ? 2 : 1;
    }
    return text[n] != text[0];
}

static int count_or_fill(ctune_arena *arena, const char *text, int line, int col,
                         ctune_token *out) {
    cursor c = {text, line, col};
    int n = 0;
    for (skip_blank(&c); *c.at != '\0'; skip_blank(&c)) {
        size_t bytes = token_bytes(c.at);
        if (out != NULL) {
            out[n].text = ctune_arena_strndup(arena, c.at, bytes);
            out[n].line = c.line;
            out[n].col = c.col;
            if (out[n].text == NULL) {
                return -1;
            }
        }
        n++;
        while (bytes-- > 0) {
            advance(&c);
        }
    }
    return n;
}

int ctune_pragma_tokenise(ctune_arena *arena, const char *text, int line, int col,
                          const ctune_token **out) {
    int n = count_or_fill(arena, text, line, col, NULL);
    ctune_token *tokens = CTUNE_NEW_ARRAY(arena, ctune_token, n > 0 ? n : 1);
    *out = tokens;
    return tokens == NULL ? -1 : count_or_fill(arena, text, line, col, tokens);
}

/* ---- joining ----------------------------------------------------------------------------- */
static bool is_one_of(const char *text, const char *chars) {
    return text[0] != '\0' && text[1] == '\0' && strchr(chars, text[0]) != NULL;
}

static bool is_value_end(const char *text) {
    return is_letter(text[0]) || is_digit(text[0]) || text[0] == '.' || text[0] == '"' ||
           text[0] == '\'' || is_one_of(text, ")]}");
}

/* before: the token before prev, NULL when prev is the first. */
static bool needs_space(const char *before, const char *prev, const char *next) {
    bool is_member = strcmp(prev, ".") == 0 || strcmp(prev, "->") == 0;
    bool is_next_member = strcmp(next, ".") == 0 || strcmp(next, "->") == 0;
    bool is_prev_name = ctune_token_is_word(prev) || is_one_of(prev, ")]");
    if (is_one_of(prev, "([") || is_one_of(next, ")],")) {
        return false;
    }
    if (is_one_of(next, "([") && is_prev_name) {
        return false;
    }
    if ((is_member && ctune_token_is_word(next)) || (is_next_member && is_prev_name)) {
        return false;
    }
    bool is_unary = is_one_of(prev, "!~") ||
                    (is_one_of(prev, "+-*&") && (before == NULL || !is_value_end(before)));
    return !(is_unary && (is_letter(next[0]) || is_digit(next[0]) || is_one_of(next, "(")));
}

void ctune_token_join(ctune_text *out, const ctune_token *tokens, int n_tokens) {
    for (int i = 0; i < n_tokens; i++) {
        const char *before = i > 1 ? tokens[i - 2].text : NULL;
        if (i > 0 && needs_space(before, tokens[i - 1].text, tokens[i].text)) {
            ctune_text_append_n(out, " ", 1);
        }
        ctune_text_append(out, tokens[i].text);
    }
}

/* ---- string literals --------------------------------------------------------------------- */
static const char escapes[] = "n\nt\t\"\"\\\\''"; /* pairs: letter, value */

const char *ctune_token_unescape(ctune_text *out, const char *literal) {
    size_t n = strlen(literal);
    if (n < 2 || literal[0] != '"' || literal[n - 1] != '"') {
        return "expected a string literal in double quotes";
    }
    for (size_t i = 1; i + 1 < n; i++) {
        const char *value = &literal[i];
        if (literal[i] == '"') {
            return "quote inside the string literal";
        }
        if (literal[i] == '\\') {
            value = NULL;
            for (const char *e = escapes; *e != '\0'; e += 2) {
                if (i + 2 < n && e[0] == literal[i + 1]) {
                    value = e + 1;
                }
            }
            i++;
        }
        if (value == NULL) {
            return "unknown escape in the string literal; \\n, \\t, \\\", \\' and \\\\ are known";
        }
        ctune_text_append_n(out, value, 1);
    }
    return NULL;
}

void ctune_token_escape(ctune_text *out, const char *value) {
    ctune_text_append(out, "\"");
    for (; *value != '\0'; value++) {
        char escape[3] = {'\\', '\0', '\0'};
        for (const char *e = escapes; *e != '\0'; e += 2) {
            if (e[1] == *value && *value != '\'') {
                escape[1] = e[0];
            }
        }
        ctune_text_append_n(out, escape[1] != '\0' ? escape : value, escape[1] != '\0' ? 2 : 1);
    }
    ctune_text_append(out, "\"");
}
