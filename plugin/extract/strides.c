/*
 * Strides: see strides.h.
 *
 * In: b->accs with polynomial indices. Out: for one tensor, the factors of its counters, sorted so
 * that each divides the one before: single products of parameters (n*m, n), or sums of such
 * ((n + 2), x_max + 4), and the extents that they imply.
 */
#include "plugin/extract/strides.h"

#include <stdlib.h>

/* ---- strides --------------------------------------------------------------------------------- */

/* The parameters of a monomial, coefficient 1. false: more than one counter or division. */
bool ctune_stride_params(const ctune_mono *m, ctune_mono *out, int *n_others) {
    *out = (ctune_mono){.coef = 1};
    *n_others = 0;
    for (int i = 0; i < m->degree; i++) {
        if (m->atom[i].kind == CTUNE_TERM_PARAM) {
            out->atom[out->degree++] = m->atom[i];
        } else {
            (*n_others)++;
        }
    }
    return *n_others <= 1;
}

/* whole / part. false: part does not divide it. */
bool ctune_stride_divide(const ctune_mono *whole, const ctune_mono *part, ctune_mono *out) {
    *out = (ctune_mono){0};
    if (part->coef == 0 || whole->coef % part->coef != 0) {
        return false;
    }
    out->coef = whole->coef / part->coef;
    int j = 0;
    for (int i = 0; i < whole->degree; i++) {
        bool is_common = j < part->degree && whole->atom[i].kind == part->atom[j].kind &&
                         whole->atom[i].id == part->atom[j].id;
        if (is_common) {
            j++;
        } else {
            out->atom[out->degree++] = whole->atom[i];
        }
    }
    return j == part->degree;
}

