/*
 * GPU schedules of a region: see gpu.h.
 *
 * A form (the source's order, or distributed) is walked from the outside: a loop that can be bound,
 * alone or moved outwards in its perfect nest, begins a launch; another stays on the host. Each
 * launch is then made with many knobs on a copy of the nest, checked, and judged by the least of
 * what it must wait for: arithmetic, requests to L1 and shared memory, memory, too few blocks.
 */
#include "search/space/gpu.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/schedule/nest_ops.h"

enum { MAX_CHAIN = CTUNE_MAX_DEPTH, MAX_PARALLEL = 3, SECTOR_BYTES = 32, WARP = 32 };

/* A nest with the schedule that made it. */
typedef struct made {
    ctune_nest nest;
    ctune_schedule schedule;
    int n_begin; /* primitives of the schedule that other launches made */
} made;

/* One launch to be: a chain of single-child loops. */
typedef struct chain {
    int n;
    char name[MAX_CHAIN][CTUNE_NAME_BYTES];
    int n_parallel; /* of them can be bound, by position, outermost first */
    int parallel[MAX_CHAIN];
    int x, y; /* positions; y -1: none */
} chain;

typedef struct maker {
    ctune_ctx *ctx;
    ctune_program *program;
    const ctune_gpu_device *device;
    ctune_rng *rng; /* NULL: the best */
    made *best, *trial, *spare;
    double ns;
    int n_launches;
} maker;

void ctune_gpu_device_default(ctune_gpu_device *out) {
    *out = (ctune_gpu_device){.n_sms = 108,
                              .f32_ops = 9000,
                              .f64_ops = 4500,
                              .bytes = 1500,
                              .requests = 108 * 1.4,
                              .launch_ns = 5000,
                              .shared_bytes = CTUNE_MAX_SHARED_BYTES,
                              .n_regs = 128};
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool made_copy(made *to, const made *from) {
    to->nest = from->nest;
    to->n_begin = from->n_begin;
    to->schedule.n = 0;
    to->schedule.failed = false;
    for (int i = 0; i < from->schedule.n; i++) {
        ctune_schedule_append(&to->schedule, &from->schedule.prim[i]);
    }
    return !to->schedule.failed;
}

/* Applies one line; false: it does not apply there. */
static bool apply(made *m, const char *format, ...) CTUNE_PRINTF(2, 3);
static bool apply(made *m, const char *format, ...) {
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_schedule_append_text(&m->schedule, line);
    return !m->schedule.failed &&
           ctune_nest_apply(&ctx, &m->nest, &m->schedule.prim[m->schedule.n - 1]) == CTUNE_OK;
}

static void undo_last(made *m, const ctune_nest *nest) {
    m->nest = *nest;
    m->schedule.n--;
}

static bool is_legal(const made *m) {
    return ctune_nest_check(&m->nest, NULL, 0);
}

/* A name for a loop made of another one. */
static void derive(const made *m, const char *base, char letter, char out[CTUNE_NAME_BYTES]) {
    snprintf(out, CTUNE_NAME_BYTES, "%.18s_%c", base, letter);
    for (int i = 2; ctune_nest_find(&m->nest, out) >= 0 && i < 100; i++) {
        snprintf(out, CTUNE_NAME_BYTES, "%.17s_%c%d", base, letter, i);
    }
}

/* ---- which loops ----------------------------------------------------------------------------- */

static void find_chain(const ctune_nest *nest, int node, chain *c) {
    c->n = 0;
    while (c->n < MAX_CHAIN && node >= 0 && nest->node[node].kind == CTUNE_NN_LOOP) {
        memcpy(c->name[c->n++], nest->node[node].name, CTUNE_NAME_BYTES);
        int kid = nest->node[node].first;
        node = kid >= 0 && nest->node[kid].next < 0 ? kid : -1;
    }
}

/* The loops at pos[] outermost, then the others. */
static bool move_out(made *m, const chain *c, const int *pos, int n) {
    char line[MAX_CHAIN * CTUNE_NAME_BYTES] = "";
    size_t len = 0;
    bool is_same = true;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < (pass == 0 ? n : c->n); i++) {
            int at = pass == 0 ? pos[i] : i;
            bool is_out = false;
            for (int k = 0; k < n; k++) {
                is_out |= pos[k] == at;
            }
            if (pass == 0 || !is_out) {
                len += (size_t)snprintf(line + len, sizeof line - len, " %s", c->name[at]);
            }
            is_same &= pass == 1 || at == i;
        }
    }
    return is_same || apply(m, "reorder%s", line);
}

