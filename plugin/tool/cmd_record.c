/*
 * ctune record: run a program that was built in mode=record, keep what it captured.
 *
 * In: the program's words after `--`; or captures that were made elsewhere, with CTUNE_RECORD set
 * by hand. Out: .ctune/profile beside each source, a table of shapes by time on standard error, and
 * the program's exit status. The program has the terminal: SIGINT and SIGQUIT are its business,
 * SIGTERM and SIGHUP are passed on to it.
 */
#include "plugin/tool/profile.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ROWS = 20 };

/* ---- the program ---------------------------------------------------------------------------- */
static volatile sig_atomic_t child;

static void pass_on(int signal) {
    if (child > 0) {
        kill((pid_t)child, signal);
    }
}

/* What the child starts with is what we were started with. */
static void set_signals(posix_spawnattr_t *attributes) {
    static const int ours[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigset_t defaults;
    sigemptyset(&defaults);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        struct sigaction before, action = {.sa_handler = i < 2 ? SIG_IGN : pass_on};
        if (sigaction(ours[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaddset(&defaults, ours[i]);
            sigaction(ours[i], &action, NULL);
        }
    }
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

/* *code: as a shell has it, 128 + signal for a deadly one. */
static ctune_status run_program(ctune_ctx *ctx, char *const *argv, const char *capture, int *code) {
    if (setenv("CTUNE_RECORD", capture, 1) != 0) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    set_signals(&attributes);
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ), status = 0;
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot run %s: %s", argv[0], strerror(error));
    }
    child = pid;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return ctune_fail(ctx, CTUNE_EENV, "%s: %s", argv[0], strerror(errno));
        }
    }
    child = 0;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status)) {
        fprintf(stderr,
                "ctune: note: %s was killed by signal %d: its last seconds are not in the "
                "profile\n",
                argv[0], WTERMSIG(status));
    }
    return CTUNE_OK;
}

/* ---- the profiles --------------------------------------------------------------------------- */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

static bool is_same_folder(const char *a, const char *b) {
    size_t n = folder_length(a);
    return n == folder_length(b) && memcmp(a, b, n) == 0;
}

/* Where the sources are no more, or may not be written: here. */
static char *choose_path(ctune_ctx *ctx, const ctune_options *options, const char *source) {
    if (options->profile != NULL) {
        return strdup(options->profile);
    }
    char *folder = strndup(source, folder_length(source));
    bool ok = folder != NULL && (folder[0] == '\0' || access(folder, W_OK | X_OK) == 0);
    if (!ok && folder != NULL) {
        char text[512];
        snprintf(text, sizeof text, "%s: %s", folder, strerror(errno));
        ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                           .code = "no-folder",
                                           .text = text,
                                           .hint = "the profile goes to .ctune/profile here"});
    }
    free(folder);
    return ctune_profile_path(ok ? source : "");
}

/* shapes [n] of one folder, with their paths. */
static ctune_status store(ctune_ctx *ctx, const ctune_options *options, const ctune_shape *shapes,
                          int n) {
    ctune_shape *named = malloc((size_t)n * sizeof *named);
    char *path = choose_path(ctx, options, shapes[0].source);
    ctune_status status =
        named != NULL && path != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        named[i] = shapes[i];
        named[i].source += folder_length(named[i].source);
    }
    if (status == CTUNE_OK) {
        status = ctune_profile_update(ctx, path, named, n);
    }
    if (status == CTUNE_OK && !options->quiet) {
        fprintf(stderr, "ctune: recorded into %s\n", path);
    }
    free(named);
    free(path);
    return status;
}

static ctune_status store_all(ctune_ctx *ctx, const ctune_options *options,
                              const ctune_profile *captured) {
    ctune_status status = CTUNE_OK;
    for (int from = 0, to; from < captured->n && status == CTUNE_OK; from = to) {
        const ctune_shape *first = &captured->shape[from]; /* sorted by path */
        for (to = from + 1;
             to < captured->n && is_same_folder(first->source, captured->shape[to].source); to++) {
        }
        status = store(ctx, options, first, to - from);
    }
    return status;
}

/* ---- the table ------------------------------------------------------------------------------ */
static int by_time(const void *x, const void *y) {
    double a = ctune_shape_total_ns(x), b = ctune_shape_total_ns(y);
    return a < b ? 1 : a > b ? -1 : 0;
}

