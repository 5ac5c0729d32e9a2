/*
 * Random TE regions: stages, loops, programs. See random_region.h.
 */
#include "tests/property/random_private.h"

#include <string.h>

/* ---- stages ---------------------------------------------------------- */

static const ctune_node *new_stage(gen *g, ctune_access target, ctune_update update,
                                   const ctune_expr *rhs) {
    int id = g->n_stages++;
    ctune_stage *s = &g->stages[id];
    *s =
        (ctune_stage){.name = ctune_arena_printf(g->a, "S%d", id),
                      .target = target,
                      .update = update,
                      .calc = update == CTUNE_UPDATE_SET ? g->tensors[target.tensor].type : g->calc,
                      .rhs = rhs,
                      .line = 10 + id,
                      .col = 9};
    if (!g->is_simple && chance(g, 6)) {
        s->guard = gen_comparison(g, gen_leaf(g), gen_number(g, between(g, 0, 2)));
    }
    ctune_node *n = CTUNE_NEW(g->a, ctune_node);
    if (n != NULL) {
        *n = (ctune_node){.kind = CTUNE_NODE_STAGE, .stage = id};
    }
    return n;
}

static ctune_update pick_update(gen *g, bool is_reduction) {
    int kind = below(g, 100);
    if (kind < (is_reduction ? 60 : 20)) {
        return CTUNE_UPDATE_ADD;
    }
    if (kind < (is_reduction ? 90 : 30)) {
        static const ctune_update ints[] = {CTUNE_UPDATE_SUB, CTUNE_UPDATE_ABOVE,
                                            CTUNE_UPDATE_MAX, CTUNE_UPDATE_BXOR,
                                            CTUNE_UPDATE_BOR, CTUNE_UPDATE_MUL};
        return ints[below(g, ctune_type_is_float(g->calc) ? 3 : 6)];
    }
    return g->is_simple && is_reduction ? CTUNE_UPDATE_ADD : CTUNE_UPDATE_SET;
}

/* One assignment to a new or an old result under the open loops. */
static const ctune_node *random_stage(gen *g) {
    int order[CTUNE_MAX_DEPTH], rank = 0;
    for (int i = 0; i < g->n_open; i++) { /* some axes are left out: reductions */
        if (rank < 3 && (chance(g, 72) || g->n_open == 1)) {
            order[rank++] = i;
        }
    }
    if (rank > 1 && chance(g, 25)) {
        int swap = order[0];
        order[0] = order[rank - 1];
        order[rank - 1] = swap;
    }
    int tensor = -1;
    if (!g->is_simple && g->n_results > 0 && chance(g, 40)) {
        int old = g->results[below(g, g->n_results)];
        if (g->tensors[old].rank <= g->n_open) {
            tensor = old;
            while (rank < g->tensors[old].rank) {
                order[rank++] = below(g, g->n_open);
            }
            rank = g->tensors[old].rank;
        }
    }
    if (tensor < 0) {
        tensor = gen_new_tensor(g, 'R', g->type, rank);
    }
    bool is_plain = g->is_simple || chance(g, 70);
    ctune_access target = gen_make_access(g, tensor, order, is_plain);
    ctune_update update = pick_update(g, rank < g->n_open);
    return new_stage(g, target, update, gen_expression(g, between(g, 0, 2)));
}

/* ---- loops ----------------------------------------------------------- */

static const ctune_node *sequence(gen *g, int n, const ctune_node *const *kids) {
    ctune_node *s = CTUNE_NEW(g->a, ctune_node);
    const ctune_node **copy = CTUNE_NEW_ARRAY(g->a, const ctune_node *, n);
    if (s == NULL || copy == NULL) {
        return NULL;
    }
    memcpy(copy, kids, (size_t)n * sizeof *copy);
    *s = (ctune_node){.kind = CTUNE_NODE_SEQ, .n_kids = n, .kids = copy};
    return s;
}

typedef struct loop {
    int axis;
    int n_cons;
    const ctune_aff *cons[4];
} loop;

