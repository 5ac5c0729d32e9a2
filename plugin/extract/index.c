/*
 * Index scalars: what integer variables are worth where subscripts, bounds and conditions read
 * them.
 *
 * In: assignments, branches and loops as the walk meets them. Out: each variable as a polynomial in
 * counters and parameters (k = i*m + j), as one of several under affine conditions (a clamp), as an
 * induction over a loop (k++, k += s), or as the value that the iteration before left (im1 = i).
 * A loop's body is tried once with unknowns for the variables that it carries, which shows what one
 * iteration adds. Final values come from the epilogue; a stage whose value nobody reads is dropped.
 */
#include "plugin/extract/build.h"

enum { MAX_CHOICES = 8, MAX_CARRIED = 16 };

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

static void forget(ctune_var *var) {
    var->value = NULL;
    var->n_choices = 0;
    var->after = NULL;
    var->was_counter = false;
    var->is_written = true;
}

void ctune_index_set(ctune_build *b, ctune_var *var, ctune_index_value value) {
    (void)b;
    forget(var);
    var->value = value.value;
    var->n_choices = value.n_choices;
    var->choices = value.choices;
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

static const ctune_poly *value_of(ctune_build *b, ctune_var *var) {
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
    const ctune_poly *poly = value_of(b, var);
    if (poly == NULL && b->split != NULL) {
        ctune_build_refuse(b, CTUNE_REFUSE_SUBSCRIPT_NOT_AFFINE, at, "'%s' has several values here",
                           var->name);
    }
    return (ctune_int){poly, ctune_cx_type(var->type), true};
}

/* Sum of products, computed wide: the value itself is in the range of `type`. */
ctune_expr *ctune_index_expr(ctune_build *b, const ctune_poly *poly, ctune_type type) {
    const ctune_aff *aff = ctune_poly_to_aff(b->arena, poly);
    if (aff != NULL) {
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
            ctune_expr *factor = ctune_expr_new(b, CTUNE_OP_AFF, CTUNE_I64, 0);
            if (factor != NULL) {
                factor->aff = ctune_aff_term(b->arena, atom->kind, atom->id, 1);
            }
            bool is_plain = d == 0 && poly->mono[i].coef == 1;
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
            forget(var);
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
    forget(var);
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
            forget(var);
            var->was_counter = was_counter;
        }
        var->is_written = is_written;
    }
}

/* ---- what a loop carries --------------------------------------------------------------------- */

typedef enum first_use { NOTHING, READS, WRITES } first_use;

static first_use first_of(ctune_build *b, CXCursor at, const ctune_var *var);

static first_use first_of_list(ctune_build *b, ctune_kids kids, int from, const ctune_var *var) {
    for (int i = from; i < kids.n; i++) {
        first_use use = first_of(b, kids.at[i], var);
        if (use != NOTHING) {
            return use;
        }
    }
    return NOTHING;
}

static bool names(ctune_build *b, CXCursor cursor, const ctune_var *var) {
    cursor = ctune_cx_strip(b->arena, cursor);
    return ctune_cx_kind(cursor) == CXCursor_DeclRefExpr &&
           clang_equalCursors(ctune_cx_decl(cursor), var->decl);
}

/* Is the variable read before it is written? Branches and loops may not write: go on behind them.
 */
static first_use first_of(ctune_build *b, CXCursor at, const ctune_var *var) {
    ctune_kids kids = ctune_cx_kids(b->arena, at);
    if (names(b, at, var)) {
        return READS;
    }
    if (clang_getCursorBinaryOperatorKind(at) == CXBinaryOperator_Assign && kids.n == 2 &&
        names(b, kids.at[0], var)) {
        return first_of(b, kids.at[1], var) == READS ? READS : WRITES;
    }
    switch (ctune_cx_kind(at)) {
    case CXCursor_ForStmt: {
        first_use init = kids.n > 0 ? first_of(b, kids.at[0], var) : NOTHING;
        return init != NOTHING ? init : first_of_list(b, kids, 1, var) == READS ? READS : NOTHING;
    }
    case CXCursor_IfStmt: {
        first_use cond = kids.n > 0 ? first_of(b, kids.at[0], var) : NOTHING;
        first_use then = kids.n > 1 ? first_of(b, kids.at[1], var) : NOTHING;
        first_use other = kids.n > 2 ? first_of(b, kids.at[2], var) : NOTHING;
        return cond == READS || then == READS || other == READS ? READS
               : then == WRITES && other == WRITES              ? WRITES
                                                                : NOTHING;
    }
    default:
        return first_of_list(b, kids, 0, var);
    }
}

