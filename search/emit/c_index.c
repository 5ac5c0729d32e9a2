/*
 * Indices, places and conditions in C.
 *
 * An index is a sum of multiples of variables, parameters and atoms: it is printed as that sum,
 * positive terms first. A tensor's element is spelled by its pattern, a buffer's by the buffer's
 * name; where memory is one block the index is Horner's sum over the extents.
 */
#include "search/emit/emit_private.h"

#include <string.h>

/* ---- affine forms ---------------------------------------------------------------------------- */

static void print_atom(ctune_emitter *e, const ctune_atom *atom) {
    switch (atom->kind) {
    case CTUNE_ATOM_LOAD:
        ctune_text_printf(e->out, "(%s)", e->api != NULL ? e->api->index : "long");
        emit_place(e, atom->place);
        return;
    case CTUNE_ATOM_FLOOR:
        if (e->api != NULL && emit_is_nonneg(e, atom->a)) { /* C's division is floor */
            ctune_text_append(e->out, "(");
            emit_index(e, atom->a, CTUNE_LEVEL_PROD);
            ctune_text_printf(e->out, " / %lld)", (long long)atom->den);
            return;
        }
        ctune_text_append(e->out, "ctune_floordiv(");
        emit_index(e, atom->a, CTUNE_LEVEL_ANY);
        ctune_text_printf(e->out, ", %lld)", (long long)atom->den);
        return;
    case CTUNE_ATOM_MIN:
    case CTUNE_ATOM_MAX:
        ctune_text_append(e->out, atom->kind == CTUNE_ATOM_MIN ? "ctune_min(" : "ctune_max(");
        emit_index(e, atom->a, CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, ", ");
        emit_index(e, atom->b, CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, ")");
        return;
    case CTUNE_ATOM_PROD:
    default:
        emit_index(e, atom->a, CTUNE_LEVEL_PROD);
        ctune_text_append(e->out, " * ");
        emit_index(e, atom->b, CTUNE_LEVEL_PROD);
        return;
    }
}

static void print_term(ctune_emitter *e, const ctune_term *term) {
    switch (term->kind) {
    case CTUNE_TERM_AXIS:
        ctune_text_append(e->out, emit_var(e, term->id));
        return;
    case CTUNE_TERM_PARAM:
        ctune_text_append(e->out, emit_param(e, term->id));
        return;
    case CTUNE_TERM_DIV:
    default:
        print_atom(e, &e->loops->atom[term->id]);
        return;
    }
}

static emit_level level_of(const ctune_emitter *e, const ctune_aff *aff) {
    if (aff->n_terms + (aff->c0 != 0) > 1) {
        return CTUNE_LEVEL_SUM; /* or one group, where parentheses do no harm */
    }
    if (aff->n_terms == 0) {
        return aff->c0 < 0 ? CTUNE_LEVEL_UNARY : CTUNE_LEVEL_PRIMARY;
    }
    const ctune_term *term = &aff->terms[0];
    bool is_prod = term->kind == CTUNE_TERM_DIV && e->loops->atom[term->id].kind == CTUNE_ATOM_PROD;
    return term->coef < 0               ? CTUNE_LEVEL_SUM
           : term->coef != 1 || is_prod ? CTUNE_LEVEL_PROD
                                        : CTUNE_LEVEL_PRIMARY;
}

static uint64_t magnitude(int64_t c) {
    return c < 0 ? 0 - (uint64_t)c : (uint64_t)c;
}

/* Is a term in front of t that was printed with it, in one product: 16 * (i - k)? */
static bool is_grouped(const ctune_aff *aff, int t, int first) {
    return t != first && magnitude(aff->terms[t].coef) == magnitude(aff->terms[first].coef);
}

static int group_first(const ctune_aff *aff, int t) {
    int first = -1;
    for (int pass = 0; pass < 2 && first < 0; pass++) { /* a positive one leads */
        for (int i = 0; i < aff->n_terms && first < 0; i++) {
            bool is_same = magnitude(aff->terms[i].coef) == magnitude(aff->terms[t].coef);
            first = is_same && (aff->terms[i].coef > 0) == (pass == 0) ? i : -1;
        }
    }
    return first;
}

/* All terms whose coefficients are the first one's, or its opposite. */
static void print_group(ctune_emitter *e, const ctune_aff *aff, int first) {
    int64_t lead = aff->terms[first].coef;
    bool is_alone = true;
    for (int t = 0; t < aff->n_terms; t++) {
        is_alone &= !is_grouped(aff, t, first);
    }
    ctune_text_printf(e->out, "%llu * %s", (unsigned long long)magnitude(lead),
                      is_alone ? "" : "(");
    print_term(e, &aff->terms[first]);
    for (int t = 0; t < aff->n_terms; t++) {
        if (is_grouped(aff, t, first)) {
            ctune_text_append(e->out, (aff->terms[t].coef > 0) == (lead > 0) ? " + " : " - ");
            print_term(e, &aff->terms[t]);
        }
    }
    ctune_text_append(e->out, is_alone ? "" : ")");
}