static void add_cons(loop *l, const ctune_aff *aff) {
    l->cons[l->n_cons++] = aff;
}

typedef enum loop_kind {
    LOOP_PLAIN,
    LOOP_CONST,
    LOOP_SHIFTED,
    LOOP_BELOW,
    LOOP_ABOVE,
    LOOP_STRIDED,
    LOOP_MIN,
    LOOP_ROW, /* from one load to another */
    LOOP_LENGTH
} loop_kind;

static loop_kind pick_loop(gen *g) {
    int kind = below(g, 100);
    bool has_outer = g->n_open > 0;
    if (g->has_loads && has_outer && chance(g, 25)) {
        return chance(g, 70) ? LOOP_ROW : LOOP_LENGTH;
    }
    if (kind < 50 || g->n_params == 0) {
        return g->n_params == 0 ? LOOP_CONST : LOOP_PLAIN;
    }
    return kind < 62                ? LOOP_CONST
           : kind < 72              ? LOOP_SHIFTED
           : kind < 80 && has_outer ? LOOP_BELOW
           : kind < 86 && has_outer ? LOOP_ABOVE
           : kind < 95              ? LOOP_STRIDED
                                    : LOOP_MIN;
}

/* Opens a loop of the kind; its parameter is p. */
static loop open_loop(gen *g, loop_kind kind) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "o"};
    int id = g->n_axes++;
    int p = g->n_params > 0 ? below(g, g->n_params) : 0;
    loop l = {.axis = id};
    g->axes[id] = (ctune_axis){.name = ctune_arena_printf(g->a, "%s%d", names[g->n_open % 6], id),
                               .type = CTUNE_I32,
                               .step = 1};
    axis_info *info = &g->info[id];
    *info = (axis_info){.value = gen_axis_aff(g, id, 1)};
    info->hi.c = -1;
    int64_t lo = 0, step = 1;
    const ctune_aff *last = NULL; /* last value, inclusive */
    const ctune_aff *start = NULL, *end = NULL;
    linear hi = {.c = 2 * CTUNE_LOAD_TRIPS - 1};
    if (kind == LOOP_ROW || kind == LOOP_LENGTH) {
        int outer = g->open[below(g, g->n_open)];
        if (kind == LOOP_ROW) { /* values up to TRIPS * (ordinal + 1), see ctune_load_model_get */
            hi.c += CTUNE_LOAD_TRIPS * (g->info[outer].hi.c + 4);
            for (int k = 0; k < g->n_params; k++) {
                hi.p[k] = CTUNE_LOAD_TRIPS * g->info[outer].hi.p[k];
            }
        }
        start = gen_load(g, outer, 0, false, hi);
        end = kind == LOOP_ROW && start != NULL ? gen_load(g, outer, 1, true, hi) : start;
        g->is_param_used[0] |= start != NULL && g->n_params > 0;
    }
    bool is_opaque = end != NULL;
    kind = (kind == LOOP_ROW || kind == LOOP_LENGTH) && !is_opaque
               ? g->n_params > 0 ? LOOP_PLAIN : LOOP_CONST
               : kind;
    if (kind == LOOP_CONST) {
        int n = chance(g, 30) ? between(g, 8, 20) : between(g, 1, 5);
        last = gen_constant(g, n - 1);
        info->hi.c = n - 1;
    } else if (!is_opaque) {
        last = ctune_aff_add_const(g->a, gen_param_aff(g, p, 1), -1);
        info->hi.p[p] = 1;
    }
    if (kind == LOOP_SHIFTED) {
        lo = between(g, -2, 2);
        int cut = below(g, 3);
        last = ctune_aff_add_const(g->a, last, -cut);
        info->hi.c -= cut;
    } else if (kind == LOOP_STRIDED) {
        lo = below(g, 3);
        step = between(g, 2, 4);
        g->axes[id].step = step;
        info->value = ctune_aff_add_const(g->a, gen_axis_aff(g, id, step), lo);
        add_cons(&l, gen_axis_aff(g, id, 1));
    } else if (is_opaque) {
        last = ctune_aff_add_const(g->a, kind == LOOP_ROW ? end : start, -1);
        info->hi = hi;
        if (kind == LOOP_ROW) {
            add_cons(&l, ctune_aff_sub(g->a, info->value, start));
        }
    } else if (kind == LOOP_BELOW || kind == LOOP_ABOVE) {
        int outer = g->open[below(g, g->n_open)], shift = between(g, -1, 1);
        const ctune_aff *edge = ctune_aff_add_const(g->a, g->info[outer].value, shift);
        if (kind == LOOP_BELOW) {
            last = edge;
            info->hi = g->info[outer].hi;
            info->hi.c += shift;
        } else {
            lo = g->info[outer].lo + shift;
            add_cons(&l, ctune_aff_sub(g->a, info->value, edge));
        }
    }
    info->lo = lo;
    if (kind != LOOP_STRIDED && kind != LOOP_ABOVE && kind != LOOP_ROW) {
        add_cons(&l, ctune_aff_add_const(g->a, info->value, -lo));
    }
    add_cons(&l, ctune_aff_sub(g->a, last, info->value));
    if (kind == LOOP_MIN) {
        const ctune_aff *other = g->n_params > 1 ? gen_param_aff(g, 1 - p, 1) : gen_constant(g, 9);
        add_cons(&l, ctune_aff_sub(g->a, ctune_aff_add_const(g->a, other, -1), info->value));
    }
    g->open[g->n_open++] = id;
    g->max_depth = g->n_open > g->max_depth ? g->n_open : g->max_depth;
    return l;
}