typedef struct carried {
    int var;
    int unknown; /* axis that stands for the value at the start of an iteration */
    const ctune_poly *start, *change;
    const ctune_poly *at_body;
    bool is_induction;
} carried;

static bool has_unknown(const carried *c, int n, const ctune_poly *poly) {
    for (int i = 0; i < n; i++) {
        if (ctune_poly_has_axis(poly, c[i].unknown)) {
            return true;
        }
    }
    return false;
}

/* Axes of loops inside are gone behind them. */
static bool has_inner(const ctune_poly *poly, int axis) {
    for (int i = 0; i < poly->n; i++) {
        for (int d = 0; d < poly->mono[i].degree; d++) {
            if (poly->mono[i].atom[d].kind == CTUNE_TERM_AXIS && poly->mono[i].atom[d].id > axis) {
                return true;
            }
        }
    }
    return false;
}

static const ctune_poly *axis_at(ctune_build *b, const ctune_poly *poly,
                                 const ctune_index_loop *loop, const ctune_poly *by) {
    return ctune_poly_subst(b->arena, poly, CTUNE_TERM_AXIS, loop->axis, by);
}

/* From one iteration's end to the value at the start of each. */
static void resolve(ctune_build *b, const ctune_index_loop *loop, carried *c, int n, int i,
                    const ctune_poly *end) {
    ctune_arena *a = b->arena;
    const ctune_poly *axis = ctune_poly_atom(a, CTUNE_TERM_AXIS, loop->axis);
    const ctune_poly *first = loop->first != NULL ? ctune_poly_from_aff(a, loop->first) : NULL;
    if (end == NULL || first == NULL || c[i].start == NULL) {
        return;
    }
    const ctune_poly *unknown = ctune_poly_atom(a, CTUNE_TERM_AXIS, c[i].unknown);
    const ctune_poly *change = ctune_poly_sub(a, end, unknown);
    bool is_induction = change != NULL && !has_unknown(c, n, change) &&
                        !ctune_poly_has_axis(change, loop->axis) && !has_inner(change, loop->axis);
    if (is_induction) {
        const ctune_poly *steps = ctune_poly_sub(a, axis, first);
        c[i].is_induction = true;
        c[i].change = change;
        c[i].at_body = ctune_poly_add(a, c[i].start, ctune_poly_mul(a, change, steps));
        return;
    }
    if (has_unknown(c, n, end) || has_inner(end, loop->axis)) {
        return;
    }
    const ctune_poly *one = ctune_poly_const(a, -1);
    const ctune_poly *entry = axis_at(b, end, loop, ctune_poly_add(a, first, one));
    if (ctune_poly_is_equal(entry, c[i].start)) { /* what the iteration before left */
        c[i].at_body = axis_at(b, end, loop, ctune_poly_add(a, axis, one));
    }
}

static bool build_body(ctune_build *b, const ctune_index_loop *loop, ctune_mnode *node) {
    ctune_mnode *parent = b->at;
    b->open[b->n_open++] = loop->axis;
    b->at = node;
    bool ok = ctune_branch_body(b, loop->body);
    b->at = parent;
    b->n_open--;
    return ok;
}

static bool has_new_div(const ctune_poly *poly, int n_divs) {
    for (int i = 0; i < poly->n; i++) {
        for (int d = 0; d < poly->mono[i].degree; d++) {
            if (poly->mono[i].atom[d].kind == CTUNE_TERM_DIV &&
                poly->mono[i].atom[d].id >= n_divs) {
                return true;
            }
        }
    }
    return false;
}

