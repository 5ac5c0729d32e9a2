/*
 * Packed copies: `cache_read S.r at P pack`.
 *
 * In each iteration of loop P, just before the loops of S there, what the read touches under P is
 * copied into a buffer in the order in which the register tile of S reads it: [panel of the tiled
 * dim][other dims, outermost first][element of the panel]. Partial panels are filled up with zeros,
 * so that partial tiles may compute on whole panels. The read is widened to the largest
 * subexpression that depends on the same dims (alpha * A[i][k] is multiplied once while copying).
 */
#include "search/lower/lower_private.h"

#include <string.h>

/* ---- widening
 * ------------------------------------------------------------------------------------------------
 */

/* Axes that expr depends on, as a mask over stage->axes; adds a high bit for anything that must not
 * be packed. */
static uint32_t axes_of(const ctune_region *region, const ctune_stage *stage,
                        const ctune_expr *expr) {
    uint32_t mask = 0;
    const ctune_aff *affs[CTUNE_MAX_RANK];
    int n = 0;
    if (expr->op == CTUNE_OP_AFF) {
        affs[n++] = expr->aff;
    } else if (expr->op == CTUNE_OP_READ) {
        for (int i = 0; i < expr->access.n_idx; i++) {
            affs[n++] = expr->access.idx[i];
        }
    }
    for (int i = 0; i < n; i++) {
        if (!ctune_bounds_is_plain(region, affs[i])) {
            mask |= 1u << 31;
        }
        for (int d = 0; d < stage->n_axes; d++) {
            if (ctune_aff_coef(affs[i], CTUNE_TERM_AXIS, stage->axes[d]) != 0) {
                mask |= 1u << d;
            }
        }
    }
    for (int i = 0; i < expr->n_kids; i++) {
        mask |= axes_of(region, stage, expr->kids[i]);
    }
    return mask;
}

static bool has_read(const ctune_expr *expr, int read) {
    if (expr->op == CTUNE_OP_READ && expr->read_id == read) {
        return true;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        if (has_read(expr->kids[i], read)) {
            return true;
        }
    }
    return false;
}

/* A float product below a sum may be fused with it by the compiler: a copy of the product would
 * round twice. */
static bool is_fusible(const ctune_expr *expr) {
    return ctune_type_is_float(expr->type) &&
           (expr->op == CTUNE_OP_MUL || (expr->op == CTUNE_OP_NEG && is_fusible(expr->kids[0])));
}

static bool is_total(const ctune_expr *expr) {
    switch (expr->op) {
    case CTUNE_OP_SELECT:
    case CTUNE_OP_LAND:
    case CTUNE_OP_LOR:
    case CTUNE_OP_CALL:
    case CTUNE_OP_DIV:
    case CTUNE_OP_MOD:
    case CTUNE_OP_SHL:
    case CTUNE_OP_SHR:
        return false;
    default:
        for (int i = 0; i < expr->n_kids; i++) {
            if (!is_total(expr->kids[i])) {
                return false;
            }
        }
        return true;
    }
}

/* Does C evaluate this read at every point of the domain? Not in an arm of ?:, behind && or ||, or
 * in a guard. */
static bool is_unconditional(const ctune_expr *expr, int read) {
    if (expr->op == CTUNE_OP_READ) {
        return expr->read_id == read;
    }
    bool first_only =
        expr->op == CTUNE_OP_SELECT || expr->op == CTUNE_OP_LAND || expr->op == CTUNE_OP_LOR;
    for (int i = 0; i < expr->n_kids && !(first_only && i > 0); i++) {
        if (is_unconditional(expr->kids[i], read)) {
            return true;
        }
    }
    return false;
}

const ctune_expr *ctune_pack_widen(const ctune_region *region, const ctune_stage *stage, int read) {
    uint32_t want = axes_of(region, stage, stage->reads[read]);
    const ctune_expr *at = stage->rhs;
    bool parent_sums = stage->update == CTUNE_UPDATE_ADD || stage->update == CTUNE_UPDATE_SUB;
    while (at != NULL && has_read(at, read)) {
        bool sums = at->op == CTUNE_OP_ADD || at->op == CTUNE_OP_SUB || at->op == CTUNE_OP_NEG;
        if (axes_of(region, stage, at) == want && !(parent_sums && is_fusible(at)) &&
            is_total(at)) {
            return at;
        }
        const ctune_expr *next = NULL;
        for (int i = 0; i < at->n_kids; i++) {
            if (has_read(at->kids[i], read)) {
                next = at->kids[i];
            }
        }
        parent_sums = sums;
        at = next;
    }
    return at == NULL ? stage->reads[read] : at;
}

