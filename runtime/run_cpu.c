/*
 * Which CPUs measure and which compile.
 *
 * Of the CPUs that this process may use, the last ones measure (the first one usually serves
 * interrupts), as many as the candidates have threads; the others compile. Hardware threads that
 * share a core with a measuring one stay idle when there are others. With no CPU left for
 * compiling, compilers run on the measuring ones between measurements.
 */
#include "runtime/run_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void parse_cpu_list(const char *text, cpu_set_t *set) {
    CPU_ZERO(set);
    while (*text != '\0') {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (end == text) {
            return;
        }
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        for (long cpu = first; cpu >= 0 && cpu <= last && cpu < CPU_SETSIZE; cpu++) {
            CPU_SET(cpu, set);
        }
        text = *end == ',' ? end + 1 : end;
        if (*end != ',') {
            return;
        }
    }
}

/* Hardware threads of one core; just the CPU itself when the system does not say. */
static void find_siblings(int cpu, cpu_set_t *set) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    ctune_ctx ctx;
    ctune_text text;
    ctune_ctx_init(&ctx);
    ctune_text_init(&text);
    CPU_ZERO(set);
    if (ctune_file_read(&ctx, path, &text) == CTUNE_OK) {
        parse_cpu_list(ctune_text_get(&text), set);
    }
    CPU_SET(cpu, set);
    ctune_text_clear(&text);
}

void ctune_run_cpus_choose(int n_threads, run_cpus *out) {
    cpu_set_t allowed, siblings;
    memset(out, 0, sizeof *out);
    CPU_ZERO(&siblings);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) {
        CPU_ZERO(&allowed);
        CPU_SET(0, &allowed);
    }
    int n_allowed = CPU_COUNT(&allowed);
    int n_measure = n_threads <= 0 || n_threads > n_allowed ? n_allowed : n_threads;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && out->n_measure < n_measure; cpu--) {
        if (CPU_ISSET(cpu, &allowed)) {
            cpu_set_t same_core;
            CPU_SET(cpu, &out->measure);
            out->n_measure++;
            find_siblings(cpu, &same_core);
            CPU_OR(&siblings, &siblings, &same_core);
        }
    }
    cpu_set_t rest, far;
    CPU_XOR(&rest, &allowed, &out->measure);
    CPU_AND(&far, &rest, &siblings);
    CPU_XOR(&far, &rest, &far);
    out->compile = CPU_COUNT(&far) > 0 ? far : rest;
    out->n_compile = CPU_COUNT(&out->compile);
}

int ctune_run_threads_guess(int n_flags, const char *const *flags) {
    bool is_parallel = false;
    for (int i = 0; i < n_flags; i++) {
        if (strncmp(flags[i], "-fopenmp", 8) == 0 && (flags[i][8] == '\0' || flags[i][8] == '=')) {
            is_parallel = true;
        } else if (strcmp(flags[i], "-fno-openmp") == 0) {
            is_parallel = false;
        }
    }
    const char *wanted = getenv("OMP_NUM_THREADS");
    int n_wanted = wanted != NULL ? atoi(wanted) : 0;
    return !is_parallel ? 1 : n_wanted > 0 ? n_wanted : 0;
}
