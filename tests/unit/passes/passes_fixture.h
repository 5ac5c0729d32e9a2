/* Programs for the tests of the passes: a region's text, builders with short names, counts. */
#ifndef CTUNE_TESTS_UNIT_PASSES_PASSES_FIXTURE_H
#define CTUNE_TESTS_UNIT_PASSES_PASSES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search/passes/passes.h"
#include "search/te/te.h"

typedef const ctune_aff *aff;
typedef const ctune_value *val;

typedef struct fixture {
    ctune_ctx ctx;
    ctune_region *region;
    ctune_loops *l;
} fixture;

static inline void fixture_open(fixture *f, const char *te) {
    memset(f, 0, sizeof *f);
    ctune_ctx_init(&f->ctx);
    if (ctune_te_parse(&f->ctx, te, &f->region) != CTUNE_OK) {
        fail_msg("%s", f->ctx.error);
    }
    assert_int_equal(ctune_loops_create(&f->ctx, f->region, &f->l), CTUNE_OK);
}

static inline void fixture_close(fixture *f) {
    ctune_loops_destroy(f->l);
    ctune_region_destroy(f->region);
}

static inline int tensor(const fixture *f, const char *name) {
    for (int t = 0; t < f->region->n_tensors; t++) {
        if (strcmp(f->region->tensors[t].name, name) == 0) {
            return t;
        }
    }
    fail_msg("no tensor %s", name);
    return -1;
}

/* var + c */
static inline aff at(fixture *f, int var, int64_t c) {
    return ctune_loops_var_aff(f->l, var, 1, c);
}

static inline aff num(fixture *f, int64_t c) {
    return ctune_loops_const(f->l, c);
}

static inline aff sum(fixture *f, aff a, aff b) {
    return ctune_aff_add(f->l->arena, a, b);
}

static inline aff param(fixture *f, int id) {
    return ctune_aff_term(f->l->arena, CTUNE_TERM_PARAM, id, 1);
}

static inline ctune_place of_tensor(int id, int n, aff a, aff b) {
    return (ctune_place){.id = id, .n_idx = n, .idx = {a, b}};
}

static inline ctune_place of_buffer(int id, int n, aff a, aff b) {
    return (ctune_place){.is_buffer = true, .id = id, .n_idx = n, .idx = {a, b}};
}

static inline val load(fixture *f, ctune_place place) {
    return ctune_value_load(f->l, &place, 1);
}

static inline ctune_lnode *loop(fixture *f, ctune_lnode *parent, int var, aff lo, aff hi,
                                ctune_lann ann) {
    ctune_lnode *n = ctune_lnode_for(f->l, var, lo, hi, 1, ann);
    ctune_lnode_append(parent, n);
    return n;
}

static inline ctune_lnode *store(fixture *f, ctune_lnode *parent, ctune_place place, val value) {
    ctune_lnode *n = ctune_lnode_store(f->l, &place, value);
    ctune_lnode_append(parent, n);
    return n;
}

/* ---- counting -------------------------------------------------------------------------------- */

static inline int count_value(val v, ctune_value_op op, int lanes) {
    int n = v != NULL && v->op == op && v->lanes == lanes;
    for (int i = 0; v != NULL && i < v->n_kids; i++) {
        n += count_value(v->kids[i], op, lanes);
    }
    return n;
}

/* Values of op and lanes in node and below, as often as they are written. */
static inline int count_values(const ctune_lnode *node, ctune_value_op op, int lanes) {
    int n = 0;
    if (node != NULL) {
        n = count_value(node->value, op, lanes) + count_value(node->test, op, lanes);
        for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
            n += count_values(kid, op, lanes);
        }
        n += count_values(node->other, op, lanes);
    }
    return n;
}

static inline int count_nodes(const ctune_lnode *node, ctune_lnode_kind kind) {
    int n = 0;
    if (node != NULL) {
        n = node->kind == kind;
        for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
            n += count_nodes(kid, kind);
        }
        n += count_nodes(node->other, kind);
    }
    return n;
}

/* The n-th FOR in preorder; NULL when there are fewer. */
static inline ctune_lnode *find_for(ctune_lnode *node, int *n) {
    if (node == NULL || (node->kind == CTUNE_L_FOR && (*n)-- == 0)) {
        return node;
    }
    for (ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        ctune_lnode *found = find_for(kid, n);
        if (found != NULL) {
            return found;
        }
    }
    return node->other == NULL ? NULL : find_for(node->other, n);
}

static inline ctune_lnode *nth_for(fixture *f, int n) {
    return find_for(f->l->root, &n);
}

#endif