/* Can these be blocks, together? */
static bool can_bind(maker *k, const made *from, const chain *c, const int *pos, int n) {
    made *m = k->spare;
    if (!made_copy(m, from) || !move_out(m, c, pos, n)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!apply(m, "bind %s block.%c", c->name[pos[i]], "zyx"[MAX_PARALLEL - n + i])) {
            return false;
        }
    }
    return is_legal(m);
}

/* In how many accesses of the statements under the node does the loop move to a neighbour? */
static int count_neighbours(const ctune_nest *nest, int top, int dim) {
    int count = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind != CTUNE_NN_STMT || !ctune_nest_is_ancestor(nest, top, i)) {
            continue;
        }
        const ctune_stmt *stmt = &nest->form->tree->stmts[nest->node[i].stmt];
        const ctune_stage *stage = &nest->region->stages[stmt->stage];
        for (int r = -1; r < stage->n_reads; r++) {
            const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
            bool is_other = false;
            for (int d = 0; d + 1 < a->n_idx; d++) {
                is_other |= ctune_stmt_moves(nest->region, stmt, a->idx[d], dim);
            }
            int64_t coef =
                a->n_idx == 0 ? 0 : ctune_stmt_coef(nest->region, stmt, a->idx[a->n_idx - 1], dim);
            count += coef == 1 || coef == -1 ? (is_other ? 0 : r < 0 ? 3 : 2) : 0;
            count -= coef == 0 && is_other;
        }
    }
    return count;
}

/* Fills what can be bound; false: nothing. */
static bool find_parallel(maker *k, const made *from, int node, chain *c) {
    find_chain(&from->nest, node, c);
    c->n_parallel = 0;
    for (int i = 0; i < c->n && c->n_parallel < MAX_PARALLEL; i++) {
        c->parallel[c->n_parallel] = i;
        c->n_parallel += can_bind(k, from, c, c->parallel, c->n_parallel + 1);
    }
    int best = 0;
    c->x = c->y = -1;
    for (int i = 0; i < c->n_parallel; i++) {
        int at = ctune_nest_find(&from->nest, c->name[c->parallel[i]]);
        int n = count_neighbours(&from->nest, node, from->nest.node[at].dim);
        if (c->x < 0 || n >= best) {
            best = n;
            c->x = c->parallel[i];
        }
    }
    double longest = 1;
    for (int i = 0; i < c->n_parallel; i++) {
        int at = ctune_nest_find(&from->nest, c->name[c->parallel[i]]);
        double extent = ctune_nest_extent(&from->nest, at);
        if (c->parallel[i] != c->x && (c->y < 0 || extent >= longest)) {
            longest = extent;
            c->y = c->parallel[i];
        }
    }
    return c->n_parallel > 0;
}

/* ---- one launch ------------------------------------------------------------------------------ */

/* Levels of one dim: block, points of a thread, threads; "" where there is none. */
typedef struct levels {
    char block[CTUNE_NAME_BYTES], point[CTUNE_NAME_BYTES], thread[CTUNE_NAME_BYTES];
} levels;