static const ctune_node *close_loop(gen *g, const loop *l, const ctune_node *body) {
    ctune_node *n = CTUNE_NEW(g->a, ctune_node);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(g->a, const ctune_aff *, l->n_cons);
    const ctune_node **kids = CTUNE_NEW_ARRAY(g->a, const ctune_node *, 1);
    g->n_open--;
    if (n == NULL || cons == NULL || kids == NULL || body == NULL) {
        return NULL;
    }
    memcpy(cons, l->cons, (size_t)l->n_cons * sizeof *cons);
    kids[0] = body;
    *n = (ctune_node){.kind = CTUNE_NODE_LOOP,
                      .axis = l->axis,
                      .n_cons = l->n_cons,
                      .cons = cons,
                      .n_kids = body->kind == CTUNE_NODE_SEQ ? body->n_kids : 1,
                      .kids = body->kind == CTUNE_NODE_SEQ ? body->kids : kids};
    return n;
}

/* An affine condition on the open axes around body. */
static const ctune_node *condition(gen *g, const ctune_node *body) {
    const axis_info *x = &g->info[g->open[below(g, g->n_open)]];
    const axis_info *y = &g->info[g->open[below(g, g->n_open)]];
    const ctune_aff *con = x != y ? ctune_aff_sub(g->a, x->value, y->value) : x->value;
    ctune_node *n = CTUNE_NEW(g->a, ctune_node);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(g->a, const ctune_aff *, 1);
    const ctune_node **kids = CTUNE_NEW_ARRAY(g->a, const ctune_node *, 1);
    if (n == NULL || cons == NULL || kids == NULL) {
        return NULL;
    }
    cons[0] = ctune_aff_add_const(g->a, con, x != y ? between(g, -1, 2) : -between(g, 1, 3));
    kids[0] = body;
    *n = (ctune_node){.kind = CTUNE_NODE_IF, .n_cons = 1, .cons = cons, .n_kids = 1, .kids = kids};
    return n;
}

/* ---- programs -------------------------------------------------------- */

/* Loops one in another around one stage. */
static const ctune_node *perfect(gen *g, int depth) {
    loop loops[4];
    for (int d = 0; d < depth; d++) {
        loops[d] = open_loop(g, pick_loop(g));
    }
    const ctune_node *body = random_stage(g);
    if (chance(g, 12)) {
        body = condition(g, body);
    }
    for (int d = depth - 1; d >= 0; d--) {
        body = close_loop(g, &loops[d], body);
    }
    return body;
}

