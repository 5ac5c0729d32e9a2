/* Scanning of raw C text: see source.h. */
#include "plugin/extract/source.h"

#include "runtime/text.h"

#include <string.h>

/* Append to an arena array. false when memory is out. */
static bool grow(ctune_arena *arena, void **array, int n, size_t elem_bytes) {
    bool is_full = n == 0 || (n >= 4 && (n & (n - 1)) == 0);
    if (!is_full) {
        return true;
    }
    void *bigger = ctune_arena_array(arena, n == 0 ? 4 : 2 * (size_t)n, elem_bytes);
    if (bigger == NULL) {
        return false;
    }
    if (n > 0) {
        memcpy(bigger, *array, (size_t)n * elem_bytes);
    }
    *array = bigger;
    return true;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool starts(const char *t, size_t n, size_t at, const char *what) {
    size_t len = strlen(what);
    return at + len <= n && memcmp(t + at, what, len) == 0;
}

/* A backslash and the newline that it hides: its length, or 0. */
static size_t splice_length(const char *t, size_t n, size_t at) {
    if (at + 1 < n && t[at] == '\\' && t[at + 1] == '\n') {
        return 2;
    }
    return at + 2 < n && t[at] == '\\' && t[at + 1] == '\r' && t[at + 2] == '\n' ? 3 : 0;
}

static size_t comment_end(const char *t, size_t n, size_t at) {
    if (t[at + 1] == '*') {
        at += 2;
        while (at < n && !starts(t, n, at, "*/")) {
            at++;
        }
        return at + 2 < n ? at + 2 : n;
    }
    while (at < n && t[at] != '\n') {
        size_t splice = splice_length(t, n, at);
        at += splice > 0 ? splice : 1;
    }
    return at;
}

static bool is_comment(const char *t, size_t n, size_t at) {
    return starts(t, n, at, "/*") || starts(t, n, at, "//");
}

static size_t string_end(const char *t, size_t n, size_t at) {
    char quote = t[at++];
    while (at < n && t[at] != quote && t[at] != '\n') {
        at += t[at] == '\\' && at + 1 < n ? 2 : 1;
    }
    return at < n && t[at] == quote ? at + 1 : at < n ? at : n;
}

/* End of the token at `at`: comment, literal, word, or one character. */
static size_t token_end(const char *t, size_t n, size_t at) {
    if (is_comment(t, n, at)) {
        return comment_end(t, n, at);
    }
    if (t[at] == '"' || t[at] == '\'') {
        return string_end(t, n, at);
    }
    if (!is_word(t[at])) {
        return at + 1;
    }
    bool is_number = t[at] >= '0' && t[at] <= '9'; /* 1'000 in C23: the ' belongs to it */
    while (at < n &&
           (is_word(t[at]) || (is_number && t[at] == '\'' && at + 1 < n && is_word(t[at + 1])))) {
        at++;
    }
    return at;
}

size_t ctune_source_skip_space(const char *t, size_t n, size_t at) {
    while (at < n) {
        size_t splice = splice_length(t, n, at);
        if (splice > 0) {
            at += splice;
        } else if (is_comment(t, n, at)) {
            at = comment_end(t, n, at);
        } else if (strchr(" \t\r\n\v\f", t[at]) != NULL && t[at] != '\0') {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static size_t skip_blank(const char *t, size_t n, size_t at) {
    while (at < n) {
        size_t splice = splice_length(t, n, at);
        if (splice > 0) {
            at += splice;
        } else if (starts(t, n, at, "/*")) {
            at = comment_end(t, n, at);
        } else if (t[at] == ' ' || t[at] == '\t' || t[at] == '\v' || t[at] == '\f') {
            at++;
        } else {
            break;
        }
    }
    return at;
}

/* ---- earlier rewritings ---------------------------------------------------------------------- */

static const char BEGIN[] = "/* ctune:begin ", END[] = "/* ctune:end ";
static const char ORIGINAL_BEGIN[] = "/* ctune:original begin */";
static const char ORIGINAL_END[] = "/* ctune:original end */";

static size_t find(const char *t, size_t begin, size_t end, const char *what) {
    const char *hit = begin < end ? memmem(t + begin, end - begin, what, strlen(what)) : NULL;
    return hit != NULL ? (size_t)(hit - t) : SIZE_MAX;
}

/* The block whose begin marker stands at `at`. */
static void read_block(const char *t, size_t n, size_t at, ctune_block *out) {
    *out = (ctune_block){.begin = at, .end = comment_end(t, n, at), .is_damaged = true};
    size_t name = at + sizeof BEGIN - 1;
    char marker[300];
    size_t len = out->end - name;
    if (len < sizeof marker - sizeof END) {
        memcpy(marker, END, sizeof END - 1);
        memcpy(marker + sizeof END - 1, t + name, len);
        marker[sizeof END - 1 + len] = '\0';
        size_t end = find(t, out->end, n, marker);
        size_t first = end == SIZE_MAX ? SIZE_MAX : find(t, out->end, end, ORIGINAL_BEGIN);
        size_t last = first == SIZE_MAX ? SIZE_MAX : find(t, first, end, ORIGINAL_END);
        if (last != SIZE_MAX) {
            out->is_damaged = false;
            out->end = end + strlen(marker);
            out->original_begin = first + sizeof ORIGINAL_BEGIN - 1;
            out->original_end = last;
        }
    }
}

static bool add_piece(ctune_source *s, ctune_text *clean, size_t begin, size_t end) {
    if (!grow(s->arena, (void **)&s->pieces, s->n_pieces, sizeof *s->pieces)) {
        return false;
    }
    s->pieces[s->n_pieces++] = (ctune_piece){clean->len, begin, end - begin};
    ctune_text_append_n(clean, s->text + begin, end - begin);
    return !clean->failed;
}

static bool add_block(ctune_source *s, ctune_text *clean, size_t *done, ctune_block block) {
    if (!grow(s->arena, (void **)&s->blocks, s->n_blocks, sizeof *s->blocks)) {
        return false;
    }
    if (!block.is_damaged) {
        if (!add_piece(s, clean, *done, block.begin)) {
            return false;
        }
        block.clean_begin = clean->len;
        if (!add_piece(s, clean, block.original_begin, block.original_end)) {
            return false;
        }
        block.clean_end = clean->len;
        *done = block.end;
    } else {
        block.clean_begin = block.clean_end = clean->len + (block.begin - *done);
    }
    s->blocks[s->n_blocks++] = block;
    return true;
}

static bool undo_rewritings(ctune_source *s) {
    ctune_text clean;
    ctune_text_init(&clean);
    size_t done = 0;
    bool ok = true;
    for (size_t at = 0; at < s->n_text && ok;) {
        if (starts(s->text, s->n_text, at, BEGIN)) {
            ctune_block block;
            read_block(s->text, s->n_text, at, &block);
            ok = add_block(s, &clean, &done, block);
            at = block.end;
        } else {
            at = token_end(s->text, s->n_text, at);
        }
    }
    ok = ok && add_piece(s, &clean, done, s->n_text);
    s->clean = ctune_arena_strndup(s->arena, ctune_text_get(&clean), clean.len);
    s->n_clean = clean.len;
    ctune_text_clear(&clean);
    return ok && s->clean != NULL;
}

/* ---- pragmas and directives ------------------------------------------------------------------ */

/* A stretch with comments and line splices blanked. */
static const char *blanked(ctune_arena *arena, const char *t, size_t begin, size_t end) {
    char *copy = ctune_arena_strndup(arena, t + begin, end - begin);
    for (size_t at = begin; at < end && copy != NULL;) {
        size_t splice = splice_length(t, end, at);
        size_t stop = splice > 0 ? at + splice : token_end(t, end, at);
        stop = stop > end ? end : stop;
        if (splice > 0 || is_comment(t, end, at) || t[at] == '\r') {
            memset(copy + (at - begin), ' ', stop - at);
        }
        at = stop;
    }
    return copy;
}

static size_t directive_end(const char *t, size_t n, size_t at) {
    while (at < n && t[at] != '\n') {
        size_t splice = splice_length(t, n, at);
        at = splice > 0 ? at + splice : token_end(t, n, at);
    }
    return at > 0 && at <= n && t[at - 1] == '\r' ? at - 1 : at;
}

static bool add_site(ctune_source *s, ctune_site site) {
    if (!grow(s->arena, (void **)&s->sites, s->n_sites, sizeof *s->sites)) {
        return false;
    }
    s->sites[s->n_sites++] = site;
    return site.clauses != NULL;
}

/* The value of the string literal at `at`, when it starts with the word `tune`: what follows that
 * word. */
static const char *operand_clauses(ctune_arena *arena, const char *t, size_t at, size_t end) {
    char *value = ctune_arena_alloc(arena, end - at + 1);
    size_t n = 0;
    for (size_t i = at + 1; i + 1 < end && value != NULL; i++) {
        if (t[i] == '\\' && (t[i + 1] == '"' || t[i + 1] == '\\')) {
            i++;
        }
        value[n++] = t[i];
    }
    size_t word = value == NULL ? 0 : skip_blank(value, n, 0);
    if (value == NULL || !starts(value, n, word, "tune") ||
        (word + 4 < n && is_word(value[word + 4]))) {
        return NULL;
    }
    return value + word + 4;
}

/* The _Pragma operator at `at`. macro: the definition in which it stands, or NULL. Returns the
 * offset after it. */
static size_t read_operator(ctune_source *s, size_t at, size_t limit, const char *macro, bool *ok) {
    const char *t = s->clean;
    size_t open = ctune_source_skip_space(t, limit, at + 7);
    if (open >= limit || t[open] != '(') {
        return at + 7;
    }
    size_t quote = ctune_source_skip_space(t, limit, open + 1);
    if (quote >= limit || t[quote] != '"') {
        if (macro != NULL) {
            *ok = *ok && add_site(s, (ctune_site){.begin = at,
                                                  .end = at,
                                                  .word = at,
                                                  .clauses = "",
                                                  .macro = macro,
                                                  .is_unknown = true});
        }
        return quote;
    }
    size_t end = string_end(t, limit, quote);
    size_t close = ctune_source_skip_space(t, limit, end);
    const char *clauses = operand_clauses(s->arena, t, quote, end);
    if (close < limit && t[close] == ')') {
        close++;
    }
    if (clauses != NULL) {
        *ok = *ok && add_site(s, (ctune_site){.begin = at,
                                              .end = close,
                                              .word = quote + 1,
                                              .clauses = clauses,
                                              .macro = macro});
    }
    return close;
}

static bool is_word_at(const char *t, size_t n, size_t at, const char *word) {
    size_t len = strlen(word);
    return starts(t, n, at, word) && (at + len == n || !is_word(t[at + len]));
}

static void read_definition(ctune_source *s, size_t at, size_t end, bool *ok) {
    const char *t = s->clean;
    size_t name = skip_blank(t, end, at);
    size_t name_end = name < end ? token_end(t, end, name) : end;
    const char *macro = ctune_arena_strndup(s->arena, t + name, name_end - name);
    for (size_t i = name_end; i < end && *ok && macro != NULL;) {
        i = is_word_at(t, end, i, "_Pragma") ? read_operator(s, i, end, macro, ok)
                                             : token_end(t, end, i);
    }
    *ok = *ok && macro != NULL;
}

/* The directive whose '#' stands at `at`. Returns the offset after it. */
static size_t read_directive(ctune_source *s, size_t at, bool *ok) {
    const char *t = s->clean;
    size_t end = directive_end(t, s->n_clean, at);
    size_t word = skip_blank(t, end, at + 1);
    size_t word_end = word < end ? token_end(t, end, word) : end;
    size_t rest = skip_blank(t, end, word_end);
    if (is_word_at(t, end, word, "pragma") && is_word_at(t, end, rest, "tune")) {
        *ok = add_site(s, (ctune_site){.begin = at,
                                       .end = end,
                                       .word = rest,
                                       .clauses = blanked(s->arena, t, rest + 4, end)});
        return end;
    }
    if (is_word_at(t, end, word, "define")) {
        read_definition(s, word_end, end, ok);
    }
    if (!grow(s->arena, (void **)&s->directives, s->n_directives, sizeof *s->directives)) {
        *ok = false;
        return end;
    }
    ctune_directive d = {.begin = at, .end = end};
    d.name = ctune_arena_strndup(s->arena, t + word, word_end - word);
    d.rest = blanked(s->arena, t, rest, end);
    s->directives[s->n_directives++] = d;
    *ok = *ok && d.name != NULL && d.rest != NULL;
    return end;
}

static bool find_pragmas(ctune_source *s) {
    const char *t = s->clean;
    bool ok = true, is_line_start = true;
    size_t at = starts(t, s->n_clean, 0, "\xef\xbb\xbf") ? 3 : 0;
    while (at < s->n_clean && ok) {
        if (t[at] == '#' && is_line_start) {
            at = read_directive(s, at, &ok);
        } else if (is_word_at(t, s->n_clean, at, "_Pragma")) {
            at = read_operator(s, at, s->n_clean, NULL, &ok);
            is_line_start = false;
        } else {
            bool is_blank = strchr(" \t\r\v\f", t[at]) != NULL || is_comment(t, s->n_clean, at);
            is_line_start = t[at] == '\n' || (is_line_start && is_blank);
            at = token_end(t, s->n_clean, at);
        }
    }
    return ok;
}

bool ctune_source_init(ctune_arena *arena, const char *file, const char *text, size_t n_text,
                       ctune_source *out) {
    *out = (ctune_source){.arena = arena, .file = file, .text = text, .n_text = n_text};
    return undo_rewritings(out) && find_pragmas(out);
}

/* ---- places ---------------------------------------------------------------------------------- */

size_t ctune_source_to_text(const ctune_source *s, size_t clean) {
    for (int i = s->n_pieces - 1; i >= 0; i--) {
        const ctune_piece *p = &s->pieces[i];
        if (clean >= p->clean && (p->n > 0 || i == 0)) {
            size_t within = clean - p->clean;
            return p->text + (within < p->n ? within : p->n);
        }
    }
    return clean;
}

void ctune_source_place(const ctune_source *s, size_t clean, int *line, int *col) {
    size_t at = ctune_source_to_text(s, clean);
    *line = *col = 1;
    for (size_t i = 0; i < at && i < s->n_text; i++) {
        (*col)++;
        if (s->text[i] == '\n') {
            (*line)++;
            *col = 1;
        }
    }
}

const char *ctune_source_line(const ctune_source *s, ctune_arena *arena, size_t begin, size_t end) {
    if (end > s->n_clean || begin > end) {
        begin = end = 0;
    }
    char *line = ctune_arena_alloc(arena, end - begin + 1);
    size_t n = 0;
    for (size_t at = begin; at < end && line != NULL;) {
        size_t next = ctune_source_skip_space(s->clean, end, at);
        if (next > at) {
            if (n > 0 && next < end) {
                line[n++] = ' ';
            }
            at = next;
            continue;
        }
        next = token_end(s->clean, end, at);
        memcpy(line + n, s->clean + at, next - at);
        n += next - at;
        at = next;
    }
    return line;
}
