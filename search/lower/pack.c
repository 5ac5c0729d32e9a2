/*
 * Packed copies: `cache_read S.r at P pack`.
 *
 * At the start of each iteration of loop P, what the read touches under P is copied into a buffer
 * in the order in which the register tile of S reads it: [panel of the tiled dim][other dims,
 * outermost first][element of the panel]. Partial panels are filled up with zeros, so that partial
 * tiles may compute on whole panels. The read is widened to the largest subexpression that depends
 * on the same dims (alpha * A[i][k] is multiplied once while copying).
 */
#include "search/lower/lower_private.h"

#include <stdio.h>
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

static bool dim_moves(const ctune_stmt *s, const ctune_stage *stage, uint32_t axes, int dim) {
    for (int d = 0; d < stage->n_axes; d++) {
        if ((axes >> d & 1) != 0 && ctune_aff_coef(s->iter[d], CTUNE_TERM_AXIS, dim) != 0) {
            return true;
        }
    }
    return false;
}

static bool is_written_in_nest(const lowerer *w, int node, int tensor) {
    int stmts[CTUNE_MAX_STMTS];
    int n = lower_stmts_under(w, node, stmts);
    for (int i = 0; i < n; i++) {
        if (w->region->stages[w->tree->stmts[stmts[i]].stage].target.tensor == tensor) {
            return true;
        }
    }
    return false;
}

static bool reads_written(const lowerer *w, int node, const ctune_expr *expr) {
    if (expr->op == CTUNE_OP_READ && is_written_in_nest(w, node, expr->access.tensor)) {
        return true;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        if (reads_written(w, node, expr->kids[i])) {
            return true;
        }
    }
    return false;
}

