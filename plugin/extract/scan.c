/*
 * Scanning: which loops of a file would be handled, and how much do they seem to do?
 *
 * In: a file and flags. Out: its outermost loops, and of a refused one those inside, each with
 * `handled` or the code of its refusal. The file is extracted as it would be with a pragma above
 * each of these loops; its text on disk stays. The cost is a guess: operations of the body times
 * iterations, where a bound that is no number counts as NOMINAL.
 */
#include "plugin/extract/scan.h"

#include "plugin/extract/unit.h"

#include "runtime/text.h"

#include <stdlib.h>

enum { NOMINAL = 256, MOST_LEVELS = 4, MOST_LOOPS = 4096 };

static const char PRAGMA[] = "\n#pragma tune\n";

typedef struct scan {
    ctune_ctx *ctx;
    ctune_arena *arena;
    ctune_source source;
    ctune_parsed parsed;
    CTUNE_LIST(ctune_scan_loop) loops;
    CTUNE_LIST(ctune_expansion) regions; /* of the file's own pragmas, in its text */
    int n_marked;
    int marked[MOST_LOOPS];      /* loops that get a pragma in this pass, by place */
    int marked_line[MOST_LOOPS]; /* of that pragma in the text with pragmas */
} scan;

/* ---- loops and their costs ------------------------------------------------------------------- */

static bool is_loop(CXCursor at) {
    enum CXCursorKind kind = ctune_cx_kind(at);
    return kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt;
}

static double literal_bound(const scan *s, CXCursor loop) {
    ctune_kids kids = ctune_cx_exprs(s->arena, loop);
    double trips = NOMINAL;
    for (int i = 0; i + 1 < kids.n; i++) {
        ctune_kids sides = ctune_cx_exprs(s->arena, kids.at[i]);
        enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(kids.at[i]);
        int64_t value;
        bool is_bound = (op == CXBinaryOperator_LT || op == CXBinaryOperator_LE) && sides.n == 2;
        if (is_bound && ctune_cx_int(sides.at[1], &value) && value > 0) {
            trips = (double)value;
        }
    }
    return trips;
}

static double cost_of(scan *s, CXCursor at, int depth, int parent, const char *function);

static double cost_of_kids(scan *s, CXCursor at, int depth, int parent, const char *function) {
    ctune_kids kids = ctune_cx_kids(s->arena, at);
    double sum = 0;
    for (int i = 0; i < kids.n; i++) {
        sum += cost_of(s, kids.at[i], depth, parent, function);
    }
    return sum;
}

static bool is_in_main(const scan *s, CXCursor at) {
    CXFile file = NULL;
    clang_getExpansionLocation(clang_getCursorLocation(at), &file, NULL, NULL, NULL);
    return file != NULL && clang_File_isEqual(file, s->parsed.file);
}

static double cost_of(scan *s, CXCursor at, int depth, int parent, const char *function) {
    if (depth > 200) {
        return 0;
    }
    enum CXCursorKind kind = ctune_cx_kind(at);
    if (!is_loop(at)) {
        double own = kind == CXCursor_BinaryOperator || kind == CXCursor_UnaryOperator ||
                             kind == CXCursor_CompoundAssignOperator ||
                             kind == CXCursor_ArraySubscriptExpr
                         ? 1
                     : kind == CXCursor_CallExpr ? 8
                                                 : 0;
        return own + cost_of_kids(s, at, depth + 1, parent, function);
    }
    ctune_scan_loop *loop = s->loops.n < MOST_LOOPS ? CTUNE_PUSH(s, s->loops) : NULL;
    if (loop == NULL) {
        return 0;
    }
    int id = s->loops.n - 1, col;
    *loop = (ctune_scan_loop){.parent = parent, .function = function, .outcome = NULL};
    loop->begin = ctune_source_to_text(&s->source, ctune_cx_begin(at));
    loop->end = ctune_source_to_text(&s->source, ctune_cx_end(at));
    ctune_source_place(&s->source, ctune_cx_begin(at), &loop->line, &col);
    ctune_source_place(&s->source, ctune_cx_end(at), &loop->end_line, &col);
    double cost = cost_of_kids(s, at, depth + 1, id, function) * literal_bound(s, at);
    s->loops.at[id].cost = cost;
    int level = 1;
    for (int i = id + 1; i < s->loops.n; i++) {
        if (s->loops.at[i].parent == id && s->loops.at[i].depth >= level) {
            level = s->loops.at[i].depth + 1;
        }
    }
    s->loops.at[id].depth = level;
    return cost;
}

