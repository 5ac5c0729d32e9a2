/*
 * The knob group: what was decided, in a form that has the same width for every kernel.
 *
 * The dims of the hottest statement fall into classes: the vector dim, the space dim that is
 * unrolled most, other space dims, the innermost reduce dim, other reduce dims. For each class the
 * iterations inside the block (the register tile), inside the innermost and the outermost tile
 * loop, and all of them.
 */
#include "search/feature/feature_private.h"

#define CLASS_TABLE(X)                                                                             \
    X(VECTOR, "v") X(SPACE0, "s0") X(SPACE1, "s1") X(REDUCE0, "r0") X(REDUCE1, "r1")

enum {
#define X(id, name) CLASS_##id,
    CLASS_TABLE(X)
#undef X
        N_CLASSES
};

/* Per class, in this order; then the KNOB_TABLE. */
#define SIZE_TABLE(X, p)                                                                           \
    X(p, BLOCK, "block")             /* log2 of iterations inside the block */                     \
    X(p, TILE, "tile")               /* inside the innermost tile loop */                          \
    X(p, OUTER, "outer")             /* inside the outermost tile loop */                          \
    X(p, FULL, "full")               /* all */                                                     \
    X(p, BLOCK_WASTE, "block_waste") /* share of a row of blocks that lies outside */              \
    X(p, TILE_WASTE, "tile_waste")   /* the same of tiles */                                       \
    X(p, N_TILES, "n_tiles")         /* log2 of tiles over all iterations */

enum {
#define X(p, id, name) SIZE_##id,
    SIZE_TABLE(X, 0)
#undef X
        N_SIZES
};

#define KNOB_TABLE(X)                                                                              \
    X(VECTOR_KIND, "vector.kind") /* 0 none, 1 loop and 2 block left to the compiler, 3 ours */    \
    X(LANES, "vector.lanes")                                                                       \
    X(VECTOR_BYTES, "vector.bytes")   /* of all lanes */                                           \
    X(N_VECTORS, "vector.registers")  /* along the vector dim */                                   \
    X(VECTOR_FILL, "vector.fill")     /* share of the lanes of these registers that is used */     \
    X(VECTOR_NATIVE, "vector.native") /* log2 of bytes over the widest register */                 \
    X(ELEM_BYTES, "elem_bytes")                                                                    \
    X(IS_REGISTER, "register.is_tile")                                                             \
    X(ROWS, "register.rows")                                                                       \
    X(ACCUMULATORS, "register.accumulators")                                                       \
    X(IS_PADDED, "register.is_padded") /* partial tiles run the full kernel on padded copies */    \
    X(UNROLL, "unroll.product")                                                                    \
    X(N_UNROLL, "unroll.loops")                                                                    \
    X(BODIES, "block.bodies") /* copies of the statement in the code, in vectors */                \
    X(N_PACKS, "pack.count")                                                                       \
    X(N_BLOCK_PACKS, "pack.blocks")                                                                \
    X(N_PANEL_PACKS, "pack.panels")                                                                \
    X(N_OTHER_PACKS, "pack.elsewhere") /* of other statements */                                   \
    X(PARALLEL, "parallel.extent")                                                                 \
    X(PARALLEL_LEVEL, "parallel.level") /* loops around it; -1 = none */                           \
    X(THREADS, "parallel.threads")                                                                 \
    X(IMBALANCE, "parallel.imbalance")                                                             \
    X(FORKS, "parallel.forks")                                                                     \
    X(PARALLEL_REDUCE, "parallel.is_reduce")                                                       \
    X(OUT0, "order.out0") /* class of the outermost loops, 1 + CLASS, 0 = none */                  \
    X(OUT1, "order.out1")                                                                          \
    X(OUT2, "order.out2")                                                                          \
    X(IN0, "order.in0") /* of the innermost loops outside the block */                             \
    X(IN1, "order.in1")                                                                            \
    X(IN2, "order.in2")                                                                            \
    X(REDUCE_DEPTH, "order.reduce_depth") /* loops outside the block from the first reduce loop */ \
    X(REDUCE_RUN, "order.reduce_run")     /* log2 of reduce steps before the target changes */     \
    X(KERNEL_REDUCE, "order.kernel_is_reduce")                                                     \
    X(N_TILE_LOOPS, "loops.tile")                                                                  \
    X(N_POINT_LOOPS, "loops.point")                                                                \
    X(N_BLOCK_LOOPS, "loops.block")                                                                \
    X(N_LOOPS, "loops.all") /* of the whole nest */                                                \
    X(N_STMTS, "form.statements")                                                                  \
    X(N_NESTS, "form.nests")       /* separate loop nests */                                       \
    X(N_SIBLINGS, "form.siblings") /* statements in the innermost loop of the hottest */           \
    X(IS_DISTRIBUTED, "form.is_distributed")                                                       \
    X(IS_POLYHEDRAL, "form.is_polyhedral")                                                         \
    X(IS_FUSED, "form.is_fused")                                                                   \
    X(N_FIXED, "form.fixed")                                                                       \
    X(ROUND_PRODUCTS, "form.round_products")                                                       \
    X(IS_CARRIED, "form.self_dependent") /* a dependence of the hottest statement on itself */     \
    X(HAS_GUARD, "form.has_guard")                                                                 \
    X(N_COUPLED, "form.coupled")        /* bounds of the hottest statement over several dims */    \
    X(N_COUPLED_BLOCK, "block.coupled") /* of them, those that cut through a block */

