/*
 * What the tests of search/deps share: regions from text, and the truth by enumeration.
 *
 * brute_* run all instances of a small region: which pairs touch one element, in which order a tree
 * runs them. Nothing here uses isl or search/deps beyond the tree's data.
 */
#ifndef CTUNE_TESTS_UNIT_DEPS_DEPS_FIXTURE_H
#define CTUNE_TESTS_UNIT_DEPS_DEPS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "search/deps/deps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- regions --------------------------------------------------------------------------------- */

typedef struct fixture {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_deps *deps;
    ctune_tree *tree; /* source order */
} fixture;

static inline void fixture_init(fixture *f, const char *text) {
    memset(f, 0, sizeof *f);
    ctune_ctx_init(&f->ctx);
    if (ctune_te_parse(&f->ctx, text, &f->region) != CTUNE_OK ||
        ctune_deps_create(&f->ctx, f->region, &f->deps) != CTUNE_OK ||
        ctune_tree_from_source(&f->ctx, f->region, &f->tree) != CTUNE_OK) {
        fail_msg("%s in\n%s", f->ctx.error, text);
    }
}

static inline void fixture_clear(fixture *f) {
    ctune_tree_destroy(f->tree);
    ctune_deps_destroy(f->deps);
    ctune_region_destroy(f->region);
}

static inline void expect_tree(const fixture *f, const ctune_tree *tree, const char *expected) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_tree_print(f->region, tree, &text);
    assert_string_equal(ctune_text_get(&text), expected);
    ctune_text_clear(&text);
}

static inline void expect_deps(const fixture *f, const char *expected) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_deps_print(f->deps, &text);
    assert_string_equal(ctune_text_get(&text), expected);
    ctune_text_clear(&text);
}

/* ---- instances ------------------------------------------------------------------------------- */

enum { BRUTE_MAX = 12000, BRUTE_LOW = -100, BRUTE_HIGH = 200 };

typedef struct instance {
    int stmt;
    int64_t dim[CTUNE_MAX_DEPTH];  /* by position */
    int64_t axis[CTUNE_MAX_DEPTH]; /* by position in the stage's axes */
} instance;

typedef struct instances {
    int n;
    instance at[BRUTE_MAX];
} instances;

typedef struct brute {
    const ctune_region *region;
    const ctune_tree *tree;
    const int64_t *params;
    instances *out;
} brute;

static inline int64_t brute_div(const brute *b, int id, const ctune_stage *stage,
                                const int64_t *axis) {
    int64_t axes[256] = {0};
    for (int d = 0; d < stage->n_axes; d++) {
        axes[stage->axes[d]] = axis[d];
    }
    const ctune_term term = {CTUNE_TERM_DIV, id, 1};
    const ctune_aff aff = {0, 1, &term};
    return ctune_aff_eval(b->region, &aff, axes, b->params);
}

/* Value of a statement's aff at its loops; *known false when it needs a dim at or beyond n_known.
 */
static inline int64_t brute_eval(const brute *b, const ctune_stmt *s, const ctune_aff *aff,
                                 const int64_t *dim, int n_known, const int64_t *axis,
                                 bool *known) {
    int64_t value = aff->c0;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_PARAM) {
            value += term->coef * b->params[term->id];
        } else if (term->kind == CTUNE_TERM_AXIS) {
            int p = 0;
            while (p < s->n_dims && s->dims[p] != term->id) {
                p++;
            }
            assert_true(p < s->n_dims);
            *known = *known && p < n_known;
            value += p < n_known ? term->coef * dim[p] : 0;
        } else {
            *known = *known && axis != NULL;
            value += axis == NULL
                         ? 0
                         : term->coef * brute_div(b, term->id, &b->region->stages[s->stage], axis);
        }
    }
    return value;
}

static inline bool brute_holds(const brute *b, const ctune_stmt *s, const int64_t *dim, int n_known,
                               const int64_t *axis) {
    for (int c = 0; c < s->n_cons; c++) {
        bool known = true;
        if (brute_eval(b, s, s->cons[c], dim, n_known, axis, &known) < 0 && known) {
            return false;
        }
    }
    return true;
}

static inline void brute_scan(const brute *b, instance *at, int p) {
    const ctune_stmt *s = &b->tree->stmts[at->stmt];
    if (p < s->n_dims) {
        for (int64_t v = BRUTE_LOW; v <= BRUTE_HIGH; v++) {
            at->dim[p] = v;
            if (brute_holds(b, s, at->dim, p + 1, NULL)) {
                brute_scan(b, at, p + 1);
            }
        }
        return;
    }
    bool known = true;
    for (int d = 0; d < b->region->stages[s->stage].n_axes; d++) {
        at->axis[d] = brute_eval(b, s, s->iter[d], at->dim, p, NULL, &known);
    }
    if (brute_holds(b, s, at->dim, p, at->axis)) {
        assert_true(b->out->n < BRUTE_MAX);
        b->out->at[b->out->n++] = *at;
    }
}

/* All instances of a tree's statements. */
static inline void brute_instances(const ctune_region *region, const ctune_tree *tree,
                                   const int64_t *params, instances *out) {
    brute b = {region, tree, params, out};
    out->n = 0;
    for (int s = 0; s < tree->n_stmts; s++) {
        instance at = {.stmt = s};
        brute_scan(&b, &at, 0);
    }
}

/* ---- order and conflicts
 * ------------------------------------------------------------------------------------- */

static inline int brute_number(const ctune_tnode *node, int *position, int next) {
    if (node->kind == CTUNE_TNODE_STMT) {
        position[node->stmt] = next++;
    }
    for (int k = 0; k < node->n_kids; k++) {
        next = brute_number(node->kids[k], position, next);
    }
    return next;
}

