/*
 * The program itself: its variables, buffers and indices. See loops.h.
 *
 * Indices stay in one canonical form (a ctune_aff over variables, parameters and atoms, atoms
 * shared when equal), so that the difference of two addresses is a constant exactly when it is one
 * after simplification: vectorising and common subexpressions rest on that.
 */
#include "search/loops/loops.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- life, failures -------------------------------------------------------------------------- */

ctune_status ctune_loops_create(ctune_ctx *ctx, const ctune_region *region, ctune_loops **out) {
    *out = NULL;
    ctune_arena *arena = ctune_arena_create(ctx);
    ctune_loops *l = arena == NULL ? NULL : CTUNE_NEW(arena, ctune_loops);
    if (l == NULL) {
        ctune_arena_destroy(arena);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    l->ctx = ctx;
    l->arena = arena;
    l->region = region;
    l->root = ctune_lnode_new(l, CTUNE_L_SEQ);
    if (l->root == NULL) {
        ctune_arena_destroy(arena);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    *out = l;
    return CTUNE_OK;
}

void ctune_loops_destroy(ctune_loops *loops) {
    if (loops != NULL) {
        ctune_arena_destroy(loops->arena);
    }
}

ctune_status ctune_loops_fail(ctune_loops *l, ctune_status status, const char *format, ...) {
    if (l->status == CTUNE_OK) {
        char words[256];
        va_list args;
        va_start(args, format);
        vsnprintf(words, sizeof words, format, args);
        va_end(args);
        l->status = ctune_fail(l->ctx, status, "%s", words);
    }
    return l->status;
}

ctune_status ctune_loops_status(ctune_loops *l) {
    if (l->status == CTUNE_OK && ctune_arena_has_failed(l->arena)) {
        ctune_loops_fail(l, CTUNE_ENOMEM, "out of memory");
    }
    return l->status;
}

/* ---- variables, buffers ---------------------------------------------------------------------- */

/* Room for one more element of *items; the old array stays in the arena. */
static bool grow(ctune_loops *l, void **items, int n, int *cap, size_t elem_bytes) {
    if (n < *cap) {
        return true;
    }
    int size = *cap == 0 ? 16 : *cap * 2;
    void *more = ctune_arena_array(l->arena, (size_t)size, elem_bytes);
    if (more == NULL) {
        ctune_loops_fail(l, CTUNE_ENOMEM, "out of memory");
        return false;
    }
    if (n > 0) {
        memcpy(more, *items, (size_t)n * elem_bytes);
    }
    *items = more;
    *cap = size;
    return true;
}

static int new_var(ctune_loops *l, const ctune_lvar *proto) {
    if (!grow(l, (void **)&l->var, l->n_vars, &l->cap_vars, sizeof *l->var)) {
        return -1;
    }
    l->var[l->n_vars] = *proto;
    l->var[l->n_vars].hint = ctune_arena_strdup(l->arena, proto->hint);
    return l->n_vars++;
}

int ctune_loops_index_var(ctune_loops *l, const char *hint) {
    return new_var(l, &(ctune_lvar){.hint = hint, .is_index = true, .type = CTUNE_I64, .lanes = 1});
}

int ctune_loops_value_var(ctune_loops *l, const char *hint, ctune_type type, int lanes,
                          bool is_mutable) {
    return new_var(
        l, &(ctune_lvar){.hint = hint, .type = type, .lanes = lanes, .is_mutable = is_mutable});
}

int ctune_loops_buffer(ctune_loops *l, const char *hint, ctune_type type, ctune_scope scope,
                       int rank, const ctune_aff *const *extent) {
    if (rank > CTUNE_MAX_RANK) {
        ctune_loops_fail(l, CTUNE_EREFUSED, "a buffer of more than %d dimensions", CTUNE_MAX_RANK);
        return -1;
    }
    if (!grow(l, (void **)&l->buffer, l->n_buffers, &l->cap_buffers, sizeof *l->buffer)) {
        return -1;
    }
    ctune_lbuffer *b = &l->buffer[l->n_buffers];
    *b = (ctune_lbuffer){
        .hint = ctune_arena_strdup(l->arena, hint), .type = type, .scope = scope, .rank = rank};
    for (int d = 0; d < rank; d++) {
        b->extent[d] = extent[d];
        if (extent[d] == NULL) {
            ctune_loops_fail(l, CTUNE_EREFUSED, "a buffer's size does not fit 64 bits");
        }
    }
    return l->n_buffers++;
}

/* ---- atoms ----------------------------------------------------------------------------------- */

static bool is_same(const ctune_aff *x, const ctune_aff *y) {
    return x == y || (x != NULL && y != NULL && ctune_aff_is_equal(x, y));
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_aff(uint64_t h, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        h = mix(h, (uint64_t)aff->terms[t].coef);
        h = mix(h, (uint64_t)aff->terms[t].id * 4 + (uint64_t)aff->terms[t].kind);
    }
    return mix(h, aff == NULL ? 1 : (uint64_t)aff->c0);
}

static uint64_t hash_atom(const ctune_atom *at) {
    uint64_t h = hash_aff(hash_aff(mix((uint64_t)at->kind, (uint64_t)at->den), at->a), at->b);
    for (int d = 0; at->place != NULL && d < at->place->n_idx; d++) {
        h = hash_aff(mix(h, (uint64_t)at->place->id), at->place->idx[d]);
    }
    return h;
}

static bool is_same_place(const ctune_place *x, const ctune_place *y) {
    return x == y || (x != NULL && y != NULL && ctune_place_is_equal(x, y));
}

/* The slot of an equal atom, or the free one where it belongs. */
static int *atom_slot(ctune_loops *l, const ctune_atom *at) {
    size_t mask = (size_t)l->cap_atom_slots - 1, i = (size_t)hash_atom(at) & mask;
    for (; l->atom_slot[i] != 0; i = (i + 1) & mask) {
        const ctune_atom *other = &l->atom[l->atom_slot[i] - 1];
        if (other->kind == at->kind && other->den == at->den && is_same(other->a, at->a) &&
            is_same(other->b, at->b) && is_same_place(other->place, at->place)) {
            break;
        }
    }
    return &l->atom_slot[i];
}

static bool grow_atom_slots(ctune_loops *l) {
    if (l->n_atoms * 2 < l->cap_atom_slots) {
        return true;
    }
    int cap = l->cap_atom_slots == 0 ? 64 : l->cap_atom_slots * 2;
    int *slots = CTUNE_NEW_ARRAY(l->arena, int, cap);
    if (slots == NULL) {
        ctune_loops_fail(l, CTUNE_ENOMEM, "out of memory");
        return false;
    }
    l->atom_slot = slots;
    l->cap_atom_slots = cap;
    for (int id = 0; id < l->n_atoms; id++) {
        *atom_slot(l, &l->atom[id]) = id + 1;
    }
    return true;
}

static const ctune_aff *intern(ctune_loops *l, ctune_atom proto) {
    if (!grow_atom_slots(l) ||
        !grow(l, (void **)&l->atom, l->n_atoms, &l->cap_atoms, sizeof *l->atom)) {
        return NULL;
    }
    int *slot = atom_slot(l, &proto);
    if (*slot == 0) {
        l->atom[l->n_atoms++] = proto;
        *slot = l->n_atoms;
    }
    return ctune_aff_term(l->arena, CTUNE_TERM_DIV, *slot - 1, 1);
}

static const ctune_aff *atom(ctune_loops *l, ctune_atom_kind kind, const ctune_aff *a,
                             const ctune_aff *b, int64_t den) {
    return a == NULL ? NULL : intern(l, (ctune_atom){.kind = kind, .a = a, .b = b, .den = den});
}

const ctune_aff *ctune_loops_load(ctune_loops *l, const ctune_place *place) {
    ctune_place *copy = CTUNE_NEW(l->arena, ctune_place);
    for (int d = 0; d < place->n_idx; d++) {
        if (place->idx[d] == NULL) {
            return NULL;
        }
    }
    if (copy == NULL) {
        return NULL;
    }
    *copy = *place;
    return intern(l, (ctune_atom){.kind = CTUNE_ATOM_LOAD, .place = copy});
}

/* An overflow of int64 in an index: said once, here. */
static const ctune_aff *checked(ctune_loops *l, const ctune_aff *aff) {
    if (aff == NULL && !ctune_arena_has_failed(l->arena)) {
        ctune_loops_fail(l, CTUNE_EREFUSED, "an index does not fit 64 bits");
    }
    return aff;
}

const ctune_aff *ctune_loops_const(ctune_loops *l, int64_t c) {
    return ctune_aff_const(l->arena, c);
}

const ctune_aff *ctune_loops_var_aff(ctune_loops *l, int var, int64_t coef, int64_t c) {
    return var < 0
               ? NULL
               : checked(l, ctune_aff_add_const(
                                l->arena, ctune_aff_term(l->arena, CTUNE_TERM_AXIS, var, coef), c));
}

static int64_t floor_div(int64_t num, int64_t den) {
    int64_t q = num / den;
    return q - (num % den != 0 && (num < 0) != (den < 0));
}

static int64_t gcd(int64_t a, int64_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

/* The largest divisor of den and of all coefficients. */
static int64_t common_divisor(const ctune_aff *aff, int64_t den) {
    for (int t = 0; t < aff->n_terms; t++) {
        int64_t coef = aff->terms[t].coef % den; /* no overflow in abs */
        den = gcd(den, coef < 0 ? -coef : coef);
    }
    return den;
}

/* floor(r / den) where no whole multiple can be taken out of r; with
 * floor((g * x + c) / (g * d)) = floor((x + floor(c / g)) / d). */
static const ctune_aff *floor_atom(ctune_loops *l, const ctune_aff *r, int64_t den) {
    int64_t g = common_divisor(r, den);
    if (g > 1) {
        const ctune_aff *x = ctune_aff_const(l->arena, floor_div(r->c0, g));
        for (int t = 0; t < r->n_terms; t++) {
            const ctune_term *term = &r->terms[t];
            x = ctune_aff_add(l->arena, x,
                              ctune_aff_term(l->arena, term->kind, term->id, term->coef / g));
        }
        r = x;
        den /= g;
    }
    return r == NULL ? NULL : atom(l, CTUNE_ATOM_FLOOR, r, NULL, den);
}

const ctune_aff *ctune_loops_floor(ctune_loops *l, const ctune_aff *a, int64_t den) {
    if (a == NULL || den == 1) {
        return a;
    }
    /* floor((den * q + r) / den) = q + floor(r / den) */
    const ctune_aff *q = ctune_aff_const(l->arena, floor_div(a->c0, den));
    const ctune_aff *r = ctune_aff_const(l->arena, a->c0 - floor_div(a->c0, den) * den);
    for (int t = 0; t < a->n_terms; t++) {
        const ctune_term *term = &a->terms[t];
        bool is_whole = term->coef % den == 0;
        const ctune_aff *part = ctune_aff_term(l->arena, term->kind, term->id,
                                               is_whole ? term->coef / den : term->coef);
        if (is_whole) {
            q = ctune_aff_add(l->arena, q, part);
        } else {
            r = ctune_aff_add(l->arena, r, part);
        }
    }
    if (r != NULL && r->n_terms > 0) {
        q = ctune_aff_add(l->arena, q, floor_atom(l, r, den));
    }
    return checked(l, r == NULL ? NULL : q);
}

const ctune_aff *ctune_loops_ceil(ctune_loops *l, const ctune_aff *a, int64_t den) {
    return a == NULL
               ? NULL
               : ctune_loops_floor(l, checked(l, ctune_aff_add_const(l->arena, a, den - 1)), den);
}

/* Is `part` certainly no further out than `whole`, an atom of that kind plus a constant? Then the
 * extreme of both is whole: max(max(1, n), n) = max(1, n). */
static bool covers(ctune_loops *l, ctune_atom_kind kind, const ctune_aff *whole,
                   const ctune_aff *part) {
    const ctune_term *term = whole->n_terms == 1 ? &whole->terms[0] : NULL;
    if (term == NULL || term->kind != CTUNE_TERM_DIV || term->coef != 1 ||
        l->atom[term->id].kind != kind) {
        return false;
    }
    const ctune_aff *kids[] = {l->atom[term->id].a, l->atom[term->id].b};
    for (int i = 0; i < 2; i++) {
        const ctune_aff *kid = ctune_aff_add_const(l->arena, kids[i], whole->c0);
        const ctune_aff *diff = ctune_aff_sub(l->arena, kid, part);
        bool is_known = diff != NULL && diff->n_terms == 0;
        if (is_known && (kind == CTUNE_ATOM_MIN ? diff->c0 <= 0 : diff->c0 >= 0)) {
            return true;
        }
        if (kid != NULL && covers(l, kind, kid, part)) {
            return true;
        }
    }
    return false;
}

static const ctune_aff *extreme(ctune_loops *l, ctune_atom_kind kind, const ctune_aff *a,
                                const ctune_aff *b) {
    const ctune_aff *diff = ctune_aff_sub(l->arena, a, b);
    if (diff == NULL) {
        return a == NULL || b == NULL ? NULL : checked(l, diff);
    }
    if (diff->n_terms == 0) {
        return (diff->c0 <= 0) == (kind == CTUNE_ATOM_MIN) ? a : b;
    }
    if (covers(l, kind, a, b)) {
        return a;
    }
    if (covers(l, kind, b, a)) {
        return b;
    }
    return atom(l, kind, a, b, 0);
}

const ctune_aff *ctune_loops_min(ctune_loops *l, const ctune_aff *a, const ctune_aff *b) {
    return extreme(l, CTUNE_ATOM_MIN, a, b);
}

const ctune_aff *ctune_loops_max(ctune_loops *l, const ctune_aff *a, const ctune_aff *b) {
    return extreme(l, CTUNE_ATOM_MAX, a, b);
}

/* ---- products -------------------------------------------------------------------------------- */

static int term_order(const ctune_term *x, const ctune_term *y) {
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->id - y->id;
}

/* The factors of a term in order, products among them opened. */
typedef struct factors {
    int n;
    ctune_term factor[2 * CTUNE_MAX_FACTORS];
} factors;

static void collect(const ctune_loops *l, const ctune_term *term, factors *out) {
    if (term->kind == CTUNE_TERM_DIV && l->atom[term->id].kind == CTUNE_ATOM_PROD) {
        collect(l, &l->atom[term->id].a->terms[0], out);
        collect(l, &l->atom[term->id].b->terms[0], out);
        return;
    }
    int at = out->n++;
    for (; at > 0 && term_order(&out->factor[at - 1], term) > 0; at--) {
        out->factor[at] = out->factor[at - 1];
    }
    out->factor[at] = *term;
}

/* x * y without their coefficients: one form for each set of factors. */
static const ctune_aff *product(ctune_loops *l, const ctune_term *x, const ctune_term *y) {
    factors f = {.n = 0};
    collect(l, x, &f);
    collect(l, y, &f);
    if (f.n > CTUNE_MAX_FACTORS) {
        ctune_loops_fail(l, CTUNE_EREFUSED, "an index is a product of more than %d factors",
                         CTUNE_MAX_FACTORS);
        return NULL;
    }
    const ctune_aff *prod = ctune_aff_term(l->arena, f.factor[0].kind, f.factor[0].id, 1);
    for (int i = 1; i < f.n; i++) {
        const ctune_aff *by = ctune_aff_term(l->arena, f.factor[i].kind, f.factor[i].id, 1);
        prod = prod == NULL || by == NULL ? NULL : atom(l, CTUNE_ATOM_PROD, prod, by, 0);
    }
    return prod;
}

const ctune_aff *ctune_loops_mul(ctune_loops *l, const ctune_aff *a, const ctune_aff *b) {
    if (a == NULL || b == NULL) {
        return NULL;
    }
    if (a->n_terms == 0 || b->n_terms == 0) {
        return checked(l, a->n_terms == 0 ? ctune_aff_scale(l->arena, b, a->c0)
                                          : ctune_aff_scale(l->arena, a, b->c0));
    }
    if ((int64_t)a->n_terms * b->n_terms > CTUNE_MAX_PRODUCT_TERMS) {
        ctune_loops_fail(l, CTUNE_EREFUSED, "an index has too many terms");
        return NULL;
    }
    const ctune_aff *sum = ctune_aff_scale(l->arena, b, a->c0);
    for (int i = 0; i < a->n_terms; i++) {
        const ctune_term *x = &a->terms[i];
        const ctune_aff *bare = ctune_aff_term(l->arena, x->kind, x->id, 1);
        bare = ctune_aff_scale(l->arena, bare, x->coef);
        sum = ctune_aff_add(l->arena, sum, ctune_aff_scale(l->arena, bare, b->c0));
        for (int k = 0; k < b->n_terms && sum != NULL; k++) {
            int64_t coef;
            if (__builtin_mul_overflow(x->coef, b->terms[k].coef, &coef)) {
                return checked(l, NULL);
            }
            const ctune_aff *prod = product(l, x, &b->terms[k]);
            sum = ctune_aff_add(l->arena, sum, ctune_aff_scale(l->arena, prod, coef));
        }
    }
    return checked(l, sum);
}

/* ---- substitution ---------------------------------------------------------------------------- */

static bool atom_uses(const ctune_loops *l, const ctune_atom *at, int var) {
    for (int d = 0; at->place != NULL && d < at->place->n_idx; d++) {
        if (ctune_loops_uses(l, at->place->idx[d], var)) {
            return true;
        }
    }
    return ctune_loops_uses(l, at->a, var) || ctune_loops_uses(l, at->b, var);
}

bool ctune_loops_uses(const ctune_loops *l, const ctune_aff *aff, int var) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        if (term->kind == CTUNE_TERM_AXIS
                ? term->id == var
                : term->kind == CTUNE_TERM_DIV && atom_uses(l, &l->atom[term->id], var)) {
            return true;
        }
    }
    return false;
}

bool ctune_loops_has_load(const ctune_loops *l, const ctune_aff *aff) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        const ctune_atom *at =
            aff->terms[t].kind == CTUNE_TERM_DIV ? &l->atom[aff->terms[t].id] : NULL;
        if (at != NULL && (at->place != NULL || ctune_loops_has_load(l, at->a) ||
                           ctune_loops_has_load(l, at->b))) {
            return true;
        }
    }
    return false;
}