enum {
#define X(id, name) KNOB_##id,
    KNOB_TABLE(X)
#undef X
        N_KNOBS
};

enum { FIRST_KNOB = N_CLASSES * N_SIZES, N_COLUMNS = FIRST_KNOB + N_KNOBS };

static const char *const names[] = {
#define X(p, id, name) "knob." p "." name,
    SIZE_TABLE(X, "v") SIZE_TABLE(X, "s0") SIZE_TABLE(X, "s1") SIZE_TABLE(X, "r0")
        SIZE_TABLE(X, "r1")
#undef X
#define X(id, name) "knob." name,
            KNOB_TABLE(X)
#undef X
};

/* ---- sizes by class -------------------------------------------------------------------------- */

/* Innermost loop of each dim. */
static void find_inner(const est_path *path, int8_t *inner) {
    memset(inner, -1, CTUNE_MAX_DEPTH);
    for (int k = 0; k < path->n; k++) {
        inner[path->pos[k]] = (int8_t)k;
    }
}

static void classify(const feat_state *s, int8_t *class_of) {
    int8_t inner[CTUNE_MAX_DEPTH];
    int s0 = -1, r0 = -1, n = s->path->stmt->n_dims;
    find_inner(s->path, inner);
    for (int p = 0; p < n; p++) {
        if (p == s->kernel->vector) {
            continue;
        }
        if (!(s->space >> p & 1)) {
            r0 = r0 < 0 || inner[p] > inner[r0] ? p : r0;
        } else if (s0 < 0 || s->block[p] > s->block[s0] ||
                   (s->block[p] == s->block[s0] && inner[p] > inner[s0])) {
            s0 = p;
        }
    }
    for (int p = 0; p < n; p++) {
        bool is_space = s->space >> p & 1;
        class_of[p] = p == s->kernel->vector ? CLASS_VECTOR
                      : is_space             ? (p == s0 ? CLASS_SPACE0 : CLASS_SPACE1)
                                             : (p == r0 ? CLASS_REDUCE0 : CLASS_REDUCE1);
    }
}

static double waste(double whole, double tile) {
    return tile > 1 && whole > 0 ? ceil(whole / tile) * tile / whole - 1 : 0;
}

static void fill_sizes(const feat_state *s, const int8_t *class_of, float *row) {
    const est_path *path = s->path;
    for (int p = 0; p < path->stmt->n_dims; p++) {
        float *to = row + class_of[p] * N_SIZES;
        double full = path->cover[0][p], tile = path->cover[s->tile_level][p];
        to[SIZE_BLOCK] += feat_log(s->block[p]);
        to[SIZE_TILE] += feat_log(tile);
        to[SIZE_OUTER] += feat_log(path->cover[s->outer_level][p]);
        to[SIZE_FULL] += feat_log(full);
        to[SIZE_BLOCK_WASTE] += (float)waste(full, s->block[p]);
        to[SIZE_TILE_WASTE] += (float)waste(full, tile);
        to[SIZE_N_TILES] += feat_log(est_max(full / est_max(tile, 1), 1));
    }
}

/* ---- knobs ----------------------------------------------------------------------------------- */

