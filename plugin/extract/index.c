/*
 * Index scalars: what integer variables are worth where subscripts, bounds and conditions read
 * them.
 *
 * In: assignments, branches and loops as the walk meets them. Out: each variable as a polynomial in
 * counters and parameters (k = i*m + j), as one of several under affine conditions (a clamp), as an
 * induction over a loop (k++, k += s), or as the value that the iteration before left (im1 = i:
 * carry.c). What is left at the region's end: final.c.
 */
#include "plugin/extract/build.h"

enum { MAX_CHOICES = 8 };

bool ctune_index_is(const ctune_var *var) {
    return var->is_used_affinely && var->is_automatic && !var->is_address_taken &&
           ctune_cx_type(var->type) < CTUNE_F16;
}

const ctune_var *ctune_index_save(ctune_build *b) {
    ctune_var *copy = CTUNE_NEW_ARRAY(b->arena, ctune_var, b->vars.n + 1);
    if (copy != NULL && b->vars.n > 0) {
        memcpy(copy, b->vars.at, (size_t)b->vars.n * sizeof *copy);
    }
    return copy;
}

void ctune_index_reset(ctune_var *var) {
    var->value = NULL;
    var->n_choices = 0;
    var->after = NULL;
    var->was_counter = false;
    var->is_written = true;
}

void ctune_index_set(ctune_build *b, ctune_var *var, ctune_index_value value) {
    (void)b;
    ctune_index_reset(var);
    var->value = value.value;
    var->n_choices = value.n_choices;
    var->choices = value.choices;
}

