/*
 * Rewriting: see rewrite.h for what comes out.
 *
 * In: a unit's bytes and what replaces each region. Out: the new text. Two steps: first the
 * *pristine* text, which is the file without anything that an earlier rewriting put there (so that
 * undoing is not a special case and line numbers are always the user's), then a walk over it that
 * puts prelude and blocks in. Bytes outside of the blocks are copied.
 */
#include "plugin/rewrite/rewrite.h"

#include "plugin/rewrite/place.h"

#include <stdlib.h>
#include <string.h>

#define PRELUDE_BEGIN "/* ctune:prelude begin */"
#define PRELUDE_END "/* ctune:prelude end */"
#define ORIGINAL_BEGIN "/* ctune:original begin */"
#define ORIGINAL_END "/* ctune:original end */"

/* A region's place in the pristine text and what stands there in the end. */
typedef struct slot {
    size_t pragma, begin, end; /* the statement is [begin, end) */
    const char *body;          /* new text, or NULL */
    const char *kept;          /* an earlier block that stays, or NULL */
    size_t n_kept;
    const char *name;
} slot;

typedef struct job {
    const ctune_unit *unit;
    const char *prelude; /* new text, or NULL: keep the earlier one */
    const char *old_prelude;
    size_t n_old_prelude; /* the whole earlier block with its newline */
    const char *line_file;
    bool is_crlf;
    ctune_text pristine;
    int n_slots;
    slot *slots;
} job;

static const char *find_bytes(const char *text, size_t n, const char *word) {
    return n == 0 ? NULL : memmem(text, n, word, strlen(word));
}

/* Bytes [*begin, *end) of the prelude block, newline included; false when there is none. */
static bool find_prelude(const char *text, size_t n, size_t *begin, size_t *end) {
    const char *first = find_bytes(text, n, PRELUDE_BEGIN);
    if (first == NULL) {
        return false;
    }
    const char *last = find_bytes(first, n - (size_t)(first - text), PRELUDE_END);
    if (last == NULL) {
        return false;
    }
    size_t i = (size_t)(last - text) + strlen(PRELUDE_END);
    i += i < n && text[i] == '\r';
    i += i < n && text[i] == '\n';
    *begin = (size_t)(first - text);
    *end = i;
    return true;
}

static int by_place(const void *x, const void *y) {
    const ctune_unit_region *a = *(ctune_unit_region *const *)x,
                            *b = *(ctune_unit_region *const *)y;
    return a->statement_begin < b->statement_begin ? -1 : a->statement_begin > b->statement_begin;
}

static const char *splice_body(const ctune_splice *splices, int n, int i_region, bool *found) {
    for (int i = 0; i < n; i++) {
        if (splices[i].i_region == i_region) {
            *found = true;
            return splices[i].body;
        }
    }
    *found = false;
    return NULL;
}

static void set_slot(const ctune_unit *unit, const ctune_unit_region *r, bool is_listed, slot *s) {
    s->name = r->region != NULL && r->region->name != NULL ? r->region->name : r->function;
    if (!is_listed && r->is_rewritten) {
        s->kept = unit->text + r->statement_begin;
        s->n_kept = r->statement_end - r->statement_begin;
    }
}

static bool is_sane(const ctune_unit *unit, const ctune_unit_region *r) {
    bool is_above = r->pragma_end <= r->statement_begin;
    bool is_within = r->pragma_begin >= r->statement_begin && r->pragma_end <= r->statement_end;
    return r->pragma_begin <= r->pragma_end && (is_above || is_within) &&
           r->statement_begin < r->statement_end && r->statement_end <= unit->n_text &&
           (!r->is_rewritten ||
            (r->statement_begin <= r->original_begin && r->original_begin <= r->original_end &&
             r->original_end <= r->statement_end));
}

