/*
 * Default sizes: what parameters without sizes(...) stand for while a region is tuned.
 *
 * In: the finished build, with every use of a declared array dimension in b->limits. Out: values at
 * which the loops stay inside of all of them, as large as they admit: of A[1200][1000] under i < n,
 * j < m the parameters are 1200 and 1000. Each parameter's own largest value is found first (the
 * others small), then one bound for all of them at which everything holds at once, then each is
 * raised again as far as it goes. What no array limits is 1024, less when memory says so. isl says
 * how far a subscript reaches at given numbers, exactly; the bounding boxes of search/te would find
 * triangular nests too large. Time steps, which no array knows of, are fewer when the nest would
 * run for seconds.
 *
 * Facts that the region assumes hold at the values, too. The region is then built once more with
 * them (unit.c), because facts and sizes of products depend on them.
 */
#include "plugin/extract/build.h"

#include <stdio.h>

static const int64_t NOMINAL = 1024, FAR = (int64_t)1 << 30;
static const int64_t MEMORY = (int64_t)512 << 20; /* bytes, of arrays without declared sizes */
static const int64_t WORK = (int64_t)1 << 28;     /* statements run, when loops only repeat */

typedef struct fit {
    ctune_build *b;
    ctune_region *region;
    ctune_arena *arena; /* of forms at given numbers */
    int64_t *value;     /* [params] */
    int64_t *cap;       /* [params] the largest value of its own; FAR: nothing limits it */
    bool *is_active;    /* [limits] looked at */
} fit;

/* ---- a limit at given numbers ---------------------------------------------------------------- */
/* The subscript with numbers for parameters. NULL: no affine form, or it overflows. */
static const ctune_aff *form_at(const fit *f, const ctune_poly *poly) {
    const ctune_aff *sum = ctune_aff_const(f->arena, 0);
    for (int i = 0; i < poly->n; i++) {
        const ctune_mono *m = &poly->mono[i];
        const ctune_atom *atom = NULL;
        int64_t coef = m->coef;
        for (int k = 0; k < m->degree; k++) {
            bool is_param = m->atom[k].kind == CTUNE_TERM_PARAM;
            if (!is_param && atom != NULL) {
                return NULL;
            }
            if (!is_param) {
                atom = &m->atom[k];
            } else if (__builtin_mul_overflow(coef, f->value[m->atom[k].id], &coef)) {
                return NULL;
            }
        }
        const ctune_aff *term = coef == 0 ? ctune_aff_const(f->arena, 0)
                                : atom == NULL
                                    ? ctune_aff_const(f->arena, coef)
                                    : ctune_aff_term(f->arena, atom->kind, atom->id, coef);
        sum = ctune_aff_add(f->arena, sum, term);
    }
    return sum;
}

static int64_t extent_at(const fit *f, const ctune_aff *extent) {
    int64_t sum = extent->c0;
    for (int i = 0; i < extent->n_terms; i++) {
        const ctune_term *t = &extent->terms[i];
        if (t->kind != CTUNE_TERM_PARAM) {
            return FAR;
        }
        sum += t->coef * f->value[t->id];
    }
    return sum;
}

/* Does the subscript stay below the extent? *reached: its largest value when it does not. */
static bool holds(const fit *f, const ctune_limit *limit, int64_t *reached) {
    const ctune_acc *acc = &f->b->accs.at[limit->acc];
    const ctune_aff *form = form_at(f, limit->idx);
    return form == NULL ||
           ctune_facts_reach(f->b, acc->n_cons, acc->cons, form, f->value, reached) <= 0 ||
           *reached < extent_at(f, limit->extent);
}

static bool all_hold(const fit *f, bool const_only) {
    int64_t reached;
    for (int i = 0; i < f->b->limits.n; i++) {
        const ctune_limit *limit = &f->b->limits.at[i];
        if (f->is_active[i] && (!const_only || ctune_aff_is_const(limit->extent)) &&
            !holds(f, limit, &reached)) {
            return false;
        }
    }
    return true;
}

static bool is_free(const fit *f, int param) {
    return f->b->param_infos.at[param].origin == CTUNE_SIZE_NOMINAL;
}