static int64_t gcd(int64_t x, int64_t y) {
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    while (y != 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

static bool add_stride(ctune_shape *s, const ctune_mono *part, int64_t coef) {
    for (int i = 0; i < s->n; i++) {
        if (ctune_mono_compare(&s->stride[i], part) == 0) {
            s->stride[i].coef = gcd(s->stride[i].coef, coef);
            return true;
        }
    }
    if (s->n == CTUNE_MAX_STRIDES) {
        return false;
    }
    s->stride[s->n] = *part;
    s->stride[s->n++].coef = coef < 0 ? -coef : coef;
    return true;
}

static int larger_first(const void *x, const void *y) {
    const ctune_mono *u = x, *v = y;
    if (u->degree != v->degree) {
        return u->degree > v->degree ? -1 : 1;
    }
    return u->coef > v->coef ? -1 : u->coef < v->coef;
}

/* Distinct parameter products that multiply a counter, each dividing the one before; the last is 1.
 */
bool ctune_strides_find(ctune_build *b, int tensor, ctune_shape *s) {
    s->n = 0;
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        const ctune_poly *poly = acc->idx[0];
        for (int k = 0; acc->tensor == tensor && k < poly->n; k++) {
            ctune_mono part;
            int n_others;
            if (!ctune_stride_params(&poly->mono[k], &part, &n_others) ||
                (n_others == 1 && !add_stride(s, &part, poly->mono[k].coef))) {
                return false;
            }
        }
    }
    qsort(s->stride, (size_t)s->n, sizeof *s->stride, larger_first);
    bool has_one = s->n > 0 && s->stride[s->n - 1].degree == 0;
    if (!has_one) {
        if (s->n == CTUNE_MAX_STRIDES) {
            return false;
        }
        s->n++;
    }
    s->stride[s->n - 1] = (ctune_mono){.coef = 1};
    for (int i = s->n - 1; i > 0; i--) {
        ctune_mono quotient;
        if (!ctune_stride_divide(&s->stride[i - 1], &s->stride[i], &quotient)) {
            s->stride[i - 1].coef = 1;
            if (!ctune_stride_divide(&s->stride[i - 1], &s->stride[i], &quotient)) {
                return false;
            }
        }
    }
    return true;
}

static int64_t content_of(const ctune_poly *poly) {
    int64_t content = 0;
    for (int i = 0; i < poly->n; i++) {
        content = gcd(content, poly->mono[i].coef);
    }
    return poly->n > 0 && poly->mono[0].coef < 0 ? -content : content;
}

/* What the counter is multiplied by, as a sum of products of parameters. */
static const ctune_poly *coefficient(ctune_build *b, const ctune_poly *poly, ctune_atom counter) {
    const ctune_poly *sum = ctune_poly_const(b->arena, 0);
    for (int k = 0; k < poly->n; k++) {
        ctune_mono part;
        int n_others;
        bool has = false;
        for (int d = 0; d < poly->mono[k].degree; d++) {
            has |= poly->mono[k].atom[d].kind == counter.kind &&
                   poly->mono[k].atom[d].id == counter.id;
        }
        if (has && ctune_stride_params(&poly->mono[k], &part, &n_others)) {
            part.coef = poly->mono[k].coef;
            sum = ctune_poly_add(b->arena, sum, ctune_poly_collect(b->arena, &part, 1));
        }
    }
    return sum;
}

static bool add_sum(ctune_build *b, ctune_shape *s, const ctune_poly *coef, ctune_atom counter) {
    int axis = counter.kind == CTUNE_TERM_AXIS ? counter.id : INT32_MAX;
    int64_t content = coef == NULL ? 0 : content_of(coef), value;
    if (coef == NULL || content == 0 || ctune_poly_is_const(coef, &value)) {
        return coef != NULL; /* with the stride 1 */
    }
    ctune_mono *mono = CTUNE_NEW_ARRAY(b->arena, ctune_mono, coef->n);
    for (int i = 0; i < coef->n && mono != NULL; i++) {
        mono[i] = coef->mono[i];
        mono[i].coef /= content;
    }
    const ctune_poly *base = mono == NULL ? NULL : ctune_poly_collect(b->arena, mono, coef->n);
    for (int i = 0; i < s->n && base != NULL; i++) {
        if (ctune_poly_is_equal(s->sum[i], base)) {
            s->stride[i].coef = gcd(s->stride[i].coef, content);
            s->axis[i] = axis < s->axis[i] ? axis : s->axis[i];
            return true;
        }
    }
    if (base == NULL || s->n + 1 >= CTUNE_MAX_STRIDES) {
        return false;
    }
    int at = s->n++;
    for (; at > 0; at--) { /* by degree; the outer loop's first */
        const ctune_mono *u = &base->mono[0], *v = &s->sum[at - 1]->mono[0];
        if (u->degree < v->degree || (u->degree == v->degree && axis >= s->axis[at - 1])) {
            break;
        }
        s->sum[at] = s->sum[at - 1];
        s->stride[at] = s->stride[at - 1];
        s->axis[at] = s->axis[at - 1];
    }
    s->axis[at] = axis;
    s->sum[at] = base;
    s->stride[at].coef = gcd(content, 0);
    return true;
}

/* Which form in parameters is above the d-th index of the first access? NULL: no single one. */
static const ctune_aff *bound_of(ctune_build *b, int tensor, const ctune_shape *s, int d) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        const ctune_poly *poly = acc->idx[0], *idx = NULL;
        if (acc->tensor != tensor) {
            continue;
        }
        for (int k = 0; k <= d; k++) {
            idx = ctune_poly_divide(b->arena, poly, s->sum[k], &poly);
        }
        bool is_axis = idx != NULL && idx->n == 1 && idx->mono[0].degree == 1 &&
                       idx->mono[0].coef == 1 && idx->mono[0].atom[0].kind == CTUNE_TERM_AXIS;
        for (int c = 0; c < acc->n_cons && is_axis; c++) {
            int axis = idx->mono[0].atom[0].id;
            const ctune_aff *end = ctune_aff_add(
                b->arena, acc->cons[c], ctune_aff_term(b->arena, CTUNE_TERM_AXIS, axis, 1));
            if (ctune_aff_coef(acc->cons[c], CTUNE_TERM_AXIS, axis) == -1 && end != NULL &&
                !ctune_aff_has_kind(end, CTUNE_TERM_AXIS) &&
                !ctune_aff_has_kind(end, CTUNE_TERM_DIV)) {
                return ctune_aff_add_const(b->arena, end, 1);
            }
        }
    }
    return NULL;
}

