/*
 * ctune doctor: what this machine and installation can do. One line a fact; a missing necessity
 * makes the exit code 3.
 *
 * With --calibrate what a core does is measured first, and kept for the estimate and the models
 * (search/facts/machine.c).
 */
#include "plugin/tool/tool.h"
#include "runtime/calibrate.h"
#include "runtime/counters.h"
#include "runtime/gpu/inventory.h"
#include "search/detect/detect.h"
#include "search/facts/facts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_fact(const char *name, const char *value) {
    printf("%-12s %s\n", name, value);
}

static bool check_runner(ctune_ctx *ctx) {
    char path[PATH_MAX];
    bool ok = ctune_runner_find(ctx, path, sizeof path) == CTUNE_OK;
    print_fact("runner", ok ? path : ctx->error);
    return ok;
}

static bool check_workdir(ctune_ctx *ctx) {
    bool ok = ctune_workdir_create(ctx) == CTUNE_OK;
    const char *tmp = getenv("TMPDIR");
    print_fact("work folder", ok ? (tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp") : ctx->error);
    return ok;
}

/* Does `compiler -fopenmp` make a shared object, as candidates need it? */
static bool has_openmp(ctune_ctx *ctx, const char *compiler) {
    static const char source[] =
        "#include <omp.h>\nint f(void) { return omp_get_max_threads(); }\n";
    char c_path[PATH_MAX], so_path[PATH_MAX];
    snprintf(c_path, sizeof c_path, "%s/doctor.c", ctune_workdir_path());
    snprintf(so_path, sizeof so_path, "%s/doctor.so", ctune_workdir_path());
    const char *argv[] = {compiler, "-fopenmp", "-shared", "-fPIC", "-o", so_path, c_path, NULL};
    return ctune_workdir_path()[0] != '\0' &&
           ctune_file_write(ctx, c_path, source, sizeof source - 1) == CTUNE_OK &&
           ctune_program_run(ctx, argv, NULL) == CTUNE_OK;
}

/* true when the compiler works. */
static bool check_compiler(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                           ctune_target *target) {
    if (!ctune_program_exists(compiler->command)) {
        printf("%-12s not found\n", compiler->command);
        return false;
    }
    if (ctune_target_get(ctx, compiler, target) != CTUNE_OK) {
        printf("%-12s does not work: %s\n", compiler->command, ctx->error);
        return false;
    }
    printf("%-12s %s, %s, %d-byte vectors, OpenMP %s\n", compiler->command, target->compiler,
           target->isa, target->vector_bytes,
           has_openmp(ctx, compiler->command) ? "yes" : "no (libomp-19-dev is missing?)");
    return true;
}

static void print_machine(const ctune_target *target) {
    char text[256];
    snprintf(text, sizeof text, "%s, %ld threads", target->cpu, sysconf(_SC_NPROCESSORS_ONLN));
    print_fact("cpu", text);
    snprintf(text, sizeof text, "L1 %ld KiB, L2 %ld KiB, L3 %ld KiB",
             (long)(target->cache_bytes[0] >> 10), (long)(target->cache_bytes[1] >> 10),
             (long)(target->cache_bytes[2] >> 10));
    print_fact("caches", text);
    ctune_target_key(target, text, sizeof text);
    print_fact("target", text);
}

/* ---- calibration ----------------------------------------------------------------------------- */
static void put_calibration(const ctune_calibration *c, ctune_target *out) {
    out->ghz = c->ghz;
    out->rates.fma_per_cycle = c->fma_per_cycle;
    out->rates.fma_f64_per_cycle = c->fma_f64_per_cycle;
    out->rates.fma_latency = c->fma_latency;
    out->rates.loads_per_cycle = c->loads_per_cycle;
    out->rates.stores_per_cycle = c->stores_per_cycle;
    memcpy(out->rates.bytes_per_cycle, c->bytes_per_cycle, sizeof out->rates.bytes_per_cycle);
    out->is_measured = true;
}

static ctune_status calibrate(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                              const ctune_target *target) {
    ctune_calibration measured;
    ctune_target facts = *target;
    char path[PATH_MAX];
    ctune_machine_path(target, path, sizeof path);
    if (path[0] == '\0') {
        return ctune_fail(ctx, CTUNE_EENV,
                          "nowhere to keep a calibration: set CTUNE_MACHINE, XDG_CACHE_HOME or "
                          "HOME");
    }
    ctune_status status = ctune_calibrate(ctx, compiler, target->vector_bytes, facts.cache_bytes,
                                          ctune_workdir_path(), &measured);
    if (status == CTUNE_OK) {
        put_calibration(&measured, &facts);
        status = ctune_machine_facts_write(ctx, path, &facts);
    }
    return status;
}

static void print_facts(ctune_ctx *ctx, const ctune_target *target) {
    ctune_target f;
    char text[PATH_MAX], path[PATH_MAX];
    ctune_machine_facts_get(ctx, target, &f);
    ctune_machine_path(target, path, sizeof path);
    print_fact("facts", f.is_measured
                            ? path
                            : "not measured: defaults; `ctune doctor --calibrate` measures them");
    snprintf(text, sizeof text,
             "%.2f GHz; a cycle: %g vector FMAs in f32, %g in f64, %g loads, %g stores; FMA "
             "latency %g",
             f.ghz, f.rates.fma_per_cycle, f.rates.fma_f64_per_cycle, f.rates.loads_per_cycle,
             f.rates.stores_per_cycle, f.rates.fma_latency);
    print_fact("core", text);
    double lanes_ghz = f.ghz * f.vector_bytes / 4;
    snprintf(text, sizeof text, "%.0f GFLOP/s in f32, %.0f in f64, on one core",
             2 * f.rates.fma_per_cycle * lanes_ghz, f.rates.fma_f64_per_cycle * lanes_ghz);
    print_fact("peak", text);
    snprintf(text, sizeof text, "L1 %.0f, L2 %.0f, L3 %.0f, memory %.1f GB/s",
             f.rates.bytes_per_cycle[0] * f.ghz, f.rates.bytes_per_cycle[1] * f.ghz,
             f.rates.bytes_per_cycle[2] * f.ghz, f.rates.bytes_per_cycle[3] * f.ghz);
    print_fact("bandwidth", text);
}

static void print_counters(void) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_counters *counters = ctune_counters_create();
    for (int i = 0; counters != NULL && i < CTUNE_N_COUNTERS; i++) {
        if (ctune_counters_has(counters, (ctune_counter)i)) {
            ctune_text_printf(&text, "%s%s", text.len > 0 ? ", " : "",
                              ctune_counter_name((ctune_counter)i));
        }
    }
    ctune_counters_destroy(counters);
    print_fact("counters",
               text.len > 0
                   ? ctune_text_get(&text)
                   : "none in hardware (common in virtual machines); software events only");
    ctune_text_clear(&text);
}

static void print_gpu_fact(void *data, const char *name, const char *value) {
    (void)data;
    print_fact(name, value);
}

int ctune_cmd_doctor(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words > 0) {
        ctune_fail(ctx, CTUNE_EUSAGE, "`ctune doctor` takes no file");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    print_fact("ctune", CTUNE_VERSION);
    bool ok = check_runner(ctx);
    ok &= check_workdir(ctx);
    ctune_flags flags;
    ctune_status status = ctune_flags_get(ctx, options, "", &flags);
    if (status != CTUNE_OK) {
        return ctune_report(ctx, status);
    }
    ctune_run_compiler chosen = {flags.compiler, flags.n_run, flags.run};
    ctune_target target = {0}, unused;
    bool works = check_compiler(ctx, &chosen, &target);
    static const char *const others[] = {"clang-19", "gcc"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i], flags.compiler) != 0) {
            ctune_run_compiler other = {others[i], flags.n_run, flags.run};
            check_compiler(ctx, &other, &unused);
        }
    }
    if (works && ok && options->calibrate) {
        status = calibrate(ctx, &chosen, &target);
    }
    if (works) {
        print_machine(&target);
        print_facts(ctx, &target);
    }
    print_counters();
    ctune_gpu_inventory(NULL, print_gpu_fact);
    ctune_flags_clear(&flags);
    return ctune_exit_worse(ctune_report(ctx, status),
                            ok && works ? CTUNE_EXIT_OK : CTUNE_EXIT_ENV);
}
