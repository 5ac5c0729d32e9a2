/*
 * The command loop of the runner process: workload in, then load / deadline / baseline / run /
 * final / unload, results out.
 *
 * One line a message in both directions; docs/runner.md lists them. Any malformed command ends the
 * process with an "error" line: the parent is ours, so that is a bug and not something to go on
 * after.
 */
#include "runtime/exec_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void send_line(ctune_exec *exec, const char *format, ...) CTUNE_PRINTF(2, 3);

static void send_bytes(ctune_exec *exec, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t written = write(exec->out_fd, bytes, n);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            _exit(2); /* the parent is gone */
        }
        bytes += written;
        n -= (size_t)written;
    }
}

static void send_line(ctune_exec *exec, const char *format, ...) {
    char line[CTUNE_RUN_LINE_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n < 0) {
        return;
    }
    n = (size_t)n < sizeof line - 1 ? n : (int)sizeof line - 2;
    for (int i = 0; i < n; i++) {
        line[i] = line[i] == '\n' ? ' ' : line[i];
    }
    line[n] = '\n';
    send_bytes(exec, line, (size_t)n + 1);
}

static void send_result(ctune_exec *exec, int index, const ctune_run_result *result) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_run_result_print(index, result, &text);
    send_bytes(exec, ctune_text_get(&text), text.len);
    ctune_text_clear(&text);
}

static void send_start(ctune_exec *exec, int index) {
    send_line(exec, "start %d", index);
}

static ctune_exec_lib *find_lib(ctune_exec *exec, int id) {
    for (int i = 0; i < CTUNE_EXEC_MAX_LIBS; i++) {
        if (exec->lib[i].handle != NULL && exec->lib[i].id == id) {
            return &exec->lib[i];
        }
    }
    return NULL;
}

/* The original is always slot 0. */
static ctune_exec_lib *find_free(ctune_exec *exec, int id) {
    for (int i = id == 0 ? 0 : 1; i < (id == 0 ? 1 : CTUNE_EXEC_MAX_LIBS); i++) {
        if (exec->lib[i].handle == NULL) {
            return &exec->lib[i];
        }
    }
    return NULL;
}