static ctune_lnode *let(lowerer *w, const char *stem, const char *suffix, ctune_limit limit,
                        ctune_lnode *into) {
    char name[2 * CTUNE_NAME_BYTES];
    snprintf(name, sizeof name, "%.14s_%s", stem, suffix);
    ctune_lnode *n = lower_lnode(w, CTUNE_LN_LET);
    int var = lower_var(w, name);
    if (n == NULL || var < 0) {
        return NULL;
    }
    n->var = var;
    n->limit = limit;
    lower_append(w, into, n);
    return n;
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

/* A dim's buffer extent, from parameters only (no open loops). */
static ctune_status buffer_dim(lowerer *w, ctune_lbuffer *buffer, int stmt, int dim, int64_t cap,
                               int64_t multiple) {
    int n_open = w->n_open;
    w->n_open = 0;
    int k = buffer->n_dims++;
    ctune_status status = lower_bounds(w, stmt, dim, &buffer->lo[k], &buffer->hi[k]);
    w->n_open = n_open;
    buffer->cap[k] = cap;
    buffer->multiple[k] = multiple;
    return status;
}

/* ---- the copy loops
 * ------------------------------------------------------------------------------------------ */

/* Store the value (or zero) for lanes [lo, hi] of the open panel. */
static void lane_loop(lowerer *w, const ctune_packed *packed, int stmt, int dim, ctune_limit lo,
                      ctune_limit hi, bool is_zero, ctune_lnode *into) {
    ctune_lnode *loop = lower_lnode(w, CTUNE_LN_FOR);
    ctune_lnode *store = lower_lnode(w, CTUNE_LN_PACK);
    ctune_packed *copy = CTUNE_NEW(w->arena, ctune_packed);
    int var = lower_var(w, "lane");
    if (loop == NULL || store == NULL || copy == NULL || var < 0) {
        return;
    }
    *copy = *packed;
    loop->loop = (ctune_lfor){.var = var, .lo = lo, .hi = hi, .step = 1};
    lower_push(w, var, dim, 1, -1);
    store->packed = copy;
    store->is_zero = is_zero;
    lower_env(w, stmt, &store->env);
    lower_append(w, loop, store);
    lower_pop(w);
    lower_append(w, into, loop);
}

static ctune_status copy_panels(lowerer *w, ctune_packed *packed, int stmt, ctune_limit panel_hi,
                                ctune_lnode *into) {
    const ctune_stmt *s = &w->tree->stmts[stmt];
    ctune_lnode *at = into;
    ctune_status status = CTUNE_OK;
    int n_pushed = 0, dim = -1;
    ctune_packed fill = *packed;
    if (packed->tile_pos >= 0) {
        dim = s->dims[packed->tile_pos];
    }
    if (packed->tile_pos >= 0 && packed->tile_var != packed->tile_base) {
        ctune_lnode *panels = lower_lnode(w, CTUNE_LN_FOR);
        int var = lower_var(w, "panel");
        if (panels == NULL || var < 0) {
            return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
        }
        panels->loop = (ctune_lfor){.var = var,
                                    .lo = lower_limit_var(w, packed->tile_base, 0),
                                    .hi = panel_hi,
                                    .step = packed->tile};
        lower_append(w, at, panels);
        lower_push(w, var, dim, packed->tile, -1);
        if (w->n_open <= CTUNE_MAX_OPEN) {
            w->open[w->n_open - 1].start_var = packed->tile_base;
        }
        n_pushed++;
        fill.tile_var = var;
        at = panels;
    }
    for (int i = 0; i < packed->n_seq && status == CTUNE_OK; i++) {
        int seq_dim = s->dims[packed->seq_pos[i]];
        ctune_limit lo, hi;
        status = lower_bounds(w, stmt, seq_dim, &lo, &hi);
        ctune_lnode *loop = lower_lnode(w, CTUNE_LN_FOR);
        int var = lower_var(w, w->tree->dims[seq_dim].name);
        if (status != CTUNE_OK || loop == NULL || var < 0) {
            break;
        }
        loop->loop = (ctune_lfor){.var = var, .lo = lo, .hi = hi, .step = 1};
        lower_append(w, at, loop);
        lower_push(w, var, seq_dim, 1, -1);
        n_pushed++;
        at = loop;
    }
    if (status == CTUNE_OK && packed->tile_pos >= 0) {
        ctune_limit lo, hi;
        status = lower_bounds(w, stmt, dim, &lo, &hi);
        ctune_lnode *guard = lower_lnode(w, CTUNE_LN_IF);
        ctune_lnode *rest = lower_lnode(w, CTUNE_LN_SEQ);
        const ctune_aff **conds =
            CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, status == CTUNE_OK ? lo.n + hi.n + 1 : 1);
        if (status == CTUNE_OK && guard != NULL && rest != NULL && conds != NULL) {
            const ctune_aff *first = ctune_aff_term(w->arena, CTUNE_TERM_AXIS, fill.tile_var, 1);
            const ctune_aff *last = ctune_aff_add_const(w->arena, first, packed->tile - 1);
            for (int side = 0; side < 2; side++) {
                const ctune_limit *limit = side == 0 ? &lo : &hi;
                const ctune_aff *edge = side == 0 ? first : last;
                for (int i = 0; i < limit->n; i++) {
                    const ctune_bound *b = &limit->bound[i];
                    bool from_base =
                        side == 0 && packed->tile_var != packed->tile_base && b->den == 1 &&
                        ctune_aff_is_equal(b->aff, ctune_aff_term(w->arena, CTUNE_TERM_AXIS,
                                                                  packed->tile_base, 1));
                    if (from_base || (ctune_aff_is_equal(b->aff, edge) && b->den == 1)) {
                        continue;
                    }
                    const ctune_aff *gap =
                        ctune_aff_sub(w->arena, ctune_aff_scale(w->arena, edge, b->den), b->aff);
                    conds[guard->n_conds++] = side == 0 ? gap : ctune_aff_scale(w->arena, gap, -1);
                }
            }
            guard->conds = conds;
            ctune_limit all_lo = lower_limit_var(w, fill.tile_var, 0);
            ctune_limit all_hi = lower_limit_var(w, fill.tile_var, packed->tile - 1);
            lane_loop(w, &fill, stmt, dim, all_lo, all_hi, false, guard);
            if (guard->n_conds > 0) {
                lane_loop(w, &fill, stmt, dim, all_lo, all_hi, true, rest);
                lane_loop(w, &fill, stmt, dim, lo, hi, false, rest);
                guard->else_kid = rest;
            }
            lower_append(w, at, guard);
        }
    } else if (status == CTUNE_OK) {
        ctune_lnode *store = lower_lnode(w, CTUNE_LN_PACK);
        ctune_packed *copy = CTUNE_NEW(w->arena, ctune_packed);
        if (store != NULL && copy != NULL) {
            *copy = fill;
            store->packed = copy;
            lower_env(w, stmt, &store->env);
            lower_append(w, at, store);
        }
    }
    for (int i = 0; i < n_pushed; i++) {
        lower_pop(w);
    }
    return status;
}