/* Partial register tiles are padded when all that moves with the tile comes from packs. */
static bool is_padded(const feat_state *s) {
    const est_kernel *k = s->kernel;
    uint32_t tile = 0;
    for (int i = k->level; i < s->path->n; i++) {
        tile |= 1u << s->path->pos[i];
    }
    for (int r = 0; r < k->n_reads; r++) {
        if (!(k->packed >> r & 1) && (k->read[r].mask & tile) != 0) {
            return false;
        }
    }
    return k->is_register && tile != 0;
}

static void fill_block(const feat_state *s, float *row) {
    const est_kernel *k = s->kernel;
    double unroll = 1, bodies = 1;
    int n_unroll = 0;
    for (int i = 0; i < s->path->n; i++) {
        bool is_unroll = feat_ann(s->path, i) == CTUNE_ANN_UNROLL;
        unroll *= is_unroll ? s->path->extent[i] : 1;
        n_unroll += is_unroll;
    }
    for (int p = 0; p < s->path->stmt->n_dims; p++) {
        bodies *= p == k->vector && !k->is_auto ? k->n_vectors : s->block[p];
    }
    bool is_ours = k->vector >= 0 && !k->is_auto && !k->is_slp;
    double bytes = k->lanes * k->elem_bytes;
    row[KNOB_VECTOR_KIND] = is_ours || k->is_slide ? 3 : k->is_slp ? 2 : k->is_auto ? 1 : 0;
    row[KNOB_LANES] = feat_log(k->lanes);
    row[KNOB_VECTOR_BYTES] = feat_log(bytes);
    row[KNOB_N_VECTORS] = (float)k->n_vectors;
    row[KNOB_VECTOR_FILL] = (float)(k->lanes / (k->n_vectors * k->width));
    row[KNOB_VECTOR_NATIVE] = feat_ratio(bytes, s->target->vector_bytes);
    row[KNOB_ELEM_BYTES] = feat_log(k->elem_bytes);
    row[KNOB_IS_REGISTER] = k->is_register;
    row[KNOB_ROWS] = (float)(k->is_register ? k->accumulators / k->n_vectors : 0);
    row[KNOB_ACCUMULATORS] = (float)k->accumulators;
    row[KNOB_IS_PADDED] = is_padded(s);
    row[KNOB_UNROLL] = feat_log(unroll);
    row[KNOB_N_UNROLL] = (float)n_unroll;
    row[KNOB_BODIES] = feat_log(bodies);
}

/* Triangular and skewed domains: full tiles are fewer, and cores have a prologue and an epilogue.
 */
static void fill_coupled(const feat_state *s, float *row) {
    const ctune_stmt *stmt = s->path->stmt;
    for (int c = 0; c < stmt->n_cons; c++) {
        const ctune_aff *aff = stmt->cons[c];
        int n_dims = 0;
        bool cuts = false;
        for (int t = 0; t < aff->n_terms; t++) {
            bool is_dim = aff->terms[t].kind == CTUNE_TERM_AXIS;
            n_dims += is_dim;
            for (int p = 0; p < stmt->n_dims && is_dim; p++) {
                cuts = cuts || (stmt->dims[p] == aff->terms[t].id && s->block[p] > 1);
            }
        }
        row[KNOB_N_COUPLED] += n_dims > 1;
        row[KNOB_N_COUPLED_BLOCK] += n_dims > 1 && cuts;
    }
}

static void fill_packs(const feat_state *s, float *row) {
    const ctune_nest *nest = s->nest;
    for (int c = 0; c < nest->n_caches; c++) {
        const ctune_cache *cache = &nest->cache[c];
        if (cache->kind != CTUNE_CACHE_PACK) {
            continue;
        }
        if (cache->stmt != s->path->i_stmt) {
            row[KNOB_N_OTHER_PACKS]++;
            continue;
        }
        int level = 0;
        for (int k = 0; k < s->path->n; k++) {
            level = s->path->node[k] == cache->at ? k + 1 : level;
        }
        row[KNOB_N_PACKS]++;
        row[level > s->tile_level ? KNOB_N_PANEL_PACKS : KNOB_N_BLOCK_PACKS]++;
    }
}