static bool split_dim(made *m, const char *name, int threads, int tile, levels *out) {
    char inner[CTUNE_NAME_BYTES];
    memset(out, 0, sizeof *out);
    if (threads * tile == 1) {
        snprintf(out->block, sizeof out->block, "%s", name);
        return true;
    }
    derive(m, name, 'b', out->block);
    derive(m, name, 't', out->thread);
    if (tile == 1) {
        return apply(m, "split %s %d -> %s %s", name, threads, out->block, out->thread);
    }
    derive(m, name, '1', inner);
    derive(m, name, 'p', out->point);
    if (threads == 1) { /* the points are one thread's, next to each other */
        out->thread[0] = '\0';
        return apply(m, "split %s %d -> %s %s", name, tile, out->block, out->point);
    }
    return apply(m, "split %s %d -> %s %s", name, threads * tile, out->block, inner) &&
           apply(m, "split %s %d -> %s %s", inner, threads, out->point, out->thread);
}

static void add_name(char *line, size_t size, const char *name) {
    size_t len = strlen(line);
    if (name[0] != '\0' && len < size) {
        snprintf(line + len, size - len, " %s", name);
    }
}

/* Power of 2 that is no more than the number and no more than what the extent needs. */
static int cut(int number, double extent) {
    int n = 1;
    while (n * 2 <= number && n < extent) {
        n *= 2;
    }
    return n;
}

/* The one statement at the end of the chain, -1. */
static int only_stmt(const ctune_nest *nest, const chain *c) {
    int last = ctune_nest_find(nest, c->name[c->n - 1]);
    int kid = nest->node[last].first;
    return kid >= 0 && nest->node[kid].kind == CTUNE_NN_STMT && nest->node[kid].next < 0
               ? nest->node[kid].stmt
               : -1;
}

static const char *stmt_name(const ctune_nest *nest, int stmt) {
    return ctune_stmt_name(nest->region, nest->form->tree, stmt);
}

/* Copies that pay: what several threads of a block read. */
static void add_shared(made *m, int stmt, const char *at, int dim_x, int dim_y) {
    const ctune_stmt *s = &m->nest.form->tree->stmts[stmt];
    const ctune_stage *stage = &m->nest.region->stages[s->stage];
    for (int r = 0; r < stage->n_reads; r++) {
        const ctune_access *a = &stage->reads[r]->access;
        bool moves_x = false, moves_y = false;
        for (int d = 0; d < a->n_idx; d++) {
            moves_x |= ctune_stmt_moves(m->nest.region, s, a->idx[d], dim_x);
            moves_y |= dim_y < 0 || ctune_stmt_moves(m->nest.region, s, a->idx[d], dim_y);
        }
        if ((moves_x && moves_y) || (!moves_x && !moves_y && dim_y >= 0)) {
            continue;
        }
        ctune_nest before = m->nest;
        bool done = apply(m, "cache_read %s.%d at %s shared", stmt_name(&m->nest, stmt), r, at);
        if (!done || !is_legal(m)) {
            undo_last(m, &before);
        }
    }
}