/* ---- what a copy needs
 * --------------------------------------------------------------------------------------- */

/* Does anything change a value of expr during one iteration of the loop? */
static bool is_stable(const lowerer *w, int stmt, int node, const ctune_expr *expr) {
    if (expr->op == CTUNE_OP_READ && !ctune_nest_is_stable(w->nest, stmt, expr->read_id, node)) {
        return false;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        if (!is_stable(w, stmt, node, expr->kids[i])) {
            return false;
        }
    }
    return true;
}

/* Innermost open loop over dim, -1. */
static int innermost_open(const lowerer *w, int dim) {
    for (int i = w->n_open - 1; i >= 0; i--) {
        if (w->open[i].dim == dim) {
            return i;
        }
    }
    return -1;
}

/* ---- where an element lies ------------------------------------------------------------------- */

const lower_packed *lower_find_packed(const lowerer *w, int stmt, const ctune_expr *expr) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        const lower_packed *p = w->packed[c];
        if (p != NULL && p->expr == expr && p->stmt == stmt) {
            return p;
        }
    }
    return NULL;
}

/* ((panel * counts...) + seq index) * tile + element of the panel. (tile_var - tile_base) is a
 * multiple of tile: times the counts it is the panel's offset in elements. */
void lower_packed_place(lowerer *w, const lower_packed *p, const lower_env *env,
                        ctune_place *place) {
    ctune_loops *l = w->loops;
    const ctune_aff *seq = ctune_loops_const(l, 0), *panel = seq, *lane = seq;
    for (int i = 0; i < p->n_seq; i++) {
        const ctune_aff *at = ctune_aff_sub(w->arena, env->val[p->seq_pos[i]], p->seq_base[i]);
        seq = i == 0 ? at : ctune_aff_add(w->arena, ctune_loops_mul(l, seq, p->seq_count[i]), at);
    }
    if (p->tile_pos >= 0) {
        const ctune_aff *tile = ctune_loops_var_aff(l, p->tile_var, 1, 0);
        lane = ctune_aff_sub(w->arena, env->val[p->tile_pos], tile);
        if (!p->is_one_panel) {
            panel = ctune_aff_sub(w->arena, tile, p->tile_base);
            for (int i = 0; i < p->n_seq; i++) {
                panel = ctune_loops_mul(l, panel, p->seq_count[i]);
            }
        }
    }
    *place = (ctune_place){.is_buffer = true, .id = p->buffer, .n_idx = 1};
    place->idx[0] = ctune_aff_add(
        w->arena, ctune_aff_add(w->arena, panel, ctune_aff_scale(w->arena, seq, p->tile)), lane);
}

/* ---- the buffer ------------------------------------------------------------------------------ */

/* A dim's extent, from parameters only (no open loops), as a simple index. */
static ctune_status buffer_extent(lowerer *w, int stmt, int dim, int64_t cap, int64_t multiple,
                                  const ctune_aff **out) {
    ctune_loops *l = w->loops;
    lower_limit lo, hi;
    int n_open = w->n_open;
    w->n_open = 0;
    ctune_status status = lower_bounds(w, stmt, dim, &lo, &hi);
    w->n_open = n_open;
    if (status != CTUNE_OK) {
        return status;
    }
    const ctune_aff *n =
        ctune_aff_sub(w->arena, lower_limit_aff(w, &hi, 1), lower_limit_aff(w, &lo, 0));
    n = ctune_loops_max(l, n, ctune_loops_const(l, 0));
    if (cap > 0) {
        n = ctune_loops_min(l, n, ctune_loops_const(l, cap));
    }
    if (multiple > 1) { /* one panel more: a coarse tile need not start on the grid */
        n = ctune_loops_floor(l, ctune_aff_add_const(w->arena, n, 2 * multiple - 1), multiple);
        n = n == NULL ? NULL : ctune_aff_scale(w->arena, n, multiple);
    }
    const char *name = ctune_arena_printf(w->arena, "%s_size", w->tree->dims[dim].name);
    *out = n == NULL ? NULL : lower_let(w, name, n, w->setup);
    return *out == NULL ? ctune_loops_status(l) : CTUNE_OK;
}

