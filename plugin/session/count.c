/*
 * Numbers of a region that need no compiler: shapes for the runner, floating-point operations,
 * reduction length.
 */
#include "plugin/session/session.h"

#include <stdio.h>
#include <string.h>

static double expr_flops(const ctune_expr *e) {
    if (e == NULL) {
        return 0;
    }
    bool counts = ctune_type_is_float(e->type) &&
                  (e->op == CTUNE_OP_ADD || e->op == CTUNE_OP_SUB || e->op == CTUNE_OP_MUL ||
                   e->op == CTUNE_OP_DIV || e->op == CTUNE_OP_CALL);
    double n = counts;
    for (int i = 0; i < e->n_kids; i++) {
        n += expr_flops(e->kids[i]);
    }
    return n;
}

/* Units in the last place that functions of vectors may add: up to 4 of the library, as in math.c,
 * and their like for what they are compared with. */
static double call_error(const ctune_expr *e) {
    bool is_approx = e->op == CTUNE_OP_CALL && ctune_math_lanes_of(e->text) == CTUNE_MATH_APPROX;
    double n = is_approx ? 8 : 0;
    for (int i = 0; i < e->n_kids; i++) {
        n += call_error(e->kids[i]);
    }
    return n;
}

static double stage_flops(const ctune_stage *s) {
    return expr_flops(s->rhs) + (s->update != CTUNE_UPDATE_SET && ctune_type_is_float(s->calc));
}

double ctune_flops_count(ctune_ctx *ctx, const ctune_region *region, double *terms) {
    ctune_tree *tree;
    *terms = 0;
    if (ctune_tree_from_source(ctx, region, &tree) != CTUNE_OK) {
        return 0;
    }
    double flops = 0;
    bool is_countable = true;
    for (int i = 0; i < tree->n_stmts; i++) {
        const ctune_stmt *stmt = &tree->stmts[i];
        const ctune_stage *stage = &region->stages[stmt->stage];
        double points = 1, reduce = 1;
        for (int d = 0; d < stmt->n_dims; d++) {
            double extent = tree->dims[stmt->dims[d]].extent;
            points *= extent;
            reduce *= d < stage->n_axes && (stage->reduce_mask >> d & 1) ? extent : 1;
        }
        flops += points * stage_flops(stage);
        *terms += reduce * (1 + expr_flops(stage->rhs) + call_error(stage->rhs));
        is_countable &= stage->guard == NULL;
    }
    ctune_tree_destroy(tree);
    return is_countable ? flops : 0;
}

/* Largest data set that is allocated for measuring. */
#define MAX_DATA_BYTES ((double)(8ull << 30))

static ctune_status set_tensor(ctune_ctx *ctx, const ctune_region *region, int i,
                               const int64_t *params, ctune_run_tensor *out) {
    const ctune_tensor *t = &region->tensors[i];
    const ctune_type_info *type = ctune_type_get(t->type);
    snprintf(out->type, sizeof out->type, "%s", type->name);
    out->elem_bytes = type->bytes;
    out->stride_bytes = t->elem_stride_bytes > type->bytes ? t->elem_stride_bytes : type->bytes;
    out->rank = t->rank;
    if (t->is_temp) {
        return CTUNE_OK;
    }
    out->n_elems = ctune_tensor_shape(region, i, params, out->extent);
    out->is_written = t->is_written;
    if (ctune_tensor_is_index(region, i)) {
        ctune_load_model model = ctune_load_model_get(region, i, params);
        out->slope = model.slope;
        out->lo = model.lo;
        out->width = model.width;
    }
    return out->n_elems >= 0
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EREFUSED, "region %s: tensor %s is too large at these sizes",
                            region->name, t->name);
}

ctune_status ctune_workload_shape(ctune_ctx *ctx, const ctune_region *region, const int64_t *params,
                                  ctune_run_workload *out) {
    memset(out, 0, sizeof *out);
    if (region->n_tensors > CTUNE_RUN_MAX_TENSORS || region->n_params > CTUNE_RUN_MAX_PARAMS) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "region %s: more than %d tensors or %d parameters",
                          region->name, CTUNE_RUN_MAX_TENSORS, CTUNE_RUN_MAX_PARAMS);
    }
    out->n_params = region->n_params;
    memcpy(out->params, params, (size_t)region->n_params * sizeof *params);
    out->n_tensors = region->n_tensors;
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < region->n_tensors && status == CTUNE_OK; i++) {
        status = set_tensor(ctx, region, i, params, &out->tensor[i]);
    }
    return status;
}

ctune_status ctune_workload_make(ctune_ctx *ctx, const ctune_region *region, const int64_t *params,
                                 ctune_run_workload *out) {
    ctune_status status = ctune_workload_shape(ctx, region, params, out);
    if (status != CTUNE_OK) {
        return status;
    }
    double bytes = 0;
    for (int i = 0; i < region->n_tensors; i++) {
        bytes += (double)out->tensor[i].n_elems * out->tensor[i].stride_bytes;
    }
    if (bytes > MAX_DATA_BYTES) {
        return ctune_fail(
            ctx, CTUNE_EREFUSED,
            "region %s: %.1f GiB of data at these sizes; give smaller ones with sizes(...)",
            region->name, bytes / (1ull << 30));
    }
    double terms;
    ctune_flops_count(ctx, region, &terms);
    out->bound_terms = ctune_region_may_reassoc(region) ? terms + 1 : 0;
    out->time_limit_s = 10;
    out->min_sample_ns = 20000;
    out->memory_limit_bytes = (size_t)2 << 30;
    return CTUNE_OK;
}