/* Copy unit text [from, to) to the pristine text without the prelude block. */
static void copy_plain(job *j, size_t from, size_t to) {
    const char *text = j->unit->text;
    size_t cut = to, resume = to;
    if (j->old_prelude != NULL) {
        size_t at = (size_t)(j->old_prelude - text);
        if (at >= from && at < to) {
            cut = at;
            resume = at + j->n_old_prelude < to ? at + j->n_old_prelude : to;
        }
    }
    ctune_text_append_n(&j->pristine, text + from, cut - from);
    ctune_text_append_n(&j->pristine, text + resume, to - resume);
}

static ctune_status make_pristine(ctune_ctx *ctx, job *j, const ctune_splice *splices,
                                  int n_splices) {
    const ctune_unit *unit = j->unit;
    size_t n = (size_t)unit->n_regions;
    const ctune_unit_region **order = calloc(n + 1, sizeof *order);
    j->slots = calloc(n + 1, sizeof *j->slots);
    if (order == NULL || j->slots == NULL) {
        free(order);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = &unit->regions[i];
    }
    qsort(order, n, sizeof *order, by_place);
    ctune_status status = CTUNE_OK;
    size_t at = 0;
    for (size_t i = 0; i < n && status == CTUNE_OK; i++) {
        const ctune_unit_region *r = order[i];
        bool is_listed;
        const char *body = splice_body(splices, n_splices, (int)(r - unit->regions), &is_listed);
        if (r->statement_end <= r->statement_begin && body == NULL) {
            continue; /* the pragma stands before nothing */
        }
        if (!is_sane(unit, r) || r->statement_begin < at) {
            if (body == NULL && !r->is_rewritten) {
                continue; /* a pragma inside of another's statement: refused, stays as it is */
            }
            status = ctune_fail(ctx, CTUNE_EBUG, "%s: offsets of region %d are not in order",
                                unit->file, (int)(r - unit->regions));
            break;
        }
        slot *s = &j->slots[j->n_slots++];
        set_slot(unit, r, is_listed, s);
        s->body = body;
        /* a pragma below other directives of the loop is part of the statement */
        size_t pragma = r->pragma_begin < r->statement_begin ? r->pragma_begin : r->statement_begin;
        copy_plain(j, at, pragma > at ? pragma : at);
        s->pragma = j->pristine.len;
        copy_plain(j, pragma > at ? pragma : at, r->statement_begin);
        s->begin = j->pristine.len;
        size_t begin = r->is_rewritten ? r->original_begin : r->statement_begin;
        size_t end = r->is_rewritten ? r->original_end : r->statement_end;
        ctune_text_append_n(&j->pristine, unit->text + begin, end - begin);
        s->end = j->pristine.len;
        at = r->statement_end;
    }
    free(order);
    if (status == CTUNE_OK) {
        copy_plain(j, at, unit->n_text);
    }
    return status;
}

/* ---- printing ------------------------------------------------------------------------------- */
static int line_of(const job *j, size_t offset) {
    int line = 1;
    for (size_t i = 0; i < offset; i++) {
        line += j->pristine.data[i] == '\n';
    }
    return line;
}

static void put_newline(const job *j, ctune_text *out) {
    ctune_text_append(out, j->is_crlf ? "\r\n" : "\n");
}

/* `#line N "file"` without a newline: the next physical line is line N of the user's file. */
static bool put_line_directive(const job *j, int line, ctune_text *out) {
    if (j->line_file == NULL) {
        return false;
    }
    ctune_text_printf(out, "#line %d \"", line < 1 ? 1 : line);
    for (const char *p = j->line_file; *p != '\0'; p++) {
        if (*p == '\\' || *p == '"') {
            ctune_text_append(out, "\\");
        }
        ctune_text_append_n(out, p, 1);
    }
    ctune_text_append(out, "\"");
    return true;
}

/* Our own lines: the file's line ending and the statement's indentation (not before directives and
 * in empty lines). A last line without newline is ended. */