/* Does an axis from `axis` on stand below the division? */
bool ctune_index_divides(const ctune_build *b, int div, int axis) {
    const ctune_aff *const *forms;
    int n = ctune_div_forms(&b->divs.at[div], &forms);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < forms[i]->n_terms; k++) {
            const ctune_term *t = &forms[i]->terms[k];
            if ((t->kind == CTUNE_TERM_AXIS && t->id >= axis) ||
                (t->kind == CTUNE_TERM_DIV && ctune_index_divides(b, t->id, axis))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The value before the region, as a parameter: nothing has written it yet. */
static const ctune_poly *entry_value(ctune_build *b, ctune_var *var) {
    if (var->is_inside || var->is_written || var->n_writes == 0 || var->is_private) {
        return NULL;
    }
    int64_t constant;
    if (ctune_entry_constant(b, var, &constant)) {
        return ctune_poly_const(b->arena, constant);
    }
    int param = ctune_param_of_text(b, var->name, ctune_cx_type(var->type), 0, false);
    if (param < 0) {
        return NULL;
    }
    if (b->params.at[param].n_sizes == 0) {
        b->params.at[param].n_sizes = 1;
        b->params.at[param].sizes[0] = 0;
    }
    var->has_entry = true;
    return ctune_poly_atom(b->arena, CTUNE_TERM_PARAM, param);
}

static const ctune_poly *choose(ctune_build *b, const ctune_var *var) {
    for (int i = 0; i < var->n_choices; i++) {
        const ctune_choice *c = &var->choices[i];
        ctune_answer answer = CTUNE_YES;
        for (int k = 0; k < c->n_cons && answer == CTUNE_YES; k++) {
            answer = ctune_split_answer(b, c->cons[k]);
        }
        if (answer != CTUNE_NO) {
            return answer == CTUNE_YES ? c->poly : NULL;
        }
    }
    return NULL;
}

const ctune_poly *ctune_index_current(ctune_build *b, ctune_var *var) {
    if (var->value != NULL) {
        return var->value;
    }
    if (var->n_choices > 0) {
        return choose(b, var);
    }
    if (var->after != NULL) {
        return ctune_facts_require_here(b, var->after_need) ? var->after : NULL;
    }
    return ctune_index_is(var) ? entry_value(b, var) : NULL;
}

ctune_int ctune_index_get(ctune_build *b, ctune_var *var, CXCursor at) {
    const ctune_poly *poly = ctune_index_current(b, var);
    if (poly == NULL && b->split != NULL) {
        ctune_build_refuse(b, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, at, "'%s' has several values here",
                           var->name);
    }
    return (ctune_int){poly, ctune_cx_type(var->type), true};
}

/* Sum of products, computed wide: the value itself is in the range of `type`. */
ctune_expr *ctune_index_expr(ctune_build *b, const ctune_poly *poly, ctune_type type) {
    const ctune_aff *aff = ctune_poly_to_aff(b->arena, poly);
    if (aff != NULL && !ctune_load_in(b, aff)) {
        ctune_expr *e = ctune_expr_new(b, CTUNE_OP_AFF, type, 0);
        if (e != NULL) {
            e->aff = aff;
        }
        return e;
    }
    ctune_expr *sum = NULL;
    for (int i = 0; i < poly->n; i++) {
        ctune_expr *term = ctune_expr_int(b, CTUNE_I64, poly->mono[i].coef);
        for (int d = 0; d < poly->mono[i].degree; d++) {
            const ctune_atom *atom = &poly->mono[i].atom[d];
            bool is_load = atom->kind == CTUNE_TERM_DIV && b->divs.at[atom->id].load != NULL;
            ctune_expr *factor = is_load ? ctune_load_read(b, atom->id)
                                         : ctune_expr_new(b, CTUNE_OP_AFF, CTUNE_I64, 0);
            bool is_plain = d == 0 && poly->mono[i].coef == 1;
            if (is_load) {
                bool is_all = is_plain && poly->n == 1 && poly->mono[i].degree == 1;
                factor = is_all ? factor : ctune_expr_cast(b, factor, CTUNE_I64);
            } else if (factor != NULL) {
                factor->aff = ctune_aff_term(b->arena, atom->kind, atom->id, 1);
            }
            term = is_plain ? factor : ctune_expr_new(b, CTUNE_OP_MUL, CTUNE_I64, 2, term, factor);
        }
        sum = i == 0 ? term : ctune_expr_new(b, CTUNE_OP_ADD, CTUNE_I64, 2, sum, term);
    }
    return ctune_expr_cast(b, sum, type);
}

/* ---- assigning ------------------------------------------------------------------------------- */

typedef struct collector {
    const ctune_var *var;
    enum CXBinaryOperatorKind op;
    CXCursor rhs;
    int n_base; /* conditions of the domain that hold anyway */
    int n;
    ctune_choice *at;
} collector;

/* The operand that is added has no place of its own when the statement is `k++`. */
static ctune_int eval_once(ctune_build *b, const collector *c, int by) {
    ctune_type type = ctune_cx_type(c->var->type);
    ctune_int y = {ctune_poly_const(b->arena, by), type, true};
    if (by == 0) {
        y = ctune_affine_get(b, c->rhs);
    }
    if (c->op != CXBinaryOperator_Assign && y.poly != NULL) {
        ctune_int x = ctune_index_get(b, (ctune_var *)(uintptr_t)c->var, c->rhs);
        y = ctune_affine_settle(b, y, c->rhs);
        const ctune_poly *sum = x.poly == NULL || y.poly == NULL ? NULL
                                : c->op == CXBinaryOperator_AddAssign
                                    ? ctune_poly_add(b->arena, x.poly, y.poly)
                                    : ctune_poly_sub(b->arena, x.poly, y.poly);
        bool is_signed = (ctune_type_get(type)->flags & CTUNE_TF_SIGNED) != 0;
        y = (ctune_int){sum, type, is_signed && type >= CTUNE_I32 && !b->wrapv};
    }
    return y.poly == NULL ? y
                          : ctune_affine_settle(b, ctune_affine_cast(b, y, type, c->rhs), c->rhs);
}

static bool collect(ctune_build *b, collector *c, int by) {
    b->split = NULL;
    ctune_int value = eval_once(b, c, by);
    if (value.poly == NULL) {
        const ctune_aff *aff = b->split;
        b->split = NULL;
        if (aff == NULL || c->n >= MAX_CHOICES) {
            return false;
        }
        b->why.refusal = CTUNE_REFUSE_NONE;
        const ctune_aff *rest =
            ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, aff, -1), -1);
        int n = b->domain.n;
        bool ok = ctune_domain_push(b, 1, &aff) && collect(b, c, by);
        b->domain.n = n;
        ok = ok && rest != NULL && ctune_domain_push(b, 1, &rest) && collect(b, c, by);
        b->domain.n = n;
        return ok;
    }
    if (c->n >= MAX_CHOICES) {
        return false;
    }
    int n_cons = b->domain.n - c->n_base;
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, n_cons + 1);
    if (cons == NULL) {
        return false;
    }
    if (n_cons > 0) {
        memcpy(cons, b->domain.at + c->n_base, (size_t)n_cons * sizeof *cons);
    }
    c->at[c->n++] = (ctune_choice){n_cons, cons, value.poly};
    return true;
}