/* < 0: a runs before b. n_common and signs (of b - a) are written when not NULL. */
static inline int brute_compare(const ctune_tree *tree, const int *position, const instance *a,
                                const instance *b, ctune_depvec *vec) {
    const ctune_stmt *s = &tree->stmts[a->stmt], *t = &tree->stmts[b->stmt];
    int n = 0, result = 0;
    for (; n < s->n_dims && n < t->n_dims && s->dims[n] == t->dims[n]; n++) {
        int sign = (b->dim[n] > a->dim[n]) - (b->dim[n] < a->dim[n]);
        result = result != 0 ? result : -sign;
        if (vec != NULL) {
            vec->sign[n] = sign > 0 ? CTUNE_SIGN_POS : sign < 0 ? CTUNE_SIGN_NEG : CTUNE_SIGN_ZERO;
            vec->min[n] = vec->max[n] = b->dim[n] - a->dim[n];
        }
    }
    if (vec != NULL) {
        vec->src = a->stmt;
        vec->dst = b->stmt;
        vec->n_common = n;
    }
    return result != 0 ? result : position[a->stmt] - position[b->stmt];
}

static inline bool brute_is_touching(const ctune_region *region, const int64_t *params,
                                     const instance *a, const ctune_access *x, const instance *b,
                                     const ctune_access *y) {
    int64_t ax[256] = {0}, bx[256] = {0};
    const ctune_stage *s = &region->stages[a->stmt], *t = &region->stages[b->stmt];
    for (int d = 0; d < s->n_axes; d++) {
        ax[s->axes[d]] = a->axis[d];
    }
    for (int d = 0; d < t->n_axes; d++) {
        bx[t->axes[d]] = b->axis[d];
    }
    bool same = x->tensor == y->tensor;
    for (int i = 0; same && i < x->n_idx; i++) {
        same = ctune_aff_eval(region, x->idx[i], ax, params) ==
               ctune_aff_eval(region, y->idx[i], bx, params);
    }
    return same;
}

/* Must a and b keep their order? The test regions use +=, of f32 (kept) and i32 (may be reordered),
 * and =. */
static inline bool brute_is_dependent(const ctune_region *region, const int64_t *params,
                                      const instance *a, const instance *b) {
    const ctune_stage *s = &region->stages[a->stmt], *t = &region->stages[b->stmt];
    bool may_drop = s->update == CTUNE_UPDATE_ADD && t->update == CTUNE_UPDATE_ADD &&
                    region->tensors[s->target.tensor].type == CTUNE_I32;
    if (!may_drop && brute_is_touching(region, params, a, &s->target, b, &t->target)) {
        return true;
    }
    for (int r = 0; r < t->n_reads; r++) {
        if (brute_is_touching(region, params, a, &s->target, b, &t->reads[r]->access)) {
            return true;
        }
    }
    for (int r = 0; r < s->n_reads; r++) {
        if (brute_is_touching(region, params, a, &s->reads[r]->access, b, &t->target)) {
            return true;
        }
    }
    return false;
}

static inline int brute_find(const instances *list, const instance *what) {
    for (int i = 0; i < list->n; i++) {
        if (list->at[i].stmt == what->stmt &&
            memcmp(list->at[i].axis, what->axis, sizeof what->axis) == 0) {
            return i;
        }
    }
    return -1;
}

typedef struct verdict {
    bool same_points; /* the tree runs each instance of the source exactly once */
    bool legal;
    int n_vecs; /* different direction vectors with their distances, up to 512 */
    ctune_depvec vec[512];
} verdict;

static inline void brute_add_vec(verdict *v, const ctune_depvec *vec) {
    for (int i = 0; i < v->n_vecs; i++) {
        ctune_depvec *old = &v->vec[i];
        if (old->src == vec->src && old->dst == vec->dst &&
            memcmp(old->sign, vec->sign, (size_t)vec->n_common) == 0) {
            for (int d = 0; d < vec->n_common; d++) {
                old->min[d] = vec->min[d] < old->min[d] ? vec->min[d] : old->min[d];
                old->max[d] = vec->max[d] > old->max[d] ? vec->max[d] : old->max[d];
            }
            return;
        }
    }
    if (v->n_vecs < 512) {
        v->vec[v->n_vecs++] = *vec;
    }
}

/* Judge tree against source at params. Statement numbers are stage numbers in both. v->vec grows
 * over calls. */
static inline void brute_judge(const ctune_region *region, const ctune_tree *source,
                               const ctune_tree *tree, const int64_t *params, verdict *v) {
    instances *old = malloc(sizeof *old), *now = malloc(sizeof *now);
    int old_position[CTUNE_MAX_STMTS], position[CTUNE_MAX_STMTS];
    assert_true(old != NULL && now != NULL);
    brute_number(source->root, old_position, 0);
    brute_number(tree->root, position, 0);
    brute_instances(region, source, params, old);
    brute_instances(region, tree, params, now);
    v->same_points = old->n == now->n;
    v->legal = true;
    for (int i = 0; v->same_points && v->legal && i < old->n; i++) {
        int at = brute_find(now, &old->at[i]);
        v->same_points = at >= 0;
        for (int j = 0; v->same_points && j < old->n; j++) {
            if (brute_compare(source, old_position, &old->at[i], &old->at[j], NULL) >= 0 ||
                !brute_is_dependent(region, params, &old->at[i], &old->at[j])) {
                continue;
            }
            int to = brute_find(now, &old->at[j]);
            ctune_depvec vec = {0};
            if (to < 0) {
                v->same_points = false;
            } else if (brute_compare(tree, position, &now->at[at], &now->at[to], &vec) >= 0) {
                v->legal = false;
            } else {
                brute_add_vec(v, &vec);
            }
        }
    }
    free(old);
    free(now);
}

#endif
