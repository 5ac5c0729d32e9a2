/*
 * Where the prelude belongs: see place.h.
 *
 * In: the file's bytes and the place of a pragma. Out: a line start at file scope. A scan that
 * knows comments, strings, braces and conditionals is enough and needs no compiler: each branch of
 * an #if starts at the brace depth of the #if, so that two heads for one body do not confuse it,
 * and a declaration's head that an #else cuts moves the place before the #if.
 */
#include "plugin/rewrite/place.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_IFS = 64 };

typedef struct conditional {
    size_t line; /* start of the #if's line */
    int depth;   /* braces open there */
} conditional;

typedef struct scan {
    const char *text;
    size_t n, at;
    size_t line;        /* start of the current line */
    bool line_is_blank; /* only white space or a comment so far on this line */
    bool line_has_code; /* a token or a directive was on the current line */
    int depth;          /* braces */
    bool in_decl;       /* a token of a top-level declaration was seen and it has not ended */
    int extern_state;   /* `extern` = 1, then a string = 2: a `{` that opens no body */
    bool after_paren;   /* the last token was `)` */
    bool is_old_style;  /* a word came after `)`: perhaps a K&R head, whose `;` ends nothing */
    size_t place;       /* the answer so far */
    int place_ifs;      /* conditionals that enclose `place` */
    size_t comment;     /* line start of the comment run directly above, or SIZE_MAX */
    int n_ifs;
    conditional ifs[MAX_IFS];
} scan;

static size_t skip_comment(const scan *s, size_t i) {
    if (s->text[i + 1] == '*') {
        for (i += 2; i + 1 < s->n && !(s->text[i] == '*' && s->text[i + 1] == '/'); i++) {
        }
        return i + 2 < s->n ? i + 2 : s->n;
    }
    while (i < s->n && s->text[i] != '\n') {
        i += s->text[i] == '\\' && i + 1 < s->n ? 2 : 1;
    }
    return i < s->n ? i : s->n;
}

static size_t skip_quoted(const scan *s, size_t i) {
    char quote = s->text[i++];
    while (i < s->n && s->text[i] != quote && s->text[i] != '\n') {
        i += s->text[i] == '\\' && i + 1 < s->n ? 2 : 1;
    }
    return i < s->n && s->text[i] == quote ? i + 1 : i;
}

static bool is_comment(const scan *s, size_t i) {
    return s->text[i] == '/' && i + 1 < s->n && (s->text[i + 1] == '*' || s->text[i + 1] == '/');
}

/* End of a directive: its newline, continued lines and comments included. */
static size_t skip_directive(const scan *s, size_t i) {
    while (i < s->n && s->text[i] != '\n') {
        if (s->text[i] == '\\' && i + 1 < s->n) {
            i += s->text[i + 1] == '\r' && i + 2 < s->n ? 3 : 2;
        } else if (is_comment(s, i)) {
            i = skip_comment(s, i);
        } else {
            i++;
        }
    }
    return i;
}

static bool word_is(const scan *s, size_t i, const char *word) {
    size_t n = strlen(word);
    return s->n - i >= n && memcmp(s->text + i, word, n) == 0;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The place must not lie inside a conditional that ends or changes branch before the region. */
static void leave_conditional(scan *s, int i_if) {
    if (s->place_ifs > i_if) {
        s->place = s->ifs[i_if].line;
        s->place_ifs = i_if;
    }
}

static void take_directive(scan *s, size_t hash) {
    size_t i = hash + 1;
    while (i < s->n && (s->text[i] == ' ' || s->text[i] == '\t')) {
        i++;
    }
    if (word_is(s, i, "if")) {
        if (s->n_ifs < MAX_IFS) {
            s->ifs[s->n_ifs] = (conditional){s->line, s->depth};
        }
        s->n_ifs++;
    } else if (word_is(s, i, "el") && s->n_ifs > 0 && s->n_ifs <= MAX_IFS) {
        s->depth = s->ifs[s->n_ifs - 1].depth;
        leave_conditional(s, s->n_ifs - 1);
    } else if (word_is(s, i, "endif") && s->n_ifs > 0) {
        s->n_ifs--;
        if (s->n_ifs < MAX_IFS) {
            leave_conditional(s, s->n_ifs);
        }
    }
}

static void begin_decl(scan *s) {
    s->in_decl = true;
    s->is_old_style = s->after_paren = false;
    s->extern_state = 0;
    if (!s->line_has_code) { /* else it shares its line with the one before: that place stays */
        s->place = s->comment != (size_t)-1 ? s->comment : s->line;
        s->place_ifs = s->n_ifs < MAX_IFS ? s->n_ifs : MAX_IFS;
    }
}

static void end_decl(scan *s) {
    s->in_decl = false;
    s->comment = (size_t)-1;
}

/* One token character (or the start of a string or word). Returns the offset behind it. */
static size_t take_token(scan *s, size_t i) {
    char c = s->text[i];
    if (s->depth == 0 && !s->in_decl && c != ';' && c != '}') {
        begin_decl(s);
    }
    s->line_has_code = true;
    s->line_is_blank = false;
    if (c == '"' || c == '\'') {
        s->extern_state = s->extern_state == 1 ? 2 : 0;
        return skip_quoted(s, i);
    }
    if (c == '{') {
        if (s->depth == 0 && s->extern_state == 2) {
            end_decl(s);
        } else {
            s->depth++;
        }
    } else if (c == '}') {
        s->depth -= s->depth > 0;
        if (s->depth == 0) {
            end_decl(s); /* `struct {...} x;`: x shares the line or starts harmlessly after it */
        }
    } else if (c == ';' && s->depth == 0 && !s->is_old_style) {
        end_decl(s);
    } else if (s->depth == 0 && s->after_paren && is_word(c) && !word_is(s, i, "__a")) {
        s->is_old_style = true;
    }
    s->after_paren = c == ')';
    if (s->depth == 0 && word_is(s, i, "extern")) {
        s->extern_state = 1;
        return i + 6;
    }
    s->extern_state = 0;
    return i + 1;
}

static void take_newline(scan *s, size_t i) {
    if (s->line_is_blank && s->line == i - (i > 0 && s->text[i - 1] == '\r')) {
        s->comment = (size_t)-1; /* an empty line: what is above is not the declaration's comment */
    }
    s->line = i + 1;
    s->line_is_blank = true;
    s->line_has_code = false;
}

size_t ctune_place_find(const char *text, size_t n, size_t at) {
    scan s = {.text = text, .n = n, .at = at, .line_is_blank = true, .comment = (size_t)-1};
    size_t i = 0;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        i = s.line = s.place = 3;
    }
    while (i < n && i < at) {
        char c = text[i];
        if (c == '\n') {
            take_newline(&s, i++);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            i++;
        } else if (is_comment(&s, i)) {
            size_t end = skip_comment(&s, i);
            if (s.line_is_blank && s.depth == 0 && !s.in_decl && s.comment == (size_t)-1) {
                s.comment = s.line;
            }
            s.line_is_blank = false;
            for (; i < end; i++) {
                if (text[i] == '\n') {
                    s.line = i + 1;
                }
            }
        } else if (c == '#' && !s.line_has_code) {
            take_directive(&s, i);
            s.line_has_code = true;
            s.line_is_blank = false;
            s.comment = (size_t)-1;
            i = skip_directive(&s, i);
        } else {
            i = take_token(&s, i);
        }
    }
    return s.place;
}
