/*
 * Regions: the tables of types, operators and updates, and the fields that are derived from the
 * tree.
 *
 * ctune_region_finish takes what a builder (extraction, parser, test) wrote down and fills in what
 * everyone else reads: each stage's axes, domain and reads. It rewrites arena memory that is const
 * to all others.
 */
#include "search/te/te_private.h"

#include <stdio.h>
#include <string.h>

const ctune_type_info *ctune_type_get(ctune_type type) {
    static const ctune_type_info table[] = {
#define X(id, name, c, bytes, flags) {name, c, bytes, flags},
        CTUNE_TYPE_TABLE(X)
#undef X
    };
    return &table[(unsigned)type < CTUNE_N_TYPES ? type : CTUNE_I32];
}

const ctune_op_info *ctune_op_get(ctune_op op) {
    static const ctune_op_info table[] = {
#define X(id, token, c, arity) {token, c, arity},
        CTUNE_OP_TABLE(X)
#undef X
    };
    return &table[(unsigned)op < CTUNE_N_OPS ? op : CTUNE_OP_CONST];
}

const ctune_update_info *ctune_update_get(ctune_update update) {
    static const ctune_update_info table[] = {
#define X(id, token, assoc) {token, assoc},
        CTUNE_UPDATE_TABLE(X)
#undef X
    };
    return &table[(unsigned)update < CTUNE_N_UPDATES ? update : CTUNE_UPDATE_SET];
}

bool ctune_region_may_reassoc(const ctune_region *region) {
    bool found = region->reassoc;
    for (int i = 0; i < region->n_stages; i++) {
        found |= region->stages[i].reassoc;
    }
    return found;
}

void ctune_region_destroy(ctune_region *region) {
    if (region != NULL) {
        ctune_arena_destroy(region->arena); /* the region itself lives in it */
    }
}

void ctune_region_sizes(const ctune_region *region, int which, int64_t *out) {
    for (int i = 0; i < region->n_params; i++) {
        const ctune_param *param = &region->params[i];
        int last = param->n_sizes - 1;
        out[i] = last < 0 ? 1024 : param->sizes[which < last ? which : last];
    }
}

/* ---- finish ---------------------------------------------------------------------------------- */

enum { MAX_EXPR_DEPTH = 1000, MAX_TREE_DEPTH = 200, MAX_EXPR_NODES = 100000 };

typedef struct finisher {
    ctune_ctx *ctx;
    ctune_region *region;
    ctune_stage *stages; /* region->stages, writable */
    int n_axes, n_cons, max_cons;
    int axes[CTUNE_MAX_DEPTH];
    const ctune_aff **cons; /* of the open LOOPs and IFs */
    int n_reads, n_nodes;
} finisher;

/* Deepest number of constraints on a path. */
static int count_cons(const ctune_node *node, int depth) {
    int most = 0;
    for (int i = 0; depth < MAX_TREE_DEPTH && i < node->n_kids; i++) {
        int n = node->kids[i] != NULL ? count_cons(node->kids[i], depth + 1) : 0;
        most = n > most ? n : most;
    }
    return most + node->n_cons;
}

