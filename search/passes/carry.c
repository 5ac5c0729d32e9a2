/*
 * Carry.
 * In:  FOR slide over chunks of one vector each, straight-line code of vectors in it.
 * Out: an ordinary loop with one new load for each row of loads that stand beside each other. The
 *      other vectors of the row's grid are variables that hold what earlier chunks loaded; loads
 *      between two of them are made of their lanes.
 * Why: a load of a vector that starts inside a line takes two accesses; moving lanes takes none.
 *
 * Only rows of memory that the loop does not write, so that a value may wait. The loop's `before`
 * and `behind` say how far the grid may reach beyond the loads; rows that need more stay loads, and
 * so do those that would take more registers than there are.
 */
#include "search/passes/slide.h"

typedef struct carrier {
    ctune_loops *l;
    int n_regs; /* that may hold rows */
    ctune_lnode *loop;
    ctune_slide_rows rows;
    int var[CTUNE_SLIDE_ROWS][CTUNE_SLIDE_SPAN + 1]; /* of the vectors of a row's grid, its last one
                                                        included */
    bool is_loaded[CTUNE_SLIDE_ROWS];                /* the last one's DEF stands */
    int width;
} carrier;

/* The load of vector k of a row's grid, with the loop's variable at `at`. */
static const ctune_value *load_of(carrier *c, const ctune_slide_row *row, int64_t k,
                                  const ctune_aff *at) {
    ctune_loops *l = c->l;
    ctune_place place = row->base;
    const ctune_aff **last = &place.idx[place.n_idx - 1];
    *last = ctune_aff_add_const(l->arena, *last, k * c->width);
    place = ctune_place_subst(l, &place, c->loop->var, at);
    return ctune_value_load(l, &place, c->width);
}

/* ---- which rows ------------------------------------------------------------------------------ */

static bool is_straight(const ctune_lnode *loop) {
    for (const ctune_lnode *kid = loop->first; kid != NULL; kid = kid->next) {
        if (kid->kind != CTUNE_L_STORE && kid->kind != CTUNE_L_DEF && kid->kind != CTUNE_L_SET) {
            return false;
        }
    }
    return true;
}