static void print_sum(ctune_emitter *e, const ctune_aff *aff) {
    bool is_first = true;
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < aff->n_terms; t++) {
            const ctune_term *term = &aff->terms[t];
            bool is_bare = magnitude(term->coef) == 1;
            if ((term->coef > 0) != (pass == 0) || (!is_bare && group_first(aff, t) != t)) {
                continue;
            }
            ctune_text_append(e->out,
                              term->coef < 0 ? (is_first ? "-" : " - ") : (is_first ? "" : " + "));
            if (is_bare) {
                print_term(e, term);
            } else {
                print_group(e, aff, t);
            }
            is_first = false;
        }
    }
    if (is_first) {
        ctune_text_printf(e->out, "%lld", (long long)aff->c0);
    } else if (aff->c0 != 0) {
        ctune_text_printf(e->out, " %c %llu", aff->c0 < 0 ? '-' : '+',
                          (unsigned long long)magnitude(aff->c0));
    }
}

void emit_index(ctune_emitter *e, const ctune_aff *aff, emit_level level) {
    if (aff == NULL) {
        ctune_loops_fail(e->loops, CTUNE_EBUG, "emit: an index is missing");
        return;
    }
    bool parens = level_of(e, aff) < level;
    ctune_text_append(e->out, parens ? "(" : "");
    print_sum(e, aff);
    ctune_text_append(e->out, parens ? ")" : "");
}

