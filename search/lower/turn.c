/*
 * Copies that turn rows into columns: packs whose panels run across what lies one after the other.
 *
 *     for p.. for lane..: pack[p][lane] = A[lane][p]
 *
 * In: a pack whose read walks memory with its innermost sequential dim and jumps from lane to lane.
 * Out: for whole panels blocks of b x b elements, b rows in vectors, turned by exchanging halves,
 * quarters, ... (Eklundh, A Fast Computer Method for Matrix Transposing, 1972), stored as b
 * columns; what is left of the sequential dim, and other panels, as before. Element by element such
 * a copy takes as long as some hundred multiply-adds of the kernel that it is made for.
 */
#include "search/lower/lower_private.h"

enum { STEPS = 8, MAX_BLOCK = 8, BLOCK_BYTES = 32 };

typedef struct turner {
    lowerer *w;
    const lower_packed *p;
    int dim, q_dim; /* tiled, innermost sequential */
    int q, q_pos;   /* its variable */
} turner;

/* Where the read lies for the first lane; NULL: it is no plain element. */
static const ctune_value *read_at(const turner *t, const ctune_aff *lane, int64_t step) {
    lower_env env;
    lower_env_get(t->w, t->p->stmt, &env);
    env.val[t->p->tile_pos] = lane;
    env.val[t->q_pos] = ctune_loops_var_aff(t->w->loops, t->q, 1, step);
    const ctune_value *v = lower_plain_value(t->w, &env, t->p->expr);
    return v != NULL && v->op == CTUNE_V_LOAD && v->lanes == 1 ? v : NULL;
}

/* Neighbours along q, none along the lanes; where a skewed array keeps them they are none. */
static bool is_turned(const turner *t) {
    ctune_loops *l = t->w->loops;
    if (ctune_nest_skew_of(t->w->nest, t->p->expr->access.tensor) >= 0) {
        return false;
    }
    const ctune_aff *lane = ctune_loops_var_aff(l, t->p->tile_var, 1, 0);
    const ctune_value *v = read_at(t, lane, 0);
    if (v == NULL || v->place.n_idx == 0 || !ctune_type_has_vectors(v->type) ||
        ctune_type_get(v->type)->bytes < 4) {
        return false;
    }
    const ctune_aff *last = v->place.idx[v->place.n_idx - 1];
    const ctune_aff *rest = ctune_aff_sub(t->w->arena, last, ctune_loops_var_aff(l, t->q, 1, 0));
    bool is_plain = rest != NULL && !ctune_loops_uses(l, rest, t->q) &&
                    !ctune_loops_uses(l, last, t->p->tile_var);
    for (int i = 0; i + 1 < v->place.n_idx && is_plain; i++) {
        is_plain = !ctune_loops_uses(l, v->place.idx[i], t->q);
    }
    return is_plain;
}

static const ctune_value *keep(ctune_loops *l, const char *hint, const ctune_value *v,
                               ctune_lnode *into) {
    int var = v == NULL ? -1 : ctune_loops_value_var(l, hint, v->type, v->lanes, false);
    ctune_lnode_append(into, ctune_lnode_def(l, var, v));
    return ctune_value_var(l, var);
}

/* Lane k of the row i (is_high: i + d) after bit d of row and lane were exchanged. */
static const ctune_value *exchange(turner *t, const ctune_value *a, const ctune_value *b, int d,
                                   bool is_high) {
    ctune_loops *l = t->w->loops;
    const ctune_value **kids = CTUNE_NEW_ARRAY(l->arena, const ctune_value *, a->lanes);
    for (int k = 0; kids != NULL && k < a->lanes; k++) {
        bool from_b = (k & d) != 0;
        int lane = is_high ? (from_b ? k : k + d) : from_b ? k - d : k;
        kids[k] = ctune_value_extract(l, from_b ? b : a, lane);
    }
    return kids == NULL ? NULL
                        : ctune_loops_value(l, &(ctune_value){.op = CTUNE_V_GATHER,
                                                              .type = a->type,
                                                              .lanes = a->lanes,
                                                              .n_kids = a->lanes,
                                                              .kids = kids});
}

static void store(turner *t, const ctune_aff *lane, int64_t step, const ctune_value *v,
                  ctune_lnode *into) {
    lower_env env;
    ctune_place place;
    lower_env_get(t->w, t->p->stmt, &env);
    env.val[t->p->tile_pos] = lane;
    env.val[t->q_pos] = ctune_loops_var_aff(t->w->loops, t->q, 1, step);
    lower_packed_place(t->w, t->p, &env, &place);
    ctune_lnode_append(into, ctune_lnode_store(t->w->loops, &place, v));
}

/* n lanes from `lane` on, n steps from `step` on; n is a power of two. */
static void turn_block(turner *t, const ctune_aff *lane, int64_t step, int n, ctune_lnode *into) {
    ctune_loops *l = t->w->loops;
    const ctune_value *row[MAX_BLOCK];
    for (int i = 0; i < n; i++) {
        const ctune_value *v = read_at(t, ctune_aff_add_const(t->w->arena, lane, i), step);
        row[i] = v == NULL || n == 1 ? v : keep(l, "row", ctune_value_load(l, &v->place, n), into);
        if (row[i] == NULL) {
            ctune_loops_fail(l, CTUNE_EBUG, "lower: a copy changed since it was looked at");
            return;
        }
    }
    for (int d = n / 2; d > 0; d /= 2) {
        for (int i = 0; i < n; i++) {
            if ((i & d) == 0 && row[i] != NULL && row[i + d] != NULL) {
                const ctune_value *a = row[i], *b = row[i + d];
                row[i] = keep(l, "turned", exchange(t, a, b, d, false), into);
                row[i + d] = keep(l, "turned", exchange(t, a, b, d, true), into);
            }
        }
    }
    for (int k = 0; k < n; k++) {
        store(t, lane, step + k, row[k], into);
    }
}

