/*
 * Trees from the source order, their dump, and their comparison: see tree.h.
 *
 * In: a finished region. Out: one dim per source loop that holds a stage, one statement per stage.
 * IF nodes vanish: their constraints already stand in each stage's domain.
 */
#include "search/deps/tree_build.h"

#include <string.h>

/* ---- from the source
 * ----------------------------------------------------------------------------------------- */

typedef struct source {
    ctune_tree_builder *b;
    const ctune_aff **axis_value; /* [n_axes]: the dim of each axis as an aff */
    int depth;
    int open[CTUNE_MAX_DEPTH]; /* dims around the current node */
} source;

static bool has_stage(const ctune_node *node) {
    bool found = node->kind == CTUNE_NODE_STAGE;
    for (int k = 0; k < node->n_kids && !found; k++) {
        found = has_stage(node->kids[k]);
    }
    return found;
}

static void add_stmt(source *s, int stage) {
    ctune_tree_builder *b = s->b;
    const ctune_stage *from = &b->region->stages[stage];
    if (b->n_stmts <= stage) {
        b->n_stmts = stage + 1;
    }
    ctune_stmt *stmt = &b->stmts[stage];
    stmt->stage = stage;
    stmt->n_dims = s->depth;
    memcpy(stmt->dims, s->open, sizeof stmt->dims);
    for (int d = 0; d < from->n_axes; d++) {
        stmt->iter[d] = ctune_aff_copy(b->arena, s->axis_value[from->axes[d]]);
    }
    stmt->n_cons = from->n_cons;
    stmt->cons = ctune_affs_map(b->arena, from->n_cons, from->cons, s->axis_value);
}

static void visit(source *s, const ctune_node *node, ctune_tnodes *out);

static void visit_loop(source *s, const ctune_node *node, ctune_tnodes *out) {
    ctune_tree_builder *b = s->b;
    int dim = ctune_tree_builder_dim(b, b->region->axes[node->axis].name);
    ctune_tnodes *kids = CTUNE_NEW(b->arena, ctune_tnodes);
    if (dim < 0 || kids == NULL || s->depth == CTUNE_MAX_DEPTH) {
        b->too_large = true;
        return;
    }
    s->axis_value[node->axis] = ctune_aff_term(b->arena, CTUNE_TERM_AXIS, dim, 1);
    s->open[s->depth++] = dim;
    for (int k = 0; k < node->n_kids; k++) {
        visit(s, node->kids[k], kids);
    }
    s->depth--;
    ctune_tnodes_append(out, ctune_tree_builder_loop(b, dim, kids));
}

static void visit(source *s, const ctune_node *node, ctune_tnodes *out) {
    if (!has_stage(node)) {
        return;
    }
    if (node->kind == CTUNE_NODE_STAGE) {
        add_stmt(s, node->stage);
        ctune_tnodes_append(out, ctune_tree_builder_stmt(s->b, node->stage));
    } else if (node->kind == CTUNE_NODE_LOOP) {
        visit_loop(s, node, out);
    } else {
        for (int k = 0; k < node->n_kids; k++) {
            visit(s, node->kids[k], out);
        }
    }
}

ctune_status ctune_tree_from_source(ctune_ctx *ctx, const ctune_region *region, ctune_tree **out) {
    *out = NULL;
    ctune_tree_builder b;
    ctune_status status = ctune_tree_builder_init(ctx, &b, region);
    if (status != CTUNE_OK) {
        return status;
    }
    source s = {.b = &b};
    s.axis_value = CTUNE_NEW_ARRAY(b.arena, const ctune_aff *, region->n_axes + 1);
    ctune_tnodes *kids = CTUNE_NEW(b.arena, ctune_tnodes);
    if (region->n_stages > CTUNE_MAX_STMTS) {
        b.too_large = true;
    } else if (s.axis_value != NULL && kids != NULL) {
        visit(&s, region->root, kids);
    }
    if (kids == NULL) {
        ctune_tree_builder_clear(&b);
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory while building a loop tree");
    }
    return ctune_tree_builder_finish(ctx, &b, kids, out);
}

