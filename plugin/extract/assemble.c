/*
 * Assembly: the finished build as a TE region.
 *
 * In: b with every access in its slot. Out: a region that owns the arena. Guards become part of
 * each stage below them, unused tensors go, stages are numbered in source order, and what 64-bit
 * parameters must satisfy becomes a fact.
 */
#include "plugin/extract/build.h"

static const int64_t WIDE = (int64_t)1 << 31;

typedef struct flatten {
    ctune_build *b;
    ctune_region *region;
    ctune_stage *stages;
    int *tensor_id; /* [b->tensors.n] id in the region, -1: unused */
    bool *axis_seen;
} flatten;

typedef CTUNE_LIST(const ctune_node *) node_list;

static bool flatten_list(flatten *f, int n, ctune_mnode *const *kids, const ctune_expr *guard,
                         node_list *out);

static const ctune_expr *join(ctune_build *b, const ctune_expr *outer, const ctune_expr *inner) {
    bool is_always = inner->op == CTUNE_OP_CONST && inner->i_value != 0;
    if (is_always) {
        return outer;
    }
    return outer == NULL ? inner : ctune_expr_new(b, CTUNE_OP_LAND, CTUNE_I32, 2, outer, inner);
}

static bool push_node(flatten *f, node_list *out, ctune_node node) {
    ctune_node *copy = CTUNE_NEW(f->b->arena, ctune_node);
    const ctune_node **slot = CTUNE_PUSH(f->b, *out);
    if (copy == NULL || slot == NULL) {
        return false;
    }
    *copy = node;
    *slot = copy;
    return true;
}

static bool flatten_stage(flatten *f, const ctune_mnode *node, const ctune_expr *guard,
                          node_list *out) {
    const ctune_mstage *m = &f->b->stages.at[node->stage];
    ctune_stage *s = &f->stages[f->region->n_stages];
    *s = m->s;
    s->target = *m->target;
    s->guard = guard;
    const ctune_mtensor *t = &f->b->tensors.at[f->b->accs.at[m->target_acc].tensor];
    s->reassoc = !f->b->pragma->strict && t->root != NULL && ctune_type_is_float(s->calc) &&
                 ctune_update_get(s->update)->is_assoc &&
                 ctune_openmp_is_reduction(f->b, t->root->name, m->offset);
    s->name = ctune_arena_printf(f->b->arena, "S%d", f->region->n_stages);
    return s->name != NULL &&
           push_node(f, out,
                     (ctune_node){.kind = CTUNE_NODE_STAGE, .stage = f->region->n_stages++});
}

static bool flatten_block(flatten *f, ctune_node node, int n, ctune_mnode *const *kids,
                          const ctune_expr *guard, node_list *out) {
    node_list inner = {0};
    if (!flatten_list(f, n, kids, guard, &inner)) {
        return false;
    }
    node.n_kids = inner.n;
    node.kids = inner.at;
    return inner.n == 0 || push_node(f, out, node);
}

static bool flatten_if(flatten *f, const ctune_mnode *node, const ctune_expr *guard,
                       node_list *out) {
    ctune_build *b = f->b;
    ctune_node block = {.kind = CTUNE_NODE_IF, .n_cons = node->n_cons, .cons = node->cons};
    if (!flatten_block(f, block, node->kids.n, node->kids.at, guard, out)) {
        return false;
    }
    if (node->otherwise.n == 0) {
        return true;
    }
    if (node->n_cons > 1) {
        const ctune_expr *no = ctune_expr_new(b, CTUNE_OP_LNOT, CTUNE_I32, 1, node->guard);
        return no != NULL &&
               flatten_list(f, node->otherwise.n, node->otherwise.at, join(b, guard, no), out);
    }
    const ctune_aff **negated = CTUNE_NEW_ARRAY(b->arena, const ctune_aff *, 1);
    if (negated == NULL) {
        return false;
    }
    negated[0] = ctune_aff_add_const(b->arena, ctune_aff_scale(b->arena, node->cons[0], -1), -1);
    block = (ctune_node){.kind = CTUNE_NODE_IF, .n_cons = 1, .cons = negated};
    return negated[0] != NULL &&
           flatten_block(f, block, node->otherwise.n, node->otherwise.at, guard, out);
}

