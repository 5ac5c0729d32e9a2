/*
 * The analytic estimate: core and memory put together. estimate.h says what it is for.
 *
 * Cycles of the core and of each cache level overlap, but never fully: the largest counts whole,
 * the others a little, so that of two nests with the same bottleneck the one that does less besides
 * wins.
 */
#include "search/estimate/analysis.h"

#include <math.h>

void ctune_machine_default(ctune_machine *machine, int vector_bytes, const int64_t cache_bytes[3],
                           int n_cores) {
    static const double defaults[3] = {32768, 1048576, 8388608};
    machine->ghz = 3.0;
    machine->vector_bytes = vector_bytes < 16 ? 16 : vector_bytes;
    machine->n_vector_regs = vector_bytes >= 64 ? 32 : 16;
    machine->fma_per_cycle = 2;
    machine->loads_per_cycle = 2;
    machine->stores_per_cycle = 1;
    machine->fma_latency = 4;
    machine->line_bytes = 64;
    for (int c = 0; c < 3; c++) {
        bool is_known = cache_bytes != NULL && cache_bytes[c] > 0;
        machine->cache_bytes[c] = is_known ? (double)cache_bytes[c] : defaults[c];
    }
    machine->bytes_per_cycle[0] = 2.0 * machine->vector_bytes;
    machine->bytes_per_cycle[1] = 48;
    machine->bytes_per_cycle[2] = 20;
    machine->bytes_per_cycle[3] = 8;
    machine->n_cores = n_cores < 1 ? 1 : n_cores;
}

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

void est_analyse(est_analysis *a, const ctune_nest *nest, const ctune_machine *machine) {
    est_state *s = &a->state; /* not cleared: only what is used is written */
    s->nest = nest;
    s->machine = machine;
    s->n_groups = s->n_refs = 0;
    a->core_cycles = 0;
    a->n_paths = 0;
    find_sizes(s);
    for (int i = 1; i < nest->n_nodes && a->n_paths < CTUNE_MAX_STMTS; i++) {
        est_path *path = &a->path[a->n_paths];
        if (nest->node[i].kind != CTUNE_NN_STMT || !est_path_init(path, nest, i, machine)) {
            continue;
        }
        est_refs_add(s, path);
        if (path->n_refs == 0) {
            continue;
        }
        a->core_cycles += est_compute_cycles(s, path, &a->kernel[a->n_paths]);
        a->copy_cycles[a->n_paths] = est_memory_add(s, path);
        a->core_cycles += a->copy_cycles[a->n_paths];
        a->n_paths++;
    }
    est_memory_sum(s);
    double most = a->core_cycles, sum = a->core_cycles;
    for (int c = 0; c < 3; c++) {
        a->traffic[c] = est_memory_traffic(s, c);
        a->memory_cycles[c] = a->traffic[c] / machine->bytes_per_cycle[c + 1];
        most = est_max(most, a->memory_cycles[c]);
        sum += a->memory_cycles[c];
    }
    a->fork_cycles = add_forks(a->path, a->n_paths);
    a->cycles = est_max(most + 0.25 * (sum - most) + a->fork_cycles, 1);
}

double ctune_estimate(const ctune_nest *nest, const ctune_machine *machine) {
    est_analysis a;
    est_analyse(&a, nest, machine);
    return a.cycles / machine->ghz;
}