/* ---- the copy loops -------------------------------------------------------------------------- */

void lower_copy_lanes(lowerer *w, const lower_packed *p, int dim, const ctune_aff *lo,
                      const ctune_aff *end, bool is_zero, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    int var = ctune_loops_index_var(l, "lane");
    ctune_lnode *loop = ctune_lnode_for(l, var, lo, end, 1, CTUNE_LANN_SERIAL);
    ctune_lnode_append(into, loop);
    lower_push(w, var, dim, 1, -1);
    lower_env env;
    ctune_place place;
    lower_env_get(w, p->stmt, &env);
    lower_packed_place(w, p, &env, &place);
    ctune_lnode_append(loop, ctune_lnode_store(l, &place,
                                               is_zero ? ctune_value_zero(l, p->expr->type)
                                                       : lower_plain_value(w, &env, p->expr)));
    lower_pop(w);
}

int lower_panel_conds(lowerer *w, const lower_packed *p, const lower_limit *lo,
                      const lower_limit *hi, const ctune_aff **conds) {
    const ctune_aff *first = ctune_loops_var_aff(w->loops, p->tile_var, 1, 0);
    const ctune_aff *last = ctune_aff_add_const(w->arena, first, p->tile - 1);
    int n = 0;
    for (int side = 0; side < 2; side++) {
        const lower_limit *limit = side == 0 ? lo : hi;
        const ctune_aff *edge = side == 0 ? first : last;
        for (int i = 0; i < limit->n; i++) {
            const ctune_bound_row *b = &limit->bound[i];
            bool from_base = side == 0 && !p->is_one_panel && b->den == 1 &&
                             ctune_aff_is_equal(b->aff, p->tile_base);
            if (from_base || (ctune_aff_is_equal(b->aff, edge) && b->den == 1)) {
                continue;
            }
            const ctune_aff *gap = ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, edge, b->den),
                                                 lower_row_aff(w, b->aff));
            conds[n++] = side == 0 || gap == NULL ? gap : ctune_aff_scale(w->arena, gap, -1);
        }
    }
    return n;
}

ctune_status lower_fill_panel(lowerer *w, const lower_packed *p, int dim, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    lower_limit lo, hi;
    ctune_status status = lower_bounds(w, p->stmt, dim, &lo, &hi);
    if (status != CTUNE_OK) {
        return status;
    }
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, lo.n + hi.n + 1);
    int n = conds == NULL ? 0 : lower_panel_conds(w, p, &lo, &hi, conds);
    const ctune_aff *first = ctune_loops_var_aff(l, p->tile_var, 1, 0);
    const ctune_aff *end = ctune_aff_add_const(w->arena, first, p->tile);
    if (n == 0) {
        lower_copy_lanes(w, p, dim, first, end, false, into);
        return CTUNE_OK;
    }
    ctune_lnode *guard = ctune_lnode_if(l, conds, n, NULL);
    ctune_lnode *rest = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (guard == NULL || rest == NULL) {
        return lower_fail(w);
    }
    ctune_lnode_append(into, guard);
    guard->other = rest;
    lower_copy_lanes(w, p, dim, first, end, false, guard);
    lower_copy_lanes(w, p, dim, first, end, true, rest);
    lower_copy_lanes(w, p, dim, lower_limit_aff(w, &lo, 0), lower_limit_aff(w, &hi, 1), false,
                     rest);
    return CTUNE_OK;
}

