/*
 * Joining generated lines, see lines.h. One pass over the lines; the markers of plugin/rewrite tell
 * which are generated.
 */
#include "plugin/shim/lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct joiner {
    char *out; /* as long as every directive repeated before every line */
    size_t n_out;
    bool is_ours;          /* the line is generated */
    bool is_original;      /* the user's, between generated ones */
    bool is_run;           /* the output stands in a run of joined lines */
    bool is_placed;        /* the next line is the directive's line */
    bool is_spliced;       /* the line before ends in a backslash */
    const char *directive; /* the last #line, up to its closing quote; NULL: none yet */
    size_t n_directive;
    int line; /* of the statement that the code is a part of; 0: the directive's */
} joiner;

/* ---- text ----------------------------------------------------------------------------------- */
static bool has(const char *line, size_t n, const char *what) {
    return memmem(line, n, what, strlen(what)) != NULL;
}

static void put(joiner *j, const char *text, size_t n) {
    memcpy(j->out + j->n_out, text, n);
    j->n_out += n;
}

static void end_run(joiner *j) {
    if (j->is_run) {
        put(j, "\n", 1);
        j->is_run = false;
        j->is_placed = false;
    }
}

/* The directive that holds now, in front of a run. */
static void put_place(joiner *j) {
    const char *name = memchr(j->directive, '"', j->n_directive);
    if (j->line > 0 && name != NULL) {
        j->n_out += (size_t)sprintf(j->out + j->n_out, "#line %d ", j->line);
        put(j, name, j->n_directive - (size_t)(name - j->directive));
    } else {
        put(j, j->directive, j->n_directive);
    }
    put(j, "\n", 1);
}

/* The line in `CTUNE_EMIT_LINE` (search/emit/emit.h); -1: it is something else. */
static int marked_line(const char *line, size_t n) {
    static const char mark[] = "/* ctune:line ";
    while (n > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        n--;
    }
    if (n <= sizeof mark || memcmp(line, mark, sizeof mark - 1) != 0) {
        return -1;
    }
    long value = strtol(line + sizeof mark - 1, NULL, 10);
    return value >= 0 && value < 1000000000 ? (int)value : -1;
}

/* `#line 7 "a b.c"`, without what follows. 0: it is another line. */
static size_t directive_size(const char *line, size_t n) {
    if (n < 6 || memcmp(line, "#line ", 6) != 0) {
        return 0;
    }
    const char *quote = memchr(line, '"', n);
    for (const char *p = quote != NULL ? quote + 1 : line + n; p < line + n; p++) {
        if (*p == '"') {
            return (size_t)(p + 1 - line);
        }
        p += *p == '\\';
    }
    return 0;
}