static void print_row(const ctune_shape *s, double all_ns) {
    double ns = ctune_shape_total_ns(s);
    char total[32], each[32];
    ctune_time_print(ns, total, sizeof total);
    ctune_time_print(s->calls > 0 ? ns / (double)s->calls : 0, each, sizeof each);
    fprintf(stderr, "%10s %5.1f %% %12llu %10s  %s:%d: %s%s%s%s\n", total,
            all_ns > 0 ? 100 * ns / all_ns : 0, (unsigned long long)s->calls, each,
            s->source + folder_length(s->source), s->line, s->region,
            s->sizes[0] != '\0' ? " [" : "", s->sizes, s->sizes[0] != '\0' ? "]" : "");
}

/* Sorts the shapes by time. */
static void print_table(ctune_profile *captured) {
    double all_ns = 0;
    for (int i = 0; i < captured->n; i++) {
        all_ns += ctune_shape_total_ns(&captured->shape[i]);
    }
    qsort(captured->shape, (size_t)captured->n, sizeof *captured->shape, by_time);
    fprintf(stderr, "%10s %7s %12s %10s  %s\n", "time", "share", "calls", "per call", "nest");
    for (int i = 0; i < captured->n && i < MAX_ROWS; i++) {
        print_row(&captured->shape[i], all_ns);
    }
    if (captured->n > MAX_ROWS) {
        fprintf(stderr, "%10s %d more\n", "...", captured->n - MAX_ROWS);
    }
}

static void say_empty(ctune_ctx *ctx) {
    ctune_diag_send(
        ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                           .code = "nothing-recorded",
                           .text = "no annotated nest reported anything",
                           .hint = "build with the plugin's mode=record, or with `ctune apply "
                                   "--record`, and link libctune-record-runtime"});
}

/* ---- the command ---------------------------------------------------------------------------- */
static ctune_status keep(ctune_ctx *ctx, const ctune_options *options, const char *const *captures,
                         int n) {
    ctune_profile captured;
    ctune_status status = ctune_profile_init(ctx, &captured);
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        status = access(captures[i], R_OK) == 0
                     ? ctune_profile_read(ctx, captures[i], true, &captured)
                     : ctune_fail(ctx, CTUNE_EENV, "%s: %s", captures[i], strerror(errno));
    }
    if (status == CTUNE_OK && captured.n_skipped > 0) {
        fprintf(stderr, "ctune: note: %d incomplete lines of the capture are left out\n",
                captured.n_skipped);
    }
    if (status == CTUNE_OK && captured.n == 0) {
        say_empty(ctx);
    } else if (status == CTUNE_OK) {
        status = store_all(ctx, options, &captured);
        if (status == CTUNE_OK && !options->quiet) {
            print_table(&captured);
        }
    }
    ctune_profile_clear(&captured);
    return status;
}

static ctune_status make_capture(ctune_ctx *ctx, char *path, size_t size) {
    const char *folder = getenv("TMPDIR");
    int n = snprintf(path, size, "%s/ctune-record-XXXXXX",
                     folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    int fd = n > 0 && (size_t)n < size ? mkstemp(path) : -1;
    if (fd < 0) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot make %s: %s", path, strerror(errno));
    }
    close(fd);
    return CTUNE_OK;
}

int ctune_cmd_record(ctune_ctx *ctx, const ctune_options *options) {
    bool has_program = options->n_compiler > 0;
    if (has_program == (options->n_words > 0)) {
        ctune_fail(ctx, CTUNE_EUSAGE,
                   "a program after --, or capture files; try `ctune record --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    if (!has_program) {
        return ctune_report(ctx, keep(ctx, options, options->words, options->n_words));
    }
    char capture[4096];
    const char *captures[] = {capture};
    int code = 0;
    ctune_status status = make_capture(ctx, capture, sizeof capture);
    if (status == CTUNE_OK) {
        status = run_program(ctx, options->compiler, capture, &code);
        if (status == CTUNE_OK) {
            status = keep(ctx, options, captures, 1);
        }
        unlink(capture);
    }
    int failure = ctune_report(ctx, status);
    return code != 0 ? code : failure;
}