static ctune_status copy_panels(lowerer *w, const lower_packed *packed, int at,
                                const lower_limit *panel_hi, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    const ctune_stmt *s = &w->tree->stmts[packed->stmt];
    ctune_status status = CTUNE_OK;
    lower_packed fill = *packed;
    ctune_lnode *panels = NULL;
    bool is_turned = false;
    int n_pushed = 0, dim = packed->tile_pos >= 0 ? s->dims[packed->tile_pos] : -1;
    int first = dim >= 0 ? dim : packed->n_seq > 0 ? s->dims[packed->seq_pos[0]] : -1;
    if (first >= 0) { /* other loops may be empty: then nothing may be read */
        into = lower_param_guard(w, packed->stmt, first, into);
        if (lower_shares_loops(w, at)) {
            into = lower_exists_guard(w, packed->stmt, first, into);
        }
    }
    if (dim >= 0 && !packed->is_one_panel) {
        fill.tile_var = ctune_loops_index_var(l, "panel");
        panels = ctune_lnode_for(l, fill.tile_var, packed->tile_base,
                                 lower_limit_aff(w, panel_hi, 1), packed->tile, CTUNE_LANN_SERIAL);
        ctune_lnode_append(into, panels);
        lower_push(w, fill.tile_var, dim, packed->tile, -1);
        const ctune_aff *base = packed->tile_base;
        if (w->n_open <= CTUNE_MAX_OPEN && base->n_terms == 1 && base->c0 == 0 &&
            base->terms[0].kind == CTUNE_TERM_AXIS && base->terms[0].coef == 1) {
            w->open[w->n_open - 1].start_var = base->terms[0].id;
        }
        n_pushed++;
        into = panels;
    }
    for (int i = 0; i < packed->n_seq && status == CTUNE_OK; i++) {
        int seq_dim = s->dims[packed->seq_pos[i]];
        lower_limit lo, hi;
        status = lower_bounds(w, packed->stmt, seq_dim, &lo, &hi);
        int var = ctune_loops_index_var(l, w->tree->dims[seq_dim].name);
        if (status == CTUNE_OK && dim >= 0 && i + 1 == packed->n_seq) {
            status = lower_turn(w, &fill, dim, seq_dim, &lo, &hi, into, &is_turned);
        }
        if (status == CTUNE_OK && !is_turned) {
            into = lower_for(w, var, &lo, &hi, 1, CTUNE_LANN_SERIAL, into);
        }
        lower_push(w, var, seq_dim, 1, -1);
        n_pushed++;
    }
    if (status == CTUNE_OK && is_turned) {
        /* whole already */
    } else if (status == CTUNE_OK && dim >= 0) {
        status = lower_fill_panel(w, &fill, dim, into);
    } else if (status == CTUNE_OK) {
        lower_env env;
        ctune_place place;
        lower_env_get(w, packed->stmt, &env);
        lower_packed_place(w, &fill, &env, &place);
        ctune_lnode_append(into,
                           ctune_lnode_store(l, &place, lower_plain_value(w, &env, packed->expr)));
    }
    for (int i = 0; i < n_pushed; i++) {
        lower_pop(w);
    }
    if (status == CTUNE_OK && panels != NULL) {
        lower_threads_copy(w, at, packed->stmt, panels);
    }
    return status;
}

/* ---- one copy -------------------------------------------------------------------------------- */

/* The most values between two limits, where a row of one and a row of the other differ by a
 * constant; 0: not known. */
static int64_t most_values(const lowerer *w, const lower_limit *lo, const lower_limit *hi) {
    int64_t most = 0;
    for (int i = 0; i < lo->n; i++) {
        for (int j = 0; j < hi->n; j++) {
            const ctune_aff *gap = lo->bound[i].den == 1 && hi->bound[j].den == 1
                                       ? ctune_aff_sub(w->arena, hi->bound[j].aff, lo->bound[i].aff)
                                       : NULL;
            if (gap != NULL && gap->n_terms == 0 && gap->c0 >= 0 && gap->c0 < CTUNE_MAX_FACTOR &&
                (most == 0 || gap->c0 + 1 < most)) {
                most = gap->c0 + 1;
            }
        }
    }
    return most;
}

/* First value of dim at the current place: the open tile's variable, or its lower limit; NULL: it
 * has divisions. *hi: its last value. *most: of values, 0 = not known. */
static ctune_status find_range(lowerer *w, int stmt, int dim, ctune_lnode *into,
                               const ctune_aff **base, lower_limit *hi, int64_t *most) {
    lower_limit lo;
    ctune_status status = lower_bounds(w, stmt, dim, &lo, hi);
    if (status != CTUNE_OK || lo.is_inexact) {
        *base = NULL;
        return status;
    }
    *most = lo.n_groups > 1 || hi->n_groups > 1 ? 0 : most_values(w, &lo, hi);
    const char *name = ctune_arena_printf(w->arena, "%s_base", w->tree->dims[dim].name);
    *base = lower_let(w, name, lower_limit_aff(w, &lo, 0), into);
    return *base == NULL ? ctune_loops_status(w->loops) : CTUNE_OK;
}

/* Panels of dim follow the register tile of the statement: elements a panel, 0 = dim is not tiled;
 * *origin: nest node. */
