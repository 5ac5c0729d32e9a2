/*
 * Skewed arrays (schedule/skew.c): the finished program works on a copy of each, element [i][j] at
 * [by * i + j][i] of a buffer.
 *
 * In: the program before the passes. Out:
 *
 *     if (the statement has an instance) { copy what it touches; program on the copy; copy back
 * what it writes }
 *
 * Nothing else is done where the statement has none: other statements do not touch the array, but
 * they may stand in the program, which is then repeated on the array itself. The buffer starts at
 * the least indices. Its rows are padded: their distance in bytes is never a multiple of a page, so
 * that neighbours do not fall into one set of a cache.
 */
#include "search/lower/lower_private.h"

enum { PAD = 8, BLOCK = 16 };

typedef struct box {
    const ctune_aff *first[2], *end[2]; /* of the two indices; NULL: nothing yet */
} box;

typedef struct skewer {
    lowerer *w;
    int tensor, buffer;
    int64_t by;
    box all, written;
} skewer;

/* ---- what is touched ------------------------------------------------------------------------- */

static const ctune_aff *extreme(lowerer *w, const ctune_aff *a, const ctune_aff *b, bool is_max) {
    if (a == NULL || b == NULL) {
        return a == NULL ? b : a;
    }
    const ctune_aff *diff = ctune_aff_sub(w->arena, a, b);
    if (diff != NULL && diff->n_terms == 0) {
        return (diff->c0 >= 0) == is_max ? a : b;
    }
    return is_max ? ctune_loops_max(w->loops, a, b) : ctune_loops_min(w->loops, a, b);
}

static ctune_status add_access(skewer *s, const ctune_stage *stage, const ctune_access *access,
                               box *out) {
    for (int d = 0; d < 2; d++) {
        const ctune_aff *first, *end;
        ctune_status status = lower_form_range(s->w, stage, access->idx[d], NULL, &first, &end);
        if (status != CTUNE_OK) {
            return status;
        }
        out->first[d] = extreme(s->w, out->first[d], first, false);
        out->end[d] = extreme(s->w, out->end[d], end, true);
    }
    return CTUNE_OK;
}

static ctune_status find_boxes(skewer *s, const ctune_stage *stage) {
    ctune_status status = CTUNE_OK;
    if (stage->target.tensor == s->tensor) {
        status = add_access(s, stage, &stage->target, &s->all);
        s->written = s->all;
    }
    for (int r = 0; r < stage->n_reads && status == CTUNE_OK; r++) {
        if (stage->reads[r]->access.tensor == s->tensor) {
            status = add_access(s, stage, &stage->reads[r]->access, &s->all);
        }
    }
    return status;
}

/* The statement has an instance: each axis a value, and what is asked of the parameters alone. */
static ctune_status find_conditions(skewer *s, const ctune_stage *stage, ctune_lnode *guard) {
    lowerer *w = s->w;
    const ctune_aff **conds =
        CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, stage->n_axes + stage->n_cons + 1);
    int n = 0;
    if (conds == NULL) {
        return lower_fail(w);
    }
    for (int a = 0; a < stage->n_axes; a++) {
        const ctune_aff *axis = ctune_aff_term(w->arena, CTUNE_TERM_AXIS, stage->axes[a], 1);
        const ctune_aff *first, *end;
        ctune_status status = lower_form_range(w, stage, axis, NULL, &first, &end);
        if (status != CTUNE_OK) {
            return status;
        }
        conds[n++] = ctune_aff_add_const(w->arena, ctune_aff_sub(w->arena, end, first), -1);
    }
    for (int c = 0; c < stage->n_cons; c++) {
        if (!ctune_aff_has_kind(stage->cons[c], CTUNE_TERM_AXIS)) {
            conds[n++] = lower_row_aff(w, stage->cons[c]);
        }
    }
    guard->conds = conds;
    guard->n_conds = n;
    return ctune_loops_status(w->loops);
}

/* ---- the program on the copy ----------------------------------------------------------------- */

/* Where element [i][j] lies, both counted from the least ones. */
static ctune_place place_of(const skewer *s, const ctune_aff *i, const ctune_aff *j) {
    ctune_arena *arena = s->w->arena;
    ctune_place place = {.is_buffer = true, .id = s->buffer, .n_idx = 2};
    place.idx[0] = ctune_aff_add(arena, ctune_aff_scale(arena, i, s->by), j);
    place.idx[1] = i;
    return place;
}

static bool is_its(const skewer *s, const ctune_place *place) {
    return !place->is_buffer && place->id == s->tensor;
}

static ctune_place moved(const skewer *s, const ctune_place *place) {
    ctune_arena *arena = s->w->arena;
    return place_of(s, ctune_aff_sub(arena, place->idx[0], s->all.first[0]),
                    ctune_aff_sub(arena, place->idx[1], s->all.first[1]));
}

static const ctune_value *move_load(ctune_loops *l, const ctune_value *v, void *data) {
    const skewer *s = data;
    if (v->op != CTUNE_V_LOAD || !is_its(s, &v->place)) {
        return v;
    }
    ctune_place place = moved(s, &v->place);
    return ctune_value_load(l, &place, v->lanes);
}