/* ---- one copy
 * ------------------------------------------------------------------------------------------------
 */

/* A base variable for dim at the current place: the open tile's variable or a LET of its lower
 * limit. *hi: its last value. */
static ctune_status find_range(lowerer *w, int stmt, int dim, ctune_lnode *into, int *base,
                               ctune_limit *hi) {
    ctune_limit lo;
    ctune_status status = lower_bounds(w, stmt, dim, &lo, hi);
    if (status == CTUNE_OK && lo.is_inexact) {
        status = ctune_fail(w->ctx, CTUNE_EREFUSED, "pack: bounds with divisions");
    }
    if (status != CTUNE_OK) {
        return status;
    }
    int open = innermost_open(w, dim);
    if (open >= 0 && lower_limit_is_var(&lo, w->open[open].var)) {
        *base = w->open[open].var;
        return CTUNE_OK;
    }
    if (open >= 0 && lo.n > 1) {
        /* the tile's own start bounds all others from below: a valid, simpler base */
        *base = w->open[open].var;
        return CTUNE_OK;
    }
    ctune_lnode *n = let(w, w->tree->dims[dim].name, "base", lo, into);
    if (n == NULL) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
    }
    *base = n->var;
    return CTUNE_OK;
}

static ctune_status lower_pack(lowerer *w, int i_cache, ctune_lnode *into) {
    const ctune_cache *cache = &w->nest->cache[i_cache];
    const ctune_stmt *s = &w->tree->stmts[cache->stmt];
    const ctune_stage *stage = &w->region->stages[s->stage];
    lower_tile tile;
    if (!lower_tile_has(w, cache->stmt, &tile)) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "pack: stage %s has no register tile",
                          stage->name);
    }
    if (cache->read < 0 || cache->read >= stage->n_reads) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "pack: no such read");
    }
    if (!is_unconditional(stage->rhs, cache->read)) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "pack: read %d of %s is conditional", cache->read,
                          stage->name);
    }
    const ctune_expr *expr = ctune_pack_widen(w->region, stage, cache->read);
    uint32_t axes = axes_of(w->region, stage, expr);
    if ((axes >> 31) != 0 || reads_written(w, cache->at, expr)) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED,
                          "pack: read %d of %s is written in the same loop or has divisions",
                          cache->read, stage->name);
    }
    for (int c = 0; c < i_cache; c++) {
        if (w->loops->packed[c] != NULL && w->nest->cache[c].stmt == cache->stmt &&
            w->loops->packed[c]->expr == expr) {
            return CTUNE_OK; /* two reads widened to one expression: one copy serves both */
        }
    }
    ctune_packed *p = CTUNE_NEW(w->arena, ctune_packed);
    if (p == NULL || w->loops->n_buffers >= CTUNE_MAX_BUFFERS) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many buffers");
    }
    p->expr = expr;
    p->buffer = w->loops->n_buffers++;
    p->tile_pos = p->tile_var = p->tile_base = -1;
    p->tile = 1;
    ctune_lbuffer *buffer = &w->loops->buffer[p->buffer];
    snprintf(buffer->name, sizeof buffer->name, "pack_%.16s",
             w->region->tensors[stage->reads[cache->read]->access.tensor].name);
    for (int b = 0, k = 2; b < p->buffer; b++) {
        if (strcmp(w->loops->buffer[b].name, buffer->name) == 0) {
            snprintf(buffer->name, sizeof buffer->name, "pack_%.12s_%d",
                     w->region->tensors[stage->reads[cache->read]->access.tensor].name, k++);
            b = -1;
        }
    }
    buffer->type = expr->type;
    buffer->tensor = -1;
    buffer->is_per_thread = w->n_parallel > 0;
    ctune_limit panel_hi = {0};
    ctune_status status = CTUNE_OK;
    for (int pos = 0; pos < s->n_dims && status == CTUNE_OK; pos++) {
        int dim = s->dims[pos];
        int open = innermost_open(w, dim);
        if (!dim_moves(s, stage, axes, dim) || (open >= 0 && w->open[open].step == 1)) {
            continue;
        }
        int64_t cap = open >= 0 ? w->open[open].step : 0;
        int64_t panel = 0;
        int origin = -1;
        for (int t = 0; t < tile.n_tile; t++) {
            if (w->nest->node[tile.tile_node[t]].dim == dim) {
                origin = w->nest->node[tile.tile_node[t]].outer;
                panel = w->nest->node[origin].step;
            }
        }
        int base = -1;
        ctune_limit hi = {0};
        status = find_range(w, cache->stmt, dim, into, &base, &hi);
        if (status != CTUNE_OK) {
            break;
        }
        if (panel > 0) {
            if (p->tile_pos >= 0) {
                status = ctune_fail(w->ctx, CTUNE_EREFUSED, "pack: read moves with two tile loops");
                break;
            }
            p->tile_pos = pos;
            p->tile_base = base;
            p->tile = panel;
            if (open >= 0 &&
                w->open[open].node == origin) { /* one panel: its loop is open already */
                p->tile_var = w->open[open].var;
            }
            panel_hi = hi;
            /* a panel may start before an unaligned coarse tile's end: one more */
            status = buffer_dim(w, buffer, cache->stmt, dim, cap > 0 ? cap + panel : 0, panel);
        } else {
            p->seq_pos[p->n_seq] = pos;
            p->seq_base[p->n_seq] = base;
            p->seq_hi[p->n_seq++] = hi;
            status = buffer_dim(w, buffer, cache->stmt, dim, cap, 1);
        }
    }
    if (status != CTUNE_OK) {
        return status;
    }
    for (int i = 0; i < p->n_seq; i++) { /* the leading count is only needed to step over panels */
        if (i > 0 || (p->tile_pos >= 0 && p->tile_var != p->tile_base)) {
            ctune_lnode *count =
                let(w, w->tree->dims[s->dims[p->seq_pos[i]]].name, "count", p->seq_hi[i], into);
            if (count == NULL) {
                return ctune_fail(w->ctx, CTUNE_EREFUSED, "too many variables");
            }
            count->count_from = p->seq_base[i];
            p->seq_count[i] = count->var;
        }
    }
    if (p->tile_pos < 0 && p->n_seq == 0) {
        return ctune_fail(w->ctx, CTUNE_EREFUSED,
                          "pack: nothing of the read varies inside the loop");
    }
    w->loops->packed[i_cache] = p;
    ctune_lnode *block = lower_lnode(w, CTUNE_LN_SEQ);
    if (block != NULL) {
        block->comment =
            ctune_arena_printf(w->arena, "pack read %d of %s", cache->read, stage->name);
    }
    lower_append(w, into, block);
    return copy_panels(w, p, cache->stmt, panel_hi, block);
}

ctune_status lower_packs_at(lowerer *w, int node, ctune_lnode *into) {
    for (int c = 0; c < w->nest->n_caches; c++) {
        if (w->nest->cache[c].kind == CTUNE_CACHE_PACK && w->nest->cache[c].at == node) {
            ctune_status status = lower_pack(w, c, into);
            if (status != CTUNE_OK) {
                return status;
            }
        }
    }
    return CTUNE_OK;
}
