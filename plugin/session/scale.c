/*
 * Scale: see scale.h.
 *
 * In: a sized region and the budget. Out: sizes to measure at, and what the times are to be
 * multiplied with. How long the original takes is found by running it where it is short: a few
 * iterations of the outermost loop when a parameter counts nothing else (a time loop), small sizes
 * otherwise; the rest is proportional to the number of statement instances. A prefix of a time
 * loop is as good as the whole for comparing, so it is used as soon as the whole is long; other
 * sizes behave differently (caches), so they are made smaller only when there is no other way.
 */
#include "plugin/session/scale.h"

#include "plugin/record/profile.h"
#include "plugin/session/cases.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the budget. */
static const double PROBE_SHARE = 0.01;  /* what the short run should take */
static const double PROBE_LIMIT = 0.15;  /* and may */
static const double PREFIX_SHARE = 0.06; /* one run of a prefix */
static const double WHOLE_SHARE = 0.35;  /* one run at the sizes asked for, where these are no */
static const double SMALL_SHARE = 0.05;  /* prefix; else one run at smaller ones */

static const double FAST_NS = 10; /* of one instance: no region is known to be slower by much */
enum { LEAST_STEPS = 8, LEAST_SIZE = 16 };

/* ---- time loops ------------------------------------------------------------------------------ */
static bool aff_has(const ctune_aff *aff, int p) {
    return aff != NULL && ctune_aff_coef(aff, CTUNE_TERM_PARAM, p) != 0;
}

static bool access_has(const ctune_access *access, int p) {
    bool found = false;
    for (int i = 0; i < access->n_idx; i++) {
        found |= aff_has(access->idx[i], p);
    }
    return found;
}

static bool expr_has(const ctune_expr *e, int p) {
    if (e == NULL) {
        return false;
    }
    bool found = (e->op == CTUNE_OP_AFF && aff_has(e->aff, p)) ||
                 (e->op == CTUNE_OP_READ && access_has(&e->access, p));
    for (int i = 0; i < e->n_kids && !found; i++) {
        found = expr_has(e->kids[i], p);
    }
    return found;
}

static bool node_has(const ctune_node *node, int p) {
    bool found = false;
    for (int i = 0; i < node->n_cons; i++) {
        found |= aff_has(node->cons[i], p);
    }
    for (int i = 0; i < node->n_kids && !found; i++) {
        found = node_has(node->kids[i], p);
    }
    return found;
}

/* Has the array a value for each step, such as a source's? What is worked on is another one. */
static bool is_step_data(const ctune_region *region, int tensor) {
    const ctune_tensor *t = &region->tensors[tensor];
    bool has_other = false;
    for (int i = 0; i < region->n_tensors; i++) {
        has_other = has_other || (region->tensors[i].is_written && region->tensors[i].rank > 1);
    }
    return has_other && t->rank == 1 && !t->is_written && !ctune_tensor_is_index(region, tensor);
}

static bool data_has(const ctune_region *region, int p) {
    bool found = false;
    for (int i = 0; i < region->n_tensors; i++) {
        const ctune_tensor *t = &region->tensors[i];
        for (int d = is_step_data(region, i) ? 1 : 0; d < t->rank; d++) {
            found |= aff_has(t->extent[d], p);
        }
    }
    for (int i = 0; i < region->n_divs; i++) {
        found |= aff_has(region->divs[i].num, p);
    }
    for (int i = 0; i < region->n_stages && !found; i++) {
        const ctune_stage *s = &region->stages[i];
        found = access_has(&s->target, p) || expr_has(s->rhs, p) || expr_has(s->guard, p);
    }
    return found;
}

bool ctune_scale_is_prefix(const ctune_region *region, int p) {
    const ctune_node *outer = region->root;
    while (outer != NULL && outer->kind == CTUNE_NODE_SEQ && outer->n_kids == 1) {
        outer = outer->kids[0];
    }
    if (outer == NULL || outer->kind != CTUNE_NODE_LOOP) {
        return false;
    }
    bool bounds = false, is_alone = !data_has(region, p);
    for (int i = 0; i < outer->n_cons; i++) { /* axis <= p / coef: an upper bound */
        bounds |= ctune_aff_coef(outer->cons[i], CTUNE_TERM_PARAM, p) > 0 &&
                  ctune_aff_coef(outer->cons[i], CTUNE_TERM_AXIS, outer->axis) < 0;
    }
    for (int i = 0; i < outer->n_kids && is_alone; i++) {
        is_alone = !node_has(outer->kids[i], p);
    }
    return bounds && is_alone;
}