/* R[i][j] op= A[..] * B[..] over k: plain subscripts, optionally with a first and a last statement
 * around k. */
static const ctune_node *product(gen *g) {
    static const int out_order[2] = {0, 1}, a_order[2] = {0, 2}, b_order[2] = {2, 1};
    int out = gen_new_tensor(g, 'R', g->type, 2), a = gen_pick_input(g), b = gen_pick_input(g);
    const ctune_node *kids[3];
    int n = 0;
    bool is_triangular = chance(g, 25);
    loop i = open_loop(g, LOOP_PLAIN);
    loop j = open_loop(g, is_triangular ? LOOP_BELOW : LOOP_PLAIN);
    if (chance(g, 40)) {
        kids[n++] = new_stage(g, gen_make_access(g, out, out_order, true), CTUNE_UPDATE_SET,
                              gen_number(g, 0));
    }
    loop k = open_loop(g, chance(g, 20) ? LOOP_BELOW : LOOP_PLAIN);
    ctune_access x = g->tensors[a].rank == 2 ? gen_make_access(g, a, a_order, true)
                                             : gen_make_access(g, a, NULL, true);
    ctune_access y = g->tensors[b].rank == 2 ? gen_make_access(g, b, b_order, true)
                                             : gen_make_access(g, b, NULL, true);
    const ctune_expr *rhs =
        gen_node(g, CTUNE_OP_MUL, g->calc, 2, gen_read_access(g, x), gen_read_access(g, y), NULL);
    const ctune_node *body = new_stage(g, gen_make_access(g, out, out_order, true),
                                       chance(g, 85) ? CTUNE_UPDATE_ADD : CTUNE_UPDATE_SUB, rhs);
    kids[n++] = close_loop(g, &k, body);
    if (chance(g, 25) && !g->is_simple) {
        const ctune_expr *old = gen_read_access(g, gen_make_access(g, out, out_order, true));
        kids[n++] = new_stage(g, gen_make_access(g, out, out_order, true), CTUNE_UPDATE_SET,
                              gen_node(g, CTUNE_OP_ADD, g->calc, 2, old, gen_leaf(g), NULL));
    }
    return close_loop(g, &i, close_loop(g, &j, sequence(g, n, kids)));
}

/* One sweep: to = sum of neighbours of from. */
static const ctune_node *sweep(gen *g, int to, int from) {
    int rank = g->tensors[to].rank, order[3] = {0};
    loop loops[3];
    int base = g->n_open;
    for (int d = 0; d < rank; d++) {
        loops[d] = open_loop(g, chance(g, 80) ? LOOP_PLAIN : LOOP_SHIFTED);
        order[d] = base + d;
    }
    const ctune_expr *sum = gen_read_access(g, gen_make_access(g, from, order, true));
    int n = between(g, 1, 3);
    for (int i = 0; i < n; i++) {
        const ctune_aff **idx = CTUNE_NEW_ARRAY(g->a, const ctune_aff *, rank);
        for (int d = 0; d < rank && idx != NULL; d++) {
            const ctune_aff *value = g->info[g->open[order[d]]].value;
            idx[d] =
                gen_place_index(g, from, d, ctune_aff_add_const(g->a, value, between(g, -1, 2)));
        }
        ctune_access access = {.tensor = from, .n_idx = idx != NULL ? rank : 0, .idx = idx};
        sum = gen_node(g, chance(g, 60) ? CTUNE_OP_ADD : CTUNE_OP_SUB, g->calc, 2, sum,
                       gen_read_access(g, access), NULL);
    }
    const ctune_node *body =
        new_stage(g, gen_make_access(g, to, order, true), CTUNE_UPDATE_SET, sum);
    for (int d = rank - 1; d >= 0; d--) {
        body = close_loop(g, &loops[d], body);
    }
    return body;
}