static int64_t panel_of(const lowerer *w, const lower_tile *tile, int dim, int *origin) {
    for (int t = 0; t < tile->n_tile; t++) {
        if (w->nest->node[tile->tile_node[t]].dim == dim) {
            *origin = w->nest->node[tile->tile_node[t]].outer;
            return w->nest->node[*origin].step;
        }
    }
    return 0;
}

typedef struct packing {
    lower_packed *p;
    bool is_possible; /* no divisions in bounds, one tiled dim at most */
    lower_tile tile;
    int n_extents;
    const ctune_aff *extent[CTUNE_MAX_DEPTH];
    lower_limit seq_hi[CTUNE_MAX_DEPTH], panel_hi;
} packing;

/* One loop follows the panels of all copies along its dim: those of a copy further in begin on the
 * grid of the one that is there already, up to a panel earlier. */
static const ctune_aff *on_grid(lowerer *w, const lower_packed *p, int dim, int64_t panel,
                                const ctune_aff *base, ctune_lnode *into) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        const lower_packed *q = w->packed[c];
        if (q == NULL || q == p || q->tile_pos < 0 || q->tile != panel ||
            w->tree->stmts[q->stmt].dims[q->tile_pos] != dim ||
            ctune_aff_is_equal(base, q->tile_base)) {
            continue;
        }
        const ctune_aff *off = ctune_aff_sub(w->arena, base, q->tile_base);
        const ctune_aff *whole =
            ctune_aff_scale(w->arena, ctune_loops_floor(w->loops, off, panel), panel);
        const char *name = ctune_arena_printf(w->arena, "%s_base", w->tree->dims[dim].name);
        return lower_let(w, name, ctune_aff_add(w->arena, q->tile_base, whole), into);
    }
    return base;
}

static ctune_status add_dim(lowerer *w, packing *k, int pos, ctune_lnode *into) {
    lower_packed *p = k->p;
    int dim = w->tree->stmts[p->stmt].dims[pos];
    int open = innermost_open(w, dim), origin = -1;
    int64_t cap = open >= 0 ? w->open[open].step : 0;
    int64_t panel = panel_of(w, &k->tile, dim, &origin);
    const ctune_aff *base = NULL;
    lower_limit hi = {0};
    int64_t most = 0;
    ctune_status status = find_range(w, p->stmt, dim, into, &base, &hi, &most);
    cap = most > 0 && (cap == 0 || most < cap) ? most : cap;
    if (status != CTUNE_OK) {
        return status;
    }
    if (base == NULL || (panel > 0 && p->tile_pos >= 0)) {
        k->is_possible = false;
        return CTUNE_OK;
    }
    if (panel == 0) {
        p->seq_pos[p->n_seq] = pos;
        p->seq_base[p->n_seq] = base;
        k->seq_hi[p->n_seq++] = hi;
        return buffer_extent(w, p->stmt, dim, cap, 1, &k->extent[k->n_extents++]);
    }
    if (ctune_nest_is_aligned(w->nest, origin)) { /* so are its panels */
        base = ctune_aff_scale(w->arena, ctune_loops_floor(w->loops, base, panel), panel);
    }
    base = on_grid(w, p, dim, panel, base, into);
    p->tile_pos = pos;
    p->tile_base = base;
    p->tile = panel;
    if (open >= 0 && w->open[open].node == origin) { /* one panel: its loop is open already */
        p->tile_var = w->open[open].var;
        p->is_one_panel = true;
    }
    k->panel_hi = hi;
    /* a panel may start before an unaligned coarse tile's end: one more */
    return buffer_extent(w, p->stmt, dim, cap > 0 ? cap + panel : 0, panel,
                         &k->extent[k->n_extents++]);
}

/* Counts of the sequential dims at this place; the leading one is only needed to step over panels.
 */
static ctune_status add_counts(lowerer *w, packing *k, ctune_lnode *into) {
    lower_packed *p = k->p;
    for (int i = 0; i < p->n_seq; i++) {
        if (i == 0 && (p->tile_pos < 0 || p->is_one_panel)) {
            continue;
        }
        const ctune_aff *n =
            ctune_aff_sub(w->arena, lower_limit_aff(w, &k->seq_hi[i], 1), p->seq_base[i]);
        n = ctune_loops_max(w->loops, n, ctune_loops_const(w->loops, 0));
        const char *name = w->tree->dims[w->tree->stmts[p->stmt].dims[p->seq_pos[i]]].name;
        p->seq_count[i] = lower_let(w, ctune_arena_printf(w->arena, "%s_count", name), n, into);
        if (p->seq_count[i] == NULL) {
            return ctune_loops_status(w->loops);
        }
    }
    return CTUNE_OK;
}

