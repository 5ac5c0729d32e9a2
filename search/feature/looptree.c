/*
 * The tree: see encoding.h. An item's first number is its parent, its second its kind.
 *
 * A loop has the accesses of all statements inside it: what one iteration of it moves each by
 * (stride), how many elements the loop touches (count) and how often each (reuse), in logarithms,
 * those that touch most bytes first.
 */
#include "search/feature/encoding_private.h"
#include "search/feature/feature_private.h"

enum { KIND_ROOT = 4, KIND_SUM, KIND_STMT, KIND_PLACED, N_KINDS, MAX_TOUCHES = 64, N_TOUCHES = 4 };

#define COLUMN_TABLE(X)                                                                            \
    X(PARENT)                                                                                      \
    X(KIND)                                                                                        \
    X(LENGTH)                                                                                      \
    X(TOPDOWN)                                                                                     \
    X(BOTTOMUP)                                                                                    \
    X(LEVEL)                                                                                       \
    X(STEP)                                                                                        \
    X(IS_REDUCE)                                                                                   \
    X(N_STMTS)                                                                                     \
    X(OPS_ADD)                                                                                     \
    X(OPS_MUL)                                                                                     \
    X(OPS_DIV)                                                                                     \
    X(OPS_OTHER)                                                                                   \
    X(OPS_INTEGER)                                                                                 \
    X(ELEM_BYTES)                                                                                  \
    X(FOOTPRINT)                                                                                   \
    X(VS_L1)                                                                                       \
    X(VS_L2)                                                                                       \
    X(IS_REGISTER)                                                                                 \
    X(CORE)                                                                                        \
    X(REST_N)                                                                                      \
    X(REST_COUNT)                                                                                  \
    X(REST_REUSE)

enum {
#define X(id) AT_##id,
    COLUMN_TABLE(X)
#undef X
        AT_TOUCHES,
    TOUCH_COLUMNS = 4, /* stride, count, reuse, packed */
    WIDTH = AT_TOUCHES + N_TOUCHES * TOUCH_COLUMNS
};

typedef struct touch {
    float stride, count, reuse, bytes;
    bool is_packed;
} touch;

typedef struct looptree {
    const ctune_nest *nest;
    const est_analysis *a;
    int n, size;
    float *items;
} looptree;

int enc_tree_width(void) {
    return WIDTH;
}

/* Place of a node on a path, -1 = not on it. */
static int place_on(const est_path *path, int node) {
    for (int k = 0; k < path->n; k++) {
        if (path->node[k] == node) {
            return k;
        }
    }
    return -1;
}

/* ---- accesses -------------------------------------------------------------------------------- */
static void touch_insert(touch *list, int *n, touch t) {
    int at = *n < MAX_TOUCHES ? (*n)++ : MAX_TOUCHES - 1;
    for (; at > 0 && t.bytes > list[at - 1].bytes; at--) {
        list[at] = list[at - 1];
    }
    list[at] = t;
}

/* k: the loop of the path; its length: inside of the innermost loop. */
static void path_touches(const looptree *t, const est_path *path, int k, touch *list, int *n) {
    for (int r = 0; r < path->n_refs; r++) {
        const est_ref *ref = &t->a->state.ref[path->first_ref + r];
        touch x = {.is_packed = ref->source >= 0};
        for (int i = k; i < path->n; i++) {
            *(ref->mask >> path->pos[i] & 1 ? &x.count : &x.reuse) += feat_log(path->extent[i]);
        }
        x.stride = k < path->n ? feat_slog(feat_stride(&t->a->state, path, ref, k)) : 0;
        x.bytes =
            x.count + feat_log(ctune_type_get(t->nest->region->tensors[ref->tensor].type)->bytes);
        touch_insert(list, n, x);
    }
}

static void touches_put(const touch *list, int n, float *item) {
    for (int i = 0; i < n && i < N_TOUCHES; i++) {
        float *at = item + AT_TOUCHES + i * TOUCH_COLUMNS;
        at[0] = list[i].stride;
        at[1] = list[i].count;
        at[2] = list[i].reuse;
        at[3] = list[i].is_packed;
    }
    for (int i = N_TOUCHES; i < n; i++) {
        item[AT_REST_N] += 1;
        item[AT_REST_COUNT] = fmaxf(item[AT_REST_COUNT], list[i].count);
        item[AT_REST_REUSE] = fmaxf(item[AT_REST_REUSE], list[i].reuse);
    }
}

/* ---- items ----------------------------------------------------------------------------------- */
static float *item_add(looptree *t, int parent, int kind) {
    if (t->n == t->size) {
        return NULL;
    }
    float *item = t->items + (size_t)t->n++ * WIDTH;
    item[AT_PARENT] = (float)(parent + 1);
    item[AT_KIND] = (float)kind;
    return item;
}