/* Does some use of memory never happen? */
static bool has_empty(const fit *f) {
    int64_t reached;
    const ctune_aff *zero = ctune_aff_const(f->arena, 0);
    for (int i = 0; i < f->b->accs.n; i++) {
        const ctune_acc *acc = &f->b->accs.at[i];
        bool is_used = acc->tensor >= 0; /* its stage was not dropped */
        if (is_used &&
            ctune_facts_reach(f->b, acc->n_cons, acc->cons, zero, f->value, &reached) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- search ---------------------------------------------------------------------------------- */
/* The largest value of param in [lo, hi] at which all limits hold; they do at lo. */
static int64_t raise_param(fit *f, int param, int64_t lo, int64_t hi, bool const_only) {
    while (lo < hi) {
        int64_t mid = lo < NOMINAL && hi > 2 * NOMINAL ? NOMINAL : lo + (hi - lo + 1) / 2;
        f->value[param] = mid;
        if (all_hold(f, const_only)) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    f->value[param] = lo;
    return lo;
}

static void set_free(fit *f, int64_t most) {
    for (int p = 0; p < f->b->params.n; p++) {
        if (is_free(f, p)) {
            int64_t own = f->cap[p] == FAR ? NOMINAL : f->cap[p];
            f->value[p] = own < most ? own : most;
        }
    }
}

/* The limits that one parameter alone breaks. */
static bool find_own(fit *f, int param, int64_t others) {
    int64_t reached;
    bool any = false;
    set_free(f, others);
    f->value[param] = FAR;
    for (int i = 0; i < f->b->limits.n; i++) {
        const ctune_limit *limit = &f->b->limits.at[i];
        f->is_active[i] = ctune_aff_is_const(limit->extent) && !holds(f, limit, &reached);
        any |= f->is_active[i];
    }
    f->value[param] = 1;
    return any;
}

/* Of one parameter, with the others small; a halo of 1 runs over no element where they are 1. */
static int64_t find_cap(fit *f, int param) {
    int64_t cap = FAR;
    for (int64_t others = 1; others <= 64 && cap == FAR; others *= 4) {
        if (find_own(f, param, others)) {
            cap = all_hold(f, true) ? raise_param(f, param, 1, FAR, true) : others == 1 ? 1 : FAR;
        }
    }
    for (int i = 0; i < f->b->limits.n; i++) {
        f->is_active[i] = true;
    }
    return cap;
}

/* The values that all limits admit together. false: there are none. */
static bool find_values(fit *f) {
    int64_t largest = NOMINAL;
    for (int p = 0; p < f->b->params.n; p++) {
        int64_t cap = is_free(f, p) ? find_cap(f, p) : FAR;
        f->cap[p] = cap;
        largest = cap < FAR && cap > largest ? cap : largest;
    }
    set_free(f, FAR);
    if (all_hold(f, false)) {
        return true;
    }
    int64_t lo = 1, hi = largest;
    set_free(f, 1);
    if (!all_hold(f, false)) {
        return false;
    }
    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2;
        set_free(f, mid);
        if (all_hold(f, false)) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    set_free(f, lo);
    for (int p = 0; p < f->b->params.n; p++) {
        if (is_free(f, p)) {
            int64_t own = f->cap[p] == FAR ? NOMINAL : f->cap[p];
            raise_param(f, p, f->value[p], own, false);
        }
    }
    return true;
}

/* ---- what no array limits -------------------------------------------------------------------- */
/* Does the loops' domain only shrink when the parameter grows? (i = lo; i < n - skip) */
static bool only_shrinks(const fit *f, int param) {
    bool any = false;
    for (int s = 0; s < f->region->n_stages; s++) {
        const ctune_stage *stage = &f->region->stages[s];
        for (int c = 0; c < stage->n_cons; c++) {
            int64_t coef = ctune_aff_coef(stage->cons[c], CTUNE_TERM_PARAM, param);
            if (coef > 0) {
                return false;
            }
            any |= coef < 0;
        }
    }
    return any;
}

static void start_low(fit *f) {
    set_free(f, NOMINAL);
    if (has_empty(f)) {
        for (int p = 0; p < f->b->params.n; p++) {
            if (is_free(f, p) && only_shrinks(f, p)) {
                f->value[p] = 1;
                f->b->param_infos.at[p].origin = CTUNE_SIZE_SMALL;
            }
        }
    }
}

static bool has_declared_size(const ctune_tensor *t) {
    for (int d = 0; d < t->rank; d++) {
        if (t->extent[d] == NULL || !ctune_aff_is_const(t->extent[d])) {
            return false;
        }
    }
    return true;
}

/* Bytes of arrays without declared sizes; -1: more than can be counted. */
static int64_t count_bytes(const fit *f) {
    int64_t total = 0, extents[CTUNE_MAX_RANK];
    for (int t = 0; t < f->region->n_tensors; t++) {
        const ctune_tensor *tensor = &f->region->tensors[t];
        if (tensor->is_temp || has_declared_size(tensor)) {
            continue;
        }
        int64_t n = ctune_tensor_shape(f->region, t, f->value, extents);
        if (n < 0 || __builtin_mul_overflow(n, (int64_t)tensor->elem_stride_bytes, &n) ||
            __builtin_add_overflow(total, n, &total)) {
            return -1;
        }
    }
    return total;
}

static bool fits_memory(const fit *f) {
    int64_t bytes = count_bytes(f);
    return bytes >= 0 && bytes <= MEMORY;
}

static void shrink(fit *f) {
    for (int64_t most = NOMINAL; most >= 16 && !fits_memory(f); most /= 2) {
        for (int p = 0; p < f->b->params.n; p++) {
            if (is_free(f, p) && f->value[p] > most / 2) {
                f->value[p] = most / 2;
            }
        }
    }
}

/* ---- time steps ------------------------------------------------------------------------------ */
/* Values of an axis in a stage's domain, FAR when not known. */
static int64_t count_axis(const fit *f, const ctune_stage *stage, int axis) {
    int64_t last = 0, first = 0;
    const ctune_aff *up = ctune_aff_term(f->arena, CTUNE_TERM_AXIS, axis, 1);
    const ctune_aff *down = ctune_aff_term(f->arena, CTUNE_TERM_AXIS, axis, -1);
    int has_last =
        up == NULL ? -1 : ctune_facts_reach(f->b, stage->n_cons, stage->cons, up, f->value, &last);
    int has_first =
        down == NULL ? -1
                     : ctune_facts_reach(f->b, stage->n_cons, stage->cons, down, f->value, &first);
    return has_last == 0 || has_first == 0 ? 0
           : has_last < 0 || has_first < 0 ? FAR
                                           : last + first + 1;
}

static bool is_too_long(const fit *f) {
    int64_t total = 0;
    for (int s = 0; s < f->region->n_stages; s++) {
        const ctune_stage *stage = &f->region->stages[s];
        int64_t points = 1;
        for (int d = 0; d < stage->n_axes; d++) {
            if (__builtin_mul_overflow(points, count_axis(f, stage, stage->axes[d]), &points)) {
                return true;
            }
        }
        if (__builtin_add_overflow(total, points, &total)) {
            return true;
        }
    }
    return total > WORK;
}

/* Does the parameter say how often and not how much? Nothing is larger when it is. */
static bool only_repeats(fit *f, int param) {
    int64_t saved = f->value[param], bytes = count_bytes(f);
    f->value[param] = 2 * saved;
    bool is_same = f->cap[param] == FAR && bytes == count_bytes(f) && all_hold(f, false);
    f->value[param] = saved;
    return is_same;
}

static void shorten(fit *f) {
    bool *repeats = CTUNE_NEW_ARRAY(f->arena, bool, f->b->params.n + 1);
    if (repeats == NULL || !is_too_long(f)) {
        return;
    }
    bool any = false;
    for (int p = 0; p < f->b->params.n; p++) {
        repeats[p] = is_free(f, p) && only_repeats(f, p);
        any |= repeats[p];
    }
    for (int64_t most = NOMINAL / 2; any && most >= 4 && is_too_long(f); most /= 2) {
        for (int p = 0; p < f->b->params.n; p++) {
            f->value[p] = repeats[p] && f->value[p] > most ? most : f->value[p];
        }
    }
}

/* ---- what the guard asks for ----------------------------------------------------------------- */
static void load(fit *f) {
    for (int p = 0; p < f->b->params.n; p++) {
        const ctune_param *param = &f->b->params.at[p];
        f->value[p] = 0;
        for (int i = 0; i < param->n_sizes; i++) {
            f->value[p] = param->sizes[i] > f->value[p] ? param->sizes[i] : f->value[p];
        }
    }
}

static bool is_chosen(const fit *f, int param) {
    return is_free(f, param) || f->b->param_infos.at[param].origin == CTUNE_SIZE_SMALL;
}

static void store(const fit *f, const int64_t *values, int64_t most) {
    for (int p = 0; p < f->b->params.n; p++) {
        if (is_chosen(f, p)) {
            f->b->params.at[p].sizes[0] = is_free(f, p) && values[p] > most ? most : values[p];
        }
    }
}

/* Facts move the sizes (a leading dimension is larger than a row with its border); where they move
 * them out of an array, all are smaller. What no sizes satisfy, the next build refuses. */
static void settle(fit *f) {
    int64_t *values = CTUNE_NEW_ARRAY(f->arena, int64_t, f->b->params.n + 1);
    bool ok = false;
    if (values == NULL) {
        return;
    }
    memcpy(values, f->value, (size_t)f->b->params.n * sizeof *values);
    for (int64_t most = FAR; most >= 4 && !ok; most = most == FAR ? NOMINAL : most * 3 / 4) {
        store(f, values, most);
        ok = ctune_facts_suit(f->b, 0, NULL);
        load(f);
        ok = ok && all_hold(f, false);
    }
    if (!ok) {
        store(f, values, FAR);
    }
}

/* ---- clauses --------------------------------------------------------------------------------- */
/* "n=..., m=..." */
static const char *free_names(const fit *f) {
    const char *text = "";
    for (int p = 0; p < f->b->params.n && text != NULL; p++) {
        if (is_free(f, p) || f->b->param_infos.at[p].origin == CTUNE_SIZE_FITTED) {
            text = ctune_arena_printf(f->b->arena, "%s%s%s=...", text, text[0] != '\0' ? ", " : "",
                                      f->b->params.at[p].c_text);
        }
    }
    return text != NULL ? text : "";
}

static const char *given_text(const fit *f) {
    const char *text = "";
    for (int p = 0; p < f->b->params.n && text != NULL; p++) {
        if (f->b->param_infos.at[p].origin == CTUNE_SIZE_GIVEN) {
            text = ctune_arena_printf(f->b->arena, "%s%s%s=%lld", text, text[0] != '\0' ? ", " : "",
                                      f->b->params.at[p].c_text, (long long)f->value[p]);
        }
    }
    return text != NULL ? text : "";
}

/* One combination of the user's sizes against the arrays that are objects of a declared size; what
 * the user does not give is small. */
static bool check_given(fit *f, int which) {
    int64_t reached = 0;
    ctune_region_sizes(f->region, which, f->value);
    set_free(f, 1);
    for (int i = 0; i < f->b->limits.n; i++) {
        const ctune_limit *limit = &f->b->limits.at[i];
        if (limit->is_object && !f->b->accs.at[limit->acc].is_maybe &&
            ctune_aff_is_const(limit->extent) && !holds(f, limit, &reached)) {
            return ctune_build_error(
                f->b, "size-beyond-extent",
                "sizes(%s): the loops reach index %lld in dimension %d of '%s', which is declared "
                "with %lld",
                given_text(f), (long long)reached, limit->dim + 1, limit->name,
                (long long)limit->extent->c0);
        }
    }
    return true;
}

static bool check_all_given(fit *f) {
    int n = 0;
    for (int p = 0; p < f->b->params.n; p++) {
        if (f->b->param_infos.at[p].origin == CTUNE_SIZE_GIVEN) {
            n = f->b->params.at[p].n_sizes > n ? f->b->params.at[p].n_sizes : n;
        }
    }
    for (int which = 0; which < n; which++) {
        if (!check_given(f, which)) {
            return false;
        }
    }
    return true;
}

/* ---- entry points ---------------------------------------------------------------------------- */
/* Statements often use an element several times. */
static bool has_limit(const ctune_build *b, const ctune_limit *limit) {
    const ctune_acc *acc = &b->accs.at[limit->acc];
    for (int i = b->limits.n - 1; i >= 0; i--) {
        const ctune_limit *other = &b->limits.at[i];
        const ctune_acc *at = &b->accs.at[other->acc];
        if (other->name == limit->name && other->dim == limit->dim &&
            at->is_maybe == acc->is_maybe && at->n_cons == acc->n_cons &&
            memcmp(at->cons, acc->cons, (size_t)acc->n_cons * sizeof *acc->cons) == 0 &&
            ctune_poly_is_equal(other->idx, limit->idx)) {
            return true;
        }
    }
    return false;
}

bool ctune_limits_note(ctune_build *b) {
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        for (int d = 0; acc->tensor >= 0 && d < acc->n_idx; d++) {
            const ctune_mtensor *m = &b->tensors.at[acc->tensor];
            const ctune_aff *extent = m->t.extent[d];
            if (extent == NULL || acc->idx[d] == NULL) {
                continue;
            }
            bool is_tail = !m->is_array_object && ctune_aff_is_const(extent) && extent->c0 <= 1;
            ctune_limit limit = {i, d, acc->idx[d], extent, m->is_array_object, m->t.name};
            ctune_limit *slot = is_tail || has_limit(b, &limit) ? NULL : CTUNE_PUSH(b, b->limits);
            if (slot != NULL) {
                *slot = limit;
            }
        }
    }
    return !ctune_arena_has_failed(b->arena);
}

static bool refuse(const fit *f) {
    return ctune_build_refuse_at(f->b, CTUNE_REFUSE_SIZES, f->b->begin,
                                 "the declared sizes of its arrays do not say how far the loops "
                                 "run: write sizes(%s)",
                                 free_names(f));
}

static bool choose(fit *f) {
    start_low(f);
    if (!find_values(f)) {
        return refuse(f);
    }
    for (int p = 0; p < f->b->params.n; p++) {
        bool is_limited = is_free(f, p) && (f->cap[p] < FAR || f->value[p] < NOMINAL);
        f->b->param_infos.at[p].most = is_limited ? f->value[p] : CTUNE_SIZE_MOST;
    }
    shrink(f);
    shorten(f);
    settle(f);
    return true;
}

static bool start(fit *f) {
    int n = f->b->params.n;
    f->arena = ctune_arena_create(f->b->ctx);
    f->value = CTUNE_NEW_ARRAY(f->b->arena, int64_t, n + 1);
    f->cap = CTUNE_NEW_ARRAY(f->b->arena, int64_t, n + 1);
    f->is_active = CTUNE_NEW_ARRAY(f->b->arena, bool, f->b->limits.n + 1);
    if (f->arena == NULL || f->value == NULL || f->cap == NULL || f->is_active == NULL) {
        return false;
    }
    memset(f->is_active, true, (size_t)f->b->limits.n);
    for (int p = 0; p < n; p++) {
        f->cap[p] = FAR;
    }
    load(f);
    return true;
}

bool ctune_sizes_fit(ctune_build *b, ctune_region *region, bool *is_other) {
    int n = b->params.n;
    fit f = {.b = b, .region = region};
    bool ok = start(&f), any_free = false;
    int64_t *before = ok ? CTUNE_NEW_ARRAY(f.arena, int64_t, n + 1) : NULL;
    *is_other = false;
    ok = before != NULL && check_all_given(&f);
    for (int p = 0; p < n && ok; p++) {
        before[p] = b->params.at[p].sizes[0];
        any_free |= is_free(&f, p);
    }
    if (ok && any_free) {
        load(&f);
        ok = choose(&f);
    }
    for (int p = 0; p < n && ok; p++) {
        *is_other |= b->params.at[p].sizes[0] != before[p];
    }
    ctune_arena_destroy(f.arena);
    return ok && !ctune_arena_has_failed(b->arena);
}

bool ctune_sizes_check(ctune_build *b, ctune_region *region) {
    fit f = {.b = b, .region = region};
    bool ok = start(&f) && (all_hold(&f, false) || refuse(&f));
    ctune_arena_destroy(f.arena);
    return ok;
}
