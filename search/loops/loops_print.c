/*
 * A program as text: complete, one node a line, free of addresses (docs/loops.md has the grammar).
 *
 * In: a program, whole or not: what loops_verify rejects prints, too, since that is when it is
 * read. Out: text that loops_parse reads back to a program that prints the same. So nothing in it
 * depends on ids that a reader cannot see: the terms of an index stand in the order of their text.
 */
#include "search/loops/loops_text.h"
#include "search/te/te_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct printer {
    const ctune_loops *l;
    ctune_text *out;
} printer;

static const char *type_name(ctune_type type) {
    return (unsigned)type < CTUNE_N_TYPES ? ctune_type_get(type)->name : "?";
}

/* "f32", "f32x8" */
static void print_type(printer *p, ctune_type type, int lanes) {
    ctune_text_append(p->out, type_name(type));
    if (lanes != 1) {
        ctune_text_printf(p->out, "x%d", lanes);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static void print_var(printer *p, int id) {
    const ctune_lvar *v = id >= 0 && id < p->l->n_vars ? &p->l->var[id] : NULL;
    if (v != NULL && v->name != NULL) {
        ctune_text_append(p->out, v->name);
    } else {
        ctune_text_printf(p->out, "%s.%d", v != NULL && v->hint != NULL ? v->hint : "?", id);
    }
}

static void print_buffer(printer *p, int id) {
    const ctune_lbuffer *b = id >= 0 && id < p->l->n_buffers ? &p->l->buffer[id] : NULL;
    if (b != NULL && b->name != NULL) {
        ctune_text_append(p->out, b->name);
    } else {
        ctune_text_printf(p->out, "%s.b%d", b != NULL && b->hint != NULL ? b->hint : "?", id);
    }
}

static void print_tensor(printer *p, int id) {
    bool is_there = id >= 0 && id < p->l->region->n_tensors;
    ctune_text_append(p->out, is_there ? p->l->region->tensors[id].name : "?");
}

/* ---- indices --------------------------------------------------------------------------------- */

static void print_aff(printer *p, const ctune_aff *aff);

/* A term as text; owned by the list of its sum. */
typedef struct piece {
    int kind;
    int64_t coef;
    char *text;
} piece;

/* What is added first, so that a sum starts without a minus when it can. */
static int piece_order(const void *x, const void *y) {
    const piece *a = x, *b = y;
    if ((a->coef < 0) != (b->coef < 0)) {
        return a->coef < 0 ? 1 : -1;
    }
    return a->kind != b->kind ? a->kind - b->kind : strcmp(a->text, b->text);
}

static void print_place(printer *p, const ctune_place *place, int lanes);

static void print_grouped(printer *p, const ctune_aff *aff) {
    bool is_sum = aff != NULL && aff->n_terms + (aff->c0 != 0) > 1;
    ctune_text_append(p->out, is_sum ? "(" : "");
    print_aff(p, aff);
    ctune_text_append(p->out, is_sum ? ")" : "");
}

static void print_bare_term(printer *p, ctune_term_kind kind, int id);

static int text_order(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

enum { MAX_FACTORS = CTUNE_MAX_FACTORS };

/* The factors of a product, products among them opened; *n > MAX_FACTORS: too many. */
static void collect_factors(printer *p, const ctune_aff *aff, char **texts, int *n) {
    bool is_bare = aff != NULL && aff->n_terms == 1 && aff->c0 == 0 && aff->terms[0].coef == 1;
    const ctune_term *t = is_bare ? &aff->terms[0] : NULL;
    const ctune_atom *atom =
        t != NULL && t->kind == CTUNE_TERM_DIV && t->id >= 0 && t->id < p->l->n_atoms
            ? &p->l->atom[t->id]
            : NULL;
    if (atom != NULL && atom->kind == CTUNE_ATOM_PROD) {
        collect_factors(p, atom->a, texts, n);
        collect_factors(p, atom->b, texts, n);
        return;
    }
    ctune_text text;
    ctune_text_init(&text);
    printer inner = {p->l, &text};
    if (is_bare) {
        print_bare_term(&inner, t->kind, t->id);
    } else {
        print_grouped(&inner, aff);
    }
    if (*n < MAX_FACTORS) {
        texts[*n] = text.data;
    } else {
        ctune_text_clear(&text);
    }
    ++*n;
}

static void print_product(printer *p, const ctune_atom *atom) {
    char *texts[MAX_FACTORS];
    int n = 0;
    collect_factors(p, atom->a, texts, &n);
    collect_factors(p, atom->b, texts, &n);
    int n_kept = n < MAX_FACTORS ? n : MAX_FACTORS;
    for (int i = 0; i < n_kept; i++) {
        p->out->failed |= texts[i] == NULL;
    }
    if (!p->out->failed) {
        qsort(texts, (size_t)n_kept, sizeof *texts, text_order);
    }
    for (int i = 0; i < n_kept; i++) {
        ctune_text_printf(p->out, "%s%s", i > 0 ? "*" : "", texts[i] != NULL ? texts[i] : "");
        free(texts[i]);
    }
    ctune_text_append(p->out, n > n_kept ? "*?" : "");
}

static void print_atom(printer *p, const ctune_atom *atom) {
    switch (atom->kind) {
    case CTUNE_ATOM_FLOOR:
        ctune_text_append(p->out, "floor(");
        print_grouped(p, atom->a);
        ctune_text_printf(p->out, " / %lld)", (long long)atom->den);
        break;
    case CTUNE_ATOM_MIN:
    case CTUNE_ATOM_MAX:
        ctune_text_append(p->out, atom->kind == CTUNE_ATOM_MIN ? "min(" : "max(");
        print_aff(p, atom->a);
        ctune_text_append(p->out, ", ");
        print_aff(p, atom->b);
        ctune_text_append(p->out, ")");
        break;
    case CTUNE_ATOM_LOAD:
        print_place(p, atom->place, 1);
        break;
    default:
        print_product(p, atom);
        break;
    }
}

static void print_bare_term(printer *p, ctune_term_kind kind, int id) {
    const ctune_region *r = p->l->region;
    if (kind == CTUNE_TERM_AXIS) {
        print_var(p, id);
    } else if (kind == CTUNE_TERM_PARAM) {
        ctune_text_append(p->out, id >= 0 && id < r->n_params ? r->params[id].name : "?");
    } else if (id >= 0 && id < p->l->n_atoms) {
        print_atom(p, &p->l->atom[id]);
    } else {
        ctune_text_append(p->out, "?");
    }
}

static void print_pieces(printer *p, const piece *pieces, int n, int64_t c0) {
    for (int i = 0; i < n; i++) {
        bool is_negative = pieces[i].coef < 0;
        uint64_t size = is_negative ? -(uint64_t)pieces[i].coef : (uint64_t)pieces[i].coef;
        ctune_text_append(p->out, i > 0 ? is_negative ? " - " : " + " : is_negative ? "-" : "");
        if (size != 1) {
            ctune_text_printf(p->out, "%llu*", (unsigned long long)size);
        }
        ctune_text_append(p->out, pieces[i].text != NULL ? pieces[i].text : "");
    }
    if (n == 0) {
        ctune_text_printf(p->out, "%lld", (long long)c0);
    } else if (c0 != 0) {
        uint64_t size = c0 < 0 ? -(uint64_t)c0 : (uint64_t)c0;
        ctune_text_printf(p->out, " %c %llu", c0 < 0 ? '-' : '+', (unsigned long long)size);
    }
}

static void print_aff(printer *p, const ctune_aff *aff) {
    if (aff == NULL) {
        ctune_text_append(p->out, "?");
        return;
    }
    piece few[8], *pieces = few;
    if (aff->n_terms > 8) {
        pieces = calloc((size_t)aff->n_terms, sizeof *pieces);
        if (pieces == NULL) {
            p->out->failed = true;
            return;
        }
    }
    for (int i = 0; i < aff->n_terms; i++) {
        ctune_text text;
        ctune_text_init(&text);
        printer inner = {p->l, &text};
        print_bare_term(&inner, aff->terms[i].kind, aff->terms[i].id);
        pieces[i] = (piece){(int)aff->terms[i].kind, aff->terms[i].coef, text.data};
        p->out->failed |= text.failed || text.data == NULL;
    }
    if (!p->out->failed) {
        qsort(pieces, (size_t)aff->n_terms, sizeof *pieces, piece_order);
    }
    print_pieces(p, pieces, aff->n_terms, aff->c0);
    for (int i = 0; i < aff->n_terms; i++) {
        free(pieces[i].text);
    }
    if (pieces != few) {
        free(pieces);
    }
}

/* A[i][j], A[i][j:8] */
static void print_place(printer *p, const ctune_place *place, int lanes) {
    if (place->is_buffer) {
        print_buffer(p, place->id);
    } else {
        print_tensor(p, place->id);
    }
    for (int d = 0; d < place->n_idx; d++) {
        ctune_text_append(p->out, "[");
        print_aff(p, place->idx[d]);
        if (d == place->n_idx - 1 && lanes != 1) {
            ctune_text_printf(p->out, ":%d", lanes);
        }
        ctune_text_append(p->out, "]");
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* C's binding strength; CTUNE_STRENGTH_ATOM for what is printed as a call or a name. */
int ctune_value_strength(ctune_value_op op) {
    switch (op) {
    case CTUNE_V_LOR:
        return 1;
    case CTUNE_V_LAND:
        return 2;
    case CTUNE_V_BOR:
        return 3;
    case CTUNE_V_BXOR:
        return 4;
    case CTUNE_V_BAND:
        return 5;
    case CTUNE_V_EQ:
    case CTUNE_V_NE:
        return 6;
    case CTUNE_V_LT:
    case CTUNE_V_LE:
    case CTUNE_V_GT:
    case CTUNE_V_GE:
        return 7;
    case CTUNE_V_SHL:
    case CTUNE_V_SHR:
        return 8;
    case CTUNE_V_ADD:
    case CTUNE_V_SUB:
        return 9;
    case CTUNE_V_MUL:
    case CTUNE_V_DIV:
    case CTUNE_V_MOD:
        return 10;
    case CTUNE_V_NEG:
    case CTUNE_V_BNOT:
    case CTUNE_V_LNOT:
    case CTUNE_V_CONVERT:
        return 11;
    default:
        return CTUNE_STRENGTH_ATOM;
    }
}

/* The lanes that a value has by its kids; what prints without ":type". */
static int derived_lanes(const ctune_value *v) {
    switch (v->op) {
    case CTUNE_V_CONST:
    case CTUNE_V_INDEX:
    case CTUNE_V_EXTRACT:
        return 1;
    case CTUNE_V_LOAD:
        return v->place.n_idx > 0 ? v->lanes : 1;
    case CTUNE_V_SPLAT: /* printed with its lanes */
        return v->lanes;
    case CTUNE_V_GATHER:
        return v->n_kids;
    default:
        return v->n_kids > 0 ? v->kids[0]->lanes : v->lanes;
    }
}

ctune_type ctune_value_derived_type(const ctune_loops *l, const ctune_value *v) {
    ctune_type type;
    switch (v->op) {
    case CTUNE_V_CONST:
    case CTUNE_V_INDEX:
    case CTUNE_V_CONVERT:
        return v->type;
    case CTUNE_V_VAR:
        return v->var >= 0 && v->var < l->n_vars ? l->var[v->var].type : v->type;
    case CTUNE_V_LOAD: {
        int limit = v->place.is_buffer ? l->n_buffers : l->region->n_tensors;
        bool is_there = v->place.id >= 0 && v->place.id < limit;
        return is_there ? ctune_place_type(l, &v->place) : v->type;
    }
    case CTUNE_V_LT:
    case CTUNE_V_LE:
    case CTUNE_V_GT:
    case CTUNE_V_GE:
    case CTUNE_V_EQ:
    case CTUNE_V_NE:
        return v->n_kids > 0 && v->kids[0]->lanes > 1 ? ctune_mask_type(v->kids[0]->type)
                                                      : CTUNE_I32;
    case CTUNE_V_LAND:
    case CTUNE_V_LOR:
    case CTUNE_V_LNOT:
        return CTUNE_I32;
    case CTUNE_V_SELECT:
        return v->n_kids > 1 ? v->kids[1]->type : v->type;
    case CTUNE_V_CALL:
        return v->text != NULL && ctune_math_find(v->text, &type) != 0 ? type : CTUNE_F64;
    default:
        return v->n_kids > 0 ? v->kids[0]->type : v->type;
    }
}

int ctune_value_derived_lanes(const ctune_loops *l, const ctune_value *v) {
    if (v->op == CTUNE_V_VAR) {
        return v->var >= 0 && v->var < l->n_vars ? l->var[v->var].lanes : v->lanes;
    }
    return derived_lanes(v);
}

static void print_value(printer *p, const ctune_value *v, int min_strength);

/* name(a, b) with one more number when extra >= 0 */
static void print_call(printer *p, const char *name, const ctune_value *v, int extra) {
    ctune_text_printf(p->out, "%s(", name);
    for (int i = 0; i < v->n_kids; i++) {
        ctune_text_append(p->out, i > 0 ? ", " : "");
        print_value(p, v->kids[i], 0);
    }
    if (extra >= 0) {
        ctune_text_printf(p->out, ", %d", extra);
    }
    ctune_text_append(p->out, ")");
}

static void print_operator(printer *p, const ctune_value *v) {
    int strength = ctune_value_strength(v->op);
    const char *wraps = v->wraps ? "%" : "";
    if (v->op == CTUNE_V_CONVERT) {
        ctune_text_printf(p->out, "(%s) ", type_name(v->type));
        print_value(p, v->kids[0], strength);
    } else if (v->n_kids == 1) {
        const char *token = v->op == CTUNE_V_NEG ? "-" : ctune_value_get(v->op)->token;
        ctune_text_printf(p->out, "%s%s", token, wraps);
        print_value(p, v->kids[0], strength);
    } else {
        print_value(p, v->kids[0], strength);
        ctune_text_printf(p->out, " %s%s ", ctune_value_get(v->op)->token, wraps);
        print_value(p, v->kids[1], strength + 1);
    }
}

static void print_bare(printer *p, const ctune_value *v) {
    int arity = ctune_value_get(v->op)->arity;
    if (arity >= 0 && v->n_kids != arity) {
        ctune_text_append(p->out, "?");
        return;
    }
    switch (v->op) {
    case CTUNE_V_CONST:
        te_print_const(p->out, v->type, v->i_value, v->f_value, v->text);
        break;
    case CTUNE_V_INDEX:
        ctune_text_printf(p->out, "%s{", type_name(v->type));
        print_aff(p, v->index);
        ctune_text_append(p->out, "}");
        break;
    case CTUNE_V_VAR:
        print_var(p, v->var);
        break;
    case CTUNE_V_LOAD:
        print_place(p, &v->place, v->lanes);
        break;
    case CTUNE_V_CALL:
        ctune_text_append(p->out, "call ");
        print_call(p, v->text != NULL ? v->text : "?", v, -1);
        break;
    case CTUNE_V_SPLAT:
    case CTUNE_V_EXTRACT:
    case CTUNE_V_SLIDE:
        print_call(p, ctune_value_get(v->op)->token, v,
                   v->op == CTUNE_V_SPLAT ? v->lanes : v->lane);
        break;
    case CTUNE_V_DOT:
    case CTUNE_V_FMA:
    case CTUNE_V_SELECT:
    case CTUNE_V_MIN:
    case CTUNE_V_MAX:
    case CTUNE_V_GATHER:
        print_call(p, ctune_value_get(v->op)->token, v, -1);
        break;
    default:
        print_operator(p, v);
        break;
    }
}

static void print_value(printer *p, const ctune_value *v, int min_strength) {
    if (v == NULL || (unsigned)v->op >= CTUNE_N_VALUE_OPS) {
        ctune_text_append(p->out, "?");
        return;
    }
    bool is_typed = v->type != ctune_value_derived_type(p->l, v) ||
                    v->lanes != ctune_value_derived_lanes(p->l, v);
    int strength = ctune_value_strength(v->op);
    bool has_parens = strength < CTUNE_STRENGTH_ATOM && (is_typed || strength < min_strength);
    ctune_text_append(p->out, has_parens ? "(" : "");
    print_bare(p, v);
    ctune_text_append(p->out, has_parens ? ")" : "");
    if (is_typed) {
        ctune_text_append(p->out, ":");
        print_type(p, v->type, v->lanes);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void print_node(printer *p, const ctune_lnode *node, int depth);

static void print_kids(printer *p, const ctune_lnode *node, int depth) {
    for (const ctune_lnode *kid = node->first; kid != NULL; kid = kid->next) {
        print_node(p, kid, depth);
    }
}

static void print_block(printer *p, const ctune_lnode *node, int depth) {
    ctune_text_append(p->out, " {\n");
    print_kids(p, node, depth + 1);
    ctune_text_printf(p->out, "%*s}", 4 * depth, "");
}

static const char *const ann_names[CTUNE_N_LANNS] = {
#define X(id, name) name,
    CTUNE_LANN_TABLE(X)
#undef X
};

static const char *const scope_names[CTUNE_N_SCOPES] = {
#define X(id, name) name,
    CTUNE_SCOPE_TABLE(X)
#undef X
};

static void print_for(printer *p, const ctune_lnode *node) {
    ctune_text_append(p->out, "for ");
    print_var(p, node->var);
    ctune_text_append(p->out, " from ");
    print_aff(p, node->lo);
    ctune_text_append(p->out, " below ");
    print_aff(p, node->hi);
    if (node->step != 1) {
        ctune_text_printf(p->out, " step %lld", (long long)node->step);
    }
    if (node->ann != CTUNE_LANN_SERIAL) {
        ctune_text_printf(p->out, " %s",
                          (unsigned)node->ann < CTUNE_N_LANNS ? ann_names[node->ann] : "?");
    }
    if (node->ann == CTUNE_LANN_UNROLL || node->ann == CTUNE_LANN_SUM) {
        ctune_text_printf(p->out, " %lld", (long long)node->factor);
    }
    if (node->ann == CTUNE_LANN_SLIDE && (node->before != 0 || node->behind != 0)) {
        ctune_text_printf(p->out, " %lld, %lld", (long long)node->before, (long long)node->behind);
    }
    if (node->ann == CTUNE_LANN_PARALLEL && node->collapse != 1) {
        ctune_text_printf(p->out, " collapse %d", node->collapse);
    }
    if (node->ann == CTUNE_LANN_PARALLEL && node->is_dynamic) {
        ctune_text_append(p->out, " dynamic");
    }
    for (int i = 0; i < node->n_conds; i++) {
        ctune_text_append(p->out, i > 0 ? ", " : " when ");
        print_aff(p, node->conds[i]);
        ctune_text_append(p->out, " >= 0");
    }
}

static void print_if(printer *p, const ctune_lnode *node, int depth) {
    ctune_text_append(p->out, "if");
    for (int i = 0; i < node->n_conds; i++) {
        ctune_text_append(p->out, i > 0 ? ", " : " ");
        print_aff(p, node->conds[i]);
        ctune_text_append(p->out, " >= 0");
    }
    if (node->test != NULL) {
        ctune_text_append(p->out, node->n_conds > 0 ? "; " : " ; ");
        print_value(p, node->test, 0);
    }
    print_block(p, node, depth);
    if (node->other != NULL) {
        ctune_text_append(p->out, " else");
        print_block(p, node->other, depth);
    }
}

static void print_decl(printer *p, int id) {
    ctune_text_append(p->out, "decl ");
    print_buffer(p, id);
    if (id < 0 || id >= p->l->n_buffers) {
        return;
    }
    const ctune_lbuffer *b = &p->l->buffer[id];
    for (int d = 0; d < b->rank && d < CTUNE_MAX_RANK; d++) {
        ctune_text_append(p->out, "[");
        print_aff(p, b->extent[d]);
        ctune_text_append(p->out, "]");
    }
    ctune_text_printf(p->out, " %s %s", type_name(b->type),
                      (unsigned)b->scope < CTUNE_N_SCOPES ? scope_names[b->scope] : "?");
}

static void print_def(printer *p, const ctune_lnode *node) {
    ctune_text_append(p->out, "def ");
    print_var(p, node->var);
    if (node->var >= 0 && node->var < p->l->n_vars) {
        const ctune_lvar *v = &p->l->var[node->var];
        ctune_text_append(p->out, " ");
        print_type(p, v->type, v->lanes);
        ctune_text_append(p->out, v->is_mutable ? " mutable" : "");
    }
    if (node->value != NULL) {
        ctune_text_append(p->out, " = ");
        print_value(p, node->value, 0);
    }
}

static void print_node(printer *p, const ctune_lnode *node, int depth) {
    if (node->comment != NULL) {
        ctune_text_printf(p->out, "%*s", 4 * depth, "");
        te_print_quoted(p->out, node->comment);
        ctune_text_append(p->out, "\n");
    }
    ctune_text_printf(p->out, "%*s", 4 * depth, "");
    switch (node->kind) {
    case CTUNE_L_SEQ:
        ctune_text_append(p->out, "seq");
        print_block(p, node, depth);
        break;
    case CTUNE_L_FOR:
        print_for(p, node);
        print_block(p, node, depth);
        break;
    case CTUNE_L_IF:
        print_if(p, node, depth);
        break;
    case CTUNE_L_LET:
        ctune_text_append(p->out, "let ");
        print_var(p, node->var);
        ctune_text_append(p->out, " = ");
        print_aff(p, node->lo);
        break;
    case CTUNE_L_DECL:
        print_decl(p, node->buffer);
        break;
    case CTUNE_L_DEF:
        print_def(p, node);
        break;
    case CTUNE_L_SET:
        ctune_text_append(p->out, "set ");
        print_var(p, node->var);
        ctune_text_append(p->out, " = ");
        print_value(p, node->value, 0);
        break;
    case CTUNE_L_LAUNCH:
        ctune_text_append(p->out, "launch");
        print_block(p, node, depth);
        break;
    case CTUNE_L_BARRIER:
        ctune_text_append(p->out, "barrier");
        break;
    case CTUNE_L_STORE:
        ctune_text_append(p->out, node->is_streamed ? "stream " : "store ");
        print_place(p, &node->place, node->value != NULL ? node->value->lanes : 1);
        ctune_text_append(p->out, " = ");
        print_value(p, node->value, 0);
        break;
    default:
        ctune_text_append(p->out, "?");
        break;
    }
    ctune_text_append(p->out, "\n");
}

void ctune_loops_print(const ctune_loops *loops, ctune_text *out) {
    printer p = {loops, out};
    ctune_text_append(out, "loops 1\n");
    print_kids(&p, loops->root, 0);
}

void ctune_loops_print_aff(const ctune_loops *loops, const ctune_aff *aff, ctune_text *out) {
    printer p = {loops, out};
    print_aff(&p, aff);
}