/* The first row of a sweep's target, or its first element: a border in a time loop. */
static const ctune_node *border(gen *g, int tensor) {
    int rank = g->tensors[tensor].rank;
    const ctune_aff **idx = CTUNE_NEW_ARRAY(g->a, const ctune_aff *, rank);
    loop l = {.axis = -1};
    if (idx == NULL) {
        return NULL;
    }
    if (rank == 2) {
        l = open_loop(g, LOOP_PLAIN);
        const ctune_aff *value = g->info[g->open[g->n_open - 1]].value;
        idx[1] = gen_place_index(g, tensor, 1, value);
    }
    idx[0] = gen_place_index(g, tensor, 0, gen_constant(g, between(g, 0, 1)));
    ctune_access access = {.tensor = tensor, .n_idx = rank, .idx = idx};
    const ctune_expr *old = gen_read_access(g, access);
    const ctune_node *body =
        new_stage(g, access, CTUNE_UPDATE_SET,
                  gen_node(g, CTUNE_OP_ADD, g->calc, 2, old, gen_number(g, 0), NULL));
    return l.axis >= 0 ? close_loop(g, &l, body) : body;
}

/* Sweeps in a time loop: back and forth, in place, around three arrays, with a border. */
static const ctune_node *stencil(gen *g) {
    int rank = between(g, 1, 2);
    int a = gen_new_tensor(g, 'R', g->type, rank);
    int b = chance(g, 75) ? gen_new_tensor(g, 'R', g->type, rank) : a;
    loop time = open_loop(g, LOOP_CONST);
    const ctune_node *kids[4];
    int n = 0;
    if (chance(g, 25)) {
        kids[n++] = border(g, a);
    }
    kids[n++] = sweep(g, b, a);
    if (b != a && chance(g, 20)) {
        int c = gen_new_tensor(g, 'R', g->type, rank);
        kids[n++] = sweep(g, c, b);
        kids[n++] = sweep(g, a, c);
    } else if (b != a && chance(g, 80)) {
        kids[n++] = sweep(g, a, b);
    }
    return close_loop(g, &time, sequence(g, n, kids));
}

/* A matrix updated from its own row and column k in step k: paths, eliminations. */
static const ctune_node *pivot(gen *g) {
    static const int target[2] = {1, 2}, column[2] = {1, 0}, row[2] = {0, 2};
    int a = gen_new_tensor(g, 'R', g->type, 2);
    loop loops[3];
    for (int d = 0; d < 3; d++) {
        loops[d] = open_loop(g, d > 0 && chance(g, 15) ? LOOP_SHIFTED : LOOP_PLAIN);
    }
    const ctune_expr *x = gen_read_access(g, gen_make_access(g, a, column, true));
    const ctune_expr *y =
        chance(g, 80) ? gen_read_access(g, gen_make_access(g, a, row, true)) : gen_leaf(g);
    const ctune_expr *sum = gen_node(g, CTUNE_OP_ADD, g->calc, 2, x, y, NULL);
    ctune_update update = chance(g, 60) ? CTUNE_UPDATE_MIN : CTUNE_UPDATE_SET;
    const ctune_node *body = new_stage(g, gen_make_access(g, a, target, true), update, sum);
    for (int d = 2; d >= 0; d--) {
        body = close_loop(g, &loops[d], body);
    }
    return body;
}

