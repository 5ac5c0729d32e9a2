/*
 * Rows behind pointers: float **a, s->rows[i][j].
 *
 * Rows that lie at equal distances are an ordinary array of two dimensions, whose second extent is
 * that distance: a parameter, computed before the region from the pointers of all rows that it
 * uses. It is 0 when they are not alike, which the guard refuses. In: lvalues of which a pointer is
 * read at an index with counters. Out: the same as an element of one array, a[0][i * step + j];
 * once dimensions are found, the parameter's C text.
 */
#include "plugin/extract/build.h"

#include <stdlib.h>

/* Stands in the parameter's text until the rows are known: base, mark, bytes of an element. */
static const char mark[] = "_step@";

bool ctune_rows_enter(ctune_build *b, ctune_lval *lval, CXType element) {
    const ctune_step *last = lval->n_steps > 0 ? &lval->steps[lval->n_steps - 1] : NULL;
    long long bytes = clang_Type_getSizeOf(element);
    ctune_lval outer = *lval;
    if (last == NULL || last->text != NULL || lval->n_dims != 1 || bytes <= 0 ||
        ctune_cx_type(element) == CTUNE_N_TYPES || lval->root->is_inside ||
        lval->root->n_writes > 0) {
        return false;
    }
    outer.n_steps--;
    const char *text = ctune_lval_text(b, &outer, false);
    text = text == NULL ? NULL : ctune_arena_printf(b->arena, "%s%s%lld", text, mark, bytes);
    int step = text == NULL ? -1 : ctune_param_of_text(b, text, CTUNE_I64, 0, false);
    if (step < 0) {
        return false;
    }
    ctune_param_prefer(b, ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, step),
                       16); /* facts raise it */
    lval->pending =
        ctune_poly_mul(b->arena, lval->idx[0], ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, step));
    lval->steps[lval->n_steps - 1].text = "[0]";
    lval->n_dims = 0;
    return lval->pending != NULL;
}

/* ---- which rows ------------------------------------------------------------------------------ */

/* A form over parameters in C. */
static const char *print_form(ctune_build *b, const ctune_aff *aff) {
    const char *text = ctune_arena_printf(b->arena, "%lldL", (long long)aff->c0);
    for (int t = 0; t < aff->n_terms && text != NULL; t++) {
        const char *name = b->params.at[aff->terms[t].id].c_text;
        text = aff->n_terms == 1 && aff->c0 == 0 && aff->terms[0].coef == 1
                   ? ctune_arena_printf(b->arena, "(long)%s", name)
                   : ctune_arena_printf(b->arena, "%s %c %lldL * (long)%s", text,
                                        aff->terms[t].coef < 0 ? '-' : '+',
                                        llabs((long long)aff->terms[t].coef), name);
    }
    return text;
}

/* The one constraint that bounds the axis on that side; NULL: none, or several. */
static const ctune_aff *side_of(const ctune_acc *acc, int axis, int sign) {
    const ctune_aff *found = NULL;
    for (int c = 0; c < acc->n_cons; c++) {
        int64_t coef = ctune_aff_coef(acc->cons[c], CTUNE_TERM_AXIS, axis);
        if (coef != 0 && (coef > 0) == (sign > 0)) {
            if (found != NULL || coef != sign) {
                return NULL;
            }
            found = acc->cons[c];
        }
    }
    return found;
}

/* The least or greatest value of aff over the loops around the use, over parameters; NULL: no such
 * form. */
static const ctune_aff *extreme(ctune_build *b, const ctune_acc *acc, const ctune_aff *aff,
                                bool largest) {
    for (int round = 0; round <= 2 * CTUNE_MAX_DEPTH && aff != NULL; round++) {
        const ctune_term *inner = NULL;
        for (int t = 0; t < aff->n_terms; t++) {
            inner = aff->terms[t].kind == CTUNE_TERM_AXIS ? &aff->terms[t] : inner;
        }
        if (inner == NULL) {
            return ctune_aff_has_kind(aff, CTUNE_TERM_DIV) ? NULL : aff;
        }
        int axis = inner->id, sign = (inner->coef > 0) == largest ? -1 : 1;
        const ctune_aff *con = side_of(acc, axis, sign), *self, *bound;
        if (con == NULL) {
            return NULL;
        }
        self = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, axis, sign);
        bound = ctune_aff_scale(b->arena, ctune_aff_sub(b->arena, con, self), -sign);
        aff = bound == NULL ? NULL : ctune_aff_subst(b->arena, aff, CTUNE_TERM_AXIS, axis, bound);
    }
    return NULL;
}

