/*
 * The estimate group: the analytic estimate, what bounds it, and how far each resource is from its
 * ideal. These are the columns that mean the same for every kernel: ratios to a peak, to a cache,
 * to what the nest must move at least, and shares of the whole.
 */
#include "search/feature/feature_private.h"

#define ESTIMATE_TABLE(X)                                                                          \
    X(TOTAL, "total")     /* log2 of nanoseconds */                                                \
    X(VS_PEAK, "vs_peak") /* log2 of cycles over those at the peak of one core */                  \
    X(VS_ROOF, "vs_roof") /* over the roofline: that peak or each byte once from memory */         \
    X(CORE, "core")       /* log2 of part over total, down to -20 */                               \
    X(COPY, "copy")                                                                                \
    X(L1, "into_l1")                                                                               \
    X(L2, "into_l2")                                                                               \
    X(L3, "into_l3")                                                                               \
    X(FORK, "fork")                                                                                \
    X(HOT, "hot_share") /* share of the hottest statement in the cycles of all */                  \
    X(OPS, "ops")       /* log2 of port slots of the whole nest */                                 \
    X(INSTANCES, "instances")                                                                      \
    X(BYTES, "bytes") /* log2 of all bytes that the nest touches */                                \
    X(BYTES_L1, "bytes_vs_l1")                                                                     \
    X(BYTES_L2, "bytes_vs_l2")                                                                     \
    X(BYTES_L3, "bytes_vs_l3")                                                                     \
    X(INTENSITY, "intensity")   /* log2 of ops per such byte */                                    \
    X(TRAFFIC_L1, "traffic_l1") /* log2 of bytes into L1 over such bytes */                        \
    X(TRAFFIC_L2, "traffic_l2")                                                                    \
    X(TRAFFIC_L3, "traffic_l3")                                                                    \
    X(BALANCE_L1, "balance_l1") /* log2 of cycles of bytes into L1 over those at the peak */       \
    X(BALANCE_L2, "balance_l2")                                                                    \
    X(BALANCE_L3, "balance_l3")

enum {
#define X(id, name) EST_##id,
    ESTIMATE_TABLE(X)
#undef X
        N_ESTIMATE
};

/* One iteration of the kernel loop of the hottest statement. */
#define KERNEL_TABLE(X)                                                                            \
    X(EFFICIENCY, "kernel.efficiency") /* ideal over estimated cycles of all its executions */     \
    X(CYCLES, "kernel.cycles")         /* log2 */                                                  \
    X(OPS, "kernel.ops") /* shares of the iteration's cycles that each resource alone takes */     \
    X(LOADS, "kernel.loads")                                                                       \
    X(STORES, "kernel.stores")                                                                     \
    X(FRONT, "kernel.front")                                                                       \
    X(CHAIN, "kernel.chain")                                                                       \
    X(PAGE, "kernel.page")                                                                         \
    X(LOADS_PER_OP, "kernel.loads_per_op") /* log2 */                                              \
    X(N_OPS, "kernel.n_ops")                                                                       \
    X(TRIPS, "kernel.trips")                                                                       \
    X(IS_CARRIED, "kernel.steps")         /* log2 of reduction steps in a block */                 \
    X(REGISTERS, "kernel.register_share") /* accumulators over vector registers */                 \
    X(SPILLS, "kernel.spills")                                                                     \
    X(CHAINS, "kernel.chains") /* log2 of accumulators over those that hide the latency */         \
    X(MOVES, "kernel.moves")   /* share of loading and storing the register tile */                \
    X(LOOPS, "kernel.loops")   /* share of loop control */                                         \
    X(TAIL, "kernel.tail")                                                                         \
    X(REDUCTION, "kernel.reduction") /* log2 of iterations between load and store of the tile */   \
    X(UNIT, "kernel.unit")       /* share of references that stand or go one by one in lanes */    \
    X(JUMP, "kernel.jump")       /* number of references that go lane by lane */                   \
    X(ALIGN, "kernel.odd_rows")  /* share of references to rows that split lines, not packed */    \
    X(STREAMS, "kernel.streams") /* log2 of rows that a block touches outside of packs */          \
    X(PAGES, "kernel.pages")     /* log2 of pages that a kernel loop touches there */              \
    X(TILE_PAGES, "kernel.tile_pages") /* that a tile touches */

