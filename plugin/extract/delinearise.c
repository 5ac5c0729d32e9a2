/*
 * Delinearisation: from polynomial indices to dimensions, for all uses of a tensor at once.
 *
 * In: b->accs with polynomial indices. Out: extents and affine indices in their slots. A[i*n + j]
 * has the strides n and 1, so its dimensions are [?][n]; that each inner index stays inside its row
 * (0 <= j < n) is proved or becomes a run-time fact (lda >= n). Constant strides are split the same
 * way, but only when that needs no fact. Last, indices that may be negative are shifted, so that 0
 * is the first element.
 */
#include "plugin/extract/strides.h"

#include <stdlib.h>

typedef struct final_index {
    const ctune_aff *idx[CTUNE_MAX_RANK];
} final_index;

/* ---- indices --------------------------------------------------------------------------------- */

/* One monomial to the dimension whose stride it is a multiple of. */
static int dimension_of(const ctune_shape *s, const ctune_mono *m, ctune_mono *quotient) {
    ctune_mono part;
    int n_others;
    ctune_stride_params(m, &part, &n_others);
    for (int d = 0; d < s->n; d++) {
        bool fits = ctune_stride_divide(m, &s->stride[d], quotient) && quotient->degree <= 1;
        /* a counter goes with all of its parameters, a plain parameter to the outermost place that
         * it fits */
        if (fits && (n_others == 0 || quotient->atom[0].kind != CTUNE_TERM_PARAM)) {
            return d;
        }
    }
    return -1;
}

/* a constant is spread over the dimensions with constant strides */
static bool spread_constant(ctune_build *b, const ctune_shape *s, int64_t value,
                            const ctune_poly **idx) {
    for (int d = 0; d < s->n; d++) {
        int64_t stride = s->stride[d].degree == 0 ? s->stride[d].coef : 0;
        if (stride == 0) {
            continue;
        }
        int64_t part = value / stride;
        part -= value % stride < 0;
        value -= part * stride;
        idx[d] = ctune_poly_add(b->arena, idx[d], ctune_poly_const(b->arena, part));
        if (idx[d] == NULL) {
            return false;
        }
    }
    return true;
}

/* Strides that are sums: divide by one after the other. */
static bool split_sums(ctune_build *b, const ctune_shape *s, const ctune_poly *poly,
                       final_index *out) {
    for (int d = 0; d < s->n; d++) {
        const ctune_poly *idx = poly;
        if (d + 1 < s->n) {
            idx = ctune_poly_divide(b->arena, poly, s->sum[d], &poly);
        }
        out->idx[d] = ctune_poly_to_aff(b->arena, idx);
        if (out->idx[d] == NULL) {
            return false;
        }
    }
    return true;
}

static bool split_index(ctune_build *b, const ctune_shape *s, const ctune_poly *poly,
                        final_index *out) {
    if (s->sum[0] != NULL) {
        return split_sums(b, s, poly, out);
    }
    const ctune_poly *idx[CTUNE_MAX_STRIDES];
    for (int d = 0; d < s->n; d++) {
        idx[d] = ctune_poly_const(b->arena, 0);
    }
    for (int k = 0; k < poly->n; k++) {
        ctune_mono quotient;
        if (poly->mono[k].degree == 0) {
            if (!spread_constant(b, s, poly->mono[k].coef, idx)) {
                return false;
            }
            continue;
        }
        int d = dimension_of(s, &poly->mono[k], &quotient);
        if (d < 0) {
            return false;
        }
        idx[d] = ctune_poly_add(b->arena, idx[d], ctune_poly_collect(b->arena, &quotient, 1));
    }
    for (int d = 0; d < s->n; d++) {
        out->idx[d] = ctune_poly_to_aff(b->arena, idx[d]);
        if (out->idx[d] == NULL) {
            return false;
        }
    }
    return true;
}

static const ctune_aff *room(ctune_build *b, const ctune_aff *extent, const ctune_aff *idx) {
    return ctune_aff_add_const(b->arena, ctune_aff_sub(b->arena, extent, idx), -1);
}

