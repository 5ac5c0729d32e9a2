/*
 * The sequence: see encoding.h.
 *
 * Names are tokens: the axes of the region in their order, then whatever a primitive names first.
 * Beside the token stands the logarithm of the loop's iterations, from the nest where the loop is
 * still there, else from the loops that it was split into. Published TLP has tokens alone.
 */
#include "search/feature/encoding_private.h"
#include "search/feature/feature_private.h"

enum { N_NUMBERS = 2, N_NAMES = 8, MAX_NAMES = 256, N_INDICES = 4 };

/* What is in front; behind the kinds of primitives. */
enum { ITEM_TARGET = CTUNE_N_PRIMS, ITEM_AXIS, ITEM_STAGE, ITEM_ACCESS, N_ITEM_KINDS };

enum { WIDTH = N_ITEM_KINDS + N_NUMBERS + 2 * N_NAMES };

typedef struct named {
    char text[CTUNE_NAME_BYTES];
    float log_extent;
    bool is_known;
} named;

typedef struct sequence {
    const ctune_nest *nest;
    int n_names;
    named name[MAX_NAMES];
    int n, size;
    float *items;
} sequence;

int enc_sequence_width(void) {
    return WIDTH;
}

/* ---- names ----------------------------------------------------------------------------------- */
/* Its number, -1 when there is no room. */
static int name_get(sequence *s, const char *text) {
    int i = 0;
    while (i < s->n_names && strcmp(s->name[i].text, text) != 0) {
        i++;
    }
    if (i == MAX_NAMES) {
        return -1;
    }
    if (i == s->n_names) {
        named *name = &s->name[s->n_names++];
        memset(name, 0, sizeof *name);
        size_t n = strlen(text);
        memcpy(name->text, text, n < CTUNE_NAME_BYTES - 1 ? n : CTUNE_NAME_BYTES - 1);
        int node = ctune_nest_find(s->nest, name->text);
        name->is_known = node >= 0;
        name->log_extent = node >= 0 ? feat_log(ctune_nest_extent(s->nest, node)) : 0;
    }
    return i;
}

static void names_collect(sequence *s, const ctune_schedule *schedule) {
    for (int i = 0; i < s->nest->region->n_axes; i++) {
        name_get(s, s->nest->region->axes[i].name);
    }
    for (int i = 0; i < schedule->n; i++) {
        for (int k = 0; k < schedule->prim[i].n_names; k++) {
            name_get(s, schedule->prim[i].name[k]);
        }
    }
    for (int i = schedule->n - 1; i >= 0; i--) {
        const ctune_prim *p = &schedule->prim[i];
        int whole = p->kind == CTUNE_PRIM_SPLIT ? name_get(s, p->name[0]) : -1;
        int outer = whole >= 0 ? name_get(s, p->name[1]) : -1;
        int inner = outer >= 0 ? name_get(s, p->name[2]) : -1;
        if (inner >= 0 && !s->name[whole].is_known) {
            s->name[whole].log_extent = s->name[outer].log_extent + s->name[inner].log_extent;
            s->name[whole].is_known = s->name[outer].is_known && s->name[inner].is_known;
        }
    }
}

/* ---- items ----------------------------------------------------------------------------------- */
/* Behind the kind of a new item; NULL: no room. */
static float *item_add(sequence *s, int kind) {
    if (s->n == s->size) {
        return NULL;
    }
    float *item = s->items + (size_t)s->n++ * WIDTH;
    item[kind] = 1;
    return item + N_ITEM_KINDS;
}

static float token_of(int id) {
    return (float)(id + 1) / 16;
}

static void name_put(sequence *s, const char *text, float *at) {
    int id = name_get(s, text);
    at[0] = token_of(id);
    at[1] = id >= 0 ? s->name[id].log_extent : 0;
}

static void prim_put(sequence *s, const ctune_prim *p) {
    float *item = item_add(s, (int)p->kind);
    if (item == NULL) {
        return;
    }
    item[0] = feat_slog((double)p->number);
    item[1] = p->is_less;
    for (int k = 0; k < p->n_names && k < N_NAMES; k++) {
        name_put(s, p->name[k], item + N_NUMBERS + 2 * k);
    }
}

