/*
 * What a loop carries: index scalars whose value an iteration leaves to the next.
 *
 * In: a loop whose body writes integer variables that take part in subscripts. Out: their value at
 * the start of each iteration (k + 2 * i after k += 2), and behind the loop. The body is tried once
 * with unknowns for the variables that it reads before it writes them, which shows what one
 * iteration adds; nothing of the trial stays.
 */
#include "plugin/extract/build.h"

enum { MAX_CARRIED = 16 };

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
    case CXCursor_WhileStmt:
        return first_of_list(b, kids, 0, var) == READS ? READS : NOTHING;
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
    int n_choices;
    const ctune_choice *choices; /* the first iteration, ..., all others; NULL: at_body */
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

/* Axes of loops inside are gone behind them; below a division no axis is replaced. */
static bool has_inner(const ctune_build *b, const ctune_poly *poly, int axis) {
    for (int i = 0; i < poly->n; i++) {
        for (int d = 0; d < poly->mono[i].degree; d++) {
            const ctune_atom *atom = &poly->mono[i].atom[d];
            if ((atom->kind == CTUNE_TERM_AXIS && atom->id > axis) ||
                (atom->kind == CTUNE_TERM_DIV && ctune_index_divides(b, atom->id, axis))) {
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

/* Distance of the iteration from the first one, less `by`. */
static const ctune_aff *behind(ctune_build *b, const ctune_index_loop *loop, int64_t by) {
    const ctune_aff *axis = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, loop->axis, 1);
    return ctune_aff_add_const(b->arena, ctune_aff_sub(b->arena, axis, loop->first), -by);
}

/* The first iterations see other values than the rest: prev = n - 1; ... prev = i; one of `firsts`
 * each, then `rest`. */
static bool wrap_around(ctune_build *b, const ctune_index_loop *loop, int n_firsts,
                        const ctune_poly *const *firsts, const ctune_poly *rest, carried *c) {
    ctune_choice *out = CTUNE_NEW_ARRAY(b->arena, ctune_choice, n_firsts + 1);
    const ctune_aff **cons = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, 2 * n_firsts + 2);
    if (out == NULL || cons == NULL) {
        return false;
    }
    for (int i = 0; i <= n_firsts; i++) { /* i <= distance, and distance <= i but for the last */
        const ctune_aff **at = &cons[2 * i];
        at[0] = ctune_aff_scale(b->arena, behind(b, loop, i), -1);
        at[1] = behind(b, loop, i);
        bool is_first = i == 0, is_last = i == n_firsts;
        out[i] = (ctune_choice){is_first || is_last ? 1 : 2, is_last ? at + 1 : at,
                                is_last ? rest : firsts[i]};
        if (at[0] == NULL || at[1] == NULL) {
            return false;
        }
    }
    c->n_choices = n_firsts + 1;
    c->choices = out;
    return true;
}

/* prev2 = prev: what the other held one iteration earlier, when that is known. */
static bool follow(ctune_build *b, const ctune_index_loop *loop, carried *c, int n, int i,
                   const ctune_poly **end) {
    enum { MOST = 4 };
    for (int k = 0; k < n; k++) {
        const ctune_poly *unknown = ctune_poly_atom(b->arena, CTUNE_TERM_AXIS, c[k].unknown);
        if (k == i || !ctune_poly_is_equal(*end, unknown)) {
            continue;
        }
        if (c[k].choices == NULL) {
            *end = c[k].at_body != NULL ? c[k].at_body : *end;
            return false;
        }
        const ctune_poly *firsts[MOST] = {c[i].start};
        int n_firsts = 1;
        for (int m = 0; m + 1 < c[k].n_choices && n_firsts < MOST; m++) {
            firsts[n_firsts++] = c[k].choices[m].poly;
        }
        const ctune_poly *axis = ctune_poly_atom(b->arena, CTUNE_TERM_AXIS, loop->axis);
        const ctune_poly *rest =
            axis_at(b, c[k].choices[c[k].n_choices - 1].poly, loop,
                    ctune_poly_add(b->arena, axis, ctune_poly_const(b->arena, -1)));
        return n_firsts == c[k].n_choices && rest != NULL &&
               wrap_around(b, loop, n_firsts, firsts, rest, &c[i]);
    }
    return false;
}

/* From one iteration's end to the value at the start of each. */
static void resolve(ctune_build *b, const ctune_index_loop *loop, carried *c, int n, int i,
                    const ctune_poly *end) {
    ctune_arena *a = b->arena;
    const ctune_poly *axis = ctune_poly_atom(a, CTUNE_TERM_AXIS, loop->axis);
    const ctune_poly *first = loop->first != NULL ? ctune_poly_from_aff(a, loop->first) : NULL;
    if (end == NULL || first == NULL || c[i].start == NULL || c[i].at_body != NULL ||
        c[i].choices != NULL || follow(b, loop, c, n, i, &end)) {
        return;
    }
    const ctune_poly *unknown = ctune_poly_atom(a, CTUNE_TERM_AXIS, c[i].unknown);
    const ctune_poly *change = ctune_poly_sub(a, end, unknown);
    bool is_induction = change != NULL && !has_unknown(c, n, change) &&
                        !ctune_poly_has_axis(change, loop->axis) &&
                        !has_inner(b, change, loop->axis);
    if (is_induction) {
        const ctune_poly *steps = ctune_poly_sub(a, axis, first);
        c[i].is_induction = true;
        c[i].change = change;
        c[i].at_body = ctune_poly_add(a, c[i].start, ctune_poly_mul(a, change, steps));
        return;
    }
    if (has_unknown(c, n, end) || has_inner(b, end, loop->axis)) {
        return;
    }
    const ctune_poly *one = ctune_poly_const(a, -1);
    const ctune_poly *entry = axis_at(b, end, loop, ctune_poly_add(a, first, one));
    const ctune_poly *before = axis_at(b, end, loop, ctune_poly_add(a, axis, one));
    if (ctune_poly_is_equal(entry, c[i].start)) { /* what the iteration before left */
        c[i].at_body = before;
    } else if (before != NULL) {
        wrap_around(b, loop, 1, &c[i].start, before, &c[i]);
    }
}

static bool build_body(ctune_build *b, const ctune_index_loop *loop, ctune_mnode *node) {
    ctune_mnode *parent = b->at;
    b->open[b->n_open++] = loop->axis;
    b->at = node;
    ctune_kids list = ctune_cx_statements(b->arena, loop->body);
    list.n -= loop->n_drop;
    bool ok = ctune_branch_list(b, list, true);
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
        const ctune_poly *end = ctune_index_current(b, &b->vars.at[c[i].var]);
        b->is_trial = was_trial;
        ends[i] = end != NULL && !has_new_div(end, s.n_divs) ? end : NULL;
    }
    ctune_snapshot_restore(b, &s, true);
    b->divs.n = s.n_divs;
    for (int i = 0; i < n * n && ok; i++) { /* one may wait for another */
        resolve(b, loop, c, n, i % n, ends[i % n]);
    }
    return !ctune_arena_has_failed(b->arena);
}

/* Behind the loop: the value of the last iteration, or of none. */
static void leave(ctune_build *b, const ctune_index_loop *loop, ctune_var *var, const carried *c) {
    ctune_arena *a = b->arena;
    bool is_needed = c != NULL || var->is_live_after;
    const ctune_poly *end =
        var->value == NULL && is_needed ? ctune_index_current(b, var) : var->value;
    b->split = NULL;
    ctune_index_reset(var);
    if (end == NULL || loop->last == NULL || loop->first == NULL || has_inner(b, end, loop->axis)) {
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
            c[n++] = (carried){.var = i, .start = ctune_index_current(b, var)};
            b->split = NULL;
        }
    }
    if (n > 0 && !try_body(b, loop, c, n)) {
        return false;
    }
    ctune_index_forget(b, loop->body);
    for (int i = 0; i < n; i++) {
        b->vars.at[c[i].var].value = c[i].at_body;
        if (c[i].choices != NULL) {
            b->vars.at[c[i].var].n_choices = c[i].n_choices;
            b->vars.at[c[i].var].choices = c[i].choices;
        }
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