/* Is 0 <= idx < extent? Otherwise move whole rows: (i+1, -1-j) is (i, n-1-j). */
static bool settle_row(ctune_build *b, const ctune_acc *acc, const ctune_shape *s, int d,
                       final_index *f) {
    for (int k = 0; k < 3; k++) {
        int64_t rows = k == 0 ? 0 : k == 1 ? 1 : -1;
        const ctune_aff *idx =
            ctune_aff_add(b->arena, f->idx[d], ctune_aff_scale(b->arena, s->extent[d], rows));
        if (ctune_facts_has(b, acc->n_cons, acc->cons, idx) &&
            ctune_facts_has(b, acc->n_cons, acc->cons, room(b, s->extent[d], idx))) {
            f->idx[d] = idx;
            f->idx[d - 1] = ctune_aff_add_const(b->arena, f->idx[d - 1], -rows);
            return f->idx[d - 1] != NULL;
        }
    }
    return !b->no_assume && ctune_facts_require(b, acc->n_cons, acc->cons, f->idx[d]) &&
           ctune_facts_require(b, acc->n_cons, acc->cons, room(b, s->extent[d], f->idx[d]));
}

static bool try_shape(ctune_build *b, int tensor, const ctune_shape *s, final_index *finals) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor != tensor) {
            continue;
        }
        if (!split_index(b, s, acc->idx[0], &finals[i])) {
            return false;
        }
        for (int d = s->n - 1; d > 0; d--) {
            if (!settle_row(b, acc, s, d, &finals[i])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static bool is_affine(const ctune_build *b, int tensor) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        for (int d = 0; acc->tensor == tensor && d < acc->n_idx; d++) {
            for (int k = 0; k < acc->idx[d]->n; k++) {
                const ctune_mono *m = &acc->idx[d]->mono[k];
                if (m->degree > 1 && !ctune_mono_is_params(m)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void set_shape(ctune_build *b, int tensor, const ctune_shape *s) {
    ctune_tensor *t = &b->tensors.at[tensor].t;
    const char *at = strstr(t->pattern, "[$0]");
    t->rank = s->n;
    t->extent[0] = NULL;
    for (int d = 1; d < s->n; d++) {
        t->extent[d] = s->extent[d];
    }
    t->pattern = at == NULL ? t->pattern
                            : ctune_arena_printf(b->arena, "%.*s[$L]%s", (int)(at - t->pattern),
                                                 t->pattern, at + 4);
}

/* As many dimensions as the source has. */
static bool keep_dimensions(ctune_build *b, int tensor, final_index *finals) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        for (int d = 0; acc->tensor == tensor && d < acc->n_idx; d++) {
            finals[i].idx[d] =
                ctune_affine_form(b, acc->idx[d], CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, b->statement);
            if (finals[i].idx[d] == NULL) {
                b->why.offset = acc->offset;
                return false;
            }
        }
    }
    return true;
}

static bool refuse_subscript(ctune_build *b, int tensor, const char *words) {
    for (int i = 0; i < b->accs.n; i++) {
        if (b->accs.at[i].tensor == tensor) {
            return ctune_build_refuse_at(b, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, b->accs.at[i].offset,
                                         "the subscripts of '%s' %s", b->tensors.at[tensor].t.name,
                                         words);
        }
    }
    return false;
}

/* The row that an index leaves, with the clause that would say that it does not. */
static bool refuse_row(ctune_build *b, int tensor, const ctune_shape *s) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        final_index f;
        if (acc->tensor != tensor || !split_index(b, s, acc->idx[0], &f)) {
            continue;
        }
        for (int d = s->n - 1; d > 0; d--) {
            const ctune_aff *above = room(b, s->extent[d], f.idx[d]);
            if (!settle_row(b, acc, s, d, &f)) {
                bool is_low = !ctune_facts_has(b, acc->n_cons, acc->cons, f.idx[d]);
                const char *needs =
                    ctune_facts_text(b, acc->n_cons, acc->cons, is_low ? f.idx[d] : above);
                ctune_build_refuse_at(b, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, acc->offset,
                                      "the subscripts of '%s' may leave the row that they "
                                      "index%s%s",
                                      b->tensors.at[tensor].t.name,
                                      needs != NULL ? "; rows need " : "",
                                      needs != NULL ? needs : "");
                return ctune_build_cure_needs(b, acc->n_cons, acc->cons, is_low ? f.idx[d] : above);
            }
        }
    }
    return refuse_subscript(b, tensor, "may leave the row that they index");
}

/* Without new facts, or with them; a shape that does not fit leaves none behind. */
static bool fits(ctune_build *b, int tensor, const ctune_shape *s, final_index *finals,
                 bool makes_facts) {
    bool kept = b->no_assume;
    int n_assumes = b->assumes.n;
    b->no_assume = kept || !makes_facts;
    bool ok = try_shape(b, tensor, s, finals);
    b->no_assume = kept;
    if (!ok) {
        b->assumes.n = n_assumes;
    }
    return ok;
}

static bool place_linear(ctune_build *b, int tensor, final_index *finals) {
    ctune_shape s = {0}, fine, sums;
    bool affine = is_affine(b, tensor), kept = b->no_assume;
    bool has_strides = ctune_strides_find(b, tensor, &s);
    ctune_why why = b->why;
    int n_assumes = b->assumes.n;
    if (!has_strides && !affine && ctune_strides_unit(b, tensor)) {
        return place_linear(b, tensor, finals);
    }
    bool has_sums = !affine && ctune_strides_sums(b, tensor, &sums);
    bool has_product = b->assumes.n > n_assumes; /* a last resort */
    b->why = why;
    if (!has_strides && !has_sums && !affine && ctune_strides_multiples(b, tensor)) {
        return place_linear(b, tensor, finals);
    }
    if (!has_strides && has_sums &&
        (fits(b, tensor, &sums, finals, false) || fits(b, tensor, &sums, finals, true))) {
        set_shape(b, tensor, &sums);
        return true;
    }
    if (!has_strides) {
        return affine     ? keep_dimensions(b, tensor, finals)
               : has_sums ? refuse_row(b, tensor, &sums)
                          : refuse_subscript(b, tensor, "are neither affine nor rows of one array");
    }
    fine = s;
    b->no_assume = true;
    bool done = ctune_strides_split(b, tensor, &fine) &&
                ctune_strides_extents(b, &fine, b->statement) &&
                try_shape(b, tensor, &fine, finals);
    if (done) {
        s = fine;
    }
    b->no_assume = kept;
    if (!done && affine) {
        return keep_dimensions(b, tensor, finals);
    }
    if (!done && !ctune_strides_extents(b, &s, b->statement)) {
        return false;
    }
    done = done || fits(b, tensor, &s, finals, false);
    if (has_product) {
        b->assumes.n = n_assumes;
        has_sums = false;
    }
    for (int pass = 0; pass < 2 && !done && has_sums; pass++) {
        if (fits(b, tensor, &sums, finals, pass == 1)) {
            s = sums;
            done = true;
        }
    }
    if (!done && !fits(b, tensor, &s, finals, true)) {
        return refuse_row(b, tensor, has_sums ? &sums : &s);
    }
    set_shape(b, tensor, &s);
    return true;
}

/* ---- first index at 0 ------------------------------------------------------------------------ */

/* Is the index, or a counter in it, only bounded by what stands in memory? It is what the source
 * says, negative or not. */
static bool is_opaque(const ctune_build *b, const ctune_acc *acc, const ctune_aff *idx) {
    if (ctune_load_in(b, idx)) {
        return true;
    }
    for (int c = 0; c < acc->n_cons; c++) {
        for (int t = 0; ctune_load_in(b, acc->cons[c]) && t < idx->n_terms; t++) {
            if (idx->terms[t].kind == CTUNE_TERM_AXIS &&
                ctune_aff_coef(acc->cons[c], CTUNE_TERM_AXIS, idx->terms[t].id) != 0) {
                return true;
            }
        }
    }
    return false;
}

static bool first_index_has(ctune_build *b, int tensor, const final_index *finals, int64_t shift) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor == tensor && !is_opaque(b, acc, finals[i].idx[0]) &&
            !ctune_facts_has(b, acc->n_cons, acc->cons,
                             ctune_aff_add_const(b->arena, finals[i].idx[0], shift))) {
            return false;
        }
    }
    return true;
}

