/*
 * Ranges of accesses (search/lower/touched.h) against brute force.
 *
 * In: a region, values of its parameters. Each stage's domain is counted out in a box around it;
 * the least and greatest value of each index must be the range's ends where all coefficients are 1,
 * and lie inside else. A stage without an instance must be told by a row below 0 or an empty range:
 * else memory is copied that the source does not touch.
 */
#include "tests/property/touched_check.h"

#include <stdio.h>
#include <string.h>

#include "search/lower/touched.h"

enum { LOW = -4, MAX_AXES = 4, MAX_SPAN = 48 };

static int64_t value_of(const ctune_loops *l, const ctune_aff *aff, const int64_t *params);

static int64_t atom_value(const ctune_loops *l, const ctune_atom *atom, const int64_t *params) {
    int64_t a = value_of(l, atom->a, params);
    int64_t b = atom->b == NULL ? 0 : value_of(l, atom->b, params);
    switch (atom->kind) {
    case CTUNE_ATOM_FLOOR:
        return a / atom->den - (a % atom->den < 0);
    case CTUNE_ATOM_MIN:
        return a < b ? a : b;
    case CTUNE_ATOM_MAX:
        return a > b ? a : b;
    default:
        return a * b;
    }
}

/* Of a form of the program over parameters. */
static int64_t value_of(const ctune_loops *l, const ctune_aff *aff, const int64_t *params) {
    int64_t sum = aff->c0;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        sum += x->coef * (x->kind == CTUNE_TERM_PARAM ? params[x->id]
                                                      : atom_value(l, &l->atom[x->id], params));
    }
    return sum;
}

/* Of a form of the region without divisions, at axes. */
static int64_t at(const ctune_stage *stage, const ctune_aff *aff, const int64_t *params,
                  const int64_t *axis) {
    int64_t sum = aff->c0;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *x = &aff->terms[t];
        int64_t v = x->kind == CTUNE_TERM_PARAM ? params[x->id] : 0;
        for (int d = 0; d < stage->n_axes && x->kind == CTUNE_TERM_AXIS; d++) {
            v = stage->axes[d] == x->id ? axis[d] : v;
        }
        sum += x->coef * v;
    }
    return sum;
}

static bool is_unit(const ctune_aff *aff) {
    for (int t = 0; t < aff->n_terms; t++) {
        if (aff->terms[t].kind == CTUNE_TERM_DIV ||
            (aff->terms[t].kind == CTUNE_TERM_AXIS && aff->terms[t].coef != 1 &&
             aff->terms[t].coef != -1)) {
            return false;
        }
    }
    return true;
}

static bool is_plain(const ctune_stage *stage, int64_t most) {
    bool is_known = stage->n_axes <= MAX_AXES && stage->guard == NULL && most - LOW <= MAX_SPAN;
    for (int c = 0; c < stage->n_cons && is_known; c++) {
        is_known = !ctune_aff_has_kind(stage->cons[c], CTUNE_TERM_DIV);
    }
    return is_known;
}

typedef struct extremes {
    bool any;
    int64_t lo, hi;
} extremes;

/* By counting. */
static extremes count(const ctune_stage *stage, const ctune_aff *idx, const int64_t *params,
                      int64_t most) {
    extremes out = {0};
    int64_t axis[MAX_AXES] = {LOW, LOW, LOW, LOW};
    for (;;) {
        bool holds = true;
        for (int c = 0; c < stage->n_cons && holds; c++) {
            holds = at(stage, stage->cons[c], params, axis) >= 0;
        }
        if (holds) {
            int64_t v = at(stage, idx, params, axis);
            out.lo = !out.any || v < out.lo ? v : out.lo;
            out.hi = !out.any || v > out.hi ? v : out.hi;
            out.any = true;
        }
        int d = stage->n_axes - 1;
        while (d >= 0 && ++axis[d] > most) {
            axis[d--] = LOW;
        }
        if (d < 0) {
            return out;
        }
    }
}

static const char *check_index(ctune_loops *l, const ctune_stage *stage, const ctune_access *access,
                               const ctune_expr *read, int d, const int64_t *params, int64_t most,
                               long *n_checked) {
    static char words[200];
    ctune_touched touched;
    if (ctune_aff_has_kind(access->idx[d], CTUNE_TERM_DIV)) {
        return NULL;
    }
    ctune_touched_find(l, stage, access, read, d, &touched);
    if (touched.lo == NULL || touched.hi == NULL) {
        return NULL;
    }
    bool is_exact = is_unit(access->idx[d]), is_possible = true;
    for (int c = 0; c < stage->n_cons; c++) {
        is_exact = is_exact && is_unit(stage->cons[c]);
    }
    for (int i = 0; i < touched.n_rows; i++) {
        is_possible = is_possible && value_of(l, touched.rows[i], params) >= 0;
    }
    int64_t lo = value_of(l, touched.lo, params), hi = value_of(l, touched.hi, params);
    is_possible = is_possible && lo <= hi;
    extremes real = count(stage, access->idx[d], params, most);
    ++*n_checked;
    bool is_wrong = real.any ? !is_possible || lo > real.lo || hi < real.hi ||
                                   (is_exact && (lo != real.lo || hi != real.hi))
                             : is_exact && is_possible;
    if (is_wrong) {
        snprintf(words, sizeof words,
                 "stage %s, index %d of %s: %lld .. %lld (%s), really %lld .. %lld (%s)",
                 stage->name, d, l->region->tensors[access->tensor].name, (long long)lo,
                 (long long)hi, is_possible ? "some" : "none", (long long)real.lo,
                 (long long)real.hi, real.any ? "some" : "none");
    }
    return is_wrong ? words : NULL;
}

const char *touched_check(ctune_ctx *ctx, const ctune_region *region, const int64_t *params,
                          long *n_checked) {
    ctune_loops *l = NULL;
    const char *wrong = NULL;
    int64_t most = 0;
    for (int i = 0; i < region->n_params; i++) {
        most += params[i];
    }
    most += 20; /* constant extents */
    if (ctune_loops_create(ctx, region, &l) != CTUNE_OK) {
        return "out of memory";
    }
    for (int s = 0; s < region->n_stages && wrong == NULL; s++) {
        const ctune_stage *stage = &region->stages[s];
        if (!is_plain(stage, stage->n_axes > 2 ? most + MAX_SPAN / 3 : most)) {
            continue;
        }
        for (int k = -1; k < stage->n_reads && wrong == NULL; k++) {
            const ctune_access *a = k < 0 ? &stage->target : &stage->reads[k]->access;
            for (int d = 0; d < a->n_idx && wrong == NULL; d++) {
                wrong = check_index(l, stage, a, k < 0 ? NULL : stage->reads[k], d, params, most,
                                    n_checked);
            }
        }
    }
    ctune_loops_destroy(l);
    return wrong;
}
