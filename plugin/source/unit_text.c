/*
 * The user's whole file as a text that compiles elsewhere: see unit_text.h.
 *
 * A copy in another folder instead of the file itself: what is compiled is what was extracted (a
 * plugin's text may not be in any file), regions can be marked, and nothing is written beside the
 * user's file. `#include "x.h"` finds its file through -iquote, __FILE__ and debug lines have the
 * user's name through #line.
 */
#include "plugin/source/unit_text.h"

#include <stdio.h>
#include <string.h>

void ctune_unit_mark(int i_region, char *out, size_t size) {
    snprintf(out, size, "ctune-region-%d", i_region);
}

static void put_line(ctune_text *out, int line, const char *file) {
    ctune_text_printf(out, "\n#line %d \"", line);
    for (const char *p = file; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            ctune_text_append(out, "\\");
        }
        ctune_text_append_n(out, p, 1);
    }
    ctune_text_append(out, "\"\n");
}

static int line_at(const ctune_unit *unit, size_t offset) {
    int line = 1;
    for (size_t i = 0; i < offset; i++) {
        line += unit->text[i] == '\n';
    }
    return line;
}

static const char *name_of(const ctune_source *source) {
    return strcmp(source->file, "-") == 0 ? "<stdin>" : source->file;
}

void ctune_unit_print(const ctune_source *source, const char *const *bodies, bool is_marked,
                      ctune_text *out) {
    const ctune_unit *unit = source->unit;
    size_t at = 0;
    put_line(out, 1, name_of(source));
    for (int i = 0; i < unit->n_regions; i++) {
        const ctune_unit_region *r = &unit->regions[i];
        const char *body = bodies != NULL ? bodies[i] : NULL;
        if (r->statement_end <= r->statement_begin || r->statement_begin < at) {
            continue; /* no statement follows the pragma */
        }
        ctune_text_append_n(out, unit->text + at, r->statement_begin - at);
        char mark[64];
        ctune_unit_mark(i, mark, sizeof mark);
        put_line(out, line_at(unit, r->statement_begin), is_marked ? mark : name_of(source));
        size_t begin = r->is_rewritten ? r->original_begin : r->statement_begin;
        size_t end = r->is_rewritten ? r->original_end : r->statement_end;
        if (body != NULL) {
            ctune_text_append(out, body);
        } else {
            ctune_text_append_n(out, unit->text + begin, end - begin);
        }
        put_line(out, line_at(unit, r->statement_end), name_of(source));
        at = r->statement_end;
    }
    ctune_text_append_n(out, unit->text + at, unit->n_text - at);
    ctune_text_append(out, "\n");
}

const char **ctune_unit_argv(const ctune_source *source, ctune_arena *arena, int n_more,
                             const char *const *more) {
    const ctune_flags *flags = &source->flags;
    const char **argv = CTUNE_NEW_ARRAY(arena, const char *, flags->n_unit + n_more + 8);
    const char *slash = strrchr(source->file, '/');
    const char *folder =
        slash == NULL ? "."
        : slash == source->file
            ? "/"
            : ctune_arena_strndup(arena, source->file, (size_t)(slash - source->file));
    if (argv == NULL || folder == NULL) {
        return NULL;
    }
    int n = 0;
    argv[n++] = source->flags.compiler;
    argv[n++] = "-iquote";
    argv[n++] = folder;
    for (int i = 0; i < flags->n_unit; i++) {
        argv[n++] = flags->unit[i];
    }
    for (int i = 0; i < n_more; i++) {
        argv[n++] = more[i];
    }
    argv[n] = NULL;
    return argv;
}