static void turn_lanes(turner *t, const ctune_aff *lane, int n, ctune_lnode *into) {
    for (int step = 0; step < STEPS; step += n) {
        turn_block(t, lane, step, n, into);
    }
}

/* All lanes of a whole panel, STEPS values of q from its variable on. */
static void turn_panel(turner *t, ctune_lnode *into) {
    ctune_loops *l = t->w->loops;
    int bytes = ctune_type_get(t->p->expr->type)->bytes, most = MAX_BLOCK;
    int vector_bytes = t->w->options->target->vector_bytes;
    while (most * bytes > (vector_bytes < BLOCK_BYTES ? vector_bytes : BLOCK_BYTES)) {
        most /= 2;
    }
    const ctune_aff *first = ctune_loops_var_aff(l, t->p->tile_var, 1, 0);
    int64_t at = 0;
    if (t->p->tile >= 3 * most) {
        int lane = ctune_loops_index_var(l, "lane");
        at = t->p->tile / most * most;
        ctune_lnode *blocks = ctune_lnode_for(
            l, lane, first, ctune_aff_add_const(t->w->arena, first, at), most, CTUNE_LANN_SERIAL);
        ctune_lnode_append(into, blocks);
        turn_lanes(t, ctune_loops_var_aff(l, lane, 1, 0), most, blocks);
    }
    while (at < t->p->tile) {
        int n = most;
        while (n > t->p->tile - at) {
            n /= 2;
        }
        turn_lanes(t, ctune_aff_add_const(t->w->arena, first, at), n, into);
        at += n;
    }
}

/* Whole panels: steps together, then the rest of them. */
static void whole_panel(turner *t, const lower_limit *lo, const lower_limit *hi,
                        ctune_lnode *into) {
    lowerer *w = t->w;
    ctune_loops *l = w->loops;
    const ctune_aff *first = lower_limit_aff(w, lo, 0), *end = lower_limit_aff(w, hi, 1);
    const ctune_aff *n =
        ctune_loops_max(l, ctune_aff_sub(w->arena, end, first), ctune_loops_const(l, 0));
    const ctune_aff *whole = ctune_loops_floor(l, n, STEPS);
    whole = whole == NULL ? NULL
                          : ctune_aff_add(w->arena, first, ctune_aff_scale(w->arena, whole, STEPS));
    ctune_lnode *steps = ctune_lnode_for(l, t->q, first, whole, STEPS, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, steps);
    lower_push(w, t->q, t->q_dim, 1, -1);
    turn_panel(t, steps);
    lower_pop(w);
    int q = ctune_loops_index_var(l, w->tree->dims[t->q_dim].name);
    ctune_lnode *rest = ctune_lnode_for(l, q, whole, end, 1, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, rest);
    lower_push(w, q, t->q_dim, 1, -1);
    const ctune_aff *lane = ctune_loops_var_aff(l, t->p->tile_var, 1, 0);
    lower_copy_lanes(w, t->p, t->dim, lane, ctune_aff_add_const(w->arena, lane, t->p->tile), false,
                     rest);
    lower_pop(w);
}

ctune_status lower_turn(lowerer *w, const lower_packed *p, int dim, int q_dim,
                        const lower_limit *lo, const lower_limit *hi, ctune_lnode *into,
                        bool *is_done) {
    turner t = {.w = w,
                .p = p,
                .dim = dim,
                .q_dim = q_dim,
                .q = ctune_loops_index_var(w->loops, w->tree->dims[q_dim].name),
                .q_pos = lower_pos(&w->tree->stmts[p->stmt], q_dim)};
    lower_limit lanes[2];
    *is_done = false;
    if (w->options->target->vector_bytes < 16 || p->tile < 2 || p->expr->op != CTUNE_OP_READ) {
        return CTUNE_OK;
    }
    lower_push(w, t.q, q_dim, 1, -1);
    bool may = is_turned(&t);
    ctune_status status =
        may ? lower_bounds(w, p->stmt, dim, &lanes[0], &lanes[1]) : ctune_loops_status(w->loops);
    const ctune_aff **conds = NULL;
    int n = 0;
    if (may && status == CTUNE_OK) {
        conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, lanes[0].n + lanes[1].n + 1);
        n = conds == NULL ? 0 : lower_panel_conds(w, p, &lanes[0], &lanes[1], conds);
    }
    for (int i = 0; i < n; i++) {
        may = may && conds[i] != NULL && !ctune_loops_uses(w->loops, conds[i], t.q);
    }
    lower_pop(w);
    if (status != CTUNE_OK || !may || conds == NULL) {
        return status;
    }
    *is_done = true;
    ctune_lnode *full = into;
    if (n > 0) {
        ctune_lnode *guard = ctune_lnode_if(w->loops, conds, n, NULL);
        ctune_lnode *partial = ctune_lnode_new(w->loops, CTUNE_L_SEQ);
        if (guard == NULL || partial == NULL) {
            return lower_fail(w);
        }
        ctune_lnode_append(into, guard);
        guard->other = partial;
        full = guard;
        int q = ctune_loops_index_var(w->loops, w->tree->dims[q_dim].name);
        ctune_lnode *loop = lower_for(w, q, lo, hi, 1, CTUNE_LANN_SERIAL, partial);
        lower_push(w, q, q_dim, 1, -1);
        status = lower_fill_panel(w, p, dim, loop);
        lower_pop(w);
    }
    whole_panel(&t, lo, hi, full);
    return status == CTUNE_OK ? ctune_loops_status(w->loops) : status;
}
