/*
 * Final values of counters and index scalars that the source declares outside the region and may
 * read later.
 *
 * In: the tree, b->finals, the final values of variables. Out: C statements in closed form: after a
 * loop the counter stands one step behind its last iteration, or at its first value when there was
 * none; an inner counter has the value of the last outer iteration.
 */
#include "plugin/extract/build.h"

#include "runtime/text.h"

static bool has_final(const ctune_build *b, const ctune_mnode *node) {
    for (int i = 0; i < b->finals.n; i++) {
        if (b->finals.at[i].loop == node) {
            return true;
        }
    }
    for (int i = 0; i < node->kids.n + node->otherwise.n; i++) {
        if (has_final(b,
                      i < node->kids.n ? node->kids.at[i] : node->otherwise.at[i - node->kids.n])) {
            return true;
        }
    }
    return false;
}

static void print_aff(ctune_build *b, const ctune_aff *aff, int skip_axis, int64_t sign,
                      ctune_text *out) {
    ctune_text_printf(out, "(%lldL", (long long)(sign * aff->c0));
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *t = &aff->terms[i];
        if (t->kind == CTUNE_TERM_AXIS && t->id == skip_axis) {
            continue;
        }
        ctune_text_printf(out, " + %lldL * ", (long long)(sign * t->coef));
        if (t->kind == CTUNE_TERM_PARAM) {
            ctune_text_printf(out, "(long)%s", b->params.at[t->id].c_text);
        } else if (t->kind == CTUNE_TERM_AXIS) {
            ctune_text_printf(out, "ctune_at_%s", b->axes.at[t->id].name);
        } else {
            const ctune_div *div = &b->divs.at[t->id];
            ctune_text num;
            ctune_text_init(&num);
            print_aff(b, div->num, -1, 1, &num);
            const char *n = ctune_text_get(&num);
            ctune_text_printf(out, "(%s / %lldL - (%s %% %lldL < 0))", n, (long long)div->den, n,
                              (long long)div->den);
            ctune_text_clear(&num);
        }
    }
    ctune_text_append(out, ")");
}

static bool print_kids(ctune_build *b, const ctune_mnode *node, ctune_text *out);

/* ctune_lo_i, ctune_n_i: first axis value and number of iterations. */
static void print_range(ctune_build *b, const ctune_mnode *loop, ctune_text *out) {
    const char *name = b->axes.at[loop->axis].name;
    for (int pass = 0; pass < 2; pass++) { /* lower bounds, then upper ones */
        bool is_first = true;
        for (int i = 0; i < loop->n_cons; i++) {
            int64_t coef = ctune_aff_coef(loop->cons[i], CTUNE_TERM_AXIS, loop->axis);
            if ((pass == 0) != (coef > 0) || coef == 0) {
                continue;
            }
            ctune_text bound;
            ctune_text_init(&bound);
            print_aff(b, loop->cons[i], loop->axis, pass == 0 ? -1 : 1, &bound);
            const char *what = pass == 0 ? "lo" : "hi";
            const char *text = ctune_text_get(&bound);
            ctune_text floor;
            ctune_text_init(&floor);
            if (coef < -1) {
                ctune_text_printf(&floor, "(%s / %lldL - (%s %% %lldL < 0))", text,
                                  (long long)-coef, text, (long long)-coef);
                text = ctune_text_get(&floor);
            }
            if (is_first) {
                ctune_text_line(out, "long ctune_%s_%s = %s;", what, name, text);
            } else {
                ctune_text_line(out, "ctune_%s_%s = %s %s ctune_%s_%s ? %s : ctune_%s_%s;", what,
                                name, text, pass == 0 ? ">" : "<", what, name, text, what, name);
            }
            is_first = false;
            ctune_text_clear(&floor);
            ctune_text_clear(&bound);
        }
    }
    ctune_text_line(
        out, "long ctune_n_%s = ctune_hi_%s < ctune_lo_%s ? 0 : ctune_hi_%s - ctune_lo_%s + 1;",
        name, name, name, name, name);
    for (int i = 0; i < loop->n_cons; i++) {
        if (ctune_aff_coef(loop->cons[i], CTUNE_TERM_AXIS, loop->axis) == 0) {
            ctune_text bound;
            ctune_text_init(&bound);
            print_aff(b, loop->cons[i], -1, 1, &bound);
            ctune_text_line(out, "ctune_n_%s = %s < 0 ? 0 : ctune_n_%s;", name,
                            ctune_text_get(&bound), name);
            ctune_text_clear(&bound);
        }
    }
}

