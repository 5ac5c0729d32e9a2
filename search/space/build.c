/*
 * Plan of a chain -> primitives on a nest, and the same primitives as a schedule.
 *
 * One function does both, so that a point's nest and its schedule cannot drift apart: the text is
 * made from the names of the nodes that were just worked on.
 */
#include "search/space/space_private.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ORDER = 3 * MAX_BAND };

typedef struct builder {
    const chain *c;
    const plan *p;
    ctune_nest *nest;
    ctune_schedule *schedule;                          /* NULL: not wanted */
    int mid[MAX_BAND], cache[MAX_BAND], reg[MAX_BAND]; /* loop nodes, -1 = none */
    int order[MAX_ORDER];                              /* of the band, outermost first */
    int n_order, n_cache;                              /* n_cache: leading cache loops */
    int n_space; /* register shape: loops before the reduce mids */
    bool ok;
} builder;

void schedule_record(ctune_schedule *schedule, ctune_prim_kind kind, int64_t number, int n_names,
                     const char *const *names, const int *coefs) {
    if (schedule == NULL) {
        return;
    }
    ctune_prim prim;
    memset(&prim, 0, sizeof prim);
    prim.kind = kind;
    prim.number = number;
    prim.n_names = n_names;
    for (int k = 0; k < n_names; k++) {
        snprintf(prim.name[k], CTUNE_NAME_BYTES, "%s", names[k]);
        prim.coef[k] = coefs != NULL ? coefs[k] : 0;
    }
    ctune_schedule_append(schedule, &prim);
}

static void record(builder *b, ctune_prim_kind kind, int64_t number, int n_names,
                   const char *const *names) {
    schedule_record(b->schedule, kind, number, n_names, names, NULL);
}

static const char *node_name(const builder *b, int node) {
    return node == 0 ? "root" : b->nest->node[node].name;
}

/* Split loop `node` of band dim d; returns the inner loop. Levels are named in order. */
static int split(builder *b, int d, int node, int factor, int level) {
    int inner = node;
    const char *outer_name = b->c->name[d][level], *inner_name = b->c->name[d][level + 1];
    if (b->schedule != NULL) {
        char old[CTUNE_NAME_BYTES];
        memcpy(old, b->nest->node[node].name, sizeof old);
        record(b, CTUNE_PRIM_SPLIT, factor, 3, (const char *const[]){old, outer_name, inner_name});
    }
    if (ctune_nest_split(b->nest, node, factor, outer_name, inner_name, &inner) != NULL) {
        b->ok = false;
    }
    return inner;
}

static void split_all(builder *b) {
    for (int d = 0; d < b->c->m && b->ok; d++) {
        int level = 0;
        b->mid[d] = b->c->node[d];
        b->cache[d] = b->reg[d] = -1;
        if (b->p->cache[d] > 1) {
            b->cache[d] = b->mid[d];
            b->mid[d] = split(b, d, b->mid[d], b->p->cache[d], level++);
        }
        const ctune_nnode *loop = &b->nest->node[b->mid[d]];
        if (b->p->reg[d] > 1 && loop->outer >= 0 &&
            b->nest->node[loop->outer].step == b->p->reg[d]) { /* all of the tile around it */
            b->reg[d] = b->mid[d];
            b->mid[d] = -1;
        } else if (b->p->reg[d] > 1) {
            b->reg[d] = split(b, d, b->mid[d], b->p->reg[d], level);
        }
    }
}

static void list_mids(builder *b, uint32_t dims) {
    const uint8_t *porder = b->c->perms.perm[b->p->porder];
    for (int k = 0; k < b->c->m; k++) {
        if ((dims >> porder[k] & 1) && b->mid[porder[k]] >= 0) {
            b->order[b->n_order++] = b->mid[porder[k]];
        }
    }
}