static bool do_load(ctune_exec *exec, int id, const char *path) {
    ctune_exec_lib *lib = find_free(exec, id);
    if (lib == NULL || find_lib(exec, id) != NULL) {
        send_line(exec, "error no room for library %d", id);
        return false;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) { /* a user's whole file may name functions of others that nobody calls */
        handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    if (handle == NULL) {
        send_line(exec, "unloadable %d %s", id, dlerror());
        return true;
    }
    const int *n = dlsym(handle, "ctune_batch_n");
    ctune_candidate_fn *const *fn = dlsym(handle, "ctune_batch");
    if (n == NULL || fn == NULL || *n < 1) {
        dlclose(handle);
        send_line(exec, "unloadable %d no batch in it", id);
        return true;
    }
    *lib = (ctune_exec_lib){handle, id, *n, fn};
    send_line(exec, "loaded %d %d", id, *n);
    return true;
}

static bool do_unload(ctune_exec *exec, int id) {
    ctune_exec_lib *lib = find_lib(exec, id);
    if (lib == NULL) {
        send_line(exec, "error no library %d", id);
        return false;
    }
    dlclose(lib->handle);
    memset(lib, 0, sizeof *lib);
    return true;
}

static bool do_baseline(ctune_exec *exec) {
    ctune_exec_lib *lib = find_lib(exec, 0);
    if (lib == NULL) {
        send_line(exec, "error no original");
        return false;
    }
    ctune_run_result result;
    memset(&result, 0, sizeof result);
    send_start(exec, 0);
    ctune_exec_measure_original(exec, lib->fn[0], &result);
    send_result(exec, 0, &result);
    return true;
}

/* A store outside the tensors may have hit anything else too: a fresh process judges the next
 * candidate. */
static bool is_suspect(const ctune_run_result *result) {
    return result->outcome == CTUNE_RUN_WRONG && strstr(result->detail, ": store ") != NULL;
}

static bool do_run(ctune_exec *exec, int id, int from, int to, double best_ns) {
    ctune_exec_lib *lib = find_lib(exec, id);
    if (lib == NULL || from < 0 || to > lib->n || !exec->state->has_reference) {
        send_line(exec, "error cannot run %d..%d of library %d", from, to, id);
        return false;
    }
    for (int i = from; i < to; i++) {
        ctune_run_result result;
        memset(&result, 0, sizeof result);
        send_start(exec, i);
        ctune_exec_measure(exec, lib->fn[i], best_ns, &result);
        send_result(exec, i, &result);
        if (is_suspect(&result)) {
            return false;
        }
        /* Given an incumbent, a better one found here serves at once. */
        if (best_ns > 0 && result.outcome == CTUNE_RUN_OK && result.median_ns < best_ns) {
            best_ns = result.median_ns;
        }
    }
    send_line(exec, "done");
    return true;
}

static bool do_refer(ctune_exec *exec) {
    ctune_exec_lib *lib = find_lib(exec, 0);
    if (lib == NULL) {
        send_line(exec, "error no original");
        return false;
    }
    ctune_run_result result;
    memset(&result, 0, sizeof result);
    ctune_exec_refer(exec, lib->fn[0], &result);
    send_result(exec, 0, &result);
    return true;
}

static bool do_verify(ctune_exec *exec, int id, int index) {
    ctune_exec_lib *lib = find_lib(exec, id);
    if (lib == NULL || index < 0 || index >= lib->n || !exec->state->has_reference) {
        send_line(exec, "error cannot verify %d of library %d", index, id);
        return false;
    }
    ctune_run_result result;
    memset(&result, 0, sizeof result);
    ctune_exec_verify(exec, lib->fn[index], &result);
    send_result(exec, index, &result);
    return !is_suspect(&result);
}

static bool do_final(ctune_exec *exec, char *text) {
    ctune_candidate_fn *fn[CTUNE_RUN_MAX_FINALISTS];
    ctune_run_result results[CTUNE_RUN_MAX_FINALISTS];
    char *save = NULL, *word = strtok_r(text, " ", &save);
    int rounds = word != NULL ? atoi(word) : 0, n = 0;
    while ((word = strtok_r(NULL, " ", &save)) != NULL) {
        int id, index;
        bool is_pair = sscanf(word, "%d:%d", &id, &index) == 2;
        ctune_exec_lib *lib = is_pair ? find_lib(exec, id) : NULL;
        if (lib == NULL || index < 0 || index >= lib->n || n == CTUNE_RUN_MAX_FINALISTS) {
            send_line(exec, "error bad finalist %s", word);
            return false;
        }
        fn[n++] = lib->fn[index];
    }
    if (find_lib(exec, 0) == NULL || !exec->state->has_reference) {
        send_line(exec, "error final without original");
        return false;
    }
    memset(results, 0, sizeof results);
    ctune_exec_measure_final(exec, fn, n, rounds, send_start, results);
    for (int i = 0; i < n; i++) {
        send_result(exec, i, &results[i]);
    }
    send_line(exec, "done");
    return true;
}

static bool do_command(ctune_exec *exec, char *line) {
    int id, from, to, used = 0;
    double best_ns;
    if (sscanf(line, "load %d %n", &id, &used) == 1 && used > 0) {
        return do_load(exec, id, line + used);
    }
    if (sscanf(line, "unload %d", &id) == 1) {
        return do_unload(exec, id);
    }
    if (sscanf(line, "run %d %d %d %lf", &id, &from, &to, &best_ns) == 4) {
        return do_run(exec, id, from, to, best_ns);
    }
    if (strncmp(line, "final ", 6) == 0) {
        return do_final(exec, line + 6);
    }
    long long deadline_ns;
    if (sscanf(line, "deadline %lld", &deadline_ns) == 1) {
        exec->deadline_ns = deadline_ns;
        return true;
    }
    if (sscanf(line, "verify %d %d", &id, &from) == 2) {
        return do_verify(exec, id, from);
    }
    if (strcmp(line, "refer") == 0) {
        return do_refer(exec);
    }
    if (strcmp(line, "baseline") == 0) {
        return do_baseline(exec);
    }
    send_line(exec, "error unknown command: %.200s", line);
    return false;
}

static bool read_line(FILE *in, char *line, size_t size) {
    if (fgets(line, (int)size, in) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool read_workload(ctune_exec *exec, FILE *in) {
    char line[CTUNE_RUN_LINE_MAX];
    bool is_end = false;
    if (!read_line(in, line, sizeof line)) {
        return false;
    }
    if (strcmp(line, CTUNE_RUN_PROTOCOL) != 0) {
        send_line(exec, "error expected '%s'", CTUNE_RUN_PROTOCOL);
        return false;
    }
    while (!is_end) {
        if (!read_line(in, line, sizeof line)) {
            return false;
        }
        if (!ctune_run_workload_parse(line, &exec->load, &exec->setup, &is_end)) {
            send_line(exec, "error bad workload line: %.200s", line);
            return false;
        }
    }
    return true;
}

static void pin(const ctune_run_setup *setup) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < setup->n_cpus; i++) {
        if (setup->cpu[i] < CPU_SETSIZE) {
            CPU_SET(setup->cpu[i], &set);
        }
    }
    if (CPU_COUNT(&set) > 0) {
        sched_setaffinity(0, sizeof set, &set); /* a refused hint: measure unpinned */
    }
}

static void calibrate_clock(ctune_exec *exec) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 200; i++) {
        int64_t start = ctune_now_ns(), cost = ctune_now_ns() - start;
        least = cost < least ? cost : least;
    }
    exec->clock_cost_ns = (double)least;
}

int ctune_exec_serve(ctune_exec *exec, int in_fd, int state_fd) {
    FILE *in = fdopen(in_fd, "r");
    if (in == NULL || !read_workload(exec, in)) {
        return 2;
    }
    pin(&exec->setup);
    calibrate_clock(exec);
    if (ctune_exec_tensors_create(exec, state_fd) != CTUNE_OK) {
        send_line(exec, "error %s", exec->ctx.error);
        return 2;
    }
    ctune_exec_guard_install(exec);
    ctune_exec_memory_limit(exec->load.memory_limit_bytes);
    send_line(exec, "ready");
    char line[CTUNE_RUN_LINE_MAX];
    while (read_line(in, line, sizeof line)) {
        if (!do_command(exec, line)) {
            return 2;
        }
    }
    return 0;
}