/* A copy of expr in which no node is shared, so that each READ has its own ordinal. */
static ctune_status expr_copy(finisher *f, const ctune_expr *expr, int depth,
                              const ctune_expr **out) {
    if (expr == NULL) {
        return ctune_fail(f->ctx, CTUNE_EUSAGE, "expression with a missing operand");
    }
    if (depth > MAX_EXPR_DEPTH || ++f->n_nodes > MAX_EXPR_NODES) {
        return ctune_fail(f->ctx, CTUNE_EUSAGE, "expression is too large");
    }
    ctune_expr *copy = CTUNE_NEW(f->region->arena, ctune_expr);
    const ctune_expr **kids = CTUNE_NEW_ARRAY(f->region->arena, const ctune_expr *, expr->n_kids);
    if (copy == NULL || kids == NULL) {
        return ctune_fail(f->ctx, CTUNE_ENOMEM, "out of memory");
    }
    *copy = *expr;
    copy->kids = kids;
    if (expr->op == CTUNE_OP_READ) {
        copy->read_id = f->n_reads++;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        ctune_status status = expr_copy(f, expr->kids[i], depth + 1, &kids[i]);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    *out = copy;
    return CTUNE_OK;
}

static void expr_collect(const ctune_expr *expr, const ctune_expr **reads) {
    if (expr->op == CTUNE_OP_READ) {
        reads[expr->read_id] = expr;
    }
    for (int i = 0; i < expr->n_kids; i++) {
        expr_collect(expr->kids[i], reads);
    }
}

static ctune_status finish_exprs(finisher *f, ctune_stage *stage) {
    f->n_reads = f->n_nodes = 0;
    ctune_status status = expr_copy(f, stage->rhs, 0, &stage->rhs);
    if (status == CTUNE_OK && stage->guard != NULL) {
        status = expr_copy(f, stage->guard, 0, &stage->guard);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    const ctune_expr **reads = CTUNE_NEW_ARRAY(f->region->arena, const ctune_expr *, f->n_reads);
    if (reads == NULL) {
        return ctune_fail(f->ctx, CTUNE_ENOMEM, "out of memory");
    }
    expr_collect(stage->rhs, reads);
    if (stage->guard != NULL) {
        expr_collect(stage->guard, reads);
    }
    stage->n_reads = f->n_reads;
    stage->reads = reads;
    return CTUNE_OK;
}

/* limit: a div uses only divs below it; that ends the recursion even before verify has seen the
 * region. */
static bool div_uses_axis(const ctune_region *region, const ctune_aff *aff, int axis, int limit) {
    for (int i = 0; i < aff->n_terms; i++) {
        const ctune_term *term = &aff->terms[i];
        if (term->kind == CTUNE_TERM_DIV && term->id >= 0 && term->id < limit) {
            const ctune_aff *const *forms;
            int n = ctune_div_forms(&region->divs[term->id], &forms);
            for (int k = 0; k < n; k++) {
                if (ctune_aff_coef(forms[k], CTUNE_TERM_AXIS, axis) != 0 ||
                    div_uses_axis(region, forms[k], axis, term->id)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool ctune_aff_div_uses_axis(const ctune_region *region, const ctune_aff *aff, int axis) {
    return div_uses_axis(region, aff, axis, region->n_divs);
}

static bool aff_uses_axis(const ctune_region *region, const ctune_aff *aff, int axis) {
    return aff != NULL && (ctune_aff_coef(aff, CTUNE_TERM_AXIS, axis) != 0 ||
                           ctune_aff_div_uses_axis(region, aff, axis));
}

static ctune_status finish_stage(finisher *f, int id) {
    if (id < 0 || id >= f->region->n_stages) {
        return ctune_fail(f->ctx, CTUNE_EUSAGE, "order names a stage that does not exist");
    }
    ctune_stage *stage = &f->stages[id];
    const ctune_aff **cons = CTUNE_NEW_ARRAY(f->region->arena, const ctune_aff *, f->n_cons);
    if (cons == NULL) {
        return ctune_fail(f->ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (f->n_cons > 0) {
        memcpy(cons, f->cons, (size_t)f->n_cons * sizeof *cons);
    }
    stage->n_cons = f->n_cons;
    stage->cons = cons;
    stage->n_axes = f->n_axes;
    stage->reduce_mask = 0;
    for (int d = 0; d < f->n_axes; d++) {
        stage->axes[d] = f->axes[d];
        bool used = false;
        for (int i = 0; i < stage->target.n_idx && !used; i++) {
            used = aff_uses_axis(f->region, stage->target.idx[i], f->axes[d]);
        }
        stage->reduce_mask |= used ? 0 : (uint32_t)1 << d;
    }
    return finish_exprs(f, stage);
}

static ctune_status finish_node(finisher *f, const ctune_node *node, int depth) {
    if (node == NULL || depth > MAX_TREE_DEPTH) {
        return ctune_fail(f->ctx, CTUNE_EUSAGE, "order has a missing or too deep node");
    }
    if (node->kind == CTUNE_NODE_STAGE) {
        return finish_stage(f, node->stage);
    }
    int n_axes = f->n_axes, n_cons = f->n_cons;
    if (node->kind == CTUNE_NODE_LOOP) {
        if (f->n_axes == CTUNE_MAX_DEPTH) {
            return ctune_fail(f->ctx, CTUNE_EUSAGE, "loops are nested deeper than %d",
                              CTUNE_MAX_DEPTH);
        }
        f->axes[f->n_axes++] = node->axis;
    }
    for (int i = 0; i < node->n_cons && f->n_cons < f->max_cons; i++) {
        f->cons[f->n_cons++] = node->cons[i];
    }
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < node->n_kids && status == CTUNE_OK; i++) {
        status = finish_node(f, node->kids[i], depth + 1);
    }
    f->n_axes = n_axes;
    f->n_cons = n_cons;
    return status;
}

/* How a tensor of the name is addressed when nothing else is said: A[$0][$1]. */
const char *ctune_tensor_default_pattern(ctune_arena *arena, const char *name, int rank) {
    char text[CTUNE_MAX_RANK * 4 + 1] = "";
    for (int d = 0; d < rank && d < CTUNE_MAX_RANK; d++) {
        snprintf(text + 4 * d, 5, "[$%d]", d);
    }
    return ctune_arena_printf(arena, "%s%s", name, text);
}

static void finish_tensor(ctune_region *region, ctune_tensor *t) {
    t->is_read = t->is_written = false;
    if (t->elem_stride_bytes == 0) {
        t->elem_stride_bytes = ctune_type_get(t->type)->bytes;
    }
    if (t->is_temp || t->name == NULL) {
        return;
    }
    if (t->pattern == NULL) {
        t->pattern = ctune_tensor_default_pattern(region->arena, t->name, t->rank);
    }
    if (t->base == NULL) {
        t->base = ctune_arena_printf(region->arena, "%s%s", t->rank == 0 ? "&" : "", t->name);
    }
}

static void finish_tensors(ctune_region *region) {
    ctune_tensor *tensors = (ctune_tensor *)(uintptr_t)region->tensors;
    for (int i = 0; i < region->n_tensors; i++) {
        finish_tensor(region, &tensors[i]);
    }
    for (int i = 0; i < region->n_divs; i++) {
        const ctune_access *load = region->divs[i].load;
        if (load != NULL && load->tensor >= 0 && load->tensor < region->n_tensors) {
            tensors[load->tensor].is_read = true;
        }
    }
    for (int s = 0; s < region->n_stages; s++) {
        const ctune_stage *stage = &region->stages[s];
        int target = stage->target.tensor;
        if (target >= 0 && target < region->n_tensors) {
            tensors[target].is_written = true;
            tensors[target].is_read |= stage->update != CTUNE_UPDATE_SET;
        }
        for (int r = 0; r < stage->n_reads; r++) {
            int tensor = stage->reads[r]->access.tensor;
            if (tensor >= 0 && tensor < region->n_tensors) {
                tensors[tensor].is_read = true;
            }
        }
    }
}

static void finish_axes(ctune_region *region) {
    ctune_axis *axes = (ctune_axis *)(uintptr_t)region->axes;
    for (int i = 0; i < region->n_axes; i++) {
        axes[i].step = axes[i].step == 0 ? 1 : axes[i].step;
        axes[i].c_name = axes[i].c_name == NULL ? axes[i].name : axes[i].c_name;
    }
}

static void finish_params(ctune_region *region) {
    ctune_param *params = (ctune_param *)(uintptr_t)region->params;
    for (int i = 0; i < region->n_params; i++) {
        if (params[i].n_sizes <= 0) {
            params[i].n_sizes = 1;
            params[i].sizes[0] = 1024;
        }
        if (params[i].c_text == NULL) {
            params[i].c_text = params[i].name;
        }
    }
    if (region->weight == 0) {
        region->weight = 1;
    }
}

ctune_status ctune_region_finish(ctune_ctx *ctx, ctune_region *region) {
    if (region->arena == NULL || ctune_arena_has_failed(region->arena)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (region->root == NULL) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "region has no order");
    }
    finisher f = {.ctx = ctx, .region = region};
    f.stages = (ctune_stage *)(uintptr_t)region->stages;
    f.max_cons = count_cons(region->root, 0);
    f.cons = CTUNE_NEW_ARRAY(region->arena, const ctune_aff *, f.max_cons);
    if (f.cons == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    finish_params(region);
    finish_axes(region);
    ctune_status status = finish_node(&f, region->root, 0);
    if (status == CTUNE_OK) {
        finish_tensors(region);
    }
    if (status == CTUNE_OK && ctune_arena_has_failed(region->arena)) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return status;
}

bool ctune_tensors_may_overlap(const ctune_region *region, int a, int b) {
    const ctune_tensor *x = &region->tensors[a], *y = &region->tensors[b];
    if (x->is_temp || y->is_temp) {
        return false;
    }
    if ((!x->is_written && !y->is_written) || x->is_restrict || y->is_restrict) {
        return false;
    }
    if (!(x->is_pointer && y->is_pointer)) {
        /* a variable that nothing can point to is no is_pointer; a named array may be what the
         * other points into */
        const ctune_tensor *named = x->is_pointer ? y : x;
        return x->is_pointer != y->is_pointer && !named->is_scalar_var;
    }
    return strcmp(x->base, y->base) != 0; /* members of one array of structs never overlap */
}