/* A scalar temporary: set, summed over an inner loop, used. */
static const ctune_node *with_temporary(gen *g) {
    int depth = between(g, 1, 2), order[2] = {0, 1};
    loop loops[2];
    for (int d = 0; d < depth; d++) {
        loops[d] = open_loop(g, chance(g, 70) ? LOOP_PLAIN : LOOP_CONST);
    }
    int temp = gen_new_tensor(g, 't', g->calc, depth);
    g->tensors[temp].is_temp = true;
    const ctune_node *kids[3];
    int n = 0;
    bool has_inner = chance(g, 65);
    const ctune_expr *first = has_inner && chance(g, 50) ? gen_number(g, 0) : gen_expression(g, 1);
    kids[n++] = new_stage(g, gen_make_access(g, temp, order, true), CTUNE_UPDATE_SET, first);
    g->stages[g->n_stages - 1].guard = NULL; /* always written */
    if (has_inner) {
        loop inner = open_loop(g, pick_loop(g));
        ctune_update update = chance(g, 80) ? CTUNE_UPDATE_ADD : CTUNE_UPDATE_MAX;
        const ctune_node *body =
            new_stage(g, gen_make_access(g, temp, order, true), update, gen_expression(g, 1));
        kids[n++] = close_loop(g, &inner, body);
    }
    const ctune_expr *use = gen_read_access(g, gen_make_access(g, temp, order, true));
    int out = gen_new_tensor(g, 'R', g->type, depth);
    kids[n++] = new_stage(g, gen_make_access(g, out, order, true),
                          chance(g, 70) ? CTUNE_UPDATE_SET : CTUNE_UPDATE_ADD,
                          gen_node(g, CTUNE_OP_ADD, g->calc, 2, use, gen_leaf(g), NULL));
    const ctune_node *body = sequence(g, n, kids);
    for (int d = depth - 1; d >= 0; d--) {
        body = close_loop(g, &loops[d], body);
    }
    return body;
}

/* Anything: statements and loops at random under the open loops. */
static const ctune_node *random_body(gen *g, int depth, int n_stages) {
    const ctune_node *kids[MAX_KIDS];
    int n = 0;
    while (n_stages > 0 && n < MAX_KIDS) {
        int share = between(g, 1, n_stages);
        if (depth > 0 && (g->n_open == 0 || chance(g, 65)) && g->n_axes < MAX_AXES) {
            loop l = open_loop(g, pick_loop(g));
            kids[n++] = close_loop(g, &l, random_body(g, depth - 1, share));
        } else {
            share = 1;
            const ctune_node *s = random_stage(g);
            kids[n++] = g->n_open > 0 && chance(g, 12) ? condition(g, s) : s;
        }
        n_stages -= share;
    }
    return sequence(g, n, kids);
}

static const ctune_node *random_program(gen *g) {
    const ctune_node *kids[3];
    int kind = below(g, 100), n = 1;
    if (kind < 20) {
        kids[0] = perfect(g, between(g, 1, 4));
    } else if (kind < 40) {
        kids[0] = product(g);
    } else if (kind < 55) {
        kids[0] = stencil(g);
    } else if (kind < 59) {
        kids[0] = pivot(g);
    } else if (kind < 68) {
        kids[0] = with_temporary(g);
    } else if (kind < 84) {
        n = between(g, 2, 3);
        for (int i = 0; i < n; i++) {
            kids[i] = perfect(g, between(g, 1, 3));
        }
    } else {
        return random_body(g, between(g, 1, 3), between(g, 1, 4));
    }
    return sequence(g, n, kids);
}

/* ---- the region ------------------------------------------------------ */

static void pick_types(gen *g) {
    static const ctune_type types[] = {CTUNE_F32, CTUNE_F32, CTUNE_F32, CTUNE_F64, CTUNE_F64,
                                       CTUNE_F64, CTUNE_I32, CTUNE_I32, CTUNE_I64, CTUNE_I8,
                                       CTUNE_U8,  CTUNE_I16, CTUNE_U32};
    g->type = types[below(g, (int)(sizeof types / sizeof types[0]))];
    g->calc = g->type < CTUNE_I32 ? CTUNE_I32 : g->type;
    if (g->type == CTUNE_F32 && chance(g, 10)) {
        g->calc = CTUNE_F64;
    }
    g->is_simple = ctune_type_is_float(g->calc) && chance(g, 15);
    g->region->reassoc = g->is_simple && chance(g, 60);
}

static const ctune_aff *linear_aff(gen *g, const linear *x) {
    const ctune_aff *aff = gen_constant(g, x->c > 0 ? x->c : 1);
    for (int p = 0; p < g->n_params; p++) {
        if (x->p[p] > 0) {
            aff = ctune_aff_add(g->a, aff, gen_param_aff(g, p, x->p[p]));
        }
    }
    return aff;
}

