/*
 * Chains of a form: the maximal runs of single-child loops, and for each one that ends in
 * statements its innermost band.
 *
 * In: the form's nest without primitives and its direction vectors. Out: chains, outer ones before
 * the ones inside them. Loops are permutable when no dependence that the loops around them leave
 * alive has a negative sign at one of them.
 */
#include "search/space/space_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct finder {
    ctune_ctx *ctx;
    const ctune_space *space;
    form_space *fs;
    int form;
    ctune_status status;
} finder;

static bool is_inside(const ctune_nest *nest, int top, int stmt) {
    return ctune_nest_is_ancestor(nest, top, ctune_nest_find_stmt(nest, stmt));
}

static int place_of(const ctune_stmt *stmt, int dim) {
    int d = 0;
    while (d < stmt->n_dims && stmt->dims[d] != dim) {
        d++;
    }
    return d;
}

/* All signs that dependences inside `bottom`, alive below the statement's first `from` loops, have
 * at loop `place`. */
static int signs_at(const ctune_nest *nest, int bottom, int from, int place) {
    const ctune_depvecs *vecs = &nest->form->vecs;
    int signs = 0;
    for (int v = 0; v < vecs->n; v++) {
        const ctune_depvec *vec = &vecs->vec[v];
        bool is_alive = place < vec->n_common && is_inside(nest, bottom, vec->src) &&
                        is_inside(nest, bottom, vec->dst);
        for (int d = 0; d < from && is_alive && d < vec->n_common; d++) {
            is_alive = vec->sign[d] == CTUNE_SIGN_ZERO;
        }
        signs |= is_alive ? vec->sign[place] : 0;
    }
    return signs;
}

static bool is_permutable(const ctune_nest *nest, const int16_t *loops, int b, int n,
                          const ctune_stmt *inside) {
    int from = place_of(inside, nest->node[loops[b]].dim);
    for (int k = b; k < n; k++) {
        int place = place_of(inside, nest->node[loops[k]].dim);
        if (signs_at(nest, loops[n - 1], from, place) & CTUNE_SIGN_NEG) {
            return false;
        }
    }
    return true;
}

/*
 * First loop of the band: the innermost permutable loops, and further out as far as there are loops
 * that carry nothing at all (a convolution's images and channels around its ordered reduction).
 */
static int band_start(const ctune_nest *nest, const int16_t *loops, int n, int stmt) {
    const ctune_stmt *inside = &nest->form->tree->stmts[stmt];
    int first = n > MAX_BAND ? n - MAX_BAND : 0;
    int start = first;
    while (start < n - 1 && !is_permutable(nest, loops, start, n, inside)) {
        start++;
    }
    int entry = place_of(inside, nest->node[loops[first]].dim);
    for (int k = first; k < start; k++) {
        int place = place_of(inside, nest->node[loops[k]].dim);
        if ((signs_at(nest, loops[n - 1], entry, place) & ~CTUNE_SIGN_ZERO) == 0) {
            return k;
        }
    }
    return start;
}

static void mark_rigid(const ctune_nest *nest, chain *c) {
    const ctune_stmt *inside = &nest->form->tree->stmts[c->stmt];
    int bottom = c->node[c->m - 1];
    int from = place_of(inside, nest->node[c->node[0]].dim);
    for (int d = 0; d < c->m; d++) {
        int place = place_of(inside, nest->node[c->node[d]].dim);
        bool is_rigid = signs_at(nest, bottom, from, place) & CTUNE_SIGN_NEG;
        c->rigid |= is_rigid ? 1u << d : 0;
    }
}

static int first_stmt_inside(const ctune_nest *nest, int node) {
    while (node >= 0 && nest->node[node].kind != CTUNE_NN_STMT) {
        node = nest->node[node].first;
    }
    return node < 0 ? -1 : nest->node[node].stmt;
}