/* ---- what is in front ------------------------------------------------------------------------ */
static void target_put(sequence *s, const ctune_target *t) {
    const ctune_rates *m = &t->rates;
    const float facts[] = {feat_log(t->vector_bytes),
                           (float)t->n_vector_regs,
                           feat_log((double)t->cache_bytes[0]),
                           feat_log((double)t->cache_bytes[1]),
                           feat_log((double)t->cache_bytes[2]),
                           (float)t->n_threads,
                           (float)t->ghz,
                           (float)m->fma_per_cycle,
                           (float)m->fma_f64_per_cycle,
                           (float)m->fma_latency,
                           (float)m->loads_per_cycle,
                           (float)m->stores_per_cycle,
                           feat_log(m->bytes_per_cycle[0]),
                           feat_log(m->bytes_per_cycle[1]),
                           feat_log(m->bytes_per_cycle[2]),
                           feat_log(m->bytes_per_cycle[3]),
                           t->is_gcc};
    float *item = item_add(s, ITEM_TARGET);
    for (size_t i = 0; item != NULL && i < sizeof facts / sizeof *facts; i++) {
        item[i] = facts[i];
    }
}

static void access_put(sequence *s, const ctune_access *access, bool is_write) {
    const ctune_region *region = s->nest->region;
    float *item = item_add(s, ITEM_ACCESS);
    if (item == NULL) {
        return;
    }
    *item++ = is_write;
    *item++ = token_of(access->tensor);
    *item++ = (float)access->n_idx;
    *item++ = (float)ctune_type_get(region->tensors[access->tensor].type)->bytes;
    for (int d = 0; d < access->n_idx && d < N_INDICES; d++) { /* the last indices: the fast ones */
        const ctune_aff *aff = access->idx[access->n_idx - 1 - d];
        for (int i = 0; i < aff->n_terms; i++) {
            if (aff->terms[i].kind == CTUNE_TERM_AXIS) {
                item[3 * d] = token_of(aff->terms[i].id);
                item[3 * d + 1] = feat_slog((double)aff->terms[i].coef);
                break;
            }
        }
        item[3 * d + 2] = feat_slog((double)aff->c0);
    }
}

static void stage_put(sequence *s, const ctune_stage *stage) {
    feat_ops ops;
    feat_ops_count(stage, &ops);
    const float facts[] = {(float)stage->update,
                           (float)ctune_type_get(stage->calc)->bytes,
                           ctune_type_is_float(stage->calc),
                           (float)ops.add,
                           (float)ops.mul,
                           (float)ops.div,
                           (float)ops.compare,
                           (float)ops.call,
                           (float)ops.cast,
                           (float)ops.integer,
                           (float)stage->n_axes,
                           (float)stage->n_reads,
                           (float)__builtin_popcount(stage->reduce_mask),
                           stage->reassoc || s->nest->region->reassoc};
    float *item = item_add(s, ITEM_STAGE);
    for (size_t i = 0; item != NULL && i < sizeof facts / sizeof *facts; i++) {
        item[i] = facts[i];
    }
    access_put(s, &stage->target, true);
    for (int r = 0; r < stage->n_reads; r++) {
        access_put(s, &stage->reads[r]->access, false);
    }
}

static void region_put(sequence *s, const ctune_target *target) {
    const ctune_region *region = s->nest->region;
    target_put(s, target);
    for (int i = 0; i < region->n_axes; i++) {
        float *item = item_add(s, ITEM_AXIS);
        if (item != NULL) {
            name_put(s, region->axes[i].name, item + N_NUMBERS);
        }
    }
    for (int i = 0; i < region->n_stages; i++) {
        stage_put(s, &region->stages[i]);
    }
}

int enc_sequence_fill(const ctune_schedule *schedule, const ctune_nest *nest,
                      const ctune_target *target, unsigned options, int n_items, float *items) {
    sequence s; /* large: not cleared */
    s.nest = nest;
    s.n_names = 0;
    s.n = 0;
    s.size = n_items;
    s.items = items;
    names_collect(&s, schedule);
    if (options & CTUNE_INPUT_REGION) {
        /* the schedule's room is its own: a large region does not push it out */
        int room = schedule->n < CTUNE_SEQUENCE_STEPS ? schedule->n : CTUNE_SEQUENCE_STEPS;
        s.size = n_items > room ? n_items - room : 0;
        region_put(&s, target);
        s.size = n_items;
    }
    for (int i = 0; i < schedule->n; i++) {
        prim_put(&s, &schedule->prim[i]);
    }
    return s.n;
}