static void put_lines(const job *j, const char *text, size_t n, const char *indent, size_t n_indent,
                      ctune_text *out) {
    while (n > 0) {
        const char *newline = memchr(text, '\n', n);
        size_t len = newline != NULL ? (size_t)(newline - text) : n;
        size_t used = newline != NULL ? len + 1 : len;
        if (len > 0 && text[len - 1] == '\r') {
            len--;
        }
        if (len > 0 && text[0] != '#') {
            ctune_text_append_n(out, indent, n_indent);
        }
        ctune_text_append_n(out, text, len);
        put_newline(j, out);
        text += used;
        n -= used;
    }
}

/* The line of the marker, the user's bytes, the closing marker's line; text from `start` to the end
 * of `last`'s line. Returns what follows. */
static const char *put_original(const job *j, const slot *s, const char *start, const char *begin,
                                const char *last, const char *indent, size_t n_indent,
                                ctune_text *out) {
    const char *text = begin + strlen(ORIGINAL_BEGIN);
    bool is_own_line = text[strspn(text, " \t\r")] == '\n';
    if (put_line_directive(j, line_of(j, s->begin) - is_own_line, out)) {
        put_newline(j, out);
    }
    ctune_text_append_n(out, indent, n_indent);
    ctune_text_append_n(out, start, (size_t)(begin - start));
    ctune_text_append(out, ORIGINAL_BEGIN);
    if (is_own_line) {
        text = strchr(text, '\n') + 1;
        put_newline(j, out);
    }
    const char *tail = last;
    while (tail > text && (tail[-1] == ' ' || tail[-1] == '\t')) {
        tail--;
    }
    bool ends_line = tail > text && tail[-1] == '\n';
    const char *stop = ends_line ? tail - 1 : last;
    ctune_text_append_n(out, text, (size_t)(stop - text)); /* the user's bytes: never touched */
    if (ends_line) {
        put_newline(j, out);
        ctune_text_append_n(out, indent, n_indent);
        ctune_text_append_n(out, tail, (size_t)(last - tail));
    }
    ctune_text_append(out, ORIGINAL_END);
    const char *rest = last + strlen(ORIGINAL_END);
    size_t n_rest = strcspn(rest, "\r\n");
    ctune_text_append_n(out, rest, n_rest);
    put_newline(j, out);
    rest += n_rest;
    rest += *rest == '\r';
    return rest + (*rest == '\n');
}

static void put_body(const job *j, const slot *s, const char *indent, size_t n_indent,
                     ctune_text *out) {
    int pragma_line = line_of(j, s->pragma);
    if (put_line_directive(j, pragma_line, out)) {
        put_newline(j, out);
    }
    const char *body = s->body, *end = body + strlen(body);
    const char *begin = strstr(body, ORIGINAL_BEGIN), *last = NULL;
    for (const char *p = body; (p = strstr(p, ORIGINAL_END)) != NULL; p++) {
        last = p;
    }
    if (begin != NULL && last != NULL && begin < last) {
        const char *start = begin;
        while (start > body && start[-1] != '\n') {
            start--;
        }
        put_lines(j, body, (size_t)(start - body), indent, n_indent, out);
        body = put_original(j, s, start, begin, last, indent, n_indent, out);
        if (put_line_directive(j, pragma_line, out)) {
            put_newline(j, out);
        }
    }
    put_lines(j, body, (size_t)(end - body), indent, n_indent, out);
    if (put_line_directive(j, line_of(j, s->end), out)) {
        put_newline(j, out);
    }
}

static void put_block(const job *j, const slot *s, ctune_text *out) {
    if (s->body == NULL) {
        if (s->kept != NULL) {
            ctune_text_append_n(out, s->kept, s->n_kept);
        } else {
            ctune_text_append_n(out, j->pristine.data + s->begin, s->end - s->begin);
        }
        return;
    }
    const char *text = j->pristine.data;
    size_t line = s->begin;
    while (line > 0 && text[line - 1] != '\n') {
        line--;
    }
    size_t n_indent = 0;
    while (text[line + n_indent] == ' ' || text[line + n_indent] == '\t') {
        n_indent++;
    }
    const char *name = s->name != NULL ? s->name : "region";
    ctune_text_printf(out, "/* ctune:begin %s */", name);
    put_newline(j, out);
    put_body(j, s, text + line, n_indent, out);
    ctune_text_append_n(out, text + line, n_indent);
    ctune_text_printf(out, "/* ctune:end %s */", name);
}