enum {
#define X(id, name) KERNEL_##id,
    KERNEL_TABLE(X)
#undef X
        N_KERNEL
};

/* Means over all statements, weighted by their port slots. */
#define MEAN_TABLE(X)                                                                              \
    X(OURS, "mean.vectors")      /* share of the work in vectors of the schedule */                \
    X(AUTO, "mean.auto_vectors") /* that the compiler should make */                               \
    X(REGISTER, "mean.register") /* in register tiles */                                           \
    X(EFFICIENCY, "mean.efficiency")                                                               \
    X(FILL, "mean.vector_fill")                                                                    \
    X(TAIL, "mean.tail")                                                                           \
    X(SPILLS, "mean.spills")                                                                       \
    X(CHAIN, "mean.chain_bound")                                                                   \
    X(LOAD, "mean.load_bound")                                                                     \
    X(THREADS, "mean.threads")                                                                     \
    X(PACKS, "mean.packs")                                                                         \
    X(WORST, "mean.worst") /* log2 of cycles over ideal, of the worst statement with 1 % work */

enum {
#define X(id, name) MEAN_##id,
    MEAN_TABLE(X)
#undef X
        N_MEAN
};

/* Means over all statements, weighted by their cycles: where the time goes. */
#define COST_TABLE(X)                                                                              \
    X(OURS, "cost.vectors")                                                                        \
    X(AUTO, "cost.auto_vectors")                                                                   \
    X(REGISTER, "cost.register")                                                                   \
    X(LOSS, "cost.loss")     /* log2 of cycles over ideal */                                       \
    X(TRIPS, "cost.trips")   /* log2 of those of the kernel loop */                                \
    X(UNIT, "cost.unit")     /* share of references that stand or go one by one */                 \
    X(LOOPS, "cost.loops")   /* share of loop control */                                           \
    X(CHAIN, "cost.chain")   /* log2 of the recurrence over the kernel, from -4 on */              \
    X(SERIAL, "cost.serial") /* share whose kernel loop carries a dependence */                    \
    X(PINS, "cost.pins")     /* dims in which statements are pinned */                             \
    X(JUMP, "cost.jump")     /* share whose target jumps from lane to lane */

enum {
#define X(id, name) COST_##id,
    COST_TABLE(X)
#undef X
        N_COST
};

/* Recurrence of the hottest statement. */
#define CHAIN_TABLE(X)                                                                             \
    X(OWN, "chain.own_distance") /* log2 of iterations between dependent instances */              \
    X(ANY, "chain.distance")     /* with dependences on other statements */                        \
    X(LATENCY, "chain.latency")                                                                    \
    X(RATIO, "chain.vs_kernel") /* log2 of cycles over those of the kernel */                      \
    X(IS_SERIAL, "chain.in_kernel_loop")                                                           \
    X(PINS, "chain.pins")                                                                          \
    X(ALL_PINS, "chain.all_pins") /* of all statements */

enum {
#define X(id, name) CHAIN_##id,
    CHAIN_TABLE(X)
#undef X
        N_CHAIN
};

/* What one execution of a level of the hottest statement's path touches, against the caches. */
#define LEVEL_TABLE(X, p)                                                                          \
    X(p, VS_L1, "vs_l1")                                                                           \
    X(p, VS_L2, "vs_l2")                                                                           \
    X(p, VS_L3, "vs_l3")                                                                           \
    X(p, ENTRIES, "entries")     /* log2 of how often */                                           \
    X(p, INTENSITY, "intensity") /* log2 of port slots per byte */

enum {
#define X(p, id, name) LEVEL_##id,
    LEVEL_TABLE(X, 0)
#undef X
        N_LEVEL
};