static void find_loops(scan *s) {
    ctune_kids kids = ctune_cx_kids(s->arena, clang_getTranslationUnitCursor(s->parsed.unit));
    for (int i = 0; i < kids.n; i++) {
        if (ctune_cx_kind(kids.at[i]) == CXCursor_FunctionDecl && is_in_main(s, kids.at[i]) &&
            clang_isCursorDefinition(kids.at[i])) {
            cost_of(s, kids.at[i], 0, -1, ctune_cx_name(s->arena, kids.at[i]));
        }
    }
}

/* ---- the text with pragmas ------------------------------------------------------------------- */

static bool is_annotated(const scan *s, const ctune_scan_loop *loop) {
    for (int i = 0; i < s->regions.n; i++) {
        if (loop->begin >= s->regions.at[i].begin && loop->begin < s->regions.at[i].end) {
            return true;
        }
    }
    return false;
}

static int by_begin(const void *a, const void *b) {
    const ctune_scan_loop *x = *(ctune_scan_loop *const *)a, *y = *(ctune_scan_loop *const *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Loops without an outcome whose parent was refused. */
static void mark_loops(scan *s) {
    ctune_scan_loop *order[MOST_LOOPS];
    int n = 0;
    for (int i = 0; i < s->loops.n; i++) {
        ctune_scan_loop *loop = &s->loops.at[i];
        bool is_next = loop->parent < 0 || (s->loops.at[loop->parent].outcome != NULL &&
                                            !s->loops.at[loop->parent].is_handled);
        if (loop->outcome == NULL && is_next && !is_annotated(s, loop)) {
            order[n++] = loop;
        }
    }
    if (n > 1) {
        qsort(order, (size_t)n, sizeof(ctune_scan_loop *), by_begin);
    }
    s->n_marked = n;
    for (int i = 0; i < n; i++) {
        s->marked[i] = (int)(order[i] - s->loops.at);
    }
}

static void write_text(scan *s, ctune_text *out) {
    size_t done = 0;
    int line = 1;
    for (int i = 0; i < s->n_marked; i++) {
        size_t at = s->loops.at[s->marked[i]].begin;
        for (size_t k = done; k < at; k++) {
            line += s->source.text[k] == '\n';
        }
        ctune_text_append_n(out, s->source.text + done, at - done);
        ctune_text_append(out, PRAGMA);
        s->marked_line[i] = line + 1;
        line += 2;
        done = at;
    }
    ctune_text_append_n(out, s->source.text + done, s->source.n_text - done);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

/* A refusal stands at or below its pragma, above the next one. */
static void note_refusal(void *user, const ctune_diag *diag) {
    scan *s = user;
    int hit = -1;
    for (int i = 0; i < s->n_marked && s->marked_line[i] <= diag->line; i++) {
        hit = i;
    }
    if (hit < 0 || diag->code == NULL || diag->text == NULL) {
        return;
    }
    ctune_scan_loop *loop = &s->loops.at[s->marked[hit]];
    static const char prefix[] = "loop not tuned: ";
    const char *text = diag->text;
    text += strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    if (loop->outcome == NULL) {
        loop->outcome = ctune_arena_strdup(s->arena, diag->code);
        loop->why = ctune_arena_strdup(s->arena, text);
        loop->why_line = diag->line - 2 * (hit + 1);
    }
}

static ctune_status try_loops(scan *s, int n_flags, const char *const *flags) {
    ctune_text text;
    ctune_text_init(&text);
    write_text(s, &text);
    void (*kept)(void *, const ctune_diag *) = s->ctx->sink;
    void *kept_user = s->ctx->sink_user;
    s->ctx->sink = note_refusal;
    s->ctx->sink_user = s;
    ctune_unit *unit = NULL;
    ctune_status status =
        ctune_extract(s->ctx, s->source.file, ctune_text_get(&text), n_flags, flags, &unit);
    s->ctx->sink = kept;
    s->ctx->sink_user = kept_user;
    for (int i = 0; unit != NULL && i < unit->n_regions; i++) {
        for (int k = 0; k < s->n_marked; k++) {
            ctune_scan_loop *loop = &s->loops.at[s->marked[k]];
            if (unit->regions[i].pragma.line == s->marked_line[k] &&
                unit->regions[i].region != NULL) {
                loop->outcome = "handled";
                loop->is_handled = true;
            }
        }
    }
    for (int k = 0; k < s->n_marked; k++) {
        ctune_scan_loop *loop = &s->loops.at[s->marked[k]];
        loop->outcome = loop->outcome != NULL ? loop->outcome : "not-a-loop";
    }
    ctune_unit_destroy(unit);
    ctune_text_clear(&text);
    return status == CTUNE_EUSAGE ? CTUNE_OK : status;
}

static ctune_status note_regions(scan *s, int n_flags, const char *const *flags) {
    void (*kept)(void *, const ctune_diag *) = s->ctx->sink;
    s->ctx->sink = NULL;
    ctune_unit *unit = NULL;
    ctune_status status = ctune_extract(s->ctx, s->source.file, NULL, n_flags, flags, &unit);
    s->ctx->sink = kept;
    for (int i = 0; unit != NULL && i < unit->n_regions; i++) {
        ctune_expansion *r = CTUNE_PUSH(s, s->regions);
        if (r != NULL) {
            *r = (ctune_expansion){.name = "",
                                   .begin = unit->regions[i].statement_begin,
                                   .end = unit->regions[i].statement_end};
        }
    }
    ctune_unit_destroy(unit);
    return status == CTUNE_EUSAGE ? CTUNE_OK : status;
}

ctune_status ctune_scan_file(ctune_ctx *ctx, ctune_arena *arena, const char *file, int n_flags,
                             const char *const *flags, int *n_loops, ctune_scan_loop **loops) {
    scan *s = CTUNE_NEW(arena, scan);
    ctune_text text;
    ctune_text_init(&text);
    *n_loops = 0;
    ctune_status status = s == NULL ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                    : ctune_file_read(ctx, file, &text);
    if (status == CTUNE_OK) {
        *s = (scan){.ctx = ctx, .arena = arena};
        const char *copy = ctune_arena_strndup(arena, ctune_text_get(&text), text.len);
        status = copy != NULL && ctune_source_init(arena, file, copy, text.len, &s->source)
                     ? ctune_parsed_init(ctx, arena, &s->source, n_flags, flags, &s->parsed)
                     : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (status == CTUNE_OK && ctune_parsed_report(&s->parsed)) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: does not compile", file);
    }
    status = status == CTUNE_OK ? note_regions(s, n_flags, flags) : status;
    if (status == CTUNE_OK) {
        find_loops(s);
    }
    for (int level = 0; level < MOST_LEVELS && status == CTUNE_OK; level++) {
        mark_loops(s);
        if (s->n_marked == 0) {
            break;
        }
        status = try_loops(s, n_flags, flags);
    }
    if (status == CTUNE_OK) {
        *n_loops = s->loops.n;
        *loops = s->loops.at;
    }
    if (s != NULL) {
        ctune_parsed_clear(&s->parsed);
    }
    ctune_text_clear(&text);
    return status;
}
