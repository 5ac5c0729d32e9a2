/*
 * When a parallel loop is worth its threads.
 *
 * In: a finished parallel loop. Out: its condition, "work >= least", over what is known where it
 * begins; none where the work cannot be told (triangles, rows of a sparse matrix). To wake threads
 * and to wait for them costs some microseconds, more than all of a small nest: such sizes run in
 * the thread that is there.
 *
 * Work is the number of innermost iterations: the product of the loops' trips along the deepest
 * chain of loops, where tiles and what runs inside them cancel. The least follows from the time of
 * one of them by the estimate, for a plain machine of that instruction set: the same text
 * everywhere.
 */
#include "search/lower/lower_private.h"

#include "search/estimate/estimate.h"

#include <math.h>
#include <string.h>

/* What a fork and its join cost, twice: two threads gain half of the serial time. Measured with
 * both compilers' runtimes: 1 us while the threads spin, several when they have to be woken. */
static const double least_ns = 8000;
/* Of one element that is copied into a pack. */
static const double copy_ns = 0.5;

enum { MAX_FACTORS = 8 };

typedef struct chain_work {
    bool is_known;
    int depth; /* loops */
    int n;
    const ctune_aff *factor[MAX_FACTORS];
    double scale; /* of the factors' product: iterations */
} chain_work;

typedef struct inside {
    ctune_loops *l;
    bool *is_inside; /* [n_vars]: bound in the loop */
} inside;

static void note_vars(const inside *in, const ctune_lnode *node) {
    for (; node != NULL; node = node->next) {
        if (node->kind == CTUNE_L_FOR || node->kind == CTUNE_L_LET) {
            in->is_inside[node->var] = true;
        }
        note_vars(in, node->first);
        note_vars(in, node->other);
    }
}

/* The constant that the form is never above, through one minimum; -1: there is none. */
static int64_t constant_bound(ctune_loops *l, const ctune_aff *form) {
    if (form == NULL || form->n_terms == 0) {
        return form == NULL ? -1 : form->c0;
    }
    for (int t = 0; t < form->n_terms; t++) {
        const ctune_term *term = &form->terms[t];
        if (term->kind != CTUNE_TERM_DIV || term->coef != 1 ||
            l->atom[term->id].kind != CTUNE_ATOM_MIN) {
            continue;
        }
        const ctune_aff *rest =
            ctune_aff_sub(l->arena, form, ctune_aff_term(l->arena, CTUNE_TERM_DIV, term->id, 1));
        const ctune_aff *side[] = {l->atom[term->id].a, l->atom[term->id].b};
        for (int i = 0; i < 2; i++) {
            const ctune_aff *sum = ctune_aff_add(l->arena, rest, side[i]);
            if (sum != NULL && sum->n_terms == 0) {
                return sum->c0;
            }
        }
    }
    return -1;
}

static bool uses_inside(const inside *in, const ctune_aff *form) {
    for (int v = 0; v < in->l->n_vars; v++) {
        if (in->is_inside[v] && ctune_loops_uses(in->l, form, v)) {
            return true;
        }
    }
    return ctune_loops_has_load(in->l, form);
}

static void add_loop(const inside *in, const ctune_lnode *loop, chain_work *work) {
    const ctune_aff *trips = ctune_aff_sub(in->l->arena, loop->hi, loop->lo);
    int64_t most = constant_bound(in->l, trips);
    work->depth++;
    work->scale /= (double)loop->step;
    if (most > 0) {
        work->scale *= (double)most;
    } else if (trips != NULL && work->n < MAX_FACTORS && !uses_inside(in, trips)) {
        work->factor[work->n++] = trips;
    } else {
        work->is_known = false;
    }
}