/* The first #line of text is kept as the directive: the prelude has it behind. */
static void find_directive(joiner *j, const char *text, const char *end) {
    for (const char *p = text; p < end; p++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((newline != NULL ? newline : end) - p);
        if ((j->n_directive = directive_size(p, n)) > 0) {
            j->directive = p;
            return;
        }
        p += n;
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */
static void put_generated(joiner *j, const char *line, size_t n) {
    size_t skip = 0;
    while (skip < n && (line[skip] == ' ' || line[skip] == '\t')) {
        skip++;
    }
    bool is_spliced = n > 0 && line[n - 1] == '\\';
    if (j->is_spliced || j->directive == NULL) {
        put(j, line, n);
        put(j, "\n", 1);
        j->is_placed = false;
    } else if (skip < n) {
        if (!j->is_run && !j->is_placed) {
            put_place(j);
        }
        put(j, j->is_run ? " " : "", j->is_run);
        put(j, line + skip, n - skip);
        j->is_run = true;
        if (is_spliced || has(line, n, "//")) {
            end_run(j);
        }
    }
    j->is_spliced = is_spliced;
}

/* `#pragma X` in front of which there are blanks (ours; those of the prelude begin a line). Returns
 * the offset of X, 0: it is something else. */
static size_t pragma_size(const char *line, size_t n) {
    static const char word[] = "pragma";
    size_t i = 0;
    while (i < n && (line[i] == ' ' || line[i] == '\t')) {
        i++;
    }
    if (i == 0 || i == n || line[i] != '#') {
        return 0;
    }
    for (i++; i < n && (line[i] == ' ' || line[i] == '\t'); i++) {
    }
    if (n - i <= sizeof word || memcmp(line + i, word, sizeof word - 1) != 0) {
        return 0;
    }
    i += sizeof word - 1;
    return line[i] == ' ' || line[i] == '\t' ? i + 1 : 0;
}

/* As an operator it may stand on the joined line. */
static void put_pragma(joiner *j, const char *text, size_t n) {
    if (!j->is_run && !j->is_placed) {
        put_place(j);
    }
    put(j, j->is_run ? " _Pragma(\"" : "_Pragma(\"", j->is_run ? 10 : 9);
    for (size_t i = 0; i < n; i++) {
        put(j, "\\", text[i] == '"' || text[i] == '\\');
        put(j, text + i, 1);
    }
    put(j, "\")", 2);
    j->is_run = true;
}

static void put_directive(joiner *j, const char *line, size_t n) {
    end_run(j);
    put(j, line, n);
    put(j, "\n", 1);
    size_t n_directive = directive_size(line, n);
    if (n_directive > 0) {
        j->directive = line;
        j->n_directive = n_directive;
        j->line = 0;
    }
    j->is_placed = n_directive > 0;
    j->is_spliced = n > 0 && line[n - 1] == '\\';
}

static void put_users(joiner *j, const char *line, size_t n, bool has_newline) {
    end_run(j);
    put(j, line, n);
    put(j, "\n", has_newline);
}

/* line: with n bytes and behind them its newline (or the end of the text). */
static void put_line(joiner *j, const char *line, size_t n, const char *end) {
    size_t n_bare = n > 0 && line[n - 1] == '\r' ? n - 1 : n;
    bool has_newline = line + n < end;
    if (!j->is_ours) {
        put_users(j, line, n, has_newline);
        bool is_prelude = has(line, n, "/* ctune:prelude begin */");
        bool is_region = has(line, n, "/* ctune:begin ");
        bool is_back = j->is_original && has(line, n, "/* ctune:original end */");
        if (is_prelude || is_region || is_back) {
            j->is_ours = true;
            j->is_original = j->is_placed = j->is_spliced = false;
            j->line = 0;
            j->directive = is_back ? j->directive : NULL;
        }
        if (is_prelude) {
            find_directive(j, line + n, end);
        }
    } else if (has(line, n, "/* ctune:original begin */")) {
        put_users(j, line, n, has_newline);
        j->is_ours = false;
        j->is_original = true;
    } else if (has(line, n, "/* ctune:end ") || has(line, n, "/* ctune:prelude end */")) {
        put_users(j, line, n, has_newline);
        j->is_ours = j->is_original = false;
    } else if (!j->is_spliced && j->directive != NULL && marked_line(line, n_bare) >= 0) {
        end_run(j);
        j->is_placed = false;
        j->line = marked_line(line, n_bare);
    } else if (!j->is_spliced && j->directive != NULL && n_bare > 0 && line[n_bare - 1] != '\\' &&
               pragma_size(line, n_bare) > 0) {
        size_t begin = pragma_size(line, n_bare);
        put_pragma(j, line + begin, n_bare - begin);
    } else if (n_bare > 0 && line[0] == '#' && !j->is_spliced) {
        put_directive(j, line, n_bare);
    } else {
        put_generated(j, line, n_bare);
    }
}

/* Room for the text with the longest #line before each line. false: it does not fit a size_t. */
static bool room_for(const char *text, size_t n_text, size_t *room) {
    size_t n_lines = 1, longest = 0;
    const char *end = text + n_text;
    for (const char *p = text; p < end; n_lines++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((newline != NULL ? newline : end) - p);
        size_t n_directive = directive_size(p, n);
        longest = n_directive > longest ? n_directive : longest;
        p += n + 1;
    }
    size_t extra;
    return !__builtin_mul_overflow(n_lines, longest + 32, &extra) &&
           !__builtin_add_overflow(extra, n_text, &extra) && /* and every byte escaped */
           !__builtin_add_overflow(extra, n_text + 1, room);
}

char *ctune_shim_lines_join(const char *text, size_t n_text, size_t *n_out) {
    joiner j = {0};
    size_t room;
    if (!room_for(text, n_text, &room) || (j.out = malloc(room)) == NULL) {
        return NULL;
    }
    const char *end = text + n_text;
    for (const char *p = text; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((newline != NULL ? newline : end) - p);
        put_line(&j, p, n, end);
        p += n + 1;
    }
    end_run(&j);
    j.out[j.n_out] = '\0';
    *n_out = j.n_out;
    return j.out;
}