/* t*C + h*size + i: rows of C elements are NH rows of `size` elements when C == NH * size, which
 * becomes a fact; NH is where h ends. */
static const ctune_aff *product_extent(ctune_build *b, int tensor, const ctune_shape *s, int d) {
    const ctune_aff *extent = b->no_assume ? NULL : bound_of(b, tensor, s, d);
    const ctune_poly *rows = ctune_poly_from_aff(b->arena, extent);
    if (rows == NULL) {
        return NULL;
    }
    ctune_param_prefer(b, rows, 16);
    ctune_param_prefer(b, s->sum[d], 64);
    const ctune_poly *product = ctune_poly_mul(b->arena, rows, s->sum[d]);
    const ctune_aff *whole =
        ctune_affine_form(b, s->sum[d - 1], CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, b->statement);
    const ctune_aff *parts =
        ctune_affine_form(b, product, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, b->statement);
    const ctune_aff *facts[2] = {ctune_aff_sub(b->arena, whole, parts),
                                 ctune_aff_sub(b->arena, parts, whole)};
    if (facts[0] == NULL || facts[1] == NULL || !ctune_facts_suit(b, 2, facts)) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
        if (assume == NULL) {
            return NULL;
        }
        assume->aff = facts[i];
    }
    return extent;
}

/* The user's sizes say that a stride is 1: a[i * rs + j * cs] with cs = 1. */
bool ctune_strides_unit(ctune_build *b, int tensor) {
    bool found = false;
    for (int p = 0; p < b->params.n; p++) {
        const ctune_param *param = &b->params.at[p];
        bool is_stride = false;
        for (int i = 0; i < b->accs.n; i++) {
            const ctune_poly *poly = b->accs.at[i].idx[0];
            for (int k = 0; b->accs.at[i].tensor == tensor && k < poly->n; k++) {
                const ctune_mono *m = &poly->mono[k];
                for (int d = 0; d < m->degree && m->degree > 1; d++) {
                    is_stride |= m->atom[d].kind == CTUNE_TERM_PARAM && m->atom[d].id == p;
                }
            }
        }
        if (!is_stride || param->n_sizes != 1 || param->sizes[0] != 1) {
            continue;
        }
        const ctune_aff *one = ctune_aff_const(b->arena, 1);
        const ctune_aff *at = ctune_aff_term(b->arena, CTUNE_TERM_PARAM, p, 1);
        for (int i = 0; i < 2; i++) {
            ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
            if (assume == NULL) {
                return false;
            }
            assume->aff =
                i == 0 ? ctune_aff_sub(b->arena, at, one) : ctune_aff_sub(b->arena, one, at);
        }
        for (int i = 0; i < b->accs.n; i++) {
            if (b->accs.at[i].tensor == tensor) {
                b->accs.at[i].idx[0] =
                    ctune_poly_subst(b->arena, b->accs.at[i].idx[0], CTUNE_TERM_PARAM, p,
                                     ctune_poly_const(b->arena, 1));
            }
        }
        found = true;
    }
    return found;
}

/* ---- multiples ------------------------------------------------------------------------------- */

static bool has_param(const ctune_mono *m, int param) {
    for (int d = 0; d < m->degree; d++) {
        if (m->atom[d].kind == CTUNE_TERM_PARAM && m->atom[d].id == param) {
            return true;
        }
    }
    return false;
}

/* A parameter that multiplies a counter by itself. The one of the least size. */
static int find_unit(const ctune_build *b, int tensor) {
    int best = -1;
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_poly *poly = b->accs.at[i].idx[0];
        for (int k = 0; b->accs.at[i].tensor == tensor && k < poly->n; k++) {
            const ctune_mono *m = &poly->mono[k];
            int n_params = 0, param = -1;
            for (int d = 0; d < m->degree; d++) {
                bool is_param = m->atom[d].kind == CTUNE_TERM_PARAM;
                n_params += is_param;
                param = is_param ? m->atom[d].id : param;
            }
            bool is_unit = m->degree == 2 && n_params == 1 && b->params.at[param].n_sizes > 0;
            if (is_unit &&
                (best < 0 || b->params.at[param].sizes[0] < b->params.at[best].sizes[0])) {
                best = param;
            }
        }
    }
    return best;
}

