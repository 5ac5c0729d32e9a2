/*
 * TE as text: a line-oriented, versioned dump without addresses or times (docs/te.md has the
 * grammar).
 *
 * In: a finished region. Out: text that te_parse reads back to the same region. The same walk
 * prints the normal form under the workload key: names become ordinals, and what only people or the
 * source need is left out.
 */
#include "search/te/te_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct printer {
    const ctune_region *region;
    ctune_text *out;
    bool normal; /* the form that is hashed */
} printer;

/* ---- words ----------------------------------------------------------------------------------- */

void te_print_quoted(ctune_text *out, const char *text) {
    ctune_text_append(out, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\') {
            ctune_text_printf(out, "\\%c", c);
        } else if (c == '\n') {
            ctune_text_append(out, "\\n");
        } else if (c < 32 || c == 127) {
            ctune_text_printf(out, "\\x%02x", c);
        } else {
            ctune_text_append_n(out, p, 1);
        }
    }
    ctune_text_append(out, "\"");
}

static void print_name(printer *p, char letter, int id, int n, const char *name) {
    if (p->normal || name == NULL || id < 0 || id >= n) {
        ctune_text_printf(p->out, "%c%d", letter, id);
    } else {
        ctune_text_append(p->out, name);
    }
}

static void print_axis(printer *p, int id) {
    bool ok = id >= 0 && id < p->region->n_axes;
    print_name(p, 'i', id, p->region->n_axes, ok ? p->region->axes[id].name : NULL);
}

static void print_param(printer *p, int id) {
    bool ok = id >= 0 && id < p->region->n_params;
    print_name(p, 'n', id, p->region->n_params, ok ? p->region->params[id].name : NULL);
}

static void print_tensor(printer *p, int id) {
    bool ok = id >= 0 && id < p->region->n_tensors;
    print_name(p, 'T', id, p->region->n_tensors, ok ? p->region->tensors[id].name : NULL);
}

static void print_stage_name(printer *p, int id) {
    bool ok = id >= 0 && id < p->region->n_stages;
    print_name(p, 'S', id, p->region->n_stages, ok ? p->region->stages[id].name : NULL);
}

static const char *type_name(ctune_type type) {
    return ctune_type_get(type)->name;
}

/* ---- affine forms ---------------------------------------------------------------------------- */

static void print_aff(printer *p, const ctune_aff *aff) {
    if (aff == NULL) {
        ctune_text_append(p->out, "?");
        return;
    }
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *term = &aff->terms[i];
        bool negative = term->coef < 0;
        uint64_t size = negative ? -(uint64_t)term->coef : (uint64_t)term->coef;
        if (i > 0) {
            ctune_text_append(p->out, negative ? " - " : " + ");
        } else if (negative) {
            ctune_text_append(p->out, "-");
        }
        if (size != 1) {
            ctune_text_printf(p->out, "%llu*", (unsigned long long)size);
        }
        if (term->kind == CTUNE_TERM_AXIS) {
            print_axis(p, term->id);
        } else if (term->kind == CTUNE_TERM_PARAM) {
            print_param(p, term->id);
        } else {
            ctune_text_printf(p->out, "@%d", term->id);
        }
    }
    if (aff->n_terms == 0) {
        ctune_text_printf(p->out, "%lld", (long long)aff->c0);
    } else if (aff->c0 != 0) {
        uint64_t size = aff->c0 < 0 ? -(uint64_t)aff->c0 : (uint64_t)aff->c0;
        ctune_text_printf(p->out, " %c %llu", aff->c0 < 0 ? '-' : '+', (unsigned long long)size);
    }
}

