/* Dump of the lowered program for `ctune show loops`: a summary, one node a line, independent of
 * the target language. */
#include "search/lower/loops.h"

#include <stdio.h>

static void print_aff(const ctune_loops *l, const ctune_aff *aff, ctune_text *out) {
    bool first = true;
    for (int t = 0; t < aff->n_terms; t++) {
        const ctune_term *term = &aff->terms[t];
        ctune_text_printf(out, "%s", term->coef < 0 ? "-" : first ? "" : "+");
        if (term->coef != 1 && term->coef != -1) {
            ctune_text_printf(out, "%lld*", (long long)(term->coef < 0 ? -term->coef : term->coef));
        }
        switch (term->kind) {
        case CTUNE_TERM_AXIS:
            ctune_text_append(out, l->var[term->id].name);
            break;
        case CTUNE_TERM_PARAM:
            ctune_text_append(out, l->region->params[term->id].name);
            break;
        case CTUNE_TERM_DIV:
            ctune_text_printf(out, "div%d", term->id);
            break;
        }
        first = false;
    }
    if (aff->c0 != 0 || first) {
        ctune_text_printf(out, "%s%lld", aff->c0 < 0 || first ? "" : "+", (long long)aff->c0);
    }
}

static void print_limit(const ctune_loops *l, const ctune_limit *limit, ctune_text *out) {
    if (limit->n > 1) {
        ctune_text_append(out, limit->is_max ? "max(" : "min(");
    }
    for (int i = 0; i < limit->n; i++) {
        ctune_text_append(out, i > 0 ? ", " : "");
        print_aff(l, limit->bound[i].aff, out);
        if (limit->bound[i].den != 1) {
            ctune_text_printf(out, " /%s %lld", limit->is_max ? "ceil" : "floor",
                              (long long)limit->bound[i].den);
        }
    }
    ctune_text_append(out, limit->n > 1 ? ")" : "");
    if (limit->align_step > 0) {
        ctune_text_printf(out, " aligned %lld from %s", (long long)limit->align_step,
                          l->var[limit->align_var].name);
    }
}

static void indent(ctune_text *out, int depth) {
    for (int i = 0; i < depth; i++) {
        ctune_text_append(out, "  ");
    }
}

static void print_for(const ctune_loops *l, const ctune_lfor *loop, ctune_text *out) {
    static const char *const anns[] = {"", " unroll", " vector", " parallel"};
    ctune_text_printf(out, "for %s in [", l->var[loop->var].name);
    print_limit(l, &loop->lo, out);
    ctune_text_append(out, " .. ");
    print_limit(l, &loop->hi, out);
    ctune_text_printf(out, "] step %lld%s\n", (long long)loop->step, anns[loop->ann]);
}

static void print_node(const ctune_loops *l, const ctune_lnode *n, int depth, ctune_text *out) {
    int inner = depth + (n->kind == CTUNE_LN_FOR || n->kind == CTUNE_LN_IF);
    if (n->kind != CTUNE_LN_SEQ) {
        indent(out, depth);
    }
    switch (n->kind) {
    case CTUNE_LN_SEQ:
        break;
    case CTUNE_LN_FOR:
        print_for(l, &n->loop, out);
        break;
    case CTUNE_LN_IF:
        ctune_text_append(out, "if ");
        for (int i = 0; i < n->n_conds; i++) {
            ctune_text_append(out, i > 0 ? " and " : "");
            print_aff(l, n->conds[i], out);
            ctune_text_append(out, " >= 0");
        }
        ctune_text_append(out, "\n");
        break;
    case CTUNE_LN_LET:
        ctune_text_printf(out, "let %s = ", l->var[n->var].name);
        print_limit(l, &n->limit, out);
        if (n->count_from >= 0) {
            ctune_text_printf(out, " count from %s", l->var[n->count_from].name);
        }
        if (n->floor_var >= 0) {
            ctune_text_printf(out, " at least %s%+lld", l->var[n->floor_var].name,
                              (long long)n->floor_add);
        }
        ctune_text_append(out, "\n");
        break;
    case CTUNE_LN_STMT:
        ctune_text_printf(out, "%s", l->region->stages[l->tree->stmts[n->env.stmt].stage].name);
        for (int i = 0; i < l->tree->stmts[n->env.stmt].n_dims; i++) {
            ctune_text_append(out, i == 0 ? " at " : ", ");
            if (n->env.val[i] != NULL) {
                print_aff(l, n->env.val[i], out);
            }
        }
        ctune_text_append(out, "\n");
        break;
    case CTUNE_LN_MICRO:
        ctune_text_printf(out, "register tile %s%s",
                          l->region->stages[l->tree->stmts[n->micro->stmt].stage].name,
                          n->micro->is_padded ? " padded" : "");
        for (int t = 0; t < n->micro->n_tile; t++) {
            ctune_text_printf(out, " %s:%lld%s", l->var[n->micro->tile[t].origin].name,
                              (long long)n->micro->tile[t].extent,
                              n->micro->tile[t].is_vector ? "v" : "");
        }
        ctune_text_append(out, "\n");
        for (int i = 0; i < n->micro->n_inner; i++) {
            indent(out, depth + 1 + i);
            print_for(l, &n->micro->inner[i], out);
        }
        break;
    case CTUNE_LN_PACK:
        ctune_text_printf(out, "%s into %s\n", n->is_zero ? "zero" : "pack",
                          l->buffer[n->packed->buffer].name);
        break;
    case CTUNE_LN_DECL:
        ctune_text_printf(out, "local %s\n", l->region->tensors[n->tensor].name);
        break;
    }
    for (int i = 0; i < n->n_kids; i++) {
        print_node(l, n->kids[i], inner, out);
    }
    if (n->else_kid != NULL) {
        indent(out, depth);
        ctune_text_append(out, "else\n");
        print_node(l, n->else_kid, inner, out);
    }
}

void ctune_loops_print(const ctune_loops *loops, ctune_text *out) {
    for (int i = 0; i < loops->n_buffers; i++) {
        const ctune_lbuffer *b = &loops->buffer[i];
        ctune_text_printf(out, "buffer %s %s%s", b->name, ctune_type_get(b->type)->name,
                          b->is_per_thread ? " per thread" : "");
        for (int d = 0; d < b->n_dims; d++) {
            ctune_text_append(out, " [");
            print_limit(loops, &b->lo[d], out);
            ctune_text_append(out, " .. ");
            print_limit(loops, &b->hi[d], out);
            ctune_text_append(out, "]");
            if (b->cap[d] > 0) {
                ctune_text_printf(out, " at most %lld", (long long)b->cap[d]);
            }
        }
        ctune_text_append(out, "\n");
    }
    print_node(loops, loops->setup, 0, out);
    print_node(loops, loops->root, 0, out);
}