/* "A[$0]..." -> "A[$0 - 2]..."; the base moves along. */
static void shift_pattern(ctune_build *b, ctune_tensor *t, int64_t shift) {
    const char *at = strstr(t->pattern, "[$0]");
    if (t->rank == 1 && strcmp(at, "[$0]") == 0) {
        t->base = ctune_arena_printf(b->arena, "(%s - %lld)", t->base, (long long)shift);
    } else {
        const char *text = ctune_arena_printf(b->arena, "&%.*s[-%lld]", (int)(at - t->pattern),
                                              t->pattern, (long long)shift);
        for (const char *p = at + 4; *p != '\0' && text != NULL;) {
            bool is_dim = p[0] == '[' && p[1] == '$';
            text = is_dim ? ctune_arena_printf(b->arena, "%s[0]", text)
                          : ctune_arena_printf(b->arena, "%s%c", text, *p);
            p += is_dim ? strcspn(p, "]") + 1 : 1;
        }
        t->base = text;
    }
    t->pattern = ctune_arena_printf(b->arena, "%.*s[$0 - %lld]%s", (int)(at - t->pattern),
                                    t->pattern, (long long)shift, at + 4);
    if (t->extent[0] != NULL) {
        t->extent[0] = ctune_aff_add_const(b->arena, t->extent[0], shift);
    }
}

