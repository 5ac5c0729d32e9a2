/*
 * Loads: elements of integer arrays in subscripts and bounds, b[ix[i]], k < row[i + 1].
 *
 * In: lvalues met where an affine value is wanted. Out: divs of the region that are loads (te.h),
 * when the region stores nothing through the array's variable: each element then is a function of
 * the counters. Every use is an access like others, so that dimensions are found for it; while the
 * build goes on the div's own indices only say which counters are in them.
 *
 * What a load leads to has no range that the guard could compare, so that an array which is read
 * there must be known to lie apart from what the region writes.
 */
#include "plugin/extract/build.h"

/* ---- making ---------------------------------------------------------------------------------- */

static const ctune_acc *acc_of_slot(const ctune_build *b, const ctune_access *slot) {
    for (int i = 0; i < b->accs.n; i++) {
        if (b->accs.at[i].slot == slot) {
            return &b->accs.at[i];
        }
    }
    return NULL;
}

bool ctune_load_is_slot(const ctune_build *b, const ctune_access *slot) {
    for (int i = 0; i < b->divs.n; i++) {
        if (b->divs.at[i].load == slot) {
            return true;
        }
    }
    return false;
}

/* A form with the counters that stand in the polynomial. */
static const ctune_aff *shadow(ctune_build *b, const ctune_poly *poly) {
    const ctune_aff *sum = ctune_aff_const(b->arena, 0);
    for (int i = 0; i < poly->n; i++) {
        for (int d = 0; d < poly->mono[i].degree; d++) {
            const ctune_atom *atom = &poly->mono[i].atom[d];
            if (atom->kind != CTUNE_TERM_PARAM && sum != NULL &&
                ctune_aff_coef(sum, atom->kind, atom->id) == 0) {
                sum =
                    ctune_aff_add(b->arena, sum, ctune_aff_term(b->arena, atom->kind, atom->id, 1));
            }
        }
    }
    return sum;
}

static bool is_same_element(const ctune_acc *acc, int tensor, const ctune_lval *lval) {
    bool same = acc->tensor == tensor && acc->n_idx == lval->n_dims;
    for (int d = 0; d < lval->n_dims && same; d++) {
        same = ctune_poly_is_equal(acc->idx[d], lval->idx[d]);
    }
    return same;
}

static int find_div(const ctune_build *b, int tensor, const ctune_lval *lval) {
    for (int i = 0; i < b->divs.n; i++) {
        const ctune_acc *acc =
            b->divs.at[i].load == NULL ? NULL : acc_of_slot(b, b->divs.at[i].load);
        if (acc != NULL && is_same_element(acc, tensor, lval)) {
            return i;
        }
    }
    return -1;
}

static int new_div(ctune_build *b, int tensor, const ctune_lval *lval) {
    ctune_access *slot = CTUNE_NEW(b->arena, ctune_access);
    const ctune_aff **idx = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, lval->n_dims + 1);
    ctune_div *div = slot == NULL || idx == NULL ? NULL : CTUNE_PUSH(b, b->divs);
    if (div == NULL) {
        return -1;
    }
    for (int d = 0; d < lval->n_dims; d++) {
        idx[d] = shadow(b, lval->idx[d]);
        if (idx[d] == NULL) {
            return -1;
        }
    }
    *slot = (ctune_access){tensor, lval->n_dims, idx};
    div->load = slot;
    return b->divs.n - 1;
}

int ctune_load_div(ctune_build *b, const ctune_lval *lval, CXCursor at) {
    bool is_element = lval->n_steps > 0 && lval->n_dims > 0;
    if (!is_element || lval->root->is_inside || lval->root->is_stored_through ||
        lval->root->n_writes > 0) {
        return -1;
    }
    int tensor = ctune_tensor_of_lval(b, lval, at);
    int div = tensor < 0 ? -1 : find_div(b, tensor, lval);
    div = tensor >= 0 && div < 0 ? new_div(b, tensor, lval) : div;
    ctune_access *slot = div < 0 ? NULL : (ctune_access *)(uintptr_t)b->divs.at[div].load;
    return slot != NULL && ctune_access_add(b, lval, at, slot) >= 0 ? div : -1;
}

