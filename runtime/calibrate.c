/*
 * Calibration: see calibrate.h. calibrate_source.c is the program that measures.
 */
#include "runtime/calibrate.h"

#include "runtime/calibrate_private.h"
#include "runtime/run_private.h"
#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a program and what it prints ---- */

static void read_all(int fd, ctune_text *out) {
    char buffer[4096];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
        ctune_text_append_n(out, buffer, n > 0 ? (size_t)n : 0);
    }
}

/* Standard output and error of argv, appended; EENV when it cannot be run or fails: `what` says
 * what it is. temp_dir as of ctune_run_spawn. */
static ctune_status capture(ctune_ctx *ctx, char *const *argv, const char *temp_dir,
                            const char *what, ctune_text *out) {
    int ends[2], state = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "pipe: %s", strerror(errno));
    }
    ends[1] = ctune_run_fd_raise(ends[1]);
    const int fds[3] = {-1, ends[1], ends[1]};
    pid_t pid;
    ctune_status status = ctune_run_spawn(ctx, argv, fds, 3, temp_dir, &pid);
    close(ends[1]);
    if (status == CTUNE_OK) {
        read_all(ends[0], out);
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    if (status != CTUNE_OK) {
        return status;
    }
    const char *text = ctune_text_get(out);
    if (out->failed) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    if (WIFSIGNALED(state)) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: killed by signal %d", what, WTERMSIG(state));
    }
    return WEXITSTATUS(state) == 0 ? CTUNE_OK
                                   : ctune_fail(ctx, CTUNE_EENV, "%s: exit status %d: %.*s", what,
                                                WEXITSTATUS(state), (int)strcspn(text, "\n"), text);
}

/* ---- making it ---- */

static ctune_status build(ctune_ctx *ctx, const ctune_run_compiler *compiler, int vector_bytes,
                          const char *work_dir, const char *source, const char *program) {
    char width[48];
    snprintf(width, sizeof width, "-DVECTOR_BYTES=%d", vector_bytes);
    const char *const own[] = {width, "-O2", "-fno-fast-math", "-std=gnu11",
                               "-w",  "-o",  program,          source};
    const size_t n_own = sizeof own / sizeof *own;
    const char **argv = calloc((size_t)compiler->n_flags + n_own + 2, sizeof *argv);
    if (argv == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    argv[0] = compiler->command;
    int n = 1 + ctune_run_flags_filter(compiler->n_flags, compiler->flags, argv + 1);
    memcpy(argv + n, own, sizeof own);
    ctune_text words;
    ctune_text_init(&words);
    ctune_status status =
        ctune_file_write(ctx, source, ctune_calibrate_source, strlen(ctune_calibrate_source));
    if (status == CTUNE_OK) {
        status = capture(ctx, (char *const *)argv, work_dir, compiler->command, &words);
    }
    ctune_text_clear(&words);
    free(argv);
    return status;
}

/* ---- running it ---- */

/* Between the sizes of the caches above and below: clear of both, and of what neighbours use. */
static void choose_sets(const int64_t cache_bytes[3], double sets[4]) {
    static const double least = 64e6, most = 512e6;
    double l1 = (double)cache_bytes[0], l2 = (double)cache_bytes[1], l3 = (double)cache_bytes[2];
    sets[0] = 0.5 * l1;
    sets[1] = sqrt(l1 * l2);
    sets[2] = sqrt(l2 * l3);
    sets[3] = fmin(most, fmax(least, 4 * l3));
    sets[2] = fmin(sets[2], sets[3]);
}

static int measuring_cpu(void) {
    run_cpus cpus;
    ctune_run_cpus_choose(1, &cpus);
    int cpu = 0;
    while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus.measure)) {
        cpu++;
    }
    return cpu;
}