void ctune_tree_destroy(ctune_tree *tree) {
    if (tree != NULL) {
        ctune_arena_destroy(tree->arena);
    }
}

/* ---- dump ------------------------------------------------------------------------------------ */

typedef struct dump {
    const ctune_region *region;
    const ctune_tree *tree; /* NULL: axes are the region's (inside a div) */
    ctune_text *out;
} dump;

static void dump_aff(const dump *d, const ctune_aff *aff);

static void dump_term_name(const dump *d, const ctune_term *term) {
    if (term->kind == CTUNE_TERM_PARAM) {
        ctune_text_append(d->out, d->region->params[term->id].name);
    } else if (term->kind == CTUNE_TERM_AXIS) {
        ctune_text_append(d->out, d->tree != NULL ? d->tree->dims[term->id].name
                                                  : d->region->axes[term->id].name);
    } else {
        const ctune_div *div = &d->region->divs[term->id];
        dump inner = {d->region, NULL, d->out};
        if (div->load != NULL) {
            ctune_text_append(d->out, d->region->tensors[div->load->tensor].name);
            for (int k = 0; k < div->load->n_idx; k++) {
                ctune_text_append(d->out, "[");
                dump_aff(&inner, div->load->idx[k]);
                ctune_text_append(d->out, "]");
            }
            return;
        }
        ctune_text_append(d->out, "floor((");
        dump_aff(&inner, div->num);
        ctune_text_printf(d->out, ")/%lld)", (long long)div->den);
    }
}

static void dump_aff(const dump *d, const ctune_aff *aff) {
    for (int t = 0; t < aff->n_terms; t++) {
        int64_t coef = aff->terms[t].coef;
        ctune_text_append(d->out, coef < 0 ? (t > 0 ? " - " : "-") : t > 0 ? " + " : "");
        if (coef != 1 && coef != -1) {
            ctune_text_printf(d->out, "%llu*",
                              (unsigned long long)(coef < 0 ? -(uint64_t)coef : (uint64_t)coef));
        }
        dump_term_name(d, &aff->terms[t]);
    }
    if (aff->n_terms == 0) {
        ctune_text_printf(d->out, "%lld", (long long)aff->c0);
    } else if (aff->c0 != 0) {
        ctune_text_printf(
            d->out, " %c %llu", aff->c0 < 0 ? '-' : '+',
            (unsigned long long)(aff->c0 < 0 ? -(uint64_t)aff->c0 : (uint64_t)aff->c0));
    }
}

static bool is_negation(const ctune_aff *a, const ctune_aff *b) {
    bool same = a->c0 == -b->c0 && a->n_terms == b->n_terms;
    for (int t = 0; same && t < a->n_terms; t++) {
        same = a->terms[t].kind == b->terms[t].kind && a->terms[t].id == b->terms[t].id &&
               a->terms[t].coef == -b->terms[t].coef;
    }
    return same;
}

/* Equalities: what pins a dim that is no axis of the statement. */
static void dump_pins(const dump *d, const ctune_stmt *stmt) {
    for (int c = 0; c < stmt->n_cons; c++) {
        for (int e = c + 1; e < stmt->n_cons; e++) {
            if (is_negation(stmt->cons[c], stmt->cons[e])) {
                ctune_text_append(d->out, " when ");
                dump_aff(d, stmt->cons[c]);
                ctune_text_append(d->out, " == 0");
            }
        }
    }
}

static void dump_stmt(const dump *d, int i_stmt) {
    const ctune_stmt *stmt = &d->tree->stmts[i_stmt];
    const ctune_stage *stage = &d->region->stages[stmt->stage];
    for (int i = 0; i < d->out->indent; i++) {
        ctune_text_append(d->out, "    ");
    }
    ctune_text_printf(d->out, "%s(", ctune_stmt_name(d->region, d->tree, i_stmt));
    for (int a = 0; a < stage->n_axes; a++) {
        ctune_text_append(d->out, a > 0 ? ", " : "");
        dump_aff(d, stmt->iter[a]);
    }
    ctune_text_append(d->out, ")");
    dump_pins(d, stmt);
    ctune_text_append(d->out, "\n");
}