/* The launch of the chain with these knobs; false: it cannot be made, or is not legal. */
static bool make_launch(made *m, const chain *c, const ctune_gpu_knobs *knobs) {
    int node_x = ctune_nest_find(&m->nest, c->name[c->x]);
    int node_y = c->y < 0 ? -1 : ctune_nest_find(&m->nest, c->name[c->y]);
    int dim_x = m->nest.node[node_x].dim, dim_y = node_y < 0 ? -1 : m->nest.node[node_y].dim;
    double extent_x = ctune_nest_extent(&m->nest, node_x);
    double extent_y = node_y < 0 ? 1 : ctune_nest_extent(&m->nest, node_y);
    int threads_x = cut(knobs->threads_x, extent_x), threads_y = cut(knobs->threads_y, extent_y);
    int tile_x = cut(knobs->tile_x, extent_x / threads_x);
    int tile_y = cut(knobs->tile_y, extent_y / threads_y);
    int stmt = only_stmt(&m->nest, c);
    bool has_rest = c->n > c->n_parallel;
    levels x, y;
    memset(&y, 0, sizeof y);
    if (!move_out(m, c, c->parallel, c->n_parallel) ||
        !split_dim(m, c->name[c->x], threads_x, tile_x, &x) ||
        (c->y >= 0 && !split_dim(m, c->name[c->y], threads_y, tile_y, &y))) {
        return false;
    }
    char rest[MAX_CHAIN * CTUNE_NAME_BYTES] = "", k_step[CTUNE_NAME_BYTES] = "";
    char order[3 * MAX_CHAIN * CTUNE_NAME_BYTES] = "reorder";
    for (int i = 0; i < c->n; i++) {
        bool is_parallel = false;
        for (int k = 0; k < c->n_parallel; k++) {
            is_parallel |= c->parallel[k] == i;
        }
        if (is_parallel && i != c->x && i != c->y) {
            add_name(order, sizeof order, c->name[i]);
        }
        double extent =
            is_parallel ? 1 : ctune_nest_extent(&m->nest, ctune_nest_find(&m->nest, c->name[i]));
        if (!is_parallel && knobs->k_step > 1 && k_step[0] == '\0' && stmt >= 0 &&
            extent > knobs->k_step) {
            char inner[CTUNE_NAME_BYTES];
            derive(m, c->name[i], 'o', k_step);
            derive(m, c->name[i], 'i', inner);
            if (!apply(m, "split %s %d -> %s %s", c->name[i], knobs->k_step, k_step, inner)) {
                return false;
            }
            add_name(rest, sizeof rest, inner);
        } else if (!is_parallel) {
            add_name(rest, sizeof rest, c->name[i]);
        }
    }
    add_name(order, sizeof order, y.block);
    add_name(order, sizeof order, x.block);
    add_name(order, sizeof order, k_step);
    if (stmt >= 0) { /* a register tile: its points inside the reduction */
        add_name(order, sizeof order, rest[0] == ' ' ? rest + 1 : rest);
    }
    add_name(order, sizeof order, y.point);
    add_name(order, sizeof order, x.point);
    add_name(order, sizeof order, y.thread);
    add_name(order, sizeof order, x.thread);
    if (stmt < 0) {
        add_name(order, sizeof order, rest[0] == ' ' ? rest + 1 : rest);
    }
    bool has_one = strchr(order, ' ') == strrchr(order, ' ');
    if (!has_one && !apply(m, "%s", order)) {
        return false;
    }
    for (int i = 0; i < c->n_parallel; i++) { /* the third one is the z of blocks */
        if (c->parallel[i] != c->x && c->parallel[i] != c->y &&
            !apply(m, "bind %s block.z", c->name[c->parallel[i]])) {
            return false;
        }
    }
    bool is_bound = apply(m, "bind %s block.x", x.block) &&
                    (c->y < 0 || apply(m, "bind %s block.y", y.block)) &&
                    (y.thread[0] == '\0' || apply(m, "bind %s thread.y", y.thread)) &&
                    (x.thread[0] == '\0' || apply(m, "bind %s thread.x", x.thread)) &&
                    (y.point[0] == '\0' || apply(m, "unroll %s", y.point)) &&
                    (x.point[0] == '\0' || apply(m, "unroll %s", x.point));
    if (!is_bound || !is_legal(m)) {
        return false;
    }
    if (stmt >= 0 && has_rest) {
        ctune_nest before = m->nest;
        if (!apply(m, "cache_write %s at %s register", stmt_name(&m->nest, stmt), x.block) ||
            !is_legal(m)) {
            undo_last(m, &before);
        }
        if (k_step[0] != '\0') {
            add_shared(m, stmt, k_step, dim_x, dim_y);
        }
    }
    return is_legal(m);
}

/* ---- the estimate ---------------------------------------------------------------------------- */