/* "a >= 0 && b >= 0": the loops around the use have iterations. "": they always do. */
static const char *print_runs(ctune_build *b, const ctune_acc *acc) {
    const char *text = "";
    for (int c = 0; c < acc->n_cons; c++) { /* an if over parameters */
        const ctune_aff *con = acc->cons[c];
        if (ctune_aff_has_kind(con, CTUNE_TERM_DIV)) {
            return NULL;
        }
        const char *form = ctune_aff_has_kind(con, CTUNE_TERM_AXIS) ? NULL : print_form(b, con);
        text = form == NULL ? text
                            : ctune_arena_printf(b->arena, "%s%s%s >= 0", text,
                                                 *text == '\0' ? "" : " && ", form);
    }
    for (int axis = 0; axis < b->axes.n && text != NULL; axis++) {
        const ctune_aff *low = side_of(acc, axis, 1), *high = side_of(acc, axis, -1);
        const ctune_aff *room =
            low == NULL || high == NULL ? NULL : ctune_aff_add(b->arena, low, high);
        room = room == NULL ? NULL : extreme(b, acc, room, true);
        const char *form = room == NULL || room->n_terms == 0 ? NULL : print_form(b, room);
        if (form != NULL && strstr(text, form) == NULL) {
            text = ctune_arena_printf(b->arena, "%s%s%s >= 0", text, *text == '\0' ? "" : " && ",
                                      form);
        }
    }
    return text;
}

enum { MAX_ENDS = 8 };

/* One end of the rows: the least or greatest of these, where the loops run. */
typedef struct ends {
    int n;
    const ctune_aff *at[MAX_ENDS];
    const char *runs[MAX_ENDS];
} ends;

typedef struct span {
    ends lo, hi;
} span;

static bool is_parallel(ctune_build *b, const ctune_aff *x, const ctune_aff *y) {
    const ctune_aff *diff = ctune_aff_sub(b->arena, x, y);
    return diff != NULL && diff->n_terms == 0;
}

static bool add_end(ctune_build *b, ends *list, const ctune_aff *aff, const char *runs, int sign) {
    for (int i = 0; i < list->n; i++) {
        if (is_parallel(b, list->at[i], aff) && strcmp(list->runs[i], runs) == 0) {
            bool is_further = sign < 0 ? aff->c0 < list->at[i]->c0 : aff->c0 > list->at[i]->c0;
            list->at[i] = is_further ? aff : list->at[i];
            return true;
        }
    }
    if (list->n == MAX_ENDS) {
        return false;
    }
    list->at[list->n] = aff;
    list->runs[list->n++] = runs;
    return true;
}

static bool join(ctune_build *b, const ctune_acc *acc, span *s) {
    const ctune_aff *lo = extreme(b, acc, acc->slot->idx[0], false);
    const ctune_aff *hi = extreme(b, acc, acc->slot->idx[0], true);
    const char *runs = print_runs(b, acc);
    return !acc->is_maybe && lo != NULL && hi != NULL && runs != NULL &&
           add_end(b, &s->lo, lo, "", -1) && add_end(b, &s->hi, hi, runs, 1);
}

static const char *print_ends(ctune_build *b, const ends *list, const char *function) {
    const char *text = NULL;
    for (int i = 0; i < list->n; i++) {
        const char *one = print_form(b, list->at[i]);
        if (one != NULL && *list->runs[i] != '\0') {
            one = ctune_arena_printf(b->arena, "(%s ? %s : -1L)", list->runs[i], one);
        }
        text = i == 0 ? one : ctune_arena_printf(b->arena, "%s(%s, %s)", function, text, one);
        if (one == NULL || text == NULL) {
            return NULL;
        }
    }
    return list->n == 0 ? "-1L" : text;
}

/* ---- the finished indices -------------------------------------------------------------------- */

static bool refuse(ctune_build *b, const ctune_mtensor *m, const char *base, const char *words) {
    return ctune_build_refuse_at(b, CTUNE_REFUSE_POINTER_TO_POINTER, m->offset,
                                 "the pointers in '%s' are read from an array: %s", base, words);
}

static bool is_step(const ctune_aff *extent, int param) {
    return extent != NULL && extent->n_terms == 1 && extent->c0 == 0 &&
           extent->terms[0].kind == CTUNE_TERM_PARAM && extent->terms[0].id == param &&
           extent->terms[0].coef == 1;
}