/* ---- the short run --------------------------------------------------------------------------- */
static ctune_status set_sizes(ctune_ctx *ctx, const ctune_region *region, const int64_t *params,
                              ctune_sized *out) {
    const ctune_region *at = ctune_region_at(region, params);
    return at != NULL ? ctune_sized_get(ctx, at, 0, out)
                      : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

static ctune_status baseline(ctune_ctx *ctx, const ctune_session *session,
                             const ctune_source *source, const ctune_run_workload *load,
                             const char *prelude, const char *unit, double limit_s,
                             ctune_run_result *result) {
    char runner_path[PATH_MAX], folder[PATH_MAX];
    ctune_runner *runner = NULL;
    ctune_status status = session->find_runner(ctx, runner_path, sizeof runner_path);
    status = status == CTUNE_OK ? session->make_folder(ctx) : status;
    int n = snprintf(folder, sizeof folder, "%s/probe-XXXXXX", session->folder());
    if (status == CTUNE_OK && (n < 0 || (size_t)n >= sizeof folder || mkdtemp(folder) == NULL)) {
        status = ctune_fail(ctx, CTUNE_EENV, "cannot make a working folder '%s': %s", folder,
                            strerror(errno));
    }
    if (status == CTUNE_OK) {
        status = ctune_runner_create(ctx, runner_path, folder, &source->compiler, load, &runner);
    }
    if (status == CTUNE_OK) {
        ctune_runner_limit_baseline(runner, limit_s);
        status = ctune_runner_baseline(ctx, runner, prelude, unit, "ctune_original", result);
    }
    ctune_runner_destroy(runner);
    return status;
}

/* Time of one run of the original at these sizes; at least limit_s when it takes longer; 0: it
 * cannot be measured (whoever measures it in earnest says why). */
static ctune_status probe(ctune_ctx *ctx, const ctune_session *session, const ctune_source *source,
                          const ctune_sized *sized, double limit_s, double *ns) {
    ctune_text prelude, unit;
    ctune_run_workload load;
    ctune_run_result result = {0};
    *ns = 0;
    ctune_text_init(&prelude);
    ctune_text_init(&unit);
    ctune_emit_prelude(&source->emit, &prelude);
    ctune_status status = ctune_workload_make(ctx, &sized->region, sized->params, &load);
    if (status == CTUNE_OK) {
        load.seed = (uint64_t)session->seed;
        load.original_s = 0.02;
        status = ctune_emit_original(ctx, &sized->region, &source->emit, "ctune_original", &unit);
    }
    if (status == CTUNE_OK) {
        status = baseline(ctx, session, source, &load, ctune_text_get(&prelude),
                          ctune_text_get(&unit), limit_s, &result);
    }
    if (status == CTUNE_OK && result.outcome == CTUNE_RUN_OK) {
        *ns = result.best_ns;
    } else if (status == CTUNE_OK && result.outcome == CTUNE_RUN_SKIPPED) {
        *ns = 1e9 * limit_s;
    }
    ctune_text_clear(&prelude);
    ctune_text_clear(&unit);
    return status;
}

/* ---- choice ---------------------------------------------------------------------------------- */
typedef struct chooser {
    ctune_ctx *ctx;
    const ctune_region *region;
    const int64_t *wanted;
    double points;
    int steps; /* the parameter that counts the outermost loop, -1 = none */
} chooser;

static int find_steps(const ctune_region *region, const int64_t *params) {
    for (int p = 0; p < region->n_params; p++) {
        if (params[p] > LEAST_STEPS && ctune_scale_is_prefix(region, p)) {
            return p;
        }
    }
    return -1;
}

/* Sizes with at most `points` instances, if there are such. */
static void shrink(const chooser *c, double points, int64_t *params) {
    memcpy(params, c->wanted, (size_t)c->region->n_params * sizeof *params);
    for (int k = 1; k < 40; k++) {
        int64_t next[CTUNE_RUN_MAX_PARAMS] = {0};
        if (ctune_points_count(c->ctx, c->region, params) <= points) {
            return;
        }
        double by = 1;
        for (int i = 0; i < k; i++) {
            by *= 0.8;
        }
        for (int i = 0; i < c->region->n_params; i++) { /* multiples of 8 stay such */
            int64_t n = (int64_t)((double)c->wanted[i] * by) / 8 * 8;
            next[i] = c->wanted[i] <= LEAST_SIZE ? c->wanted[i] : n < LEAST_SIZE ? LEAST_SIZE : n;
        }
        if (!ctune_sizes_repair(c->region, next)) {
            return;
        }
        memcpy(params, next, sizeof next);
    }
}

static void set_steps(const chooser *c, double share, int64_t least, int64_t *params) {
    memcpy(params, c->wanted, (size_t)c->region->n_params * sizeof *params);
    double steps = share * (double)c->wanted[c->steps];
    int64_t n = steps < (double)least ? least : (int64_t)steps;
    params[c->steps] = n < c->wanted[c->steps] ? n : c->wanted[c->steps];
}

static bool is_same(const chooser *c, const int64_t *params) {
    return memcmp(params, c->wanted, (size_t)c->region->n_params * sizeof *params) == 0;
}

static ctune_status use(const chooser *c, const int64_t *params, const char *why,
                        ctune_sized *sized, ctune_scale *out) {
    if (is_same(c, params)) {
        return CTUNE_OK;
    }
    out->is_scaled = true;
    out->why = why;
    out->factor = c->points / ctune_points_count(c->ctx, c->region, params);
    return set_sizes(c->ctx, c->region, params, sized);
}

static ctune_status choose_by_time(const chooser *c, const ctune_session *session,
                                   const ctune_source *source, double budget_s, ctune_sized *sized,
                                   ctune_scale *out) {
    int64_t params[CTUNE_RUN_MAX_PARAMS] = {0};
    ctune_sized small;
    double probe_points = 1e9 * PROBE_SHARE * budget_s, ns;
    if (c->steps >= 0) {
        set_steps(c, probe_points / c->points, 2, params);
    } else {
        shrink(c, probe_points, params);
    }
    double points = ctune_points_count(c->ctx, c->region, params);
    if (is_same(c, params) || points > c->points / 4) {
        return CTUNE_OK; /* the run in earnest is hardly longer */
    }
    ctune_status status = set_sizes(c->ctx, c->region, params, &small);
    if (status == CTUNE_OK) {
        status = probe(c->ctx, session, source, &small, PROBE_LIMIT * budget_s, &ns);
    }
    if (status != CTUNE_OK || ns == 0) {
        return status;
    }
    double whole_s = 1e-9 * ns * c->points / points;
    out->original_s = whole_s;
    if (c->steps >= 0 && whole_s > PREFIX_SHARE * budget_s) {
        set_steps(c, PREFIX_SHARE * budget_s / whole_s, LEAST_STEPS, params);
        return use(c, params, "the first iterations of the outermost loop", sized, out);
    }
    if (c->steps < 0 && whole_s > WHOLE_SHARE * budget_s) {
        shrink(c, c->points * SMALL_SHARE * budget_s / whole_s, params);
        return use(c, params, "smaller sizes: the original takes too long for the budget", sized,
                   out);
    }
    return CTUNE_OK;
}

static double data_bytes(ctune_ctx *ctx, const ctune_region *region, const int64_t *params) {
    ctune_run_workload load;
    if (ctune_workload_shape(ctx, region, params, &load) != CTUNE_OK) {
        return 1e300;
    }
    double bytes = 0;
    for (int i = 0; i < load.n_tensors; i++) { /* written ones: inputs and reference, too */
        const ctune_run_tensor *t = &load.tensor[i];
        bytes += (double)t->n_elems * t->stride_bytes * (t->is_written ? 3 : 1);
    }
    return bytes;
}

static ctune_status choose_by_memory(const chooser *c, const ctune_session *session,
                                     ctune_sized *sized, ctune_scale *out) {
    double limit = session->memory_bytes > 0 ? session->memory_bytes : CTUNE_DEFAULT_MEMORY_BYTES;
    int64_t params[CTUNE_RUN_MAX_PARAMS] = {0};
    memcpy(params, c->wanted, sizeof params);
    double points = c->points, bytes = data_bytes(c->ctx, c->region, params);
    for (int k = 0; k < 60 && bytes > limit; k++) {
        points *= 0.7;
        shrink(c, points, params);
        bytes = data_bytes(c->ctx, c->region, params);
    }
    if (bytes > limit) {
        return ctune_fail(c->ctx, CTUNE_EREFUSED,
                          "region %s: %.1f GiB of data at these sizes; give smaller ones with "
                          "sizes(...), or more with --memory",
                          c->region->name, bytes / (1ull << 30));
    }
    return use(c, params, "smaller sizes: the data would take too much memory", sized, out);
}

ctune_status ctune_scale_choose(ctune_ctx *ctx, const ctune_session *session,
                                const ctune_source *source, double budget_s, ctune_sized *sized,
                                ctune_scale *out) {
    const ctune_region *region = &sized->region;
    *out = (ctune_scale){.factor = 1};
    memcpy(out->wanted, sized->params, sizeof out->wanted);
    memcpy(out->text, sized->text, sizeof out->text);
    chooser c = {.ctx = ctx, .region = region, .wanted = out->wanted};
    ctune_region asked = *region; /* sized->region changes */
    c.region = &asked;
    c.points = ctune_points_count(ctx, region, out->wanted);
    c.steps = find_steps(region, out->wanted);
    ctune_status status = choose_by_memory(&c, session, sized, out);
    bool may_be_slow = c.points * FAST_NS > 1e9 * PREFIX_SHARE * budget_s;
    if (status == CTUNE_OK && !out->is_scaled && budget_s > 0 && may_be_slow) {
        status = choose_by_time(&c, session, source, budget_s, sized, out);
    }
    return status;
}