static void put_prelude(const job *j, size_t place, ctune_text *out) {
    if (j->prelude == NULL) {
        ctune_text_append_n(out, j->old_prelude, j->n_old_prelude);
        return;
    }
    ctune_text_append(out, PRELUDE_BEGIN);
    put_newline(j, out);
    put_lines(j, j->prelude, strlen(j->prelude), "", 0, out);
    if (put_line_directive(j, line_of(j, place), out)) {
        ctune_text_append(out, " ");
    }
    ctune_text_append(out, PRELUDE_END);
    put_newline(j, out);
}

static void put_all(const job *j, ctune_text *out) {
    const slot *first = NULL;
    for (int i = 0; i < j->n_slots && first == NULL; i++) {
        if (j->slots[i].body != NULL || j->slots[i].kept != NULL) {
            first = &j->slots[i];
        }
    }
    size_t place = SIZE_MAX, at = 0;
    if (first != NULL && (j->prelude != NULL || j->old_prelude != NULL)) {
        place = ctune_place_find(ctune_text_get(&j->pristine), j->pristine.len, first->pragma);
    }
    for (int i = 0; i < j->n_slots; i++) {
        const slot *s = &j->slots[i];
        if (place != SIZE_MAX && place >= at && place <= s->begin) {
            ctune_text_append_n(out, j->pristine.data + at, place - at);
            put_prelude(j, place, out);
            at = place;
            place = SIZE_MAX;
        }
        ctune_text_append_n(out, j->pristine.data + at, s->begin - at);
        put_block(j, s, out);
        at = s->end;
    }
    if (j->pristine.len > at) {
        ctune_text_append_n(out, j->pristine.data + at, j->pristine.len - at);
    }
}

ctune_status ctune_rewrite_lines(ctune_ctx *ctx, const ctune_unit *unit, const char *prelude,
                                 const ctune_splice *splices, int n_splices, const char *line_file,
                                 ctune_text *out) {
    job j = {.unit = unit, .prelude = prelude, .line_file = line_file};
    const char *newline = unit->n_text > 0 ? memchr(unit->text, '\n', unit->n_text) : NULL;
    j.is_crlf = newline != NULL && newline > unit->text && newline[-1] == '\r';
    size_t begin, end;
    if (find_prelude(unit->text, unit->n_text, &begin, &end)) {
        j.old_prelude = unit->text + begin;
        j.n_old_prelude = end - begin;
    }
    ctune_status status = make_pristine(ctx, &j, splices, n_splices);
    if (status == CTUNE_OK && !j.pristine.failed) {
        put_all(&j, out);
    }
    if (status == CTUNE_OK && (j.pristine.failed || out->failed)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    free(j.slots);
    ctune_text_clear(&j.pristine);
    return status;
}

ctune_status ctune_rewrite(ctune_ctx *ctx, const ctune_unit *unit, const char *prelude,
                           const ctune_splice *splices, int n_splices, ctune_text *out) {
    return ctune_rewrite_lines(ctx, unit, prelude, splices, n_splices, unit->file, out);
}

void ctune_rewrite_origin(const char *text, size_t n_text, char *out, size_t size) {
    size_t begin, end;
    out[0] = '\0';
    if (!find_prelude(text, n_text, &begin, &end)) {
        return;
    }
    const char *last = NULL;
    for (const char *p = text + begin;
         (p = find_bytes(p, (size_t)(text + end - p), "#line ")) != NULL; p++) {
        last = p;
    }
    const char *quote = last == NULL ? NULL : memchr(last, '"', (size_t)(text + end - last));
    size_t n = 0;
    for (const char *p = quote == NULL ? text + end : quote + 1;
         p < text + end && *p != '"' && n + 1 < size; p++) {
        p += *p == '\\' && p + 1 < text + end;
        out[n++] = *p;
    }
    out[n] = '\0';
}