static int count_ops(const ctune_expr *expr) {
    int n = expr->n_kids > 0 && expr->op != CTUNE_OP_CAST;
    for (int i = 0; i < expr->n_kids; i++) {
        n += count_ops(expr->kids[i]);
    }
    return n;
}

/* Sectors of one request of a warp by its stride along x; 1 with all threads at one place. */
static double sectors(const ctune_nest *nest, const ctune_stmt *stmt, const ctune_access *a,
                      int dim_x) {
    int bytes = ctune_type_get(nest->region->tensors[a->tensor].type)->bytes;
    for (int d = 0; d + 1 < a->n_idx; d++) {
        if (ctune_stmt_moves(nest->region, stmt, a->idx[d], dim_x)) {
            return WARP;
        }
    }
    int64_t coef =
        a->n_idx == 0 ? 0 : ctune_stmt_coef(nest->region, stmt, a->idx[a->n_idx - 1], dim_x);
    double span = fabs((double)coef) * bytes * WARP / SECTOR_BYTES;
    return coef == 0 ? 1 : fmin(WARP, fmax(1, span));
}

/* What the loops around a statement say of it. */
typedef struct place {
    double blocks, threads, points, serial; /* points: of a thread, in unrolled loops */
    int dim_x;                              /* of thread.x (or block.x), -1 */
} place;

static place place_of(const ctune_nest *nest, int node) {
    place p = {1, 1, 1, 1, -1};
    for (int up = nest->node[node].parent; up > 0; up = nest->node[up].parent) {
        const ctune_nnode *loop = &nest->node[up];
        double extent = ctune_nest_extent(nest, up);
        if (ctune_ann_is_block(loop->ann)) {
            p.blocks *= extent;
            p.dim_x = p.dim_x < 0 && loop->ann == CTUNE_ANN_BLOCK_X ? loop->dim : p.dim_x;
        } else if (ctune_ann_is_thread(loop->ann)) {
            p.threads *= extent;
            p.dim_x = loop->ann == CTUNE_ANN_THREAD_X ? loop->dim : p.dim_x;
        } else if (loop->ann == CTUNE_ANN_UNROLL) {
            p.points *= extent;
        } else if (ctune_nest_launch(nest, up) >= 0) {
            p.serial *= extent;
        }
    }
    return p;
}

/* How often a thread loads for one access, for all its points of one serial iteration. */
static double loads_of(const ctune_nest *nest, int node, const ctune_stmt *stmt,
                       const ctune_access *a) {
    double n = 1;
    for (int up = nest->node[node].parent; up > 0; up = nest->node[up].parent) {
        bool moves = false;
        for (int d = 0; d < a->n_idx; d++) {
            moves |= ctune_stmt_moves(nest->region, stmt, a->idx[d], nest->node[up].dim);
        }
        n *= nest->node[up].ann == CTUNE_ANN_UNROLL && moves ? ctune_nest_extent(nest, up) : 1;
    }
    return n;
}

static bool has_cache(const ctune_nest *nest, ctune_cache_kind kind, int stmt, int read) {
    for (int c = 0; c < nest->n_caches; c++) {
        if (nest->cache[c].kind == kind && nest->cache[c].stmt == stmt &&
            nest->cache[c].read == read) {
            return true;
        }
    }
    return false;
}

/* Elements that the whole launch touches by the access. */
static double elements_of(const ctune_nest *nest, const ctune_stmt *stmt, const ctune_access *a) {
    double n = 1;
    for (int p = 0; p < stmt->n_dims; p++) {
        for (int d = 0; d < a->n_idx; d++) {
            if (ctune_stmt_moves(nest->region, stmt, a->idx[d], stmt->dims[p])) {
                n *= fmax(1, nest->form->tree->dims[stmt->dims[p]].extent);
                break;
            }
        }
    }
    return n;
}