static ctune_index_value eval(ctune_build *b, collector *c, int by) {
    ctune_index_value none = {0};
    ctune_why kept = b->why;
    bool kept_subscript = b->in_subscript;
    const ctune_aff *kept_split = b->split;
    int n_assumes = b->assumes.n;
    b->in_subscript = true;
    c->n_base = b->domain.n;
    c->at = CTUNE_NEW_ARRAY(b->arena, ctune_choice, MAX_CHOICES);
    bool ok = c->at != NULL && collect(b, c, by);
    b->in_subscript = kept_subscript;
    b->why = kept;
    b->split = kept_split;
    if (!ok) {
        b->assumes.n = n_assumes;
        return none;
    }
    if (c->n == 1 && c->at[0].n_cons == 0) {
        return (ctune_index_value){.value = c->at[0].poly};
    }
    return (ctune_index_value){NULL, c->n, c->at};
}

ctune_index_value ctune_index_eval(ctune_build *b, const ctune_var *var,
                                   enum CXBinaryOperatorKind op, CXCursor rhs) {
    collector c = {.var = var, .op = op, .rhs = rhs};
    bool is_known = op == CXBinaryOperator_Assign || op == CXBinaryOperator_AddAssign ||
                    op == CXBinaryOperator_SubAssign;
    return is_known && ctune_index_is(var) ? eval(b, &c, 0) : (ctune_index_value){0};
}

ctune_index_value ctune_index_step(ctune_build *b, const ctune_var *var, int by) {
    collector c = {.var = var, .op = CXBinaryOperator_AddAssign, .rhs = b->statement};
    return ctune_index_is(var) ? eval(b, &c, by) : (ctune_index_value){0};
}

/* ---- branches -------------------------------------------------------------------------------- */

void ctune_index_forget(ctune_build *b, CXCursor statement) {
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        if (!var->is_counter && var->n_writes > 0 &&
            ctune_vars_count_writes(b, statement, var) > 0) {
            ctune_index_reset(var);
        }
    }
}

/* Choices of one side under further conditions. */
static bool add_side(ctune_build *b, const ctune_var *var, int n_cons, const ctune_aff *const *cons,
                     int *n, ctune_choice *out) {
    ctune_choice one = {0, NULL, var->value};
    int n_side = var->value != NULL ? 1 : var->n_choices;
    const ctune_choice *side = var->value != NULL ? &one : var->choices;
    for (int i = 0; i < n_side; i++) {
        const ctune_aff **all =
            CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, n_cons + side[i].n_cons + 1);
        if (all == NULL || *n == MAX_CHOICES) {
            return false;
        }
        memcpy(all, cons, (size_t)n_cons * sizeof *all);
        if (side[i].n_cons > 0) {
            memcpy(all + n_cons, side[i].cons, (size_t)side[i].n_cons * sizeof *all);
        }
        out[(*n)++] = (ctune_choice){n_cons + side[i].n_cons, all, side[i].poly};
    }
    return n_side > 0;
}

static bool merge_var(ctune_build *b, ctune_var *var, const ctune_var *then, int n_cons,
                      const ctune_aff *const *cons) {
    ctune_choice *out = CTUNE_NEW_ARRAY(b->arena, ctune_choice, MAX_CHOICES);
    int n = 0;
    if (out == NULL || n_cons > 8 || !add_side(b, then, n_cons, cons, &n, out)) {
        return false;
    }
    for (int i = 0; i < n_cons; i++) { /* not the first, or the first and not the second, ... */
        const ctune_aff *path[9];
        memcpy(path, cons, (size_t)i * sizeof *path);
        path[i] = ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, cons[i], -1), -1);
        if (path[i] == NULL || !add_side(b, var, i + 1, path, &n, out)) {
            return false;
        }
    }
    ctune_index_reset(var);
    var->n_choices = n;
    var->choices = out;
    return true;
}

void ctune_index_rewind(ctune_build *b, const ctune_var *before) {
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        var->value = before[i].value;
        var->n_choices = before[i].n_choices;
        var->choices = before[i].choices;
        var->after = before[i].after;
        var->after_need = before[i].after_need;
        var->is_written = before[i].is_written;
        var->was_counter = before[i].was_counter;
    }
}

void ctune_index_merge(ctune_build *b, const ctune_var *then, int n_cons,
                       const ctune_aff *const *cons) {
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        const ctune_var *other = &then[i];
        bool is_equal = var->value != NULL && other->value != NULL
                            ? ctune_poly_is_equal(var->value, other->value)
                            : var->value == other->value && var->choices == other->choices &&
                                  var->n_choices == other->n_choices && var->after == other->after;
        bool is_written = var->is_written || other->is_written;
        bool was_counter = var->was_counter || other->was_counter;
        bool is_known = (var->value != NULL || var->n_choices > 0) &&
                        (other->value != NULL || other->n_choices > 0);
        if (!is_equal && (n_cons == 0 || !is_known || !merge_var(b, var, other, n_cons, cons))) {
            ctune_index_reset(var);
            var->was_counter = was_counter;
        }
        var->is_written = is_written;
    }
}