/* The outermost level that fits into a cache. */
#define FIT_TABLE(X, p)                                                                            \
    X(p, WORK, "work")   /* log2 of port slots in one execution of it */                           \
    X(p, DEPTH, "depth") /* loops around it */                                                     \
    X(p, FILL, "fill")   /* share of the cache that it fills */

enum {
#define X(p, id, name) FIT_##id,
    FIT_TABLE(X, 0)
#undef X
        N_FIT
};

enum { N_LEVELS = 4, N_FITS = 3 };
enum {
    AT_KERNEL = N_ESTIMATE,
    AT_MEAN = AT_KERNEL + N_KERNEL,
    AT_COST = AT_MEAN + N_MEAN,
    AT_CHAIN = AT_COST + N_COST,
    AT_LEVELS = AT_CHAIN + N_CHAIN,
    AT_FITS = AT_LEVELS + N_LEVELS * N_LEVEL,
    N_COLUMNS = AT_FITS + N_FITS * N_FIT
};

#define X(id, name) "estimate." name,
#define Y(p, id, name) "estimate." p "." name,
static const char *const names[] = {
    ESTIMATE_TABLE(X) KERNEL_TABLE(X) MEAN_TABLE(X) COST_TABLE(X) CHAIN_TABLE(X)
        LEVEL_TABLE(Y, "kernel_body") LEVEL_TABLE(Y, "kernel_loop") LEVEL_TABLE(Y, "tile")
            LEVEL_TABLE(Y, "outer_tile") FIT_TABLE(Y, "fits_l1") FIT_TABLE(Y, "fits_l2")
                FIT_TABLE(Y, "fits_l3")};
#undef X
#undef Y

/* ---- whole nest ------------------------------------------------------------------------------ */

/* Cycles of one core that does nothing but full vectors of fused operations. */
static double ideal_cycles(const feat_state *s, int p) {
    const ctune_target *t = s->target;
    double width = est_max(t->vector_bytes / s->a->kernel[p].elem_bytes, 1);
    return feat_instances(&s->a->path[p]) * s->ops[p].slots / (width * t->rates.fma_per_cycle);
}