/* Keeps the rows that the loop has room for. */
static void choose_rows(carrier *c) {
    int n = 0, n_regs = 0;
    for (int i = 0; i < c->rows.n; i++) {
        const ctune_slide_row row = c->rows.row[i];
        int need = (int)(row.last - row.first) + 1;
        if (ctune_slide_before(&row, c->width) <= c->loop->before &&
            ctune_slide_behind(&row, c->width) <= c->loop->behind && n_regs + need <= c->n_regs) {
            c->rows.row[n++] = row;
            n_regs += need;
        }
    }
    c->rows.n = n;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static const ctune_value *vector_of(carrier *c, int i_row, int64_t k) {
    return ctune_value_var(c->l, c->var[i_row][k - c->rows.row[i_row].first]);
}

typedef struct replacer {
    carrier *c;
    ctune_lnode *body; /* where a row's new load is put, before its first use */
} replacer;

static const ctune_value *replace(ctune_loops *l, const ctune_value *v, void *data) {
    replacer *r = data;
    carrier *c = r->c;
    int64_t offset;
    int i = v->op == CTUNE_V_LOAD && v->lanes == c->width
                ? ctune_slide_row_of(l, &c->rows, &v->place, &offset)
                : -1;
    if (i < 0) {
        return v;
    }
    const ctune_slide_row *row = &c->rows.row[i];
    if (!c->is_loaded[i]) {
        int last = c->var[i][row->last - row->first];
        const ctune_aff *here = ctune_loops_var_aff(l, c->loop->var, 1, 0);
        c->is_loaded[i] = true;
        ctune_lnode_append(r->body, ctune_lnode_def(l, last, load_of(c, row, row->last, here)));
    }
    int64_t k = offset >= 0 ? offset / c->width : -((c->width - 1 - offset) / c->width);
    int lane = (int)(offset - k * c->width);
    const ctune_value *low = vector_of(c, i, k);
    return lane == 0 ? low : ctune_value_slide(l, low, vector_of(c, i, k + 1), lane);
}

/* Variables of all rows; those that are kept get their first values in front of the loop. */
static void open_rows(carrier *c, ctune_lnode *into) {
    for (int i = 0; i < c->rows.n; i++) {
        const ctune_slide_row *row = &c->rows.row[i];
        for (int64_t k = row->first; k <= row->last; k++) {
            const ctune_value *first = load_of(c, row, k, c->loop->lo);
            bool is_kept = k < row->last;
            int var =
                ctune_loops_value_var(c->l, first == NULL ? "v" : ctune_value_hint(c->l, first),
                                      row->type, c->width, is_kept);
            c->var[i][k - row->first] = var;
            if (is_kept) {
                ctune_lnode_append(into, ctune_lnode_def(c->l, var, first));
            }
        }
    }
}

/* Each vector moves one place down for the next chunk. */
static void close_rows(carrier *c, ctune_lnode *body) {
    for (int i = 0; i < c->rows.n; i++) {
        const ctune_slide_row *row = &c->rows.row[i];
        for (int64_t k = row->first; k < row->last; k++) {
            ctune_lnode_append(
                body, ctune_lnode_set(c->l, c->var[i][k - row->first], vector_of(c, i, k + 1)));
        }
    }
}

/* node (the loop) becomes a condition with the loop in it: the first values are read only where
 * there is a chunk. */
static void carry_rows(carrier *c, ctune_lnode *node) {
    ctune_loops *l = c->l;
    const ctune_aff *room =
        ctune_aff_add_const(l->arena, ctune_aff_sub(l->arena, node->hi, node->lo), -1);
    ctune_lnode *block = ctune_lnode_if(l, &room, 1, NULL);
    ctune_lnode *loop =
        ctune_lnode_for(l, node->var, node->lo, node->hi, node->step, CTUNE_LANN_SERIAL);
    if (block == NULL || loop == NULL) {
        return;
    }
    open_rows(c, block);
    replacer r = {c, loop};
    for (ctune_lnode *kid = ctune_lnode_take_kids(node), *next; kid != NULL; kid = next) {
        next = kid->next;
        kid->value = ctune_value_rebuild(l, kid->value, replace, &r);
        ctune_lnode_append(loop, kid);
    }
    close_rows(c, loop);
    ctune_lnode_append(block, loop);
    block->comment = node->comment;
    block->next = node->next;
    *node = *block;
}

static void carry_loop(carrier *c, ctune_lnode *node) {
    c->loop = node;
    c->width = (int)node->step;
    c->rows.n = 0;
    if (node->step <= CTUNE_MAX_LANES && is_straight(node)) {
        ctune_slide_find_rows(c->l, node, c->width, c->width, &c->rows);
        choose_rows(c);
    }
    node->ann = CTUNE_LANN_SERIAL;
    if (c->rows.n > 0) {
        ctune_lnode copy = *node; /* node itself is about to change */
        c->loop = &copy;
        for (int i = 0; i < c->rows.n; i++) {
            c->is_loaded[i] = false;
        }
        carry_rows(c, node);
    }
}

static void carry_node(carrier *c, ctune_lnode *node) {
    if (node->kind == CTUNE_L_FOR && node->ann == CTUNE_LANN_SLIDE) {
        carry_loop(c, node);
        return;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        carry_node(c, kid);
    }
    if (node->other != NULL) {
        carry_node(c, node->other);
    }
}

ctune_status ctune_pass_carry(ctune_loops *l, const ctune_pass_options *options) {
    carrier c = {.l = l, .n_regs = options->target->n_vector_regs * 3 / 4};
    if (ctune_loops_status(l) == CTUNE_OK) {
        carry_node(&c, l->root);
    }
    return ctune_loops_status(l);
}