static bool flatten_guard(flatten *f, const ctune_mnode *node, const ctune_expr *guard,
                          node_list *out) {
    ctune_build *b = f->b;
    if (!flatten_list(f, node->kids.n, node->kids.at, join(b, guard, node->guard), out)) {
        return false;
    }
    if (node->otherwise.n == 0) {
        return true;
    }
    const ctune_expr *no = ctune_expr_new(b, CTUNE_OP_LNOT, CTUNE_I32, 1, node->guard);
    return no != NULL &&
           flatten_list(f, node->otherwise.n, node->otherwise.at, join(b, guard, no), out);
}

static bool flatten_loop(flatten *f, const ctune_mnode *node, const ctune_expr *guard,
                         node_list *out) {
    f->axis_seen[node->axis] = true;
    ctune_node block = {
        .kind = CTUNE_NODE_LOOP, .axis = node->axis, .n_cons = node->n_cons, .cons = node->cons};
    int before = out->n;
    if (!flatten_block(f, block, node->kids.n, node->kids.at, guard, out)) {
        return false;
    }
    return out->n > before || ctune_build_refuse_at(f->b, CTUNE_REFUSE_NO_STAGE, f->b->begin,
                                                    "the loop over '%s' does nothing",
                                                    f->b->axes.at[node->axis].c_name);
}