static double estimate_stmt(const maker *k, const ctune_nest *nest, int node) {
    int i_stmt = nest->node[node].stmt;
    const ctune_gpu_device *dev = k->device;
    const ctune_stmt *stmt = &nest->form->tree->stmts[i_stmt];
    const ctune_stage *stage = &nest->region->stages[stmt->stage];
    place p = place_of(nest, node);
    double threads = p.blocks * p.threads, iterations = threads * p.serial * p.points;
    double rate = stage->calc == CTUNE_F64 ? dev->f64_ops : dev->f32_ops;
    double ops = iterations * fmax(1, count_ops(stage->rhs) + (stage->update != CTUNE_UPDATE_SET));
    double requests = 0, bytes = 0;
    bool is_held = has_cache(nest, CTUNE_CACHE_REGISTER, i_stmt, -1);
    for (int r = -1; r < stage->n_reads; r++) {
        const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
        double loads = loads_of(nest, node, stmt, a) * (r < 0 && is_held ? 2 : p.serial);
        bool is_shared = r >= 0 && has_cache(nest, CTUNE_CACHE_SHARED, i_stmt, r);
        double cost = is_shared ? 1 : 1.5 * fmax(1, sectors(nest, stmt, a, p.dim_x) / 4);
        requests += loads * cost * threads / WARP * (r < 0 && !is_held ? 2 : 1);
        bytes += elements_of(nest, stmt, a) *
                 ctune_type_get(nest->region->tensors[a->tensor].type)->bytes * (r < 0 ? 2 : 1);
    }
    double full = p.threads < WARP ? p.threads / WARP : 1; /* a warp runs with the lanes it has */
    double busy = fmin(1, p.threads * fmin(4, p.blocks / dev->n_sms) / 256); /* latency to hide */
    double waves = ceil(p.blocks / dev->n_sms);
    double quantised = p.blocks / (dev->n_sms * waves);
    double regs = 24 + p.points * 2 * (stage->calc == CTUNE_F64 ? 2 : 1);
    double ns = (ops / rate + requests / dev->requests) / full; /* both take issue slots */
    ns /= fmax(0.001, fmax(quantised, waves > 8 ? 0.9 : 0)) * fmax(0.02, busy);
    ns *= regs > dev->n_regs ? 4 : 1;
    return fmax(ns, bytes / dev->bytes);
}

/* One launch, without those of its host loops. */
static double estimate(const maker *k, const ctune_nest *nest, int launch) {
    double ns = k->device->launch_ns;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && ctune_nest_is_ancestor(nest, launch, i)) {
            ns += estimate_stmt(k, nest, i);
        }
    }
    return ns;
}

/* ---- choices --------------------------------------------------------------------------------- */

static const int thread_choices[][2] = {{32, 8}, {16, 16}, {32, 4},  {64, 4},
                                        {8, 8},  {128, 1}, {256, 1}, {32, 1}};
static const int tile_choices[][2] = {{1, 1}, {1, 2}, {2, 2}, {1, 4},
                                      {2, 4}, {4, 4}, {4, 8}, {8, 8}};
static const int step_choices[] = {0, 8, 16, 32};

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static void knobs_at(int i, ctune_gpu_knobs *out) {
    int t = i % COUNT(thread_choices), p = i / COUNT(thread_choices) % COUNT(tile_choices);
    int s = i / COUNT(thread_choices) / COUNT(tile_choices);
    *out = (ctune_gpu_knobs){.threads_x = thread_choices[t][0],
                             .threads_y = thread_choices[t][1],
                             .tile_x = tile_choices[p][1],
                             .tile_y = tile_choices[p][0],
                             .k_step = step_choices[s]};
}

static const int n_knobs = COUNT(thread_choices) * COUNT(tile_choices) * COUNT(step_choices);

/* Which node of the trial a statement of the chain is in: its launch. */
static int launch_of_stmt(const ctune_nest *nest, int stmt) {
    return ctune_nest_launch(nest, ctune_nest_find_stmt(nest, stmt));
}