/* An atom with a variable replaced. By value: the table may move. */
static const ctune_aff *subst_atom(ctune_loops *l, const ctune_atom at, int var,
                                   const ctune_aff *by) {
    if (at.kind == CTUNE_ATOM_LOAD) {
        ctune_place place = ctune_place_subst(l, at.place, var, by);
        return ctune_loops_load(l, &place);
    }
    const ctune_aff *a = ctune_loops_subst(l, at.a, var, by);
    const ctune_aff *b = at.b == NULL ? NULL : ctune_loops_subst(l, at.b, var, by);
    return at.kind == CTUNE_ATOM_FLOOR ? ctune_loops_floor(l, a, at.den)
           : at.kind == CTUNE_ATOM_MIN ? ctune_loops_min(l, a, b)
           : at.kind == CTUNE_ATOM_MAX ? ctune_loops_max(l, a, b)
                                       : ctune_loops_mul(l, a, b);
}

const ctune_aff *ctune_loops_subst(ctune_loops *l, const ctune_aff *aff, int var,
                                   const ctune_aff *by) {
    if (aff == NULL || by == NULL || !ctune_loops_uses(l, aff, var)) {
        return by == NULL ? NULL : aff;
    }
    const ctune_aff *sum = ctune_aff_const(l->arena, aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term term = aff->terms[t];
        const ctune_aff *part = ctune_aff_term(l->arena, term.kind, term.id, 1);
        if (term.kind == CTUNE_TERM_AXIS && term.id == var) {
            part = by;
        } else if (term.kind == CTUNE_TERM_DIV) {
            part = subst_atom(l, l->atom[term.id], var, by);
        }
        sum = ctune_aff_add(l->arena, sum, ctune_aff_scale(l->arena, part, term.coef));
    }
    return checked(l, sum);
}