static ctune_status measure(ctune_ctx *ctx, const char *program, const int64_t cache_bytes[3],
                            ctune_text *out) {
    char words[5][32];
    double sets[4];
    choose_sets(cache_bytes, sets);
    snprintf(words[0], sizeof words[0], "%d", measuring_cpu());
    for (int i = 0; i < 4; i++) {
        snprintf(words[i + 1], sizeof words[i + 1], "%.0f", sets[i]);
    }
    char *const argv[] = {(char *)program, words[0], words[1], words[2], words[3], words[4], NULL};
    return capture(ctx, argv, NULL, "the calibrating program", out);
}

/* ---- its output ---- */

static const struct {
    const char *name;
    size_t offset;
    double min, max;
} rows[] = {
#define X(name, member, min, max) {name, offsetof(ctune_calibration, member), min, max},
    CTUNE_CALIBRATION_TABLE(X)
#undef X
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* Value of the line "name value"; false when there is none. */
static bool find_value(const char *text, const char *name, double *out) {
    size_t n = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *end;
        if (strncmp(line, name, n) == 0 && line[n] == ' ') {
            *out = strtod(line + n + 1, &end);
            return end != line + n + 1 && (*end == '\n' || *end == '\0');
        }
    }
    return false;
}

ctune_status ctune_calibration_parse(ctune_ctx *ctx, const char *text, ctune_calibration *out) {
    ctune_calibration all;
    for (int i = 0; i < N_ROWS; i++) {
        double *value = (double *)(void *)((char *)&all + rows[i].offset);
        if (!find_value(text, rows[i].name, value)) {
            return ctune_fail(ctx, CTUNE_EENV, "calibration: no figure for '%s'", rows[i].name);
        }
        if (!(*value >= rows[i].min && *value <= rows[i].max)) {
            return ctune_fail(ctx, CTUNE_EENV,
                              "calibration: %s = %g is not plausible (%g to %g): is the machine "
                              "busy?",
                              rows[i].name, *value, rows[i].min, rows[i].max);
        }
    }
    *out = all;
    return CTUNE_OK;
}

/* Ports and latencies are whole numbers or halves: a figure near one is one, and two calibrations
 * of a machine agree. */
static double snap(double rate) {
    double near = round(2 * rate) / 2;
    return near > 0 && fabs(rate - near) <= 0.06 * near ? near : rate;
}

static double round_digits(double value, int digits) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return strtod(text, NULL);
}

static void tidy(ctune_calibration *c) {
    double *const rates[] = {&c->fma_per_cycle, &c->fma_f64_per_cycle, &c->fma_latency,
                             &c->loads_per_cycle, &c->stores_per_cycle};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        *rates[i] = round_digits(snap(*rates[i]), 3);
    }
    c->ghz = round_digits(c->ghz, 3);
    for (int i = 0; i < 4; i++) {
        c->bytes_per_cycle[i] = round_digits(c->bytes_per_cycle[i], 3);
    }
}

ctune_status ctune_calibrate(ctune_ctx *ctx, const ctune_run_compiler *compiler, int vector_bytes,
                             const int64_t cache_bytes[3], const char *work_dir,
                             ctune_calibration *out) {
    ctune_text source, program, lines;
    ctune_text_init(&source);
    ctune_text_init(&program);
    ctune_text_init(&lines);
    ctune_text_printf(&source, "%s/calibrate.c", work_dir);
    ctune_text_printf(&program, "%s/calibrate", work_dir);
    ctune_status status =
        source.failed || program.failed
            ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
            : build(ctx, compiler, vector_bytes, work_dir, source.data, program.data);
    if (status == CTUNE_OK) {
        status = measure(ctx, program.data, cache_bytes, &lines);
    }
    if (status == CTUNE_OK) {
        status = ctune_calibration_parse(ctx, ctune_text_get(&lines), out);
    }
    if (status == CTUNE_OK) {
        tidy(out);
    }
    ctune_text_clear(&source);
    ctune_text_clear(&program);
    ctune_text_clear(&lines);
    return status;
}