void emit_conditions(ctune_emitter *e, const ctune_aff *const *conds, int n) {
    for (int i = 0; i < n; i++) {
        /* a - b >= 0 reads better as b <= a */
        const ctune_aff *left = ctune_aff_const(e->arena, 0), *right = left;
        for (int t = 0; conds[i] != NULL && t < conds[i]->n_terms; t++) {
            const ctune_term *term = &conds[i]->terms[t];
            const ctune_aff *part = ctune_aff_term(e->arena, term->kind, term->id,
                                                   term->coef < 0 ? -term->coef : term->coef);
            if (term->coef > 0) {
                left = ctune_aff_add(e->arena, left, part);
            } else {
                right = ctune_aff_add(e->arena, right, part);
            }
        }
        int64_t c = conds[i] == NULL ? 0 : conds[i]->c0;
        if (c > 0) {
            left = ctune_aff_add_const(e->arena, left, c);
        } else {
            right = ctune_aff_add_const(e->arena, right, -c);
        }
        ctune_text_append(e->out, i > 0 ? " && " : "");
        emit_index(e, right, CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, " <= ");
        emit_index(e, left, CTUNE_LEVEL_ANY);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

static const ctune_aff *extent_of(ctune_emitter *e, const ctune_place *place, int d) {
    return place->is_buffer
               ? e->loops->buffer[place->id].extent[d]
               : ctune_loops_import(e->loops, e->region->tensors[place->id].extent[d], NULL);
}

/* Is Horner's sum over the first d indices a constant? Two literals multiplied by the compiler
 * would be of type int. */
static bool is_constant(ctune_emitter *e, const ctune_place *place, int d, int64_t *out) {
    *out = 0;
    for (int i = 0; i < d; i++) {
        const ctune_aff *extent = i == 0 ? NULL : extent_of(e, place, i);
        if (place->idx[i] == NULL || place->idx[i]->n_terms > 0 ||
            (*out != 0 && (extent == NULL || extent->n_terms > 0))) {
            return false;
        }
        *out = (*out == 0 ? 0 : *out * extent->c0) + place->idx[i]->c0;
    }
    return true;
}

/* (i * n + j) * m + k over the first d indices. */
static void print_linear(ctune_emitter *e, const ctune_place *place, int d, emit_level level) {
    int64_t c;
    if (is_constant(e, place, d, &c)) {
        ctune_text_printf(e->out, c < 0 ? "(%lld)" : "%lld", (long long)c);
        return;
    }
    bool is_outer_zero = is_constant(e, place, d - 1, &c) && c == 0;
    if (is_outer_zero) {
        emit_index(e, place->idx[d - 1], level);
        return;
    }
    bool has_sum = place->idx[d - 1]->n_terms > 0 || place->idx[d - 1]->c0 != 0;
    bool parens = level > (has_sum ? CTUNE_LEVEL_SUM : CTUNE_LEVEL_PROD);
    ctune_text_append(e->out, parens ? "(" : "");
    print_linear(e, place, d - 1, CTUNE_LEVEL_PRIMARY);
    ctune_text_append(e->out, " * ");
    emit_index(e, extent_of(e, place, d - 1), CTUNE_LEVEL_PRIMARY);
    const ctune_aff *idx = place->idx[d - 1];
    if (has_sum && idx->n_terms == 0) {
        ctune_text_printf(e->out, " %c %llu", idx->c0 < 0 ? '-' : '+',
                          (unsigned long long)magnitude(idx->c0));
    } else if (has_sum) {
        ctune_text_append(e->out, " + ");
        emit_index(e, idx, CTUNE_LEVEL_SUM);
    }
    ctune_text_append(e->out, parens ? ")" : "");
}

/* The pattern with $0, $1, ... and $L replaced. An index in brackets needs no parentheses. */
static void print_pattern(ctune_emitter *e, const char *pattern, const ctune_place *place) {
    for (const char *p = pattern; *p != '\0'; p++) {
        bool is_index = *p == '$' && p[1] >= '0' && p[1] < '0' + place->n_idx;
        bool is_linear = *p == '$' && p[1] == 'L';
        if (!is_index && !is_linear) {
            ctune_text_append_n(e->out, p, 1);
            continue;
        }
        bool is_bracketed = p > pattern && p[-1] == '[' && p[2] == ']';
        emit_level level = is_bracketed ? CTUNE_LEVEL_ANY : CTUNE_LEVEL_PRIMARY;
        if (is_linear) {
            print_linear(e, place, place->n_idx, level);
        } else {
            emit_index(e, place->idx[p[1] - '0'], level);
        }
        p++;
    }
}

static void print_brackets(ctune_emitter *e, const ctune_place *place) {
    for (int d = 0; d < place->n_idx; d++) {
        ctune_text_append(e->out, "[");
        emit_index(e, place->idx[d], CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, "]");
    }
}

static void print_tensor(ctune_emitter *e, const ctune_place *place) {
    const ctune_tensor *tensor = &e->region->tensors[place->id];
    if (!e->is_standalone) {
        print_pattern(e, tensor->pattern, place);
        return;
    }
    e->is_tensor_used[place->id] = true;
    if (tensor->rank == 0) {
        ctune_text_printf(e->out, "(*%s)", e->tensor[place->id]);
        return;
    }
    ctune_text_append(e->out, e->tensor[place->id]);
    if (strstr(tensor->pattern, "$L") != NULL) {
        ctune_text_append(e->out, "[");
        print_linear(e, place, place->n_idx, CTUNE_LEVEL_ANY);
        ctune_text_append(e->out, "]");
    } else {
        print_brackets(e, place);
    }
    if (tensor->elem_stride_bytes != ctune_type_get(tensor->type)->bytes) {
        ctune_text_append(e->out, ".v");
    }
}

/* An array of a kernel: elements from the first one on that anybody touches. */
static void print_device(ctune_emitter *e, const ctune_place *place, int i_array) {
    const emit_array *array = &e->array[i_array];
    bool is_shifted = array->first != NULL && (array->first->n_terms > 0 || array->first->c0 != 0);
    ctune_text_printf(e->out, "%s[", emit_gpu_array(e, i_array));
    if (place->n_idx == 0) {
        ctune_text_append(e->out, "0");
    } else if (place->n_idx == 1 && is_shifted && array->first->n_terms == 0) {
        emit_index(e, ctune_aff_add_const(e->arena, place->idx[0], -array->first->c0),
                   CTUNE_LEVEL_ANY);
        is_shifted = false;
    } else {
        print_linear(e, place, place->n_idx, CTUNE_LEVEL_ANY);
    }
    if (is_shifted && array->first->n_terms == 0) {
        ctune_text_printf(e->out, " - %lld", (long long)array->first->c0);
    } else if (is_shifted) {
        e->is_kernel_first[i_array] = true;
        ctune_text_printf(e->out, " - %s_first", emit_gpu_array(e, i_array));
    }
    ctune_text_append(e->out, "]");
}

void emit_place(ctune_emitter *e, const ctune_place *place) {
    int i_array = emit_gpu_find(e, place);
    if (i_array >= 0) {
        print_device(e, place, i_array);
        return;
    }
    if (!place->is_buffer) {
        print_tensor(e, place);
        return;
    }
    const ctune_lbuffer *buffer = &e->loops->buffer[place->id];
    bool is_heap = buffer->scope == CTUNE_SCOPE_PROGRAM || buffer->scope == CTUNE_SCOPE_THREAD;
    ctune_text_append(e->out, emit_buffer(e, place->id));
    if (!is_heap) {
        print_brackets(e, place);
        return;
    }
    ctune_text_append(e->out, "[");
    print_linear(e, place, place->n_idx, CTUNE_LEVEL_ANY);
    ctune_text_append(e->out, "]");
}

void emit_buffer_bytes(ctune_emitter *e, const ctune_lbuffer *buffer) {
    ctune_text_printf(e->out, "sizeof(%s)", emit_type(e, buffer->type, 1));
    for (int d = 0; d < buffer->rank; d++) {
        ctune_text_append(e->out, " * (ctune_size)");
        emit_index(e, buffer->extent[d], CTUNE_LEVEL_PRIMARY);
    }
}