static void fill_total(const feat_state *s, float *row) {
    const est_analysis *a = s->a;
    const ctune_target *t = s->target;
    double ops = 0, instances = 0, ideal = 0, copy = 0, all = 0, bytes = a->state.footprint[0];
    for (int p = 0; p < a->n_paths; p++) {
        double n = feat_instances(&a->path[p]);
        instances += n;
        ops += n * s->ops[p].slots;
        ideal += ideal_cycles(s, p);
        copy += a->copy_cycles[p];
        all += s->cost[p];
    }
    row[EST_TOTAL] = feat_log(a->cycles / t->ghz);
    row[EST_VS_PEAK] = feat_ratio(a->cycles, ideal);
    row[EST_VS_ROOF] = feat_ratio(a->cycles, est_max(ideal, bytes / t->rates.bytes_per_cycle[3]));
    row[EST_CORE] = feat_ratio(a->core_cycles - copy, a->cycles);
    row[EST_COPY] = feat_ratio(copy, a->cycles);
    row[EST_FORK] = feat_ratio(a->fork_cycles, a->cycles);
    row[EST_HOT] = (float)feat_share(s->cost[s->hot], all);
    row[EST_OPS] = feat_log(ops);
    row[EST_INSTANCES] = feat_log(instances);
    row[EST_BYTES] = feat_log(bytes);
    row[EST_INTENSITY] = feat_ratio(ops, bytes);
    for (int c = 0; c < 3; c++) {
        row[EST_L1 + c] = feat_ratio(a->memory_cycles[c], a->cycles);
        row[EST_BYTES_L1 + c] = feat_ratio(bytes, (double)t->cache_bytes[c]);
        row[EST_TRAFFIC_L1 + c] = feat_ratio(a->traffic[c], bytes);
        row[EST_BALANCE_L1 + c] = feat_ratio(a->memory_cycles[c], ideal);
    }
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* Lanes, or else the innermost loop: does the reference stand or go to the next element? */
static bool is_unit(const est_kernel *k, const est_ref *ref) {
    int pos = k->vector >= 0 ? k->vector : k->path->n > 0 ? k->path->pos[k->path->n - 1] : -1;
    return pos < 0 || est_ref_stride(ref, pos) >= 0;
}

static void fill_refs(const feat_state *s, float *row) {
    const est_kernel *k = s->kernel;
    double n_unit = 0, n_jump = 0, n_odd = 0, n = 1 + k->n_reads;
    for (int r = -1; r < k->n_reads; r++) {
        const est_ref *ref = r < 0 ? k->target : &k->read[r];
        bool is_packed = r >= 0 && (k->packed >> r & 1);
        bool ok = is_packed || is_unit(k, ref);
        int64_t bytes = est_row_bytes(&s->a->state, ref->tensor);
        n_unit += ok;
        n_jump += !ok;
        n_odd += !is_packed && bytes % CTUNE_LINE_BYTES != 0;
    }
    row[KERNEL_UNIT] = (float)(n_unit / n);
    row[KERNEL_JUMP] = (float)n_jump;
    row[KERNEL_ALIGN] = (float)(n_odd / n);
}

/* Rows that the hottest statement's references outside of packs touch in one execution of a level;
 * as pages: a long row counts for each page. */
static double count_rows(const feat_state *s, int level, bool as_pages) {
    double sum = 0;
    for (int b = 0; b < s->n_buffers; b++) {
        const est_ref *ref = s->buffer[b].ref;
        double rows = 1, run = 1;
        if (s->buffer[b].source != NULL) {
            continue;
        }
        for (int d = 0; d < ref->rank; d++) {
            double range = est_index_range(&s->a->state, s->path, ref, d, level);
            *(d + 1 < ref->rank ? &rows : &run) *= range;
        }
        double row_pages = run * s->buffer[b].elem_bytes / 4096;
        double apart = (double)est_row_bytes(&s->a->state, ref->tensor) / 4096;
        sum += !as_pages ? rows : rows * est_max(est_min(apart, 1), row_pages) + 1;
    }
    return sum;
}

static void fill_pages(const feat_state *s, float *row) {
    const est_kernel *k = s->kernel;
    row[KERNEL_STREAMS] = feat_slog(count_rows(s, k->level, false));
    row[KERNEL_PAGES] = feat_slog(count_rows(s, k->level > 0 ? k->level - 1 : 0, true));
    row[KERNEL_TILE_PAGES] = feat_slog(count_rows(s, s->tile_level, true));
}

static void fill_kernel(const feat_state *s, float *row) {
    const est_kernel *k = s->kernel;
    const ctune_target *t = s->target;
    double all = k->kernel_cycles + k->move_cycles + k->loop_cycles;
    double want = t->rates.fma_latency * t->rates.fma_per_cycle;
    row[KERNEL_EFFICIENCY] = (float)feat_share(ideal_cycles(s, s->hot), all * k->tail);
    row[KERNEL_CYCLES] = feat_log(k->cycles);
    row[KERNEL_OPS] = (float)feat_share(k->ops / t->rates.fma_per_cycle, k->cycles);
    row[KERNEL_LOADS] = (float)feat_share(k->loads / t->rates.loads_per_cycle, k->cycles);
    row[KERNEL_STORES] = (float)feat_share(k->stores / t->rates.stores_per_cycle, k->cycles);
    row[KERNEL_FRONT] = (float)feat_share(k->front, k->cycles);
    row[KERNEL_CHAIN] = (float)feat_share(k->chain, k->cycles);
    row[KERNEL_PAGE] = (float)feat_share(k->page, k->cycles);
    row[KERNEL_LOADS_PER_OP] = feat_ratio(k->loads, k->ops);
    row[KERNEL_N_OPS] = feat_log(est_max(k->ops, 0.25));
    row[KERNEL_TRIPS] = feat_log(k->trips);
    row[KERNEL_IS_CARRIED] = feat_log(k->steps);
    row[KERNEL_REGISTERS] = (float)(k->accumulators / t->n_vector_regs);
    row[KERNEL_SPILLS] = (float)k->spills;
    row[KERNEL_CHAINS] = k->is_register ? feat_ratio(k->accumulators, want) : -feat_log(want);
    row[KERNEL_MOVES] = (float)feat_share(k->move_cycles, all);
    row[KERNEL_LOOPS] = (float)feat_share(k->loop_cycles, all);
    row[KERNEL_TAIL] = (float)(k->tail - 1);
    if (k->is_register) {
        row[KERNEL_REDUCTION] =
            feat_log(s->path->entries[k->level] / s->path->entries[k->register_level]);
    }
    fill_refs(s, row);
    fill_pages(s, row);
}

/* ---- means ----------------------------------------------------------------------------------- */

static void fill_means(const feat_state *s, float *row) {
    const est_analysis *a = s->a;
    const ctune_target *t = s->target;
    double total = 0;
    for (int p = 0; p < a->n_paths; p++) {
        total += ideal_cycles(s, p);
    }
    for (int p = 0; p < a->n_paths; p++) {
        const est_kernel *k = &a->kernel[p];
        double ideal = ideal_cycles(s, p), cycles = k->total_cycles * a->path[p].threads;
        float w = (float)feat_share(ideal, total);
        int n_packs = 0;
        for (int r = 0; r < k->n_reads; r++) {
            n_packs += k->packed >> r & 1;
        }
        row[MEAN_OURS] += w * (k->vector >= 0 && !k->is_auto && !k->is_slp);
        row[MEAN_AUTO] += w * (k->is_auto || k->is_slp);
        row[MEAN_REGISTER] += w * k->is_register;
        row[MEAN_EFFICIENCY] += w * (float)feat_share(ideal, cycles);
        row[MEAN_FILL] += w * (float)(k->lanes / (k->n_vectors * k->width));
        row[MEAN_TAIL] += w * (float)(k->tail - 1);
        row[MEAN_SPILLS] += w * (float)k->spills;
        row[MEAN_CHAIN] += w * (k->chain > est_max(k->ports, k->front));
        row[MEAN_LOAD] +=
            w * (k->loads / t->rates.loads_per_cycle > k->ops / t->rates.fma_per_cycle);
        row[MEAN_THREADS] += w * (float)a->path[p].threads;
        row[MEAN_PACKS] += w * (float)n_packs;
        float ratio = w < 0.01f ? 0 : feat_ratio(cycles, ideal);
        row[MEAN_WORST] = ratio > row[MEAN_WORST] ? ratio : row[MEAN_WORST];
    }
}

static double unit_share(const est_kernel *k) {
    double n = is_unit(k, k->target);
    for (int r = 0; r < k->n_reads; r++) {
        n += (k->packed >> r & 1) || is_unit(k, &k->read[r]);
    }
    return n / (1 + k->n_reads);
}

/* Iterations of the loops inside the kernel loop: a shorter distance is inside the block or in the
 * kernel loop. */
static bool is_serial(const feat_recurrence *r, const est_path *path, const est_kernel *k) {
    return r->is_there && r->any <= path->entries[path->n] / path->entries[k->level];
}

static void fill_costs(const feat_state *s, const feat_recurrence *chains, const int *pins,
                       float *row) {
    const est_analysis *a = s->a;
    double total = 0;
    for (int p = 0; p < a->n_paths; p++) {
        total += s->cost[p];
    }
    for (int p = 0; p < a->n_paths; p++) {
        const est_kernel *k = &a->kernel[p];
        float w = (float)feat_share(s->cost[p], total);
        double all = k->kernel_cycles + k->move_cycles + k->loop_cycles;
        const feat_recurrence *chain = &chains[p];
        row[COST_OURS] += w * (k->vector >= 0 && !k->is_auto && !k->is_slp);
        row[COST_AUTO] += w * (k->is_auto || k->is_slp);
        row[COST_REGISTER] += w * k->is_register;
        row[COST_LOSS] += w * feat_ratio(s->cost[p] * a->path[p].threads, ideal_cycles(s, p));
        row[COST_TRIPS] += w * feat_log(k->trips);
        row[COST_UNIT] += w * (float)unit_share(k);
        row[COST_LOOPS] += w * (float)feat_share(k->loop_cycles, all);
        row[COST_CHAIN] += w * (chain->ratio < -4 ? -4 : chain->ratio);
        row[COST_SERIAL] += w * is_serial(chain, &a->path[p], k);
        row[COST_PINS] += w * (float)pins[p];
        row[COST_JUMP] += w * !is_unit(k, k->target);
    }
}

static void fill_chain(const feat_state *s, const feat_recurrence *chain, const int *pins,
                       float *row) {
    row[CHAIN_OWN] = feat_log(chain->own);
    row[CHAIN_ANY] = feat_log(chain->any);
    row[CHAIN_LATENCY] = (float)chain->latency;
    row[CHAIN_RATIO] = chain->ratio;
    row[CHAIN_IS_SERIAL] = is_serial(chain, s->path, s->kernel);
    row[CHAIN_PINS] = (float)pins[s->hot];
    for (int p = 0; p < s->a->n_paths; p++) {
        row[CHAIN_ALL_PINS] += (float)pins[p];
    }
}

static void fill_waits(const feat_state *s, float *row) {
    feat_recurrence chains[CTUNE_MAX_STMTS];
    int pins[CTUNE_MAX_STMTS];
    feat_recurrences_find(s->a, chains);
    for (int p = 0; p < s->a->n_paths; p++) {
        pins[p] = feat_pins_count(s->a->path[p].stmt);
    }
    fill_costs(s, chains, pins, row + AT_COST);
    fill_chain(s, &chains[s->hot], pins, row + AT_CHAIN);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void fill_level(const feat_state *s, int level, float *row) {
    const ctune_target *t = s->target;
    double bytes = feat_footprint(s, level), entries = s->path->entries[level];
    double work = feat_instances(s->path) / entries * s->ops[s->hot].slots;
    for (int c = 0; c < 3; c++) {
        row[LEVEL_VS_L1 + c] = feat_ratio(bytes, (double)t->cache_bytes[c]);
    }
    row[LEVEL_ENTRIES] = feat_log(entries);
    row[LEVEL_INTENSITY] = feat_ratio(work, bytes);
}

static void fill_fit(const feat_state *s, double size, float *row) {
    const est_path *path = s->path;
    int level = 0;
    while (level < path->n && feat_footprint(s, level) > size) {
        level++;
    }
    double work = feat_instances(path) / path->entries[level] * s->ops[s->hot].slots;
    row[FIT_WORK] = feat_log(work);
    row[FIT_DEPTH] = (float)level;
    row[FIT_FILL] = (float)est_min(feat_footprint(s, level) / size, 4);
}

static void fill(const feat_state *s, float *row) {
    const est_kernel *k = s->kernel;
    int loop = k->is_register && k->register_level < k->level ? k->register_level
               : k->level > 0                                 ? k->level - 1
                                                              : 0;
    const int level[N_LEVELS] = {k->level, loop, s->tile_level, s->outer_level};
    fill_total(s, row);
    fill_kernel(s, row + AT_KERNEL);
    fill_means(s, row + AT_MEAN);
    fill_waits(s, row);
    for (int i = 0; i < N_LEVELS; i++) {
        fill_level(s, level[i], row + AT_LEVELS + i * N_LEVEL);
    }
    for (int c = 0; c < N_FITS; c++) {
        fill_fit(s, (double)s->target->cache_bytes[c], row + AT_FITS + c * N_FIT);
    }
}

const feat_group feat_estimate = {names, N_COLUMNS, fill};