/* Another one, in a product without the unit, whose sizes the unit's divide. */
static int find_multiple(const ctune_build *b, int tensor, int unit) {
    const ctune_param *u = &b->params.at[unit];
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_poly *poly = b->accs.at[i].idx[0];
        for (int k = 0; b->accs.at[i].tensor == tensor && k < poly->n; k++) {
            const ctune_mono *m = &poly->mono[k];
            for (int d = 0; d < m->degree && !has_param(m, unit); d++) {
                bool is_param = m->atom[d].kind == CTUNE_TERM_PARAM;
                const ctune_param *q = is_param ? &b->params.at[m->atom[d].id] : NULL;
                bool divides = is_param && q->n_sizes == u->n_sizes &&
                               b->param_infos.at[m->atom[d].id].origin == CTUNE_SIZE_GIVEN;
                for (int s = 0; divides && s < q->n_sizes; s++) {
                    divides = u->sizes[s] > 1 && q->sizes[s] % u->sizes[s] == 0 &&
                              q->sizes[s] > u->sizes[s];
                }
                if (divides) {
                    return m->atom[d].id;
                }
            }
        }
    }
    return -1;
}

/* The quotient as a parameter, 0 where there is none, and the fact that nothing is left. */
static int quotient_of(ctune_build *b, int whole, int unit) {
    const char *w = b->params.at[whole].c_text, *u = b->params.at[unit].c_text;
    const char *text = ctune_arena_printf(b->arena, "(%s > 0 ? (long)%s / %s : 0)", u, w, u);
    int64_t size = b->params.at[whole].sizes[0] / b->params.at[unit].sizes[0];
    bool is_memory = b->param_infos.at[whole].is_memory || b->param_infos.at[unit].is_memory;
    int n_params = b->params.n;
    int param = text == NULL ? -1 : ctune_param_of_text(b, text, CTUNE_I64, size, is_memory);
    if (param < 0) {
        return -1;
    }
    const char *name = ctune_arena_printf(b->arena, "%s_per_%s", b->params.at[whole].name,
                                          b->params.at[unit].name);
    name = name == NULL ? NULL : ctune_build_name(b, name);
    if (name == NULL) {
        return -1;
    }
    b->params.at[param].name = param == n_params ? name : b->params.at[param].name;
    b->params.at[param].n_sizes = b->params.at[whole].n_sizes;
    for (int s = 0; s < b->params.at[whole].n_sizes; s++) {
        b->params.at[param].sizes[s] = b->params.at[whole].sizes[s] / b->params.at[unit].sizes[s];
    }
    const ctune_poly *product =
        ctune_poly_mul(b->arena, ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, param),
                       ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, unit));
    const ctune_aff *parts =
        ctune_affine_form(b, product, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, b->statement);
    const ctune_aff *all = ctune_aff_term(b->arena, CTUNE_TERM_PARAM, whole, 1);
    for (int i = 0; i < 2 && parts != NULL; i++) {
        ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
        if (assume == NULL) {
            return -1;
        }
        assume->aff =
            i == 0 ? ctune_aff_sub(b->arena, all, parts) : ctune_aff_sub(b->arena, parts, all);
    }
    return parts != NULL ? param : -1;
}

bool ctune_strides_multiples(ctune_build *b, int tensor) {
    enum { MOST = 8 };
    int unit = b->no_assume ? -1 : find_unit(b, tensor);
    bool found = false;
    for (int n = 0; unit >= 0 && n < MOST; n++) {
        int whole = find_multiple(b, tensor, unit);
        int quotient = whole < 0 ? -1 : quotient_of(b, whole, unit);
        if (quotient < 0) {
            break;
        }
        const ctune_poly *product =
            ctune_poly_mul(b->arena, ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, quotient),
                           ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, unit));
        for (int i = 0; i < b->accs.n; i++) {
            if (b->accs.at[i].tensor == tensor) {
                b->accs.at[i].idx[0] = ctune_poly_subst(b->arena, b->accs.at[i].idx[0],
                                                        CTUNE_TERM_PARAM, whole, product);
            }
        }
        found = true;
    }
    return found;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Distinct factors of the counters as sums, each a multiple of the next; the last is 1. */