static void move_node(skewer *s, ctune_lnode *node) {
    if (node->kind == CTUNE_L_STORE && is_its(s, &node->place)) {
        node->place = moved(s, &node->place);
    }
    node->value = ctune_value_rebuild(s->w->loops, node->value, move_load, s);
    node->test = ctune_value_rebuild(s->w->loops, node->test, move_load, s);
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        move_node(s, kid);
    }
    if (node->other != NULL) {
        move_node(s, node->other);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static const ctune_aff *var_of(const skewer *s, int var) {
    return ctune_loops_var_aff(s->w->loops, var, 1, 0);
}

/* Columns in blocks, so that a line of the array and one of each row of the buffer are used up. */
static void copy(skewer *s, const box *what, bool is_back, ctune_lnode *into) {
    lowerer *w = s->w;
    ctune_loops *l = w->loops;
    int jj = ctune_loops_index_var(l, "jb"), i = ctune_loops_index_var(l, "i"),
        j = ctune_loops_index_var(l, "j");
    const ctune_aff *end = ctune_loops_min(l, ctune_loops_var_aff(l, jj, 1, BLOCK), what->end[1]);
    ctune_lnode *blocks =
        ctune_lnode_for(l, jj, what->first[1], what->end[1], BLOCK, CTUNE_LANN_SERIAL);
    ctune_lnode *rows = ctune_lnode_for(l, i, what->first[0], what->end[0], 1, CTUNE_LANN_SERIAL);
    ctune_lnode *points = ctune_lnode_for(l, j, var_of(s, jj), end, 1, CTUNE_LANN_SERIAL);
    ctune_place there = {.id = s->tensor, .n_idx = 2, .idx = {var_of(s, i), var_of(s, j)}};
    ctune_place here = moved(s, &there);
    const ctune_value *value = ctune_value_load(l, is_back ? &here : &there, 1);
    if (blocks == NULL || rows == NULL || points == NULL) {
        return;
    }
    ctune_lnode_append(points, ctune_lnode_store(l, is_back ? &there : &here, value));
    ctune_lnode_append(rows, points);
    ctune_lnode_append(blocks, rows);
    ctune_lnode_append(into, blocks);
}

static const ctune_aff *count(skewer *s, int d) {
    lowerer *w = s->w;
    const ctune_aff *n = ctune_aff_sub(w->arena, s->all.end[d], s->all.first[d]);
    return ctune_loops_max(w->loops, n, ctune_loops_const(w->loops, 0));
}

static void declare(skewer *s) {
    lowerer *w = s->w;
    const ctune_tensor *t = &w->region->tensors[s->tensor];
    for (int d = 0; d < 2; d++) {
        s->all.first[d] = lower_let(w, "first", s->all.first[d], w->setup);
    }
    const ctune_aff *n = lower_let(w, "rows", count(s, 0), w->setup);
    const ctune_aff *halves =
        ctune_loops_floor(w->loops, ctune_aff_add_const(w->arena, n, PAD - 1), 2 * PAD);
    const ctune_aff *width =
        ctune_aff_add_const(w->arena, ctune_aff_scale(w->arena, halves, 2 * PAD), PAD);
    const ctune_aff *height =
        ctune_aff_add(w->arena, ctune_aff_scale(w->arena, n, s->by), count(s, 1));
    const ctune_aff *extent[] = {lower_let(w, "diagonals", height, w->setup),
                                 lower_let(w, "width", width, w->setup)};
    s->buffer = ctune_loops_buffer(w->loops, ctune_arena_printf(w->arena, "%s_skewed", t->name),
                                   t->type, CTUNE_SCOPE_PROGRAM, 2, extent);
    ctune_lnode_append(w->setup, ctune_lnode_decl(w->loops, s->buffer));
}

/* A block with copies of what stands in the program. */
static ctune_lnode *copy_program(lowerer *w) {
    ctune_lnode *copy = ctune_lnode_copy(w->loops, w->loops->root, -1, NULL);
    return copy;
}

static ctune_status skew(skewer *s, const ctune_stage *stage) {
    lowerer *w = s->w;
    ctune_lnode *root = w->loops->root;
    ctune_lnode *guard = ctune_lnode_if(w->loops, NULL, 0, NULL);
    bool is_alone = w->tree->n_stmts == 1;
    ctune_lnode *other = is_alone ? NULL : copy_program(w);
    if (guard == NULL || (!is_alone && other == NULL)) {
        return lower_fail(w);
    }
    ctune_status status = find_boxes(s, stage);
    if (status == CTUNE_OK) {
        status = find_conditions(s, stage, guard);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    declare(s);
    copy(s, &s->all, false, guard);
    for (ctune_lnode *kid = root->first, *next; kid != NULL; kid = next) {
        next = kid->next;
        move_node(s, kid);
        ctune_lnode_append(guard, kid);
    }
    if (s->written.first[0] != NULL) {
        copy(s, &s->written, true, guard);
    }
    guard->other = other;
    root->first = root->last = guard;
    guard->next = NULL;
    return ctune_loops_status(w->loops);
}

ctune_status lower_skews(lowerer *w) {
    ctune_status status = ctune_loops_status(w->loops);
    for (int i = 0; i < w->nest->n_skews && status == CTUNE_OK; i++) {
        skewer s = {.w = w, .tensor = w->nest->skew[i].tensor, .by = w->nest->skew[i].by};
        for (int k = 0; k < w->tree->n_stmts; k++) {
            const ctune_stage *stage = &w->region->stages[w->tree->stmts[k].stage];
            bool is_toucher = stage->target.tensor == s.tensor;
            for (int r = 0; r < stage->n_reads; r++) {
                is_toucher = is_toucher || stage->reads[r]->access.tensor == s.tensor;
            }
            if (is_toucher) {
                status = skew(&s, stage);
                break;
            }
        }
    }
    return status;
}