static void print_cons(printer *p, int n_cons, const ctune_aff *const *cons) {
    for (int i = 0; i < n_cons; i++) {
        ctune_text_append(p->out, i > 0 ? ", " : " ");
        print_aff(p, cons[i]);
        ctune_text_append(p->out, " >= 0");
    }
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* C's binding strength; 0 for what is printed as a call or an atom. */
static int precedence(ctune_op op) {
    switch (op) {
    case CTUNE_OP_LOR:
        return 1;
    case CTUNE_OP_LAND:
        return 2;
    case CTUNE_OP_BOR:
        return 3;
    case CTUNE_OP_BXOR:
        return 4;
    case CTUNE_OP_BAND:
        return 5;
    case CTUNE_OP_EQ:
    case CTUNE_OP_NE:
        return 6;
    case CTUNE_OP_LT:
    case CTUNE_OP_LE:
    case CTUNE_OP_GT:
    case CTUNE_OP_GE:
        return 7;
    case CTUNE_OP_SHL:
    case CTUNE_OP_SHR:
        return 8;
    case CTUNE_OP_ADD:
    case CTUNE_OP_SUB:
        return 9;
    case CTUNE_OP_MUL:
    case CTUNE_OP_DIV:
    case CTUNE_OP_MOD:
        return 10;
    case CTUNE_OP_NEG:
    case CTUNE_OP_BNOT:
    case CTUNE_OP_LNOT:
    case CTUNE_OP_CAST:
        return 11;
    default:
        return 12;
    }
}

ctune_type ctune_expr_derived_type(const ctune_region *region, const ctune_expr *e) {
    ctune_type type;
    switch (e->op) {
    case CTUNE_OP_CONST:
    case CTUNE_OP_AFF:
    case CTUNE_OP_CAST:
        return e->type;
    case CTUNE_OP_READ: {
        int id = e->access.tensor;
        return id >= 0 && id < region->n_tensors ? region->tensors[id].type : e->type;
    }
    case CTUNE_OP_LT:
    case CTUNE_OP_LE:
    case CTUNE_OP_GT:
    case CTUNE_OP_GE:
    case CTUNE_OP_EQ:
    case CTUNE_OP_NE:
    case CTUNE_OP_LAND:
    case CTUNE_OP_LOR:
    case CTUNE_OP_LNOT:
        return CTUNE_I32;
    case CTUNE_OP_SELECT:
        return e->n_kids > 1 ? e->kids[1]->type : e->type;
    case CTUNE_OP_CALL:
        return e->text != NULL && ctune_math_find(e->text, &type) != 0 ? type : CTUNE_F64;
    default:
        return e->n_kids > 0 ? e->kids[0]->type : e->type;
    }
}

/* A literal that says its type and value by itself: 2, 1.0, 0.2f. */
static bool is_plain_literal(ctune_type type, int64_t i_value, double f_value, const char *text) {
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    char *end;
    if (type == CTUNE_I32) {
        bool is_digits = strspn(text, "0123456789") == strlen(text) && strlen(text) < 11;
        return is_digits && (text[0] != '0' || text[1] == '\0') &&
               strtoll(text, NULL, 10) == i_value;
    }
    bool has_point = text[strspn(text, "0123456789")] == '.';
    if (!has_point || strchr(text, 'x') != NULL) {
        return false;
    }
    if (type == CTUNE_F32) {
        double value = (double)strtof(text, &end);
        return strcmp(end, "f") == 0 && value == f_value;
    }
    double value = strtod(text, &end);
    return type == CTUNE_F64 && *end == '\0' && value == f_value;
}

static void print_typed_const(ctune_text *out, ctune_type type, int64_t i_value, double f_value,
                              const char *text) {
    if (ctune_type_is_float(type)) {
        ctune_text_printf(out, "%s(%a", type_name(type), f_value);
    } else {
        ctune_text_printf(out, "%s(%lld", type_name(type), (long long)i_value);
    }
    if (text != NULL) {
        ctune_text_append(out, " ");
        te_print_quoted(out, text);
    }
    ctune_text_append(out, ")");
}

void te_print_const(ctune_text *out, ctune_type type, int64_t i_value, double f_value,
                    const char *text) {
    if (is_plain_literal(type, i_value, f_value, text)) {
        ctune_text_append(out, text);
    } else {
        print_typed_const(out, type, i_value, f_value, text);
    }
}

static void print_const(printer *p, const ctune_expr *e) {
    if (!p->normal) {
        te_print_const(p->out, e->type, e->i_value, e->f_value, e->text);
    } else { /* long double constants differ in bits that f_value does not hold */
        print_typed_const(p->out, e->type, e->i_value, e->f_value,
                          e->type == CTUNE_F80 ? e->text : NULL);
    }
}

static void print_access(printer *p, const ctune_access *access) {
    print_tensor(p, access->tensor);
    for (int i = 0; i < access->n_idx; i++) {
        ctune_text_append(p->out, "[");
        print_aff(p, access->idx[i]);
        ctune_text_append(p->out, "]");
    }
}

static void print_expr(printer *p, const ctune_expr *e, int min_precedence);

static void print_call(printer *p, const ctune_expr *e, const char *name) {
    ctune_text_printf(p->out, "%s(", name);
    for (int i = 0; i < e->n_kids; i++) {
        ctune_text_append(p->out, i > 0 ? ", " : "");
        print_expr(p, e->kids[i], 0);
    }
    ctune_text_append(p->out, ")");
}

static void print_operator(printer *p, const ctune_expr *e) {
    int strength = precedence(e->op);
    if (e->op == CTUNE_OP_CAST) {
        ctune_text_printf(p->out, "(%s) ", type_name(e->type));
        print_expr(p, e->kids[0], strength);
    } else if (e->n_kids == 1) {
        ctune_text_append(p->out, ctune_op_get(e->op)->c_token);
        print_expr(p, e->kids[0], strength);
    } else {
        print_expr(p, e->kids[0], strength);
        ctune_text_printf(p->out, " %s ", ctune_op_get(e->op)->c_token);
        print_expr(p, e->kids[1], strength + 1);
    }
}

static void print_bare(printer *p, const ctune_expr *e) {
    int arity = ctune_op_get(e->op)->arity;
    if (arity >= 0 && e->n_kids != arity) {
        ctune_text_append(p->out, "?"); /* unverified input: never crash */
        return;
    }
    switch (e->op) {
    case CTUNE_OP_CONST:
        print_const(p, e);
        break;
    case CTUNE_OP_AFF:
        ctune_text_printf(p->out, "%s{", type_name(e->type));
        print_aff(p, e->aff);
        ctune_text_append(p->out, "}");
        break;
    case CTUNE_OP_READ:
        print_access(p, &e->access);
        break;
    case CTUNE_OP_SELECT:
    case CTUNE_OP_MIN:
    case CTUNE_OP_MAX:
        print_call(p, e, ctune_op_get(e->op)->token);
        break;
    case CTUNE_OP_CALL:
        print_call(p, e, e->text != NULL ? e->text : "?");
        break;
    default:
        print_operator(p, e);
        break;
    }
}

static void print_expr(printer *p, const ctune_expr *e, int min_precedence) {
    if (e == NULL) {
        ctune_text_append(p->out, "?");
        return;
    }
    bool is_typed = e->type != ctune_expr_derived_type(p->region, e);
    int strength = precedence(e->op);
    bool has_parens = strength < 12 && (is_typed || strength < min_precedence);
    if (has_parens) {
        ctune_text_append(p->out, "(");
    }
    print_bare(p, e);
    if (has_parens) {
        ctune_text_append(p->out, ")");
    }
    if (is_typed) {
        ctune_text_printf(p->out, ":%s", type_name(e->type));
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void print_region_line(printer *p) {
    const ctune_region *r = p->region;
    ctune_text_printf(p->out, "region %s", r->name != NULL ? r->name : "?");
    if (r->file != NULL) {
        ctune_text_append(p->out, " at ");
        te_print_quoted(p->out, r->file);
        ctune_text_printf(p->out, ":%d", r->line);
    }
    ctune_text_append(p->out, "\n");
}

static void print_options(printer *p) {
    const ctune_region *r = p->region;
    if (r->reassoc) {
        ctune_text_append(p->out, "option reassoc\n");
    }
    if (r->serial) {
        ctune_text_append(p->out, "option serial\n");
    }
    if (r->gpu != 0) {
        ctune_text_printf(p->out, "option gpu %u\n", r->gpu);
    }
    if (p->normal) {
        return;
    }
    if (r->noalias) {
        ctune_text_append(p->out, "option noalias\n");
    }
    if (r->n_threads != 0) {
        ctune_text_printf(p->out, "option threads %d\n", r->n_threads);
    }
    if (r->weight != 1 && r->weight != 0) {
        ctune_text_printf(p->out, "option weight %.17g\n", r->weight);
    }
    if (r->schedule != NULL) {
        ctune_text_append(p->out, "option schedule ");
        te_print_quoted(p->out, r->schedule);
        ctune_text_append(p->out, "\n");
    }
    if (r->epilogue != NULL) {
        ctune_text_append(p->out, "option epilogue ");
        te_print_quoted(p->out, r->epilogue);
        ctune_text_append(p->out, "\n");
    }
}

/* ` word "text"` unless the text is what the parser assumes without it */
static void print_text_attr(printer *p, const char *word, const char *text, const char *assumed) {
    if (!p->normal && text != NULL && (assumed == NULL || strcmp(text, assumed) != 0)) {
        ctune_text_printf(p->out, " %s ", word);
        te_print_quoted(p->out, text);
    }
}

static void print_param_line(printer *p, int id) {
    const ctune_param *param = &p->region->params[id];
    ctune_text_append(p->out, "param ");
    print_param(p, id);
    ctune_text_printf(p->out, " %s", type_name(param->type));
    if (!p->normal && param->n_sizes > 0) {
        ctune_text_append(p->out, " sizes");
        for (int i = 0; i < param->n_sizes && i < CTUNE_MAX_SIZES; i++) {
            ctune_text_printf(p->out, " %lld", (long long)param->sizes[i]);
        }
    }
    print_text_attr(p, "text", param->c_text, param->name);
    ctune_text_append(p->out, "\n");
}

/* pattern and base, unless they are what finish assumes */
static void print_source_attrs(printer *p, const ctune_tensor *t) {
    ctune_arena *arena = ctune_arena_create(NULL);
    const char *pattern = NULL, *base = NULL;
    if (!t->is_temp && t->name != NULL) {
        pattern = ctune_tensor_default_pattern(arena, t->name, t->rank);
        base = ctune_arena_printf(arena, "%s%s", t->rank == 0 ? "&" : "", t->name);
    }
    print_text_attr(p, "pattern", t->pattern, pattern);
    print_text_attr(p, "base", t->base, base);
    ctune_arena_destroy(arena);
}

static void print_tensor_line(printer *p, int id) {
    const ctune_tensor *t = &p->region->tensors[id];
    ctune_text_append(p->out, "tensor ");
    print_tensor(p, id);
    ctune_text_printf(p->out, " %s", type_name(t->type));
    for (int d = 0; d < t->rank && d < CTUNE_MAX_RANK; d++) {
        ctune_text_append(p->out, d == 0 ? " [" : "[");
        print_aff(p, t->extent[d]);
        ctune_text_append(p->out, "]");
    }
    ctune_text_append(p->out, t->is_read && t->is_written ? " update"
                              : t->is_written             ? " write"
                              : t->is_read                ? " read"
                                                          : " unused");
    ctune_text_append(p->out, t->is_temp ? " temp" : "");
    if (!p->normal) {
        ctune_text_append(p->out, t->is_scalar_var ? " scalar" : "");
        ctune_text_append(p->out, t->is_pointer ? " pointer" : "");
        ctune_text_append(p->out, t->is_restrict ? " restrict" : "");
        ctune_text_append(p->out, t->is_const ? " const" : "");
    }
    if (t->elem_stride_bytes != 0 && t->elem_stride_bytes != ctune_type_get(t->type)->bytes) {
        ctune_text_printf(p->out, " stride %d", t->elem_stride_bytes);
    }
    print_source_attrs(p, t);
    print_text_attr(p, "liveout", t->live_out_text, NULL);
    ctune_text_append(p->out, p->normal && t->live_out_text != NULL ? " liveout\n" : "\n");
}

static void print_axis_line(printer *p, int id) {
    const ctune_axis *axis = &p->region->axes[id];
    ctune_text_append(p->out, "axis ");
    print_axis(p, id);
    ctune_text_printf(p->out, " %s", type_name(axis->type));
    if (axis->step != 1 && !p->normal) {
        ctune_text_printf(p->out, " step %lld", (long long)axis->step);
    }
    print_text_attr(p, "counter", axis->c_name, axis->name);
    ctune_text_append(p->out, "\n");
}

static void print_stage_line(printer *p, int id) {
    const ctune_stage *s = &p->region->stages[id];
    ctune_text_append(p->out, "stage ");
    print_stage_name(p, id);
    ctune_text_append(p->out, ": ");
    print_access(p, &s->target);
    ctune_text_printf(p->out, " %s ", ctune_update_get(s->update)->token);
    print_expr(p, s->rhs, 0);
    int target = s->target.tensor;
    bool has_target = target >= 0 && target < p->region->n_tensors;
    if (!has_target || s->calc != p->region->tensors[target].type) {
        ctune_text_printf(p->out, " ; calc %s", type_name(s->calc));
    }
    if (s->guard != NULL) {
        ctune_text_append(p->out, " ; when ");
        print_expr(p, s->guard, 0);
    }
    if (s->reassoc) {
        ctune_text_append(p->out, " ; reassoc");
    }
    if (!p->normal && (s->line != 0 || s->col != 0)) {
        ctune_text_printf(p->out, " ; at %d:%d", s->line, s->col);
    }
    if (!p->normal && s->text != NULL) {
        ctune_text_append(p->out, " ; text ");
        te_print_quoted(p->out, s->text);
    }
    ctune_text_append(p->out, "\n");
}

static void print_node(printer *p, const ctune_node *node, int depth);

static void print_kids(printer *p, const ctune_node *node, int depth) {
    ctune_text_append(p->out, " {\n");
    for (int i = 0; i < node->n_kids; i++) {
        print_node(p, node->kids[i], depth + 1);
    }
    ctune_text_printf(p->out, "%*s}\n", 4 * depth, "");
}

static void print_node(printer *p, const ctune_node *node, int depth) {
    ctune_text_printf(p->out, "%*s", 4 * depth, "");
    switch (node->kind) {
    case CTUNE_NODE_STAGE:
        print_stage_name(p, node->stage);
        ctune_text_append(p->out, "\n");
        break;
    case CTUNE_NODE_LOOP:
        ctune_text_append(p->out, "for ");
        print_axis(p, node->axis);
        ctune_text_append(p->out, ":");
        print_cons(p, node->n_cons, node->cons);
        print_kids(p, node, depth);
        break;
    case CTUNE_NODE_IF:
        ctune_text_append(p->out, "if:");
        print_cons(p, node->n_cons, node->cons);
        print_kids(p, node, depth);
        break;
    default:
        ctune_text_append(p->out, depth == 0 ? "order" : "seq");
        print_kids(p, node, depth);
        break;
    }
}

static void print_all(printer *p) {
    const ctune_region *r = p->region;
    ctune_text_append(p->out, "te 1\n");
    if (!p->normal) {
        print_region_line(p);
    }
    print_options(p);
    for (int i = 0; i < r->n_params; i++) {
        print_param_line(p, i);
    }
    for (int i = 0; i < r->n_axes; i++) {
        print_axis_line(p, i);
    }
    for (int i = 0; i < r->n_divs; i++) {
        ctune_text_printf(p->out, "div @%d = ", i);
        if (r->divs[i].load != NULL) {
            print_access(p, r->divs[i].load);
            ctune_text_append(p->out, "\n");
            continue;
        }
        ctune_text_append(p->out, "(");
        print_aff(p, r->divs[i].num);
        ctune_text_printf(p->out, ") / %lld\n", (long long)r->divs[i].den);
    }
    for (int i = 0; i < r->n_tensors; i++) {
        print_tensor_line(p, i);
    }
    for (int i = 0; i < r->n_assumes; i++) {
        ctune_text_append(p->out, "assume ");
        print_aff(p, r->assumes[i].aff);
        ctune_text_append(p->out, " >= 0");
        print_text_attr(p, "text", r->assumes[i].c_text, NULL);
        ctune_text_append(p->out, "\n");
    }
    for (int i = 0; i < r->n_stages; i++) {
        print_stage_line(p, i);
    }
    if (r->root != NULL) {
        print_node(p, r->root, 0);
    }
}

void ctune_te_print(const ctune_region *region, ctune_text *out) {
    printer p = {region, out, false};
    print_all(&p);
}

void ctune_te_print_normal(const ctune_region *region, ctune_text *out) {
    printer p = {region, out, true};
    print_all(&p);
}

void ctune_aff_print(const ctune_region *region, const ctune_aff *aff, ctune_text *out) {
    printer p = {region, out, false};
    print_aff(&p, aff);
}

void ctune_expr_print(const ctune_region *region, const ctune_expr *expr, ctune_text *out) {
    printer p = {region, out, false};
    print_expr(&p, expr, 0);
}