static chain_work deepest(const inside *in, const ctune_lnode *kids) {
    chain_work best = {.is_known = true, .scale = 1};
    for (const ctune_lnode *kid = kids; kid != NULL; kid = kid->next) {
        chain_work work = deepest(in, kid->first); /* a full tile, not what stands in for it */
        if (kid->kind == CTUNE_L_FOR) {
            add_loop(in, kid, &work);
        }
        best = work.depth > best.depth ? work : best;
    }
    return best;
}

/* Nanoseconds of one instance, all statements alike, in one thread. */
static double instance_ns(const lowerer *w) {
    ctune_nest serial = *w->nest;
    const ctune_target *mine = w->options->target;
    ctune_target plain = {.vector_bytes = mine->vector_bytes,
                          .n_vector_regs = mine->n_vector_regs,
                          .has_fma = mine->has_fma,
                          .n_threads = 1};
    ctune_target_complete(&plain);
    for (int k = 1; k < serial.n_nodes; k++) {
        if (serial.node[k].ann == CTUNE_ANN_PARALLEL) {
            serial.node[k].ann = CTUNE_ANN_SERIAL;
        }
    }
    double n = 0;
    for (int s = 0; s < w->tree->n_stmts; s++) {
        double instances = 1;
        for (int d = 0; d < w->tree->stmts[s].n_dims; d++) {
            instances *= fmax(w->tree->dims[w->tree->stmts[s].dims[d]].extent, 1);
        }
        n += instances;
    }
    return ctune_estimate(&serial, &plain) / fmax(n, 1);
}

static void add_condition(lowerer *w, ctune_lnode *loop, double ns) {
    ctune_loops *l = w->loops;
    inside in = {.l = l, .is_inside = CTUNE_NEW_ARRAY(w->arena, bool, l->n_vars + 1)};
    if (in.is_inside == NULL) {
        return;
    }
    ctune_lnode alone = *loop;
    alone.next = NULL;
    note_vars(&in, &alone);
    chain_work work = deepest(&in, &alone);
    double least = least_ns / ns / work.scale;
    bool is_narrow = strstr(w->options->target->flags, "-m32") != NULL; /* long has 32 bits */
    if (!work.is_known || work.n == 0 || !(least > 1) || least > 0x1p50 || is_narrow) {
        return;
    }
    /* no product leaves 64 bits; as many trips as `enough` are enough, whatever the others are */
    int enough = (int)ceil(log2(least)), most = 62 / work.n;
    int64_t cap = (int64_t)1 << (enough < most ? enough : most);
    const ctune_aff *product = ctune_loops_const(l, 1);
    for (int i = 0; i < work.n; i++) {
        const ctune_aff *trips = ctune_loops_max(l, work.factor[i], ctune_loops_const(l, 0));
        trips = work.n > 1 ? ctune_loops_min(l, trips, ctune_loops_const(l, cap)) : trips;
        product = ctune_loops_mul(l, product, trips);
    }
    const ctune_aff **conds = CTUNE_NEW_ARRAY(w->arena, const ctune_aff *, 1);
    if (conds != NULL && product != NULL) {
        conds[0] = ctune_aff_add_const(w->arena, product, -((int64_t)1 << enough));
        loop->conds = conds;
        loop->n_conds = conds[0] != NULL;
    }
}

void lower_threads_copy(lowerer *w, int at, int stmt, ctune_lnode *loop) {
    bool is_shared = w->openmp && w->parallel_node < 0 && loop->kind == CTUNE_L_FOR;
    bool has_threads = false;
    for (int up = ctune_nest_find_stmt(w->nest, stmt); up > 0 && up != at && is_shared;
         up = w->nest->node[up].parent) {
        has_threads = has_threads || lower_is_parallel(w, up);
    }
    if (has_threads) {
        loop->ann = CTUNE_LANN_PARALLEL;
        loop->collapse = 1;
        add_condition(w, loop, copy_ns);
    }
}

void lower_threads_when(lowerer *w, ctune_lnode *loop) {
    add_condition(w, loop, instance_ns(w));
}