/* Does an earlier cache of the same statement hold the same expression? */
static bool is_shared(const lowerer *w, int i_cache, const ctune_expr *expr) {
    for (int c = 0; c < i_cache; c++) {
        if (w->packed[c] != NULL && w->packed[c]->stmt == w->nest->cache[i_cache].stmt &&
            w->packed[c]->expr == expr) {
            return true;
        }
    }
    return false;
}

/* A read that cannot be packed is read where it lies: the copy changes nothing but where a value
 * comes from. */
static ctune_status lower_pack(lowerer *w, int i_cache, ctune_lnode *into) {
    ctune_loops *l = w->loops;
    const ctune_cache *cache = &w->nest->cache[i_cache];
    const ctune_stmt *s = &w->tree->stmts[cache->stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    packing k = {.is_possible = true};
    if (cache->read < 0 || cache->read >= stage->n_reads ||
        !is_unconditional(stage->rhs, cache->read) || !lower_has_plain_domain(w, cache->stmt)) {
        return CTUNE_OK; /* a copy would read what no instance reads */
    }
    const ctune_expr *expr = ctune_pack_widen(w->region, stage, cache->read);
    uint32_t axes = axes_of(w->region, stage, expr);
    if ((axes >> 31) != 0 || !is_stable(w, cache->stmt, cache->at, expr) ||
        is_shared(w, i_cache, expr)) {
        return CTUNE_OK; /* two reads widened to one expression: one copy serves both */
    }
    lower_packed *p = k.p = CTUNE_NEW(w->arena, lower_packed);
    if (p == NULL) {
        return lower_fail(w);
    }
    *p = (lower_packed){
        .expr = expr, .stmt = cache->stmt, .tile_pos = -1, .tile_var = -1, .tile = 1};
    (void)lower_tile_has(w, cache->stmt, &k.tile);
    ctune_status status = CTUNE_OK;
    for (int pos = 0; pos < s->n_dims && status == CTUNE_OK && k.is_possible; pos++) {
        int open = innermost_open(w, s->dims[pos]);
        if (ctune_stmt_axes_move(w->region, s, axes, s->dims[pos]) &&
            (open < 0 || w->open[open].step != 1)) {
            status = add_dim(w, &k, pos, into);
        }
    }
    if (status == CTUNE_OK && (!k.is_possible || k.n_extents == 0)) {
        return CTUNE_OK;
    }
    if (status == CTUNE_OK) {
        status = add_counts(w, &k, into);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    const ctune_aff *size = ctune_loops_const(l, 1);
    for (int i = 0; i < k.n_extents; i++) {
        size = ctune_loops_mul(l, size, k.extent[i]);
    }
    const char *tensor = w->region->tensors[stage->reads[cache->read]->access.tensor].name;
    p->buffer = lower_heap_buffer(w, ctune_arena_printf(w->arena, "pack_%s", tensor), expr->type,
                                  w->parallel_node >= 0, 1, &size);
    ctune_lnode *block = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (block == NULL || p->buffer < 0) {
        return ctune_loops_status(l) == CTUNE_OK ? lower_fail(w) : ctune_loops_status(l);
    }
    block->comment = ctune_arena_printf(w->arena, "pack read %d of %s", cache->read, stage->name);
    ctune_lnode_append(into, block);
    w->packed[i_cache] = p;
    return copy_panels(w, p, cache->at, &k.panel_hi, lower_peek_guard(w, cache->stmt, block));
}

ctune_status lower_packs_at(lowerer *w, int node, int kid, ctune_lnode *into) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        const ctune_cache *cache = &w->nest->cache[c];
        if (cache->kind == CTUNE_CACHE_PACK && cache->at == node &&
            lower_is_ancestor(w, kid, ctune_nest_find_stmt(w->nest, cache->stmt))) {
            ctune_status status = lower_pack(w, c, into);
            if (status != CTUNE_OK) {
                return status;
            }
        }
    }
    return CTUNE_OK;
}