/* One iteration with unknowns; nothing of it stays. */
static bool try_body(ctune_build *b, const ctune_index_loop *loop, carried *c, int n) {
    ctune_snapshot s;
    ctune_mnode *scratch = ctune_mnode_new(b, CTUNE_M_LOOP);
    const ctune_poly *ends[MAX_CARRIED] = {NULL};
    bool was_trial = b->is_trial;
    if (scratch == NULL || !ctune_snapshot_get(b, &s)) {
        return false;
    }
    scratch->axis = loop->axis;
    scratch->parent = b->at;
    ctune_index_forget(b, loop->body);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        ctune_axis *axis = CTUNE_PUSH(b, b->axes);
        ok = axis != NULL;
        if (ok) {
            *axis = (ctune_axis){.name = "", .type = CTUNE_I64, .c_name = "", .step = 1};
            c[i].unknown = b->axes.n - 1;
            b->vars.at[c[i].var].value = ctune_poly_atom(b->arena, CTUNE_TERM_AXIS, c[i].unknown);
        }
    }
    b->is_trial = true;
    ok = ok && build_body(b, loop, scratch);
    b->is_trial = was_trial;
    for (int i = 0; i < n && ok; i++) {
        b->is_trial = true;
        const ctune_poly *end = value_of(b, &b->vars.at[c[i].var]);
        b->is_trial = was_trial;
        ends[i] = end != NULL && !has_new_div(end, s.n_divs) ? end : NULL;
    }
    ctune_snapshot_restore(b, &s, true);
    b->divs.n = s.n_divs;
    for (int i = 0; i < n && ok; i++) {
        resolve(b, loop, c, n, i, ends[i]);
    }
    return !ctune_arena_has_failed(b->arena);
}

/* Behind the loop: the value of the last iteration, or of none. */
static void leave(ctune_build *b, const ctune_index_loop *loop, ctune_var *var, const carried *c) {
    ctune_arena *a = b->arena;
    bool is_needed = c != NULL || var->is_live_after;
    const ctune_poly *end = var->value == NULL && is_needed ? value_of(b, var) : var->value;
    b->split = NULL;
    forget(var);
    if (end == NULL || loop->last == NULL || loop->first == NULL || has_inner(end, loop->axis)) {
        return;
    }
    const ctune_aff *trips = ctune_aff_add_const(a, ctune_aff_sub(a, loop->last, loop->first), 1);
    if (c != NULL && c->is_induction && c->at_body != NULL) {
        const ctune_poly *all = ctune_poly_mul(a, c->change, ctune_poly_from_aff(a, trips));
        var->after = ctune_poly_add(a, c->start, all);
        var->after_need = trips;
        return;
    }
    var->after = axis_at(b, end, loop, ctune_poly_from_aff(a, loop->last));
    var->after_need = ctune_aff_add_const(a, trips, c != NULL && c->at_body != NULL ? 0 : -1);
}

static bool is_declared_in(const ctune_var *var, CXCursor body) {
    size_t at = ctune_cx_begin(var->decl);
    return var->is_inside && at >= ctune_cx_begin(body) && at < ctune_cx_end(body);
}

bool ctune_index_body(ctune_build *b, const ctune_index_loop *loop, ctune_mnode *node) {
    carried c[MAX_CARRIED];
    int n = 0, written[64], n_written = 0;
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        if (var == loop->counter || var->is_counter || !ctune_index_is(var) || var->n_writes == 0 ||
            is_declared_in(var, loop->body) || ctune_vars_count_writes(b, loop->body, var) == 0) {
            continue;
        }
        if (n_written < 64) {
            written[n_written++] = i;
        }
        if (n < MAX_CARRIED && first_of(b, loop->body, var) == READS) {
            c[n++] = (carried){.var = i, .start = value_of(b, var)};
            b->split = NULL;
        }
    }
    if (n > 0 && !try_body(b, loop, c, n)) {
        return false;
    }
    ctune_index_forget(b, loop->body);
    for (int i = 0; i < n; i++) {
        b->vars.at[c[i].var].value = c[i].at_body;
    }
    if (!build_body(b, loop, node)) {
        return false;
    }
    for (int i = 0; i < n_written; i++) {
        const carried *of = NULL;
        for (int k = 0; k < n; k++) {
            of = c[k].var == written[i] ? &c[k] : of;
        }
        leave(b, loop, &b->vars.at[written[i]], of);
    }
    return true;
}

/* ---- the end of the region ------------------------------------------------------------------- */