static void list_order(builder *b) {
    const uint8_t *torder = b->c->perms.perm[b->p->torder];
    for (int k = 0; k < b->c->m; k++) {
        if (b->cache[torder[k]] >= 0) {
            b->order[b->n_order++] = b->cache[torder[k]];
        }
    }
    b->n_cache = b->n_order;
    if (b->p->shape == SHAPE_REGISTER) {
        list_mids(b, ~b->c->reduce);
        b->n_space = b->n_order;
        list_mids(b, b->c->reduce);
    } else {
        list_mids(b, ~0u);
    }
    uint32_t steps = b->p->shape == SHAPE_REGISTER ? b->c->reduce : 0;
    for (int d = 0; d < b->c->m; d++) { /* right inside the loop whose steps they are */
        if (b->reg[d] >= 0 && (steps >> d & 1)) {
            b->order[b->n_order++] = b->reg[d];
        }
    }
    for (int d = 0; d < b->c->m; d++) {
        if (b->reg[d] >= 0 && d != b->p->v && !(steps >> d & 1)) {
            b->order[b->n_order++] = b->reg[d];
        }
    }
    if (b->p->v >= 0) {
        b->order[b->n_order++] = b->reg[b->p->v];
    }
}

static void reorder(builder *b) {
    bool is_same = true;
    for (int k = 1; k < b->n_order; k++) {
        is_same = is_same && b->nest->node[b->order[k]].parent == b->order[k - 1];
    }
    if (is_same) {
        return;
    }
    if (b->n_order > CTUNE_PRIM_NAMES ||
        ctune_nest_reorder(b->nest, b->order, b->n_order) != NULL) {
        b->ok = false;
        return;
    }
    if (b->schedule != NULL) {
        const char *names[MAX_ORDER];
        for (int k = 0; k < b->n_order; k++) {
            names[k] = node_name(b, b->order[k]);
        }
        record(b, CTUNE_PRIM_REORDER, 0, b->n_order, names);
    }
}

static void annotate(builder *b, int node, ctune_ann ann) {
    static const ctune_prim_kind kinds[] = {
        [CTUNE_ANN_UNROLL] = CTUNE_PRIM_UNROLL,
        [CTUNE_ANN_VECTOR] = CTUNE_PRIM_VECTORIZE,
        [CTUNE_ANN_PARALLEL] = CTUNE_PRIM_PARALLEL,
        [CTUNE_ANN_SLIDE] = CTUNE_PRIM_SLIDE,
    };
    if (ctune_nest_annotate(b->nest, node, ann) != NULL) {
        b->ok = false;
        return;
    }
    record(b, kinds[ann], 0, 1, (const char *const[]){node_name(b, node)});
}

static void annotate_registers(builder *b) {
    for (int d = 0; d < b->c->m && b->ok; d++) {
        if (b->reg[d] >= 0) {
            annotate(b, b->reg[d], d == b->p->v ? CTUNE_ANN_VECTOR : CTUNE_ANN_UNROLL);
        }
    }
}

/* The k-th loop (1-based), outermost first, that may be parallel, has more than one iteration and
 * is not annotated. */
static void make_parallel(builder *b) {
    int k = b->p->par;
    for (int up = b->nest->node[b->c->n_outer > 0 ? b->c->outer[0] : b->order[0]].parent; up > 0;
         up = b->nest->node[up].parent) {
        if (b->nest->node[up].ann == CTUNE_ANN_PARALLEL) {
            return;
        }
    }
    for (int i = 0; i < b->c->n_outer + b->n_order && k > 0 && b->ok; i++) {
        bool is_outer = i < b->c->n_outer;
        int node = is_outer ? b->c->outer[i] : b->order[i - b->c->n_outer];
        bool may = is_outer && b->c->outer_par[i];
        for (int d = 0; d < b->c->m && !is_outer; d++) {
            may = may || ((b->c->par >> d & 1) && (node == b->mid[d] || node == b->cache[d]));
        }
        may = may && b->nest->node[node].ann == CTUNE_ANN_SERIAL;
        if (may && ctune_nest_extent(b->nest, node) > 1 && --k == 0) {
            annotate(b, node, CTUNE_ANN_PARALLEL);
        }
    }
}

static void cache(builder *b, ctune_prim_kind kind, int read, int at) {
    const ctune_tree *tree = b->nest->form->tree;
    const char *stage = ctune_stmt_name(b->nest->region, tree, b->c->stmt);
    bool is_pack = kind == CTUNE_PRIM_CACHE_READ;
    ctune_cache_kind cache_kind = is_pack ? CTUNE_CACHE_PACK : CTUNE_CACHE_REGISTER;
    if (ctune_nest_cache(b->nest, cache_kind, b->c->stmt, read, at) != NULL) {
        b->ok = false;
        return;
    }
    record(b, kind, is_pack ? read : 0, 2, (const char *const[]){stage, node_name(b, at)});
}

