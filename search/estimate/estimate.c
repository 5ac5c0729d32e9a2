/*
 * The analytic estimate: core and memory put together. estimate.h says what it is for.
 *
 * Cycles of the core and of each cache level overlap, but never fully: the largest counts whole,
 * the others a little, so that of two nests with the same bottleneck the one that does less besides
 * wins.
 */
#include "search/estimate/analysis.h"

#include <math.h>

static void find_sizes(est_state *s) {
    const ctune_region *region = s->nest->region;
    const ctune_form *form = s->nest->form;
    for (int i = 0; i < region->n_params && i < EST_MAX_PARAMS; i++) {
        s->params[i] = region->params[i].sizes[0];
    }
    for (int i = 0; i < form->n_fixed; i++) {
        if (form->fixed_param[i] < EST_MAX_PARAMS) {
            s->params[form->fixed_param[i]] = form->fixed_value[i];
        }
    }
    for (int t = 0; t < region->n_tensors && t < EST_MAX_TENSORS; t++) {
        for (int d = 0; d < region->tensors[t].rank; d++) {
            const ctune_aff *extent = region->tensors[t].extent[d];
            s->extent[t][d] =
                extent == NULL ? INFINITY : (double)ctune_aff_eval(region, extent, NULL, s->params);
        }
    }
}

static double add_forks(const est_path *paths, int n) {
    static const double fork_cycles = 12000;
    double forks = 0;
    for (int i = 0; i < n; i++) {
        forks = est_max(forks, paths[i].forks); /* statements mostly share their parallel loop */
    }
    return forks * fork_cycles;
}

void est_analyse(est_analysis *a, const ctune_nest *nest, const ctune_target *target,
                 const ctune_rates *rates) {
    est_state *s = &a->state; /* not cleared: only what is used is written */
    s->nest = nest;
    s->target = target;
    s->rates = *rates;
    s->n_groups = s->n_refs = 0;
    a->core_cycles = 0;
    a->n_paths = 0;
    find_sizes(s);
    for (int i = 1; i < nest->n_nodes && a->n_paths < CTUNE_MAX_STMTS; i++) {
        est_path *path = &a->path[a->n_paths];
        if (nest->node[i].kind != CTUNE_NN_STMT || !est_path_init(path, nest, i, target)) {
            continue;
        }
        est_refs_add(s, path);
        a->n_paths += path->n_refs > 0;
    }
    est_temps_find(s, a->path, a->n_paths);
    for (int i = 0; i < a->n_paths; i++) {
        const est_path *path = &a->path[i];
        est_kernel *kernel = &a->kernel[i];
        (void)est_compute_cycles(s, path, kernel);
        kernel->total_cycles = est_max(kernel->total_cycles, est_recurrence_cycles(s, path));
        a->copy_cycles[i] = est_memory_add(s, path);
        a->core_cycles += kernel->total_cycles + a->copy_cycles[i];
    }
    est_memory_sum(s);
    double most = a->core_cycles, sum = a->core_cycles;
    for (int c = 0; c < 3; c++) {
        a->traffic[c] = est_memory_traffic(s, c);
        a->memory_cycles[c] = a->traffic[c] / rates->bytes_per_cycle[c + 1];
        most = est_max(most, a->memory_cycles[c]);
        sum += a->memory_cycles[c];
    }
    a->fork_cycles = add_forks(a->path, a->n_paths);
    a->cycles = est_max(most + 0.25 * (sum - most) + a->fork_cycles, 1);
}

double ctune_estimate(const ctune_nest *nest, const ctune_target *target) {
    est_analysis a;
    ctune_rates rates;
    ctune_rates_default(&rates, target->vector_bytes);
    est_analyse(&a, nest, target, &rates);
    return a.cycles / target->ghz;
}