const ctune_aff *ctune_loops_import(ctune_loops *l, const ctune_aff *aff,
                                    const ctune_aff *const *axis) {
    if (aff == NULL) {
        return NULL;
    }
    const ctune_aff *sum = ctune_aff_const(l->arena, aff->c0);
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        const ctune_aff *part;
        if (term->kind == CTUNE_TERM_AXIS) {
            part = axis == NULL ? NULL : axis[term->id];
            if (part == NULL) {
                ctune_loops_fail(l, CTUNE_EBUG,
                                 "lower: an index uses a loop that is not around it");
            }
        } else if (term->kind == CTUNE_TERM_PARAM) {
            part = ctune_aff_term(l->arena, CTUNE_TERM_PARAM, term->id, 1);
        } else {
            part = ctune_loops_import_div(l, term->id, axis);
        }
        sum = ctune_aff_add(l->arena, sum, ctune_aff_scale(l->arena, part, term->coef));
    }
    return checked(l, sum);
}

const ctune_aff *ctune_loops_import_div(ctune_loops *l, int id, const ctune_aff *const *axis) {
    const ctune_div *div = &l->region->divs[id];
    if (div->load == NULL) {
        return ctune_loops_floor(l, ctune_loops_import(l, div->num, axis), div->den);
    }
    ctune_place place = {.id = div->load->tensor, .n_idx = div->load->n_idx};
    for (int d = 0; d < place.n_idx; d++) {
        place.idx[d] = ctune_loops_import(l, div->load->idx[d], axis);
    }
    return ctune_loops_load(l, &place);
}

const ctune_aff *ctune_loops_linear(ctune_loops *l, const ctune_place *place) {
    const ctune_aff *sum = ctune_aff_const(l->arena, 0);
    for (int d = 0; d < place->n_idx; d++) {
        if (d > 0) {
            const ctune_aff *extent =
                place->is_buffer
                    ? l->buffer[place->id].extent[d]
                    : ctune_loops_import(l, l->region->tensors[place->id].extent[d], NULL);
            sum = ctune_loops_mul(l, sum, extent);
        }
        sum = ctune_aff_add(l->arena, sum, place->idx[d]);
    }
    return checked(l, sum);
}