static bool start_at_zero(ctune_build *b, int tensor, final_index *finals) {
    ctune_tensor *t = &b->tensors.at[tensor].t;
    if (t->rank == 0 || first_index_has(b, tensor, finals, 0)) {
        return true;
    }
    bool can_shift = strstr(t->pattern, "[$0]") != NULL;
    for (int64_t shift = 1; shift <= 4096 && can_shift; shift = shift < 4 ? shift + 1 : 2 * shift) {
        if (first_index_has(b, tensor, finals, shift)) {
            for (int i = 0; i < b->accs.n; i++) {
                if (b->accs.at[i].tensor == tensor) {
                    finals[i].idx[0] = ctune_aff_add_const(b->arena, finals[i].idx[0], shift);
                }
            }
            shift_pattern(b, t, shift);
            return true;
        }
    }
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor == tensor && !is_opaque(b, acc, finals[i].idx[0]) &&
            !ctune_facts_require(b, acc->n_cons, acc->cons, finals[i].idx[0])) {
            return ctune_build_refuse_at(b, CTUNE_REFUSE_SUBSCRIPT_NEGATIVE, acc->offset,
                                         "a subscript of '%s' may be negative", t->name);
        }
    }
    return true;
}

/* A parameter's outermost extent is only a comment in C: keep it when the loops stay inside. */
static void check_extent(ctune_build *b, int tensor, const final_index *finals) {
    ctune_mtensor *m = &b->tensors.at[tensor];
    if (m->t.rank == 0 || m->t.extent[0] == NULL || m->is_array_object) {
        return;
    }
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor == tensor && !ctune_facts_has(b, acc->n_cons, acc->cons,
                                                      room(b, m->t.extent[0], finals[i].idx[0]))) {
            m->t.extent[0] = NULL;
            return;
        }
    }
}

static bool check_inner_extents(ctune_build *b, int tensor) {
    const ctune_mtensor *m = &b->tensors.at[tensor];
    for (int d = 1; d < m->t.rank; d++) {
        if (m->t.extent[d] == NULL) {
            return ctune_build_refuse_at(b, CTUNE_REFUSE_VLA_EXTENT, m->offset,
                                         "the size of dimension %d of '%s' is not known", d + 1,
                                         m->t.name);
        }
    }
    return true;
}

static bool fill_slots(ctune_build *b, const final_index *finals) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor < 0) {
            continue; /* of a stage that was dropped */
        }
        int rank = b->tensors.at[acc->tensor].t.rank;
        const ctune_aff **idx = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, rank + 1);
        if (idx == NULL) {
            return false;
        }
        for (int d = 0; d < rank; d++) {
            idx[d] = finals[i].idx[d];
            if (idx[d] == NULL) {
                return false;
            }
        }
        *acc->slot = (ctune_access){acc->tensor, rank, idx};
    }
    return true;
}

bool ctune_delinearise(ctune_build *b) {
    final_index *finals = CTUNE_NEW_ARRAY(b->arena, final_index, b->accs.n + 1);
    if (finals == NULL) {
        return false;
    }
    for (int t = 0; t < b->tensors.n; t++) {
        ctune_mtensor *m = &b->tensors.at[t];
        bool is_linear = m->t.rank == 1 && !m->is_local_array && m->t.pattern != NULL;
        if (!(is_linear ? place_linear(b, t, finals) : keep_dimensions(b, t, finals)) ||
            !start_at_zero(b, t, finals) || !check_inner_extents(b, t)) {
            return false;
        }
        check_extent(b, t, finals);
    }
    return fill_slots(b, finals);
}