static bool flatten_list(flatten *f, int n, ctune_mnode *const *kids, const ctune_expr *guard,
                         node_list *out) {
    for (int i = 0; i < n; i++) {
        const ctune_mnode *kid = kids[i];
        bool ok = kid->kind == CTUNE_M_STAGE  ? flatten_stage(f, kid, guard, out)
                  : kid->kind == CTUNE_M_LOOP ? flatten_loop(f, kid, guard, out)
                  : kid->kind == CTUNE_M_IF   ? flatten_if(f, kid, guard, out)
                                              : flatten_guard(f, kid, guard, out);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void mark_expr(flatten *f, const ctune_expr *e) {
    if (e->op == CTUNE_OP_READ) {
        f->tensor_id[e->access.tensor] = 0;
    }
    for (int i = 0; i < e->n_kids; i++) {
        mark_expr(f, e->kids[i]);
    }
}

static bool number_tensors(flatten *f) {
    ctune_build *b = f->b;
    for (int t = 0; t < b->tensors.n; t++) {
        f->tensor_id[t] = b->tensors.at[t].is_memory_param ? 0 : -1;
    }
    for (int s = 0; s < f->region->n_stages; s++) {
        f->tensor_id[f->stages[s].target.tensor] = 0;
        mark_expr(f, f->stages[s].rhs);
        if (f->stages[s].guard != NULL) {
            mark_expr(f, f->stages[s].guard);
        }
    }
    ctune_tensor *tensors = CTUNE_NEW_ARRAY(b->arena, ctune_tensor, b->tensors.n + 1);
    if (tensors == NULL) {
        return false;
    }
    for (int i = 0; i < b->divs.n; i++) {
        if (b->divs.at[i].load != NULL) {
            f->tensor_id[b->divs.at[i].load->tensor] = 0;
        }
    }
    for (int t = 0; t < b->tensors.n; t++) {
        if (f->tensor_id[t] == 0) {
            f->tensor_id[t] = f->region->n_tensors;
            tensors[f->region->n_tensors++] = b->tensors.at[t].t;
        }
    }
    f->region->tensors = tensors;
    for (int i = 0; i < b->accs.n; i++) {
        ctune_access *slot = b->accs.at[i].slot;
        if (b->accs.at[i].tensor < 0 || ctune_load_is_slot(b, slot)) {
            continue; /* slots of loads are shared */
        }
        slot->tensor = f->tensor_id[slot->tensor];
    }
    for (int i = 0; i < b->divs.n; i++) {
        ctune_access *load = (ctune_access *)(uintptr_t)b->divs.at[i].load;
        if (load != NULL) {
            load->tensor = f->tensor_id[load->tensor];
        }
    }
    for (int s = 0; s < f->region->n_stages; s++) {
        f->stages[s].target.tensor = f->tensor_id[f->stages[s].target.tensor];
    }
    return true;
}

/* The first choice of a name is free again when its tensor turned out to be unused. */
static void shorten_names(flatten *f) {
    ctune_tensor *tensors = (ctune_tensor *)(uintptr_t)f->region->tensors;
    for (int i = 0; i < f->region->n_tensors; i++) {
        const char *tail = strrchr(tensors[i].name, '_');
        if (!tensors[i].is_temp || tail == NULL || strcmp(tail, "_2") != 0) {
            continue;
        }
        const char *name =
            ctune_arena_strndup(f->b->arena, tensors[i].name, (size_t)(tail - tensors[i].name));
        bool is_free = name != NULL;
        for (int j = 0; j < f->region->n_tensors && is_free; j++) {
            is_free = strcmp(tensors[j].name, name) != 0;
        }
        for (int j = 0; j < f->b->params.n && is_free; j++) {
            is_free = strcmp(f->b->params.at[j].name, name) != 0;
        }
        for (int j = 0; j < f->b->axes.n && is_free; j++) {
            is_free = strcmp(f->b->axes.at[j].name, name) != 0;
        }
        if (is_free) {
            tensors[i].name = name;
        }
    }
}

static bool add_range(ctune_build *b, int param, int64_t coef, const char *text) {
    ctune_assume *assume = CTUNE_PUSH(b, b->assumes);
    if (assume == NULL) {
        return false;
    }
    assume->aff = ctune_aff_add_const(
        b->arena, ctune_aff_term(b->arena, CTUNE_TERM_PARAM, param, coef), WIDE);
    assume->c_text = text;
    return assume->aff != NULL;
}

/* 64-bit parameters lie within 2^31, so that no sum of theirs overflows. */
static bool bound_params(ctune_build *b) {
    for (int p = 0; p < b->params.n; p++) {
        const ctune_param *param = &b->params.at[p];
        if (param->type == CTUNE_U64) {
            if (!add_range(b, p, -1,
                           ctune_arena_printf(b->arena, "%s <= 2147483648UL", param->c_text))) {
                return false;
            }
        } else if (param->type == CTUNE_I64) {
            if (!add_range(b, p, -1, NULL) || !add_range(b, p, 1, NULL)) {
                return false;
            }
        }
    }
    return true;
}

static const char *copy_text(ctune_build *b, const char *text) {
    return text == NULL ? NULL : ctune_arena_strdup(b->arena, text);
}

static void copy_clauses(ctune_build *b, ctune_region *r) {
    const ctune_pragma *p = b->pragma;
    r->reassoc = p->reassoc || (b->has_fast_math && !p->strict);
    r->serial = p->serial || b->omp->is_serial;
    r->gpu = p->target == CTUNE_PRAGMA_CUDA     ? CTUNE_GPU_CUDA
             : p->target == CTUNE_PRAGMA_OPENCL ? CTUNE_GPU_OPENCL
                                                : 0;
    r->n_threads = p->n_threads;
    r->weight = p->weight;
    r->schedule = copy_text(b, p->schedule);
    r->noalias = p->noalias;
}

static void use_aff(ctune_build *b, const ctune_aff *aff, bool *is_used) {
    for (int t = 0; aff != NULL && t < aff->n_terms; t++) {
        int id = aff->terms[t].id;
        if (aff->terms[t].kind == CTUNE_TERM_DIV && !is_used[id]) {
            const ctune_aff *const *forms;
            int n = ctune_div_forms(&b->divs.at[id], &forms);
            is_used[id] = true;
            for (int k = 0; k < n; k++) {
                use_aff(b, forms[k], is_used);
            }
        }
    }
}

static void use_access(ctune_build *b, const ctune_access *access, bool *is_used) {
    for (int d = 0; d < access->n_idx; d++) {
        use_aff(b, access->idx[d], is_used);
    }
}

static void use_expr(ctune_build *b, const ctune_expr *e, bool *is_used) {
    use_aff(b, e->aff, is_used);
    if (e->op == CTUNE_OP_READ) {
        use_access(b, &e->access, is_used);
    }
    for (int i = 0; i < e->n_kids; i++) {
        use_expr(b, e->kids[i], is_used);
    }
}

static void use_node(ctune_build *b, const ctune_node *node, bool *is_used) {
    for (int i = 0; i < node->n_cons; i++) {
        use_aff(b, node->cons[i], is_used);
    }
    for (int i = 0; i < node->n_kids; i++) {
        use_node(b, node->kids[i], is_used);
    }
}

/* Divs of forms that were tried and dropped become 0: they may name axes and tensors that are gone.
 */
static void drop_divs(ctune_build *b, const flatten *f) {
    bool *is_used = CTUNE_NEW_ARRAY(b->arena, bool, b->divs.n + 1);
    if (is_used == NULL) {
        return; /* recorded in the arena */
    }
    use_node(b, f->region->root, is_used);
    for (int i = 0; i < b->assumes.n; i++) {
        use_aff(b, b->assumes.at[i].aff, is_used);
    }
    for (int t = 0; t < b->tensors.n; t++) {
        for (int d = 0; d < b->tensors.at[t].t.rank; d++) {
            use_aff(b, b->tensors.at[t].t.extent[d], is_used);
        }
    }
    for (int s = 0; s < f->region->n_stages; s++) {
        const ctune_stage *stage = &f->stages[s];
        use_access(b, &stage->target, is_used);
        use_expr(b, stage->rhs, is_used);
        if (stage->guard != NULL) {
            use_expr(b, stage->guard, is_used);
        }
    }
    for (int i = 0; i < b->divs.n; i++) {
        if (!is_used[i]) {
            b->divs.at[i] = (ctune_div){.num = ctune_aff_const(b->arena, 0), .den = 1};
        }
    }
}

static bool build_region(flatten *f) {
    ctune_build *b = f->b;
    ctune_region *r = f->region;
    node_list top = {0};
    if (!flatten_list(f, b->root->kids.n, b->root->kids.at, NULL, &top)) {
        return false;
    }
    bool has_effect = false;
    for (int i = 0; i < r->n_stages; i++) {
        has_effect |= !b->tensors.at[f->stages[i].target.tensor].t.is_temp;
    }
    if (!has_effect) {
        return ctune_build_refuse_at(b, CTUNE_REFUSE_NO_STAGE, b->begin,
                                     "the region stores nothing");
    }
    for (int i = 0; i < b->axes.n; i++) {
        if (!f->axis_seen[i]) {
            return ctune_build_refuse_at(b, CTUNE_REFUSE_NO_STAGE, b->begin,
                                         "the loop over '%s' does nothing", b->axes.at[i].c_name);
        }
    }
    ctune_node *root = CTUNE_NEW(b->arena, ctune_node);
    if (root == NULL || !bound_params(b)) {
        return false;
    }
    *root = (ctune_node){.kind = CTUNE_NODE_SEQ, .n_kids = top.n, .kids = top.at};
    r->root = root;
    drop_divs(b, f);
    if (!number_tensors(f)) {
        return false;
    }
    shorten_names(f);
    r->n_params = b->params.n;
    r->params = b->params.at;
    r->n_axes = b->axes.n;
    r->axes = b->axes.at;
    r->n_divs = b->divs.n;
    r->divs = b->divs.at;
    r->stages = f->stages;
    r->n_assumes = b->assumes.n;
    r->assumes = b->assumes.at;
    copy_clauses(b, r);
    return true;
}

ctune_status ctune_assemble(ctune_build *b, const char *name, int line, ctune_region **out) {
    ctune_region *r = CTUNE_NEW(b->arena, ctune_region);
    flatten f = {.b = b, .region = r};
    f.stages = CTUNE_NEW_ARRAY(b->arena, ctune_stage, b->stages.n + 1);
    f.tensor_id = CTUNE_NEW_ARRAY(b->arena, int, 2 * b->tensors.n + b->params.n + 1);
    f.axis_seen = CTUNE_NEW_ARRAY(b->arena, bool, b->axes.n + 1);
    if (r == NULL || f.stages == NULL || f.tensor_id == NULL || f.axis_seen == NULL) {
        return ctune_fail(b->ctx, CTUNE_ENOMEM, "out of memory");
    }
    r->arena = b->arena;
    r->name = copy_text(b, name);
    r->file = copy_text(b, b->source->file);
    r->line = line;
    r->epilogue = ctune_epilogue_print(b);
    if (b->why.refusal != CTUNE_REFUSE_NONE || !build_region(&f)) {
        return b->why.refusal != CTUNE_REFUSE_NONE
                   ? CTUNE_EREFUSED
                   : ctune_fail(b->ctx, CTUNE_ENOMEM, "out of memory");
    }
    ctune_status status = ctune_region_finish(b->ctx, r);
    if (status == CTUNE_OK) {
        status = ctune_te_verify(b->ctx, r);
    }
    *out = r;
    return status;
}