/* Number of children when all are statements, else 0. */
static int n_body_stmts(const ctune_nest *nest, int loop) {
    int n = 0;
    for (int kid = nest->node[loop].first; kid >= 0; kid = nest->node[kid].next) {
        if (nest->node[kid].kind != CTUNE_NN_STMT) {
            return 0;
        }
        n++;
    }
    return n;
}

/* Instances of the statements below; of a placed one as if nothing were computed twice. */
static double work_of(const ctune_nest *nest, int top) {
    double sum = 0;
    for (int i = 1; i < nest->n_nodes; i++) {
        if (nest->node[i].kind != CTUNE_NN_STMT || !ctune_nest_is_ancestor(nest, top, i)) {
            continue;
        }
        int end = nest->node[i].placed > 0 ? nest->node[i].placed : 0;
        double work = 1;
        for (int up = nest->node[i].parent; up > 0 && up != end; up = nest->node[up].parent) {
            work *= ctune_nest_extent(nest, up);
        }
        sum += work;
    }
    return sum;
}

static bool is_parallel_in_place(const ctune_nest *nest, int node) {
    ctune_nest trial = *nest;
    return ctune_nest_annotate(&trial, node, CTUNE_ANN_PARALLEL) == NULL &&
           ctune_nest_check(&trial, NULL, 0);
}

static void add_chain(finder *f, const int16_t *loops, int n) {
    const ctune_nest *nest = &f->fs->base;
    int stmt = first_stmt_inside(nest, loops[n - 1]);
    if (stmt < 0 || f->fs->n_chains == MAX_CHAINS) {
        return; /* such loops stay as they are */
    }
    chain *c = calloc(1, sizeof *c);
    if (c == NULL) {
        f->status = ctune_fail(f->ctx, CTUNE_ENOMEM, "out of memory");
        return;
    }
    c->form = f->form;
    c->stmt = stmt;
    c->n_stmts = n_body_stmts(nest, loops[n - 1]);
    c->work = work_of(nest, loops[0]);
    int start = c->n_stmts > 0 ? band_start(nest, loops, n, stmt) : n;
    for (int k = start; k < n; k++) { /* loops over blocks stay where they are */
        const ctune_stmt *inside = &nest->form->tree->stmts[stmt];
        bool is_block = ctune_stmt_is_block(nest->region, inside, nest->node[loops[k]].dim);
        start = is_block ? k + 1 : start;
    }
    for (int k = 0; k < start; k++) {
        c->outer[c->n_outer] = loops[k];
        c->outer_par[c->n_outer++] = is_parallel_in_place(nest, loops[k]);
    }
    for (int k = start; k < n; k++) {
        c->node[c->m] = loops[k];
        c->limit[c->m] = parts_limit(&f->fs->parts, nest, loops[k]);
        c->extent[c->m++] = ctune_nest_extent(nest, loops[k]);
    }
    if (c->m > 0) {
        mark_rigid(nest, c);
        chain_choices(f->space, f->fs, c);
    }
    f->fs->chain[f->fs->n_chains++] = c;
}

static void visit(finder *f, int parent) {
    const ctune_nest *nest = &f->fs->base;
    for (int kid = nest->node[parent].first; kid >= 0 && f->status == CTUNE_OK;
         kid = nest->node[kid].next) {
        int16_t loops[CTUNE_MAX_DEPTH];
        int n = 0, node = kid;
        while (nest->node[node].kind == CTUNE_NN_LOOP && n < CTUNE_MAX_DEPTH) {
            loops[n++] = (int16_t)node;
            int below = nest->node[node].first;
            if (below < 0 || nest->node[below].next >= 0) {
                break;
            }
            node = below;
        }
        if (n > 0) {
            add_chain(f, loops, n);
            visit(f, loops[n - 1]);
        }
    }
}

ctune_status chains_find(ctune_ctx *ctx, const ctune_space *space, int form) {
    finder f = {ctx, space, space->form[form], form, CTUNE_OK};
    visit(&f, 0);
    return f.status;
}