static int any_stmt(const ctune_nest *nest, int node) {
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind == CTUNE_NN_STMT && ctune_nest_is_ancestor(nest, node, i)) {
            return nest->node[i].stmt;
        }
    }
    return -1;
}

/* Replaces *best by the launch with the best knobs. false: none can be made. */
static bool choose_knobs(maker *k, int node) {
    chain c;
    if (!find_parallel(k, k->best, node, &c)) {
        return false;
    }
    int stmt = any_stmt(&k->best->nest, node), chosen = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < n_knobs; i++) {
        ctune_gpu_knobs knobs;
        int at = k->rng == NULL ? i : (int)ctune_rng_below(k->rng, (uint64_t)n_knobs);
        if (k->rng != NULL && i == 16) {
            break; /* tried enough by chance: take plain ones */
        }
        knobs_at(at, &knobs);
        if (!made_copy(k->trial, k->best) || !make_launch(k->trial, &c, &knobs)) {
            continue;
        }
        double ns = estimate(k, &k->trial->nest, launch_of_stmt(&k->trial->nest, stmt));
        if (ns < least || k->rng != NULL) {
            least = ns;
            chosen = at;
        }
        if (k->rng != NULL) {
            break;
        }
    }
    ctune_gpu_knobs knobs = {.threads_x = 1, .threads_y = 1, .tile_x = 1, .tile_y = 1};
    if (chosen >= 0) {
        knobs_at(chosen, &knobs);
    }
    if (!made_copy(k->trial, k->best) || !make_launch(k->trial, &c, &knobs)) {
        return false;
    }
    made *swap = k->best;
    k->best = k->trial;
    k->trial = swap;
    return true;
}

static double host_trips(const ctune_nest *nest, int node) {
    double n = 1;
    for (int up = nest->node[node].parent; up > 0; up = nest->node[up].parent) {
        n *= ctune_nest_extent(nest, up);
    }
    return n;
}

/* Launches of what stands in the body of `node`, or of its kids, ... Names are found again, since
 * nodes move. */
static void walk(maker *k, int node, int depth) {
    int16_t kids[CTUNE_NEST_NODES];
    int n = 0;
    for (int kid = k->best->nest.node[node].first; kid >= 0; kid = k->best->nest.node[kid].next) {
        kids[n++] = (int16_t)(k->best->nest.node[kid].kind == CTUNE_NN_LOOP ? kid : -1);
    }
    char names[CTUNE_NEST_NODES][CTUNE_NAME_BYTES];
    for (int i = 0; i < n; i++) {
        snprintf(names[i], CTUNE_NAME_BYTES, "%s",
                 kids[i] < 0 ? "" : k->best->nest.node[kids[i]].name);
    }
    for (int i = 0; i < n; i++) {
        int kid = names[i][0] == '\0' ? -1 : ctune_nest_find(&k->best->nest, names[i]);
        if (kid < 0) {
            continue;
        }
        int stmt = any_stmt(&k->best->nest, kid);
        if (choose_knobs(k, kid)) {
            int launch = launch_of_stmt(&k->best->nest, stmt);
            k->n_launches++;
            k->ns += host_trips(&k->best->nest, launch) * estimate(k, &k->best->nest, launch);
        } else if (depth < CTUNE_MAX_DEPTH) {
            walk(k, kid, depth + 1);
        }
    }
}

/* What no launch with loops over blocks has: one thread runs it. */
static double lonely_ns(const maker *k) {
    const ctune_nest *nest = &k->best->nest;
    double ns = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind != CTUNE_NN_STMT) {
            continue;
        }
        place p = place_of(nest, i);
        if (p.blocks * p.threads == 1) {
            int launch = ctune_nest_launch(nest, i);
            ns += host_trips(nest, launch) * (k->device->launch_ns + 20 * p.serial * p.points);
        }
    }
    return ns;
}

/* ---- forms ----------------------------------------------------------------------------------- */