static bool depends(const builder *b, uint32_t dims, const int *nodes, int node) {
    for (int d = 0; d < b->c->m; d++) {
        if (nodes[d] == node && (dims >> d & 1)) {
            return true;
        }
    }
    return false;
}

/* Innermost cache loop that moves the tensor; none: around the whole band. */
static int block_loop(const builder *b, const pack_read *pack) {
    for (int k = b->n_cache - 1; k >= 0; k--) {
        if (depends(b, pack->dims, b->cache, b->order[k])) {
            return b->order[k];
        }
    }
    return pack->whole_at >= 0 ? pack->whole_at : b->n_cache > 0 ? b->order[0] : -1;
}

/* Innermost space mid loop that moves the tensor and has another one inside, which uses the panel
 * again. */
static int panel_loop(const builder *b, const pack_read *pack) {
    for (int k = b->n_space - 2; k >= b->n_cache; k--) {
        if (depends(b, pack->dims, b->mid, b->order[k])) {
            return b->order[k];
        }
    }
    return -1;
}

static void add_caches(builder *b) {
    for (int k = 0; k < b->c->n_packs && b->ok; k++) {
        const pack_read *pack = &b->c->pack[k];
        int at = b->p->pack[k] == PACK_BLOCK   ? block_loop(b, pack)
                 : b->p->pack[k] == PACK_PANEL ? panel_loop(b, pack)
                                               : -1;
        if (at >= 0) {
            cache(b, CTUNE_PRIM_CACHE_READ, pack->read, at);
        }
    }
    if (b->ok) {
        int at = b->n_space > 0 ? b->order[b->n_space - 1] : b->nest->node[b->order[0]].parent;
        cache(b, CTUNE_PRIM_CACHE_WRITE, -1, at);
    }
}

static void stream(builder *b) {
    const char *stage = ctune_stmt_name(b->nest->region, b->nest->form->tree, b->c->stmt);
    b->ok = ctune_nest_stream(b->nest, b->c->stmt) == NULL;
    record(b, CTUNE_PRIM_STREAM, 0, 1, (const char *const[]){stage});
}

/* The innermost loop of the band, when that is one which may. */
static void slide(builder *b) {
    int last = b->n_order > 0 ? b->order[b->n_order - 1] : -1;
    for (int d = 0; d < b->c->m; d++) {
        if (b->mid[d] == last && (b->c->slide_ok >> d & 1)) {
            annotate(b, last, CTUNE_ANN_SLIDE);
            return;
        }
    }
}

bool plan_build(const chain *c, const plan *p, ctune_nest *nest, ctune_schedule *schedule) {
    builder b = {.c = c, .p = p, .nest = nest, .schedule = schedule, .ok = true};
    if (p->rows > 0 && !rows_build(c, p->rows, nest, schedule)) {
        return false;
    }
    if (p->shape == SHAPE_SOURCE) {
        for (int d = 0; d < c->m; d++) {
            b.mid[d] = b.order[b.n_order++] = c->node[d];
            b.cache[d] = b.reg[d] = -1;
        }
    } else if (p->shape == SHAPE_WAVE) {
        for (int d = 0; d < c->m; d++) {
            b.mid[d] = b.cache[d] = b.reg[d] = -1;
        }
        b.ok = wave_build(&c->wave, p->wave, p->skews, nest, schedule, &b.order[b.n_order++]);
    } else {
        split_all(&b);
        if (!b.ok) {
            return false;
        }
        list_order(&b);
        reorder(&b);
        if (b.ok && p->shape == SHAPE_REGISTER) {
            add_caches(&b);
        }
        annotate_registers(&b);
        if (b.ok && p->is_streamed) {
            stream(&b);
        }
    }
    if (b.ok && p->slides) {
        slide(&b);
    }
    if (b.ok && p->par > 0) {
        make_parallel(&b);
    }
    return b.ok;
}