static bool has_read(const ctune_expr *e, int tensor) {
    return e != NULL && ctune_expr_reads(e, tensor);
}

static bool is_read(ctune_build *b, const ctune_mnode *node, int tensor) {
    if (has_read(node->guard, tensor)) {
        return true;
    }
    if (node->kind == CTUNE_M_STAGE) {
        const ctune_mstage *stage = &b->stages.at[node->stage];
        return stage->target->tensor != tensor && has_read(stage->s.rhs, tensor);
    }
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        if (is_read(b, i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n],
                    tensor)) {
            return true;
        }
    }
    return false;
}

static void kill_reads(ctune_build *b, const ctune_expr *e) {
    if (e->op == CTUNE_OP_READ) {
        b->accs.at[e->read_id].tensor = -1;
    }
    for (int i = 0; i < e->n_kids; i++) {
        kill_reads(b, e->kids[i]);
    }
}

/* Drop stages that write the tensor. */
static bool drop_stages(ctune_build *b, ctune_mnode *node, int tensor) {
    bool found = false;
    for (int pass = 0; pass < 2; pass++) {
        int n = pass == 0 ? node->kids.n : node->otherwise.n, kept = 0;
        ctune_mnode **at = pass == 0 ? node->kids.at : node->otherwise.at;
        for (int i = 0; i < n; i++) {
            ctune_mnode *kid = at[i];
            bool drops =
                kid->kind == CTUNE_M_STAGE && b->stages.at[kid->stage].target->tensor == tensor;
            if (drops) {
                b->accs.at[b->stages.at[kid->stage].target_acc].tensor = -1;
                kill_reads(b, b->stages.at[kid->stage].s.rhs);
                found = true;
            } else {
                found |= drop_stages(b, kid, tensor);
                at[kept++] = kid;
            }
        }
        *(pass == 0 ? &node->kids.n : &node->otherwise.n) = kept;
    }
    return found;
}

static bool is_stored(ctune_build *b, const ctune_mnode *node, int tensor) {
    if (node->kind == CTUNE_M_STAGE) {
        return b->stages.at[node->stage].target->tensor == tensor;
    }
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        if (is_stored(b, i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n],
                      tensor)) {
            return true;
        }
    }
    return false;
}

static bool is_final_counter(const ctune_build *b, const ctune_var *var) {
    for (int i = 0; i < b->finals.n; i++) {
        if (b->finals.at[i].var == var) {
            return true;
        }
    }
    return false;
}

/* Values that the epilogue can print. */
static void set_final(ctune_build *b, ctune_var *var) {
    if (!var->is_live_after || var->is_inside || is_final_counter(b, var)) {
        return;
    }
    b->split = NULL;
    const ctune_poly *poly = value_of(b, var);
    b->split = NULL;
    if (poly != NULL && !ctune_poly_has_axis(poly, -1)) {
        var->final = poly;
    }
}

bool ctune_index_finish(ctune_build *b) {
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        if (ctune_index_is(var) && var->n_writes > 0 && var->tensor >= 0 &&
            is_stored(b, b->root, var->tensor)) {
            set_final(b, var);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < b->vars.n; i++) {
            ctune_var *var = &b->vars.at[i];
            bool is_dead = ctune_index_is(var) && var->tensor >= 0 &&
                           (!var->is_live_after || var->final != NULL);
            if (is_dead && !is_read(b, b->root, var->tensor)) {
                changed |= drop_stages(b, b->root, var->tensor);
            }
        }
    }
    for (int i = 0; i < b->vars.n; i++) {
        ctune_var *var = &b->vars.at[i];
        bool is_stored_still =
            var->tensor >= 0 && var->n_writes > 0 && is_stored(b, b->root, var->tensor);
        if (is_stored_still && (var->has_entry || is_final_counter(b, var)) &&
            (var->is_live_after || var->has_entry)) {
            return ctune_build_refuse_at(
                b, CTUNE_REFUSE_SUBSCRIPT_ASSIGNED, b->tensors.at[var->tensor].offset,
                "'%s' is assigned in the region in a way that is no sum of "
                "counters",
                var->name);
        }
        if (is_stored_still) {
            var->final = NULL; /* its stages do it */
        }
    }
    return true;
}