static void fill_parallel(const feat_state *s, float *row) {
    const est_path *path = s->path;
    double extent = 1;
    row[KNOB_PARALLEL_LEVEL] = -1;
    for (int k = path->n - 1; k >= 0; k--) {
        if (feat_ann(path, k) == CTUNE_ANN_PARALLEL) {
            extent *= path->extent[k];
            row[KNOB_PARALLEL_LEVEL] = (float)k;
            row[KNOB_PARALLEL_REDUCE] = !(s->space >> path->pos[k] & 1);
        }
    }
    row[KNOB_PARALLEL] = feat_log(extent);
    row[KNOB_THREADS] = (float)path->threads;
    row[KNOB_IMBALANCE] = (float)path->imbalance - 1;
    row[KNOB_FORKS] = feat_slog(path->forks);
}

static void fill_order(const feat_state *s, const int8_t *class_of, float *row) {
    const est_path *path = s->path;
    int n = s->kernel->level, first_reduce = n;
    float run = 0;
    for (int i = 0; i < 3 && i < n; i++) {
        row[KNOB_OUT0 + i] = (float)(1 + class_of[path->pos[i]]);
        row[KNOB_IN0 + i] = (float)(1 + class_of[path->pos[n - 1 - i]]);
    }
    for (int k = n - 1; k >= 0; k--) {
        bool is_reduce = !(s->space >> path->pos[k] & 1);
        first_reduce = is_reduce ? k : first_reduce;
        row[s->tile_level > k &&
                    (double)path->nest->node[path->node[k]].step > s->block[path->pos[k]]
                ? KNOB_N_TILE_LOOPS
                : KNOB_N_POINT_LOOPS]++;
    }
    for (int k = n - 1; k >= 0 && !(s->space >> path->pos[k] & 1); k--) {
        run += s->log_extent[k];
    }
    row[KNOB_REDUCE_DEPTH] = (float)(n - first_reduce);
    row[KNOB_REDUCE_RUN] = run;
    row[KNOB_KERNEL_REDUCE] = n > 0 && !(s->space >> path->pos[n - 1] & 1);
    row[KNOB_N_BLOCK_LOOPS] = (float)(path->n - n);
}

static int count_kids(const ctune_nest *nest, int node, ctune_nnode_kind kind) {
    int n = 0;
    for (int kid = nest->node[node].first; kid >= 0; kid = nest->node[kid].next) {
        n += nest->node[kid].kind == kind;
    }
    return n;
}

static bool is_self_dependent(const feat_state *s) {
    const ctune_depvecs *vecs = &s->nest->form->vecs;
    for (int v = 0; v < vecs->n; v++) {
        if (vecs->vec[v].src == s->path->i_stmt && vecs->vec[v].dst == s->path->i_stmt) {
            return true;
        }
    }
    return false;
}

static void fill_form(const feat_state *s, float *row) {
    const ctune_form *form = s->nest->form;
    int n_loops = 0;
    for (int i = 1; i < s->nest->n_nodes; i++) {
        n_loops += s->nest->node[i].kind == CTUNE_NN_LOOP;
    }
    int inner = s->path->n > 0 ? s->path->node[s->path->n - 1] : 0;
    row[KNOB_N_LOOPS] = (float)n_loops;
    row[KNOB_N_STMTS] = (float)form->tree->n_stmts;
    row[KNOB_N_NESTS] = (float)count_kids(s->nest, 0, CTUNE_NN_LOOP);
    row[KNOB_N_SIBLINGS] = (float)count_kids(s->nest, inner, CTUNE_NN_STMT);
    row[KNOB_IS_DISTRIBUTED] = strstr(form->prefix, "distribute") != NULL;
    row[KNOB_IS_POLYHEDRAL] = strstr(form->prefix, "polyhedral") != NULL;
    row[KNOB_IS_FUSED] = strstr(form->prefix, "fuse") != NULL;
    row[KNOB_N_FIXED] = (float)form->n_fixed;
    row[KNOB_ROUND_PRODUCTS] = form->round_products;
    row[KNOB_IS_CARRIED] = is_self_dependent(s);
    row[KNOB_HAS_GUARD] = s->path->stage->guard != NULL;
    fill_coupled(s, row);
}

static void fill(const feat_state *s, float *row) {
    int8_t class_of[CTUNE_MAX_DEPTH];
    classify(s, class_of);
    fill_sizes(s, class_of, row);
    row += FIRST_KNOB;
    fill_block(s, row);
    fill_packs(s, row);
    fill_parallel(s, row);
    fill_order(s, class_of, row);
    fill_form(s, row);
}

const feat_group feat_knob = {names, N_COLUMNS, fill};