static void dump_node(const dump *d, const ctune_tnode *node) {
    if (node->kind == CTUNE_TNODE_STMT) {
        dump_stmt(d, node->stmt);
        return;
    }
    bool is_loop = node->kind == CTUNE_TNODE_LOOP;
    if (is_loop) {
        const ctune_dim *dim = &d->tree->dims[node->dim];
        ctune_text_line(d->out, "loop %s extent %.6g", dim->name, dim->extent);
    }
    d->out->indent += is_loop;
    for (int k = 0; k < node->n_kids; k++) {
        dump_node(d, node->kids[k]);
    }
    d->out->indent -= is_loop;
}

void ctune_tree_print(const ctune_region *region, const ctune_tree *tree, ctune_text *out) {
    dump d = {region, tree, out};
    dump_node(&d, tree->root);
}

/* ---- comparison
 * ---------------------------------------------------------------------------------------------- */

/* Trees number their dims differently; dims correspond when they stand at the same place. */
typedef struct match {
    const ctune_tree *a, *b;
    int dim[CTUNE_MAX_DIMS]; /* of a -> of b */
} match;

static bool is_aff_match(const match *m, const ctune_aff *a, const ctune_aff *b) {
    bool same = a->c0 == b->c0 && a->n_terms == b->n_terms;
    for (int t = 0; same && t < a->n_terms; t++) {
        const ctune_term *term = &a->terms[t];
        int id = term->kind == CTUNE_TERM_AXIS ? m->dim[term->id] : term->id;
        same = ctune_aff_coef(b, term->kind, id) == term->coef;
    }
    return same;
}

static bool has_con(const match *m, const ctune_aff *con, const ctune_stmt *b) {
    for (int c = 0; c < b->n_cons; c++) {
        if (is_aff_match(m, con, b->cons[c])) {
            return true;
        }
    }
    return false;
}

static bool is_stmt_match(const match *m, const ctune_stmt *a, const ctune_stmt *b) {
    bool same = a->stage == b->stage && a->n_dims == b->n_dims && a->n_cons == b->n_cons;
    for (int d = 0; same && d < CTUNE_MAX_DEPTH && a->iter[d] != NULL; d++) {
        same = b->iter[d] != NULL && is_aff_match(m, a->iter[d], b->iter[d]);
    }
    for (int c = 0; same && c < a->n_cons; c++) {
        same = has_con(m, a->cons[c], b);
    }
    return same;
}

static bool is_node_match(match *m, const ctune_tnode *a, const ctune_tnode *b) {
    if (a->kind != b->kind || a->n_kids != b->n_kids) {
        return false;
    }
    if (a->kind == CTUNE_TNODE_STMT) {
        return is_stmt_match(m, &m->a->stmts[a->stmt], &m->b->stmts[b->stmt]);
    }
    if (a->kind == CTUNE_TNODE_LOOP) {
        m->dim[a->dim] = b->dim;
    }
    bool same = true;
    for (int k = 0; same && k < a->n_kids; k++) {
        same = is_node_match(m, a->kids[k], b->kids[k]);
    }
    return same;
}

bool ctune_tree_is_equal(const ctune_tree *a, const ctune_tree *b) {
    match m = {.a = a, .b = b};
    return a->n_stmts == b->n_stmts && is_node_match(&m, a->root, b->root);
}

/* ---- names of statements --------------------------------------------------------------------- */

const char *ctune_stmt_name(const ctune_region *region, const ctune_tree *tree, int stmt) {
    const ctune_stmt *s = &tree->stmts[stmt];
    return s->name != NULL ? s->name : region->stages[s->stage].name;
}

int ctune_stmt_find(const ctune_region *region, const ctune_tree *tree, const char *name) {
    for (int s = 0; s < tree->n_stmts; s++) {
        if (strcmp(ctune_stmt_name(region, tree, s), name) == 0) {
            return s;
        }
    }
    return -1;
}
