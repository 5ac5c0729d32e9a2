/*
 * Slide.
 * In:  FOR slide, statements without a loop in it.
 * Out: a loop over chunks of one vector, which start at multiples of the lanes, with one FOR vector
 *      in each; in front and behind shorter and shorter vectors (half the lanes, a quarter, ...
 * one). Bodies that have no vector form become FOR simd. Why: a stencil reads A[j - 1], A[j] and
 * A[j + 1]: three loads, two of which cross a line of the cache in most vectors. Chunks on a grid
 * need one new vector each; carry.c makes the others of those at hand. Rows that start at a line
 * then have their loads and stores in one line.
 *
 * The grid of a row may reach beyond what the loop reads. So many iterations as it covers in excess
 * are kept out of the chunks on both sides (before, behind): what they read is there.
 */
#include "search/passes/slide.h"

#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct finder {
    ctune_lane_ctx lane; /* l and var alone */
    ctune_lnode *loop;
    int lanes, width;
    ctune_slide_rows *out;
    bool is_full;
} finder;

static int64_t floor_div(int64_t a, int64_t b) {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Is b in a's row? *distance: how many elements behind it. */
static bool is_beside(ctune_loops *l, const ctune_place *a, const ctune_place *b,
                      int64_t *distance) {
    int last = a->n_idx - 1;
    if (a->is_buffer != b->is_buffer || a->id != b->id || a->n_idx != b->n_idx || last < 0) {
        return false;
    }
    for (int d = 0; d < last; d++) {
        if (!ctune_aff_is_equal(a->idx[d], b->idx[d])) {
            return false;
        }
    }
    const ctune_aff *diff = ctune_aff_sub(l->arena, b->idx[last], a->idx[last]);
    *distance = diff != NULL ? diff->c0 : 0;
    return diff != NULL && diff->n_terms == 0 && diff->c0 > INT32_MIN && diff->c0 < INT32_MAX;
}

typedef struct write_search {
    ctune_loops *l;
    const ctune_place *place;
    int var; /* of the loop */
    bool is_found;
} write_search;

/* Do the two lie in different rows, in all iterations of the loop? */
static bool is_apart(const write_search *s, const ctune_place *store) {
    for (int d = 0; d + 1 < store->n_idx; d++) {
        const ctune_aff *diff = ctune_aff_sub(s->l->arena, store->idx[d], s->place->idx[d]);
        if (diff != NULL && diff->n_terms == 0 && diff->c0 != 0 &&
            !ctune_loops_uses(s->l, store->idx[d], s->var)) {
            return true;
        }
    }
    return false;
}

static void search_write(ctune_lnode *node, void *data) {
    write_search *s = data;
    s->is_found |= node->kind == CTUNE_L_STORE && node->place.is_buffer == s->place->is_buffer &&
                   node->place.id == s->place->id && !is_apart(s, &node->place);
}

static bool is_written(ctune_loops *l, ctune_lnode *loop, const ctune_place *place) {
    write_search s = {.l = l, .place = place, .var = loop->var};
    ctune_lnode_walk(loop, search_write, &s);
    return s.is_found;
}

/* Does the place stand on the grid of the loop's chunks? */
static bool is_on_grid(const ctune_place *place, int width) {
    return place->idx[place->n_idx - 1]->c0 % width == 0;
}

static void move_base(ctune_slide_row *row, const ctune_place *place, int64_t offset) {
    row->base = *place;
    row->least -= offset;
    row->most -= offset;
}

/* A load joins its row. Base: one on the grid, else the first in memory. */
static void add_load(finder *f, const ctune_place *place, ctune_type type) {
    int64_t offset;
    int at = ctune_slide_row_of(f->lane.l, f->out, place, &offset);
    if (at < 0 && f->out->n == CTUNE_SLIDE_ROWS) {
        f->is_full = true;
        return;
    }
    ctune_slide_row *row = &f->out->row[at < 0 ? f->out->n : at];
    if (at < 0) {
        *row = (ctune_slide_row){.base = *place, .type = type};
        f->out->n++;
        return;
    }
    row->least = offset < row->least ? offset : row->least;
    row->most = offset > row->most ? offset : row->most;
    bool is_grid = is_on_grid(place, f->width), was_grid = is_on_grid(&row->base, f->width);
    if ((is_grid && (!was_grid || offset < 0)) || (!is_grid && !was_grid && offset < 0)) {
        move_base(row, place, offset);
    }
}

static void add_loads(finder *f, const ctune_value *v) {
    if (v == NULL) {
        return;
    }
    if (v->op == CTUNE_V_LOAD && v->lanes == f->lanes &&
        ctune_lane_is_contiguous(&f->lane, &v->place) &&
        !is_written(f->lane.l, f->loop, &v->place)) {
        add_load(f, &v->place, v->type);
    }
    for (int i = 0; i < v->n_kids; i++) {
        if (ctune_value_is_always(v, i)) {
            add_loads(f, v->kids[i]);
        }
    }
}

void ctune_slide_find_rows(ctune_loops *l, ctune_lnode *loop, int lanes, int width,
                           ctune_slide_rows *out) {
    finder f = {.lane = {.l = l, .var = loop->var}, .loop = loop, .out = out};
    f.lanes = lanes;
    f.width = width;
    out->n = 0;
    for (const ctune_lnode *kid = loop->first; kid != NULL; kid = kid->next) {
        add_loads(&f, kid->value);
    }
    int n = 0;
    for (int i = 0; i < out->n && !f.is_full; i++) {
        ctune_slide_row *row = &out->row[i];
        row->first = floor_div(row->least, width);
        row->last = -floor_div(-row->most, width);
        if (row->last > row->first && row->last - row->first <= CTUNE_SLIDE_SPAN) {
            out->row[n++] = *row;
        }
    }
    out->n = n;
}

int ctune_slide_row_of(ctune_loops *l, const ctune_slide_rows *rows, const ctune_place *place,
                       int64_t *offset) {
    for (int i = 0; i < rows->n; i++) {
        if (is_beside(l, &rows->row[i].base, place, offset)) {
            return i;
        }
    }
    return -1;
}

int64_t ctune_slide_before(const ctune_slide_row *row, int width) {
    return row->least - row->first * width;
}

int64_t ctune_slide_behind(const ctune_slide_row *row, int width) {
    return row->last * width - row->most;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static bool is_straight(const ctune_lnode *loop) {
    for (const ctune_lnode *kid = loop->first; kid != NULL; kid = kid->next) {
        if (kid->kind != CTUNE_L_STORE && kid->kind != CTUNE_L_DEF && kid->kind != CTUNE_L_SET) {
            return false;
        }
    }
    return true;
}

static void settle_stores(ctune_lnode *node, void *data) {
    (void)data;
    node->is_streamed = false;
}

static const ctune_aff *var_of(ctune_loops *l, int var) {
    return ctune_loops_var_aff(l, var, 1, 0);
}

/* A loop over chunks of `length` iterations of from's, in [lo, hi). */
static ctune_lnode *chunks(ctune_loops *l, const ctune_lnode *from, const ctune_aff *lo,
                           const ctune_aff *hi, int length) {
    const char *hint = l->var[from->var].hint;
    int chunk = ctune_loops_index_var(l, hint);
    if (length == 1) {
        ctune_lnode *loop = ctune_lnode_for(l, chunk, lo, hi, 1, CTUNE_LANN_SERIAL);
        ctune_lnode_copy_body(l, from, var_of(l, chunk), loop);
        return loop;
    }
    int lane = ctune_loops_index_var(l, hint);
    const ctune_aff *at = ctune_aff_add(l->arena, var_of(l, chunk), var_of(l, lane));
    ctune_lnode *loop = ctune_lnode_for(l, chunk, lo, hi, length, CTUNE_LANN_SERIAL);
    ctune_lnode *inner = ctune_lnode_for(l, lane, ctune_loops_const(l, 0),
                                         ctune_loops_const(l, length), 1, CTUNE_LANN_VECTOR);
    if (loop == NULL || inner == NULL) {
        return NULL;
    }
    ctune_lnode_copy_body(l, from, at, inner);
    ctune_lnode_append(loop, inner);
    return loop;
}

/* [lo, hi) in chunks of `length`, then what is left in halves of it, down to one. */
static void ladder(ctune_loops *l, const ctune_lnode *from, const ctune_aff *lo,
                   const ctune_aff *hi, int length, ctune_lnode *into) {
    for (; length >= 1; length /= 2) {
        const ctune_aff *end = hi;
        if (length > 1) {
            int var = ctune_loops_index_var(l, "rest");
            const ctune_aff *left = ctune_aff_sub(l->arena, hi, lo);
            end = ctune_aff_add(
                l->arena, lo,
                ctune_aff_scale(l->arena, ctune_loops_floor(l, left, length), length));
            ctune_lnode_append(into, ctune_lnode_let(l, var, end));
            end = var_of(l, var);
        }
        ctune_lnode *loop = chunks(l, from, lo, end, length);
        if (loop == NULL) {
            return;
        }
        ctune_lnode_walk(loop, settle_stores, NULL);
        ctune_lnode_append(into, loop);
        lo = end;
    }
}

static const ctune_aff *let(ctune_loops *l, const char *hint, const ctune_aff *value,
                            ctune_lnode *into) {
    int var = ctune_loops_index_var(l, hint);
    ctune_lnode_append(into, ctune_lnode_let(l, var, value));
    return var_of(l, var);
}

/* node (a loop) becomes a block: short vectors up to the grid, chunks, short vectors. */
static void cut(ctune_loops *l, ctune_lnode *node, int width, int64_t before, int64_t behind) {
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (block == NULL) {
        return;
    }
    const ctune_aff *lo = let(l, "first", node->lo, block);
    /* no iteration: all limits are the lower one */
    const ctune_aff *hi = let(l, "end", ctune_loops_max(l, node->lo, node->hi), block);
    const ctune_aff *grid = ctune_aff_scale(
        l->arena, ctune_loops_ceil(l, ctune_aff_add_const(l->arena, node->lo, before), width),
        width);
    bool is_on = ctune_aff_is_equal(grid, node->lo);
    const ctune_aff *start = is_on ? lo : let(l, "grid", ctune_loops_min(l, hi, grid), block);
    const ctune_aff *room =
        ctune_aff_add_const(l->arena, ctune_aff_sub(l->arena, hi, start), -behind);
    const ctune_aff *n_chunks =
        ctune_loops_max(l, ctune_loops_floor(l, room, width), ctune_loops_const(l, 0));
    const ctune_aff *border =
        let(l, "border", ctune_aff_add(l->arena, start, ctune_aff_scale(l->arena, n_chunks, width)),
            block);
    const ctune_aff *head = ctune_aff_sub(l->arena, grid, node->lo);
    bool is_short = before == 0 || (head != NULL && head->n_terms == 0 && head->c0 < width);
    if (!is_on) {
        ladder(l, node, lo, start, is_short ? width / 2 : width, block);
    }
    ctune_lnode *main = chunks(l, node, start, border, width);
    if (main == NULL) {
        return;
    }
    main->ann = CTUNE_LANN_SLIDE;
    main->before = before;
    main->behind = behind;
    ctune_lnode_append(block, main);
    ladder(l, node, border, hi, behind > 0 ? width : width / 2, block);
    block->comment = node->comment;
    block->next = node->next;
    *node = *block;
}

typedef struct slider {
    ctune_loops *l;
    int vector_bytes;
    bool is_approx;
} slider;

/* Blocks of the body dissolve, its LETs go into what uses them: a wave fixes an index as a sum of
 * others. */
static void fold_lets(ctune_loops *l, ctune_lnode *loop) {
    ctune_lnode *kid = ctune_lnode_take_kids(loop);
    while (kid != NULL) {
        ctune_lnode *next = kid->next;
        if (kid->kind == CTUNE_L_SEQ && kid->first != NULL) { /* nothing but its kids */
            kid->last->next = next;
            next = kid->first;
        } else if (kid->kind == CTUNE_L_LET) {
            ctune_lnode *rest = ctune_lnode_new(l, CTUNE_L_SEQ);
            if (rest != NULL) {
                rest->first = next;
                rest = ctune_lnode_copy(l, rest, kid->var, kid->lo);
            }
            next = rest == NULL ? NULL : ctune_lnode_take_kids(rest);
        } else {
            ctune_lnode_append(loop, kid);
        }
        kid = next;
    }
}

static void slide_loop(slider *s, ctune_lnode *node) {
    ctune_slide_rows rows;
    fold_lets(s->l, node);
    int64_t before = 0, behind = 0;
    int width = node->step == 1 && is_straight(node)
                    ? ctune_lane_count(s->l, s->vector_bytes, s->is_approx, node, CTUNE_MAX_LANES)
                    : 1;
    if (width < 2) {
        node->ann = CTUNE_LANN_SIMD;
        return;
    }
    ctune_slide_find_rows(s->l, node, 1, width, &rows);
    for (int i = 0; i < rows.n; i++) {
        int64_t front = ctune_slide_before(&rows.row[i], width);
        int64_t back = ctune_slide_behind(&rows.row[i], width);
        before = front > before ? front : before;
        behind = back > behind ? back : behind;
    }
    cut(s->l, node, width, before, behind);
}

static void slide_node(slider *s, ctune_lnode *node) {
    if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_SLIDE) {
        slide_loop(s, node);
        return;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        slide_node(s, kid);
    }
    if (node->other != NULL) {
        slide_node(s, node->other);
    }
}

ctune_status ctune_pass_slide(ctune_loops *l, const ctune_pass_options *options) {
    slider s = {.l = l,
                .vector_bytes = options->target->vector_bytes,
                .is_approx = ctune_lane_is_approx(l, options)};
    if (ctune_loops_status(l) == CTUNE_OK) {
        slide_node(&s, l->root);
    }
    return ctune_loops_status(l);
}