static bool print_loop(ctune_build *b, const ctune_mnode *loop, ctune_text *out) {
    const char *name = b->axes.at[loop->axis].name;
    ctune_text_line(out, "{");
    out->indent++;
    print_range(b, loop, out);
    bool ok = true, has_inner = false;
    for (int i = 0; i < loop->kids.n; i++) {
        has_inner |= has_final(b, loop->kids.at[i]);
    }
    if (has_inner) {
        ctune_text_line(out, "if (ctune_n_%s > 0) {", name);
        out->indent++;
        ctune_text_line(out, "const long ctune_at_%s = ctune_lo_%s + ctune_n_%s - 1;", name, name,
                        name);
        ctune_text_line(out, "(void)ctune_at_%s;", name);
        ok = print_kids(b, loop, out);
        out->indent--;
        ctune_text_line(out, "}");
    }
    for (int i = 0; i < b->finals.n; i++) {
        const ctune_final *f = &b->finals.at[i];
        if (f->loop != loop) {
            continue;
        }
        const ctune_axis *axis = &b->axes.at[f->axis];
        ctune_text start;
        ctune_text_init(&start);
        if (axis->step != 1) {
            print_aff(b, f->lo, -1, 1, &start);
            ctune_text_printf(&start, " + %lldL * ", (long long)axis->step);
        }
        ctune_text_line(out, "%s = (%s)(%s(ctune_lo_%s + ctune_n_%s));", f->var->name,
                        ctune_type_get(axis->type)->c_name, ctune_text_get(&start), name, name);
        ctune_text_clear(&start);
    }
    out->indent--;
    ctune_text_line(out, "}");
    return ok;
}

static bool print_kids(ctune_build *b, const ctune_mnode *node, ctune_text *out) {
    for (int i = 0; i < node->kids.n; i++) {
        const ctune_mnode *kid = node->kids.at[i];
        if (!has_final(b, kid)) {
            continue;
        }
        if (kid->kind != CTUNE_M_LOOP) {
            return ctune_build_refuse_at(b, CTUNE_REFUSE_COUNTER_LIVE, b->begin,
                                         "a counter keeps its value after a loop under an if");
        }
        if (!print_loop(b, kid, out)) {
            return false;
        }
    }
    return true;
}

/* ---- index scalars --------------------------------------------------------------------------- */

static void print_poly(ctune_build *b, const ctune_poly *poly, ctune_text *out) {
    ctune_text_append(out, "0L");
    for (int i = 0; i < poly->n; i++) {
        const ctune_mono *m = &poly->mono[i];
        ctune_text_printf(out, " + %lldL", (long long)m->coef);
        for (int d = 0; d < m->degree; d++) {
            ctune_text_append(out, " * ");
            print_aff(b, ctune_aff_term(b->arena, m->atom[d].kind, m->atom[d].id, 1), -1, 1, out);
        }
    }
}

static bool has_values(const ctune_build *b) {
    for (int i = 0; i < b->vars.n; i++) {
        if (b->vars.at[i].final != NULL) {
            return true;
        }
    }
    return false;
}

/* All values before the first assignment: they may speak of each other. */
static bool print_values(ctune_build *b, ctune_text *out) {
    ctune_text_line(out, "{");
    out->indent++;
    for (int i = 0; i < b->vars.n; i++) {
        const ctune_var *var = &b->vars.at[i];
        if (var->final != NULL) {
            ctune_text value;
            ctune_text_init(&value);
            print_poly(b, var->final, &value);
            ctune_text_line(out, "const long ctune_end_%s = %s;", var->name,
                            ctune_text_get(&value));
            ctune_text_clear(&value);
        }
    }
    bool ok = print_kids(b, b->root, out);
    for (int i = 0; i < b->vars.n; i++) {
        const ctune_var *var = &b->vars.at[i];
        if (var->final != NULL) {
            if (ctune_index_is_pointer(var)) {
                ctune_text_line(out, "%s += ctune_end_%s;", var->name, var->name);
                continue;
            }
            ctune_text_line(out, "%s = (%s)ctune_end_%s;", var->name,
                            ctune_type_get(ctune_cx_type(var->type))->c_name, var->name);
        }
    }
    out->indent--;
    ctune_text_line(out, "}");
    return ok;
}

const char *ctune_epilogue_print(ctune_build *b) {
    if (b->finals.n == 0 && !has_values(b)) {
        return NULL;
    }
    ctune_text out;
    ctune_text_init(&out);
    bool ok = has_values(b) ? print_values(b, &out) : print_kids(b, b->root, &out);
    const char *text = ok ? ctune_arena_strdup(b->arena, ctune_text_get(&out)) : NULL;
    ctune_text_clear(&out);
    return text;
}