/* The tensor's elements, when it is made of the rows of base. */
static bool finish_tensor(ctune_build *b, int tensor, int param, const char *base, span *s) {
    ctune_mtensor *m = &b->tensors.at[tensor];
    if (m->t.rank != 2 || !is_step(m->t.extent[1], param)) {
        return refuse(b, m, base, "they are not indexed as rows");
    }
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor == tensor && !join(b, acc, s)) {
            return refuse(b, m, base, "which of them are used cannot be told before the loop");
        }
    }
    return true;
}

/* Row `first` becomes row 0. */
static bool move_rows(ctune_build *b, int tensor, const char *base, int64_t first) {
    ctune_tensor *t = &b->tensors.at[tensor].t;
    t->pattern = ctune_arena_printf(b->arena, "%s[%lld]%s", base, (long long)first,
                                    t->pattern + strlen(base) + strlen("[0]"));
    t->base = ctune_arena_printf(b->arena, "%s%s[%lld]%s", t->base[0] == '&' ? "&" : "", base,
                                 (long long)first,
                                 t->base + (t->base[0] == '&') + strlen(base) + strlen("[0]"));
    for (int i = 0; i < b->accs.n; i++) {
        const ctune_acc *acc = &b->accs.at[i];
        if (acc->tensor == tensor) {
            const ctune_aff **idx = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, 2);
            if (idx == NULL) {
                return false;
            }
            idx[0] = ctune_aff_add_const(b->arena, acc->slot->idx[0], -first);
            idx[1] = acc->slot->idx[1];
            acc->slot->idx = idx;
        }
    }
    return t->pattern != NULL && t->base != NULL;
}

static bool finish_step(ctune_build *b, int param) {
    const char *text = b->params.at[param].c_text, *at = strstr(text, mark);
    const char *base = ctune_arena_strndup(b->arena, text, (size_t)(at - text));
    const char *start = base == NULL ? NULL : ctune_arena_printf(b->arena, "%s[0][", base);
    span s = {.lo = {.n = 0}};
    if (start == NULL) {
        return false;
    }
    for (int t = 0; t < b->tensors.n; t++) {
        const char *pattern = b->tensors.at[t].t.pattern;
        bool is_mine = pattern != NULL && strncmp(pattern, start, strlen(start)) == 0;
        if (is_mine && !finish_tensor(b, t, param, base, &s)) {
            return false;
        }
    }
    const char *lo = print_ends(b, &s.lo, "ctune_min"), *hi = print_ends(b, &s.hi, "ctune_max");
    ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
    const char *step = ctune_arena_printf(b->arena, "ctune_row_step(%s, %s, %s, %sL)", base, lo, hi,
                                          at + strlen(mark));
    if (assume == NULL || lo == NULL || hi == NULL || step == NULL) {
        return false;
    }
    b->params.at[param].c_text = step;
    assume->aff =
        ctune_aff_add_const(b->arena, ctune_aff_term(b->arena, CTUNE_TERM_PARAM, param, 1), -1);
    bool is_constant = s.lo.n == 1 && s.lo.at[0]->n_terms == 0;
    for (int t = 0; t < b->tensors.n; t++) {
        ctune_mtensor *mine = &b->tensors.at[t];
        if (mine->t.pattern == NULL || strncmp(mine->t.pattern, start, strlen(start)) != 0) {
            continue;
        }
        if (!is_constant) {
            return refuse(b, mine, base, "the first of them is not known before the loop");
        }
        if (s.lo.at[0]->c0 != 0 && !move_rows(b, t, base, s.lo.at[0]->c0)) {
            return false;
        }
    }
    return assume->aff != NULL;
}

bool ctune_rows_finish(ctune_build *b) {
    bool has_rows = false;
    for (int p = 0; p < b->params.n; p++) {
        if (b->params.at[p].c_text != NULL && strstr(b->params.at[p].c_text, mark) != NULL) {
            has_rows = true;
            if (!finish_step(b, p)) {
                return false;
            }
        }
    }
    for (int s = 0; s < b->stages.n && has_rows; s++) {
        const ctune_mtensor *m = &b->tensors.at[b->stages.at[s].target->tensor];
        bool is_char = m->t.type == CTUNE_I8 || m->t.type == CTUNE_U8;
        if (is_char && m->t.is_pointer) { /* a store may change a pointer, as far as C can tell */
            return refuse(b, m, m->t.name, "a store of a character may change them");
        }
    }
    return true;
}