static void target_put(const ctune_target *target, float *item) {
    const ctune_rates *m = &target->rates;
    const float facts[] = {feat_log(target->vector_bytes),
                           (float)target->n_vector_regs,
                           feat_log((double)target->cache_bytes[0]),
                           feat_log((double)target->cache_bytes[1]),
                           feat_log((double)target->cache_bytes[2]),
                           (float)target->n_threads,
                           (float)target->ghz,
                           (float)m->fma_per_cycle,
                           (float)m->fma_latency,
                           (float)m->loads_per_cycle,
                           (float)m->stores_per_cycle,
                           feat_log(m->bytes_per_cycle[1]),
                           feat_log(m->bytes_per_cycle[2]),
                           feat_log(m->bytes_per_cycle[3]),
                           target->is_gcc};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        item[AT_LENGTH + i] = facts[i];
    }
}

static void memory_put(const looptree *t, int node, float *item) {
    double bytes = t->a->state.footprint[node];
    item[AT_FOOTPRINT] = feat_log(bytes);
    item[AT_VS_L1] = feat_ratio(bytes, (double)t->a->state.target->cache_bytes[0]);
    item[AT_VS_L2] = feat_ratio(bytes, (double)t->a->state.target->cache_bytes[1]);
}

static void loop_put(looptree *t, int node, float *item) {
    const ctune_nnode *loop = &t->nest->node[node];
    touch list[MAX_TOUCHES];
    int n = 0, n_stmts = 0;
    item[AT_STEP] = feat_log((double)loop->step);
    memory_put(t, node, item);
    for (int p = 0; p < t->a->n_paths; p++) {
        const est_path *path = &t->a->path[p];
        int k = place_on(path, node);
        if (k < 0) {
            continue;
        }
        if (n_stmts++ == 0) {
            item[AT_LENGTH] = feat_log(path->extent[k]);
            item[AT_LEVEL] = (float)(k + 1);
            item[AT_TOPDOWN] = feat_log(path->entries[k + 1]);
        }
        item[AT_BOTTOMUP] =
            fmaxf(item[AT_BOTTOMUP], feat_log(path->entries[path->n] / path->entries[k]));
        item[AT_IS_REDUCE] =
            fmaxf(item[AT_IS_REDUCE], !(t->a->kernel[p].target->mask >> path->pos[k] & 1));
        path_touches(t, path, k, list, &n);
    }
    item[AT_N_STMTS] = (float)n_stmts;
    touches_put(list, n, item);
}

static void stmt_put(looptree *t, int stmt, float *item) {
    touch list[MAX_TOUCHES];
    int n = 0;
    for (int p = 0; p < t->a->n_paths; p++) {
        const est_path *path = &t->a->path[p];
        feat_ops ops;
        if (path->i_stmt != stmt) {
            continue;
        }
        feat_ops_count(path->stage, &ops);
        item[AT_TOPDOWN] = feat_log(path->entries[path->n]);
        item[AT_LEVEL] = (float)path->n;
        item[AT_N_STMTS] = 1;
        item[AT_OPS_ADD] = (float)ops.add;
        item[AT_OPS_MUL] = (float)ops.mul;
        item[AT_OPS_DIV] = (float)ops.div;
        item[AT_OPS_OTHER] = (float)(ops.compare + ops.call + ops.cast);
        item[AT_OPS_INTEGER] = (float)ops.integer;
        item[AT_ELEM_BYTES] = (float)t->a->kernel[p].elem_bytes;
        item[AT_IS_REGISTER] = t->a->kernel[p].is_register;
        item[AT_CORE] = feat_log(t->a->kernel[p].total_cycles + t->a->copy_cycles[p]);
        path_touches(t, path, path->n, list, &n);
    }
    touches_put(list, n, item);
}

static void node_put(looptree *t, int i, int parent) {
    for (int kid = t->nest->node[i].first; kid >= 0; kid = t->nest->node[kid].next) {
        const ctune_nnode *node = &t->nest->node[kid];
        int kind = node->kind == CTUNE_NN_STMT ? (node->placed >= 0 ? KIND_PLACED : KIND_STMT)
                   : node->sum >= 0            ? KIND_SUM
                                               : (int)feat_ann_of(node);
        if (node->kind == CTUNE_NN_SEQ) {
            node_put(t, kid, parent);
            continue;
        }
        float *item = item_add(t, parent, kind);
        if (item == NULL) {
            return;
        }
        if (node->kind == CTUNE_NN_STMT) {
            stmt_put(t, node->stmt, item);
        } else {
            int self = t->n - 1;
            loop_put(t, kid, item);
            node_put(t, kid, self);
        }
    }
}

int enc_tree_fill(const ctune_nest *nest, const ctune_target *target, int n_items, float *items) {
    est_analysis a; /* large and not cleared */
    looptree t = {.nest = nest, .a = &a, .size = n_items, .items = items};
    est_analyse(&a, nest, target, &target->rates);
    float *root = item_add(&t, -1, KIND_ROOT);
    if (root != NULL) {
        target_put(target, root);
        node_put(&t, 0, 0);
    }
    return t.n;
}