/* Extents, representative values, and the arrays into the arena. */
static void finish(gen *g, const ctune_node *root) {
    ctune_region *r = g->region;
    static const int most[] = {90, 90, 40, 20, 10};
    bool is_small = chance(g, 60);
    for (int p = 0; p < g->n_params; p++) {
        int top = most[g->max_depth < 4 ? g->max_depth : 4];
        g->params[p].n_sizes = 1;
        g->params[p].sizes[0] = is_small ? between(g, top / 2, top) : 128 << below(g, 3);
    }
    for (int t = 0; t < g->n_tensors; t++) {
        for (int d = 0; d < g->tensors[t].rank; d++) {
            g->tensors[t].extent[d] = linear_aff(g, &g->extent[t][d]);
        }
    }
#define COPY(field, count, type)                                                                   \
    do {                                                                                           \
        type *copy_ = CTUNE_NEW_ARRAY(g->a, type, g->count);                                       \
        if (copy_ != NULL && g->count > 0) {                                                       \
            memcpy(copy_, g->field, (size_t)g->count * sizeof *copy_);                             \
        }                                                                                          \
        r->field = copy_;                                                                          \
        r->count = g->count;                                                                       \
    } while (0)
    COPY(params, n_params, ctune_param);
    COPY(tensors, n_tensors, ctune_tensor);
    COPY(axes, n_axes, ctune_axis);
    COPY(divs, n_divs, ctune_div);
    COPY(stages, n_stages, ctune_stage);
#undef COPY
    r->root = root;
}