static made *made_create(void) {
    made *m = calloc(1, sizeof *m);
    if (m != NULL) {
        ctune_schedule_init(&m->schedule);
    }
    return m;
}

static void made_destroy(made *m) {
    if (m != NULL) {
        ctune_schedule_clear(&m->schedule);
        free(m);
    }
}

/* The whole region in one form. EREFUSED: nothing runs in blocks. */
static ctune_status make_form(maker *k, const char *structure) {
    ctune_schedule plain;
    ctune_schedule_init(&plain);
    k->best->schedule.n = 0;
    if (k->program->round_products) {
        ctune_schedule_append(&plain, &(ctune_prim){.kind = CTUNE_PRIM_ROUND});
    }
    if (structure[0] != '\0') {
        ctune_schedule_append_text(&plain, structure);
    }
    ctune_status status = ctune_schedule_apply(k->ctx, k->program, &plain, &k->best->nest);
    for (int i = 0; i < plain.n && status == CTUNE_OK; i++) {
        ctune_schedule_append(&k->best->schedule, &plain.prim[i]);
    }
    ctune_schedule_clear(&plain);
    if (status != CTUNE_OK) {
        return status;
    }
    k->ns = 0;
    k->n_launches = 0;
    walk(k, 0, 0);
    k->ns += lonely_ns(k);
    return k->n_launches > 0
               ? CTUNE_OK
               : ctune_fail(k->ctx, CTUNE_EREFUSED,
                            "no loop's iterations are independent: nothing for a GPU");
}

static ctune_status make(maker *k, ctune_schedule *out, double *ns) {
    static const char *const structures[] = {"", "distribute"};
    const char *wrong = ctune_region_check_gpu(k->program->region);
    if (wrong != NULL) {
        return ctune_fail(k->ctx, CTUNE_EREFUSED, "%s", wrong);
    }
    made *kept = made_create();
    k->best = made_create();
    k->trial = made_create();
    k->spare = made_create();
    ctune_status status = kept == NULL || k->best == NULL || k->trial == NULL || k->spare == NULL
                              ? ctune_fail(k->ctx, CTUNE_ENOMEM, "out of memory")
                              : CTUNE_EREFUSED;
    double least = HUGE_VAL;
    int first = k->rng != NULL ? (int)ctune_rng_below(k->rng, 2) : 0;
    for (int i = 0; i < 2 && status != CTUNE_ENOMEM; i++) {
        ctune_status one = make_form(k, structures[(first + i) % 2]);
        if (one == CTUNE_OK && k->ns < least) {
            least = k->ns;
            status = made_copy(kept, k->best) ? CTUNE_OK
                                              : ctune_fail(k->ctx, CTUNE_ENOMEM, "out of memory");
        }
        if (k->rng != NULL && status == CTUNE_OK) {
            break;
        }
    }
    for (int i = 0; status == CTUNE_OK && i < kept->schedule.n; i++) {
        ctune_schedule_append(out, &kept->schedule.prim[i]);
    }
    if (status == CTUNE_OK && ns != NULL) {
        *ns = least;
    }
    made_destroy(kept);
    made_destroy(k->best);
    made_destroy(k->trial);
    made_destroy(k->spare);
    return status == CTUNE_OK && out->failed ? ctune_fail(k->ctx, CTUNE_ENOMEM, "out of memory")
                                             : status;
}

ctune_status ctune_gpu_choose(ctune_ctx *ctx, ctune_program *program,
                              const ctune_gpu_device *device, ctune_schedule *out, double *ns) {
    maker k = {.ctx = ctx, .program = program, .device = device};
    return make(&k, out, ns);
}

ctune_status ctune_gpu_sample(ctune_ctx *ctx, ctune_program *program, ctune_rng *rng,
                              ctune_schedule *out) {
    ctune_gpu_device device;
    ctune_gpu_device_default(&device);
    maker k = {.ctx = ctx, .program = program, .device = &device, .rng = rng};
    return make(&k, out, NULL);
}