bool ctune_strides_sums(ctune_build *b, int tensor, ctune_shape *s) {
    *s = (ctune_shape){0};
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        const ctune_poly *poly = acc->idx[0];
        for (int k = 0; acc->tensor == tensor && k < poly->n; k++) {
            for (int d = 0; d < poly->mono[k].degree; d++) {
                ctune_atom atom = poly->mono[k].atom[d];
                if (atom.kind != CTUNE_TERM_PARAM &&
                    !add_sum(b, s, coefficient(b, poly, atom), atom)) {
                    return false;
                }
            }
        }
    }
    if (s->n == 0) {
        return false;
    }
    for (int d = 0; d < s->n; d++) {
        s->sum[d] = ctune_poly_scale(b->arena, s->sum[d], s->stride[d].coef);
    }
    s->sum[s->n++] = ctune_poly_const(b->arena, 1);
    for (int d = 1; d < s->n; d++) {
        const ctune_poly *rest = NULL;
        const ctune_poly *quotient = ctune_poly_divide(b->arena, s->sum[d - 1], s->sum[d], &rest);
        s->extent[d] =
            quotient != NULL && rest->n == 0
                ? ctune_affine_form(b, quotient, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, b->statement)
                : product_extent(b, tensor, s, d);
        if (s->extent[d] == NULL) {
            return false;
        }
    }
    return true;
}

/* Split the last dimension by the constant factors of its counters: 100*i + j. false: nothing to
 * split. */
bool ctune_strides_split(ctune_build *b, int tensor, ctune_shape *s) {
    int64_t coefs[CTUNE_MAX_STRIDES];
    int n = 0;
    bool has_one = false;
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        const ctune_poly *poly = acc->idx[0];
        for (int k = 0; acc->tensor == tensor && k < poly->n; k++) {
            const ctune_mono *m = &poly->mono[k];
            bool is_new = m->degree == 1 && m->atom[0].kind != CTUNE_TERM_PARAM;
            int64_t coef = m->coef < 0 ? -m->coef : m->coef;
            has_one |= is_new && coef == 1;
            for (int j = 0; j < n && is_new; j++) {
                is_new = coefs[j] != coef;
            }
            if (is_new && coef > 1) {
                if (n == CTUNE_MAX_STRIDES) {
                    return false;
                }
                coefs[n++] = coef;
            }
        }
    }
    if (n == 0 || !has_one || s->n + n > CTUNE_MAX_STRIDES) {
        return false;
    }
    int last = --s->n;
    for (int i = 0; i < n; i++) {
        s->stride[s->n++] = (ctune_mono){.coef = coefs[i]};
    }
    qsort(s->stride + last, (size_t)n, sizeof *s->stride, larger_first);
    s->stride[s->n++] = (ctune_mono){.coef = 1};
    for (int i = last > 0 ? last : 1; i < s->n; i++) {
        if (s->stride[i - 1].degree == 0 && s->stride[i - 1].coef % s->stride[i].coef != 0) {
            return false;
        }
    }
    return true;
}

bool ctune_strides_extents(ctune_build *b, ctune_shape *s, CXCursor at) {
    for (int d = 1; d < s->n; d++) {
        ctune_mono quotient;
        if (!ctune_stride_divide(&s->stride[d - 1], &s->stride[d], &quotient)) {
            return false;
        }
        const ctune_poly *poly = ctune_poly_collect(b->arena, &quotient, 1);
        s->extent[d] = ctune_affine_form(b, poly, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, at);
        if (s->extent[d] == NULL) {
            return false;
        }
    }
    return true;
}