static ctune_status make_once(ctune_ctx *ctx, ctune_rng *rng, bool *is_whole, ctune_region **out) {
    gen g = {.ctx = ctx, .rng = rng, .a = ctune_arena_create(ctx)};
    g.region = g.a != NULL ? CTUNE_NEW(g.a, ctune_region) : NULL;
    if (g.region == NULL) {
        ctune_arena_destroy(g.a);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    *g.region = (ctune_region){
        .arena = g.a, .name = "f", .file = "random.c", .line = 1, .weight = 1, .noalias = true};
    static const char *const names[MAX_PARAMS] = {"n", "m"};
    g.n_params = chance(&g, 90) ? between(&g, 1, MAX_PARAMS) : 0;
    for (int p = 0; p < g.n_params; p++) {
        g.params[p] = (ctune_param){.name = names[p], .c_text = names[p], .type = CTUNE_I32};
    }
    pick_types(&g);
    g.has_loads = chance(&g, 25);
    g.n_inputs = between(&g, 2, 4);
    for (int i = 0; i < g.n_inputs; i++) {
        g.inputs[i] = -1;
    }
    if (g.n_params == 0) { /* product() and stencil() want a parameter */
        finish(&g, random_body(&g, between(&g, 1, 3), between(&g, 1, 3)));
    } else {
        finish(&g, random_program(&g));
    }
    *is_whole = true; /* a front end makes no parameter that nothing uses */
    for (int p = 0; p < g.n_params; p++) {
        *is_whole = *is_whole && g.is_param_used[p];
    }
    ctune_status status = ctune_region_finish(ctx, g.region);
    if (status == CTUNE_OK) {
        status = ctune_te_verify(ctx, g.region);
    }
    if (status != CTUNE_OK) {
        ctune_region_destroy(g.region);
        return status;
    }
    *out = g.region;
    return CTUNE_OK;
}

ctune_status random_region_make(ctune_ctx *ctx, ctune_rng *rng, ctune_region **out) {
    bool is_whole = false;
    if (ctune_rng_below(rng, 12) == 0) {
        return random_factor_make(ctx, rng, out);
    }
    ctune_status status = make_once(ctx, rng, &is_whole, out);
    while (status == CTUNE_OK && !is_whole) {
        ctune_region_destroy(*out);
        status = make_once(ctx, rng, &is_whole, out);
    }
    return status;
}

void random_region_sizes(const ctune_region *region, ctune_rng *rng, int which, int64_t *out) {
    int depth = 0;
    for (int s = 0; s < region->n_stages; s++) {
        depth = region->stages[s].n_axes > depth ? region->stages[s].n_axes : depth;
    }
    int64_t top = depth <= 1 ? 80 : depth == 2 ? 36 : depth == 3 ? 18 : 9;
    for (int t = 0; t < region->n_tensors;
         t++) { /* a cube over a few times n must fit into memory */
        top = region->tensors[t].rank > 2 && top > 24 ? 24 : top;
    }
    for (int p = 0; p < region->n_params; p++) {
        int64_t value = region->params[p].sizes[0];
        if (which == 0 && value > SMALL_REP) {
            value = top / 2 + (int64_t)ctune_rng_below(rng, (uint64_t)(top / 2 + 1));
        } else if (which == 1) {
            value = (int64_t)ctune_rng_below(rng, (uint64_t)top + 1);
        } else if (which == 2) {
            value = (int64_t)ctune_rng_below(rng, 4);
        }
        out[p] = value;
    }
}

void random_fill(ctune_rng *rng, ctune_type type, size_t n, void *out) {
    for (size_t i = 0; i < n; i++) {
        int v = (int)ctune_rng_below(rng, 17) - 8;
        switch (type) {
#define FILL(id, ctype)                                                                            \
    case id:                                                                                       \
        ((ctype *)out)[i] = (ctype)v;                                                              \
        break;
            FILL(CTUNE_I8, int8_t)
            FILL(CTUNE_U8, uint8_t)
            FILL(CTUNE_I16, int16_t)
            FILL(CTUNE_U16, uint16_t)
            FILL(CTUNE_I32, int32_t)
            FILL(CTUNE_U32, uint32_t)
            FILL(CTUNE_I64, int64_t)
            FILL(CTUNE_U64, uint64_t)
            FILL(CTUNE_F32, float)
            FILL(CTUNE_F64, double)
#undef FILL
        default:
            memset((char *)out + i * (size_t)ctune_type_get(type)->bytes, 0, 1);
            break;
        }
    }
}

/* Elements of an index tensor: where the model has them, but for bounds that end before they start.
 */
static void fill_index(ctune_rng *rng, const ctune_region *region, int tensor,
                       const int64_t *params, size_t n, void *out) {
    ctune_load_model model = ctune_load_model_get(region, tensor, params);
    size_t bytes = (size_t)ctune_type_get(region->tensors[tensor].type)->bytes;
    for (size_t i = 0; i < n; i++) {
        int64_t value = model.slope * (int64_t)i + model.lo +
                        (int64_t)ctune_rng_below(rng, (uint64_t)model.width);
        if (model.slope != 0 && ctune_rng_below(rng, 4) == 0) {
            value = (int64_t)ctune_rng_below(rng, (uint64_t)value + 1);
        }
        memcpy((char *)out + i * bytes, &value, bytes);
    }
}

void random_fill_tensor(ctune_rng *rng, const ctune_region *region, int tensor,
                        const int64_t *params, size_t n, void *out) {
    if (ctune_tensor_is_index(region, tensor)) {
        fill_index(rng, region, tensor, params, n, out);
        return;
    }
    random_fill(rng, region->tensors[tensor].type, n, out);
    if (!region->reassoc) {
        random_add_fractions(rng, region->tensors[tensor].type, n, out);
    }
}

void random_add_fractions(ctune_rng *rng, ctune_type type, size_t n, void *data) {
    for (size_t i = 0; i < n; i++) {
        double fraction = (double)ctune_rng_below(rng, 1 << 20) / (1 << 20);
        if (type == CTUNE_F32) {
            ((float *)data)[i] += (float)fraction;
        } else if (type == CTUNE_F64) {
            ((double *)data)[i] += fraction / 3;
        }
    }
}