/* ---- asking ---------------------------------------------------------------------------------- */

bool ctune_load_in(const ctune_build *b, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_div *div =
            aff->terms[t].kind == CTUNE_TERM_DIV ? &b->divs.at[aff->terms[t].id] : NULL;
        if (div != NULL && (div->load != NULL || ctune_load_in(b, div->num))) {
            return true;
        }
    }
    return false;
}

/* The element as a value of an expression. */
ctune_expr *ctune_load_read(ctune_build *b, int div) {
    const ctune_acc *found = acc_of_slot(b, b->divs.at[div].load);
    ctune_expr *e = found == NULL
                        ? NULL
                        : ctune_expr_new(b, CTUNE_OP_READ, b->tensors.at[found->tensor].t.type, 0);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, b->domain.n + 1);
    if (e == NULL || cons == NULL) {
        return NULL;
    }
    ctune_acc copy = *found; /* the list may move */
    ctune_acc *acc = CTUNE_PUSH(b, b->accs);
    if (acc == NULL) {
        return NULL;
    }
    if (b->domain.n > 0) {
        memcpy(cons, b->domain.at, (size_t)b->domain.n * sizeof *cons);
    }
    *acc = copy;
    acc->n_cons = b->domain.n;
    acc->cons = cons;
    acc->is_maybe = b->n_maybe > 0;
    acc->slot = &e->access;
    e->access.tensor = copy.tensor;
    e->read_id = b->accs.n - 1;
    return e;
}

/* ---- the finished region --------------------------------------------------------------------- */

/* Does the leading index, or a bound of a counter in it, hold a load? */
static bool is_index_unbounded(const ctune_region *region, const ctune_stage *stage,
                               const ctune_aff *idx) {
    bool has_load = ctune_aff_has_load(region, idx);
    for (int c = 0; c < stage->n_cons && !has_load; c++) {
        for (int d = 0; d < stage->n_axes && !has_load; d++) {
            has_load = ctune_aff_has_load(region, stage->cons[c]) &&
                       ctune_aff_coef(stage->cons[c], CTUNE_TERM_AXIS, stage->axes[d]) != 0 &&
                       ctune_aff_coef(idx, CTUNE_TERM_AXIS, stage->axes[d]) != 0;
        }
    }
    return has_load;
}

/* Can the guard not say which elements of the tensor the region touches? */
static bool is_unbounded(const ctune_region *region, int tensor) {
    const ctune_tensor *t = &region->tensors[tensor];
    bool is_open = false;
    for (int s = 0; s < region->n_stages && t->rank > 0 && t->extent[0] == NULL; s++) {
        const ctune_stage *stage = &region->stages[s];
        for (int r = -1; r < stage->n_reads; r++) {
            const ctune_access *a = r < 0 ? &stage->target : &stage->reads[r]->access;
            is_open |= a->tensor == tensor && is_index_unbounded(region, stage, a->idx[0]);
        }
        for (int i = 0; i < region->n_divs; i++) {
            const ctune_access *load = region->divs[i].load;
            is_open |= load != NULL && load->tensor == tensor &&
                       ctune_stage_is_inside(region, stage, i) &&
                       is_index_unbounded(region, stage, load->idx[0]);
        }
    }
    return is_open;
}

static size_t offset_of(const ctune_build *b, const char *name) {
    for (int t = 0; t < b->tensors.n; t++) {
        if (strcmp(b->tensors.at[t].t.name, name) == 0) {
            return b->tensors.at[t].offset;
        }
    }
    return b->begin;
}

bool ctune_loads_check(ctune_build *b, const ctune_region *region) {
    for (int i = 0; i < region->n_tensors && !region->noalias; i++) {
        for (int k = 0; k < region->n_tensors; k++) {
            const ctune_tensor *t = &region->tensors[i], *other = &region->tensors[k];
            if (i != k && is_unbounded(region, i) && ctune_tensors_may_overlap(region, i, k)) {
                return ctune_build_refuse_at(b, CTUNE_REFUSE_MAY_OVERLAP, offset_of(b, t->name),
                                             "which elements of '%s' are used is not known "
                                             "before the loop, and '%s' may lie among them",
                                             t->name, other->name);
            }
        }
    }
    return true;
}
