/*
 * The child of job.h. What it hands back: the new text in one memory file, and in another one a
 * sequence of records
 *
 *     int kind, line, col;  then four strings, each as int length (-1: NULL) and bytes
 *
 * kind is a ctune_severity, or LOCK and CHANGED and FAILED for what is no message. DONE comes last:
 * without it the child did not get to its end.
 */
#include "plugin/shim/job.h"

#include "plugin/shim/lines.h"
#include "plugin/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHANGED = 100, LOCK, FAILED, DONE };

enum {
    MAX_ROUNDS = 16,       /* of checks: one more region stays as it is in each */
    TRANSFORM_CPU_S = 600, /* far more than any file takes: against a loop without end */
    MAX_SAID = 1 << 16
};

/* ---- child ---------------------------------------------------------------------------------- */
static void put_string(FILE *file, const char *text) {
    int n = text != NULL ? (int)strlen(text) : -1;
    fwrite(&n, sizeof n, 1, file);
    if (n > 0) {
        fwrite(text, 1, (size_t)n, file);
    }
}

static void put_record(FILE *file, int kind, const ctune_diag *diag) {
    int head[] = {kind, diag->line, diag->col};
    fwrite(head, sizeof head, 1, file);
    put_string(file, diag->file);
    put_string(file, diag->code);
    put_string(file, diag->text);
    put_string(file, diag->hint);
}

static void put_word(FILE *file, int kind, const char *text) {
    put_record(file, kind, &(ctune_diag){.text = text});
}

static void keep_diag(void *user, const ctune_diag *diag) {
    put_record(user, (int)diag->severity, diag);
}

static bool write_all(int fd, const char *text, size_t n) {
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        text += done;
        n -= (size_t)done;
    }
    return true;
}

static void run_child(const ctune_transform_options *options, const void *self, int text_fd,
                      FILE *records) {
    char error[400];
    ctune_job_reset_signals();
    ctune_job_limit_cpu(TRANSFORM_CPU_S);
    const ctune_transform_api *api = ctune_shim_load(self, error, sizeof error);
    if (api == NULL) {
        put_word(records, FAILED, error);
        put_word(records, DONE, NULL);
        return;
    }
    ctune_ctx ctx;
    memset(&ctx, 0, sizeof ctx);
    ctx.sink = keep_diag;
    ctx.sink_user = records;
    ctune_transform_result result;
    ctune_status status = api->run(&ctx, options, &result);
    if (status != CTUNE_OK) {
        put_word(records, FAILED, ctx.error);
    } else if (result.is_changed) {
        size_t n_text = 0;
        char *text = ctune_shim_lines_join(result.text, result.n_text, &n_text);
        bool ok = text != NULL && write_all(text_fd, text, n_text);
        put_word(records, ok ? CHANGED : FAILED, ok ? NULL : "no memory for the tuned text");
    }
    if (result.has_lock) {
        put_word(records, LOCK, result.lock_path);
    }
    put_word(records, DONE, NULL);
}

/* ---- parent --------------------------------------------------------------------------------- */
static bool get_string(FILE *file, char **out) {
    int n;
    *out = NULL;
    if (fread(&n, sizeof n, 1, file) != 1) {
        return false;
    }
    if (n < 0) {
        return true;
    }
    *out = calloc((size_t)n + 1, 1);
    return *out != NULL && fread(*out, 1, (size_t)n, file) == (size_t)n;
}

static void clear_message(ctune_job_message *message) {
    free(message->file);
    free(message->code);
    free(message->text);
    free(message->hint);
}

static bool get_record(FILE *file, ctune_job_message *out) {
    int head[3];
    memset(out, 0, sizeof *out);
    if (fread(head, sizeof head, 1, file) != 1) {
        return false;
    }
    out->severity = head[0];
    out->line = head[1];
    out->col = head[2];
    return get_string(file, &out->file) && get_string(file, &out->code) &&
           get_string(file, &out->text) && get_string(file, &out->hint);
}

static bool keep_message(ctune_job_result *out, const ctune_job_message *message) {
    size_t n = (size_t)out->n_messages + 1;
    ctune_job_message *grown = realloc(out->messages, n * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    out->messages = grown;
    out->messages[out->n_messages++] = *message;
    return true;
}

/* Did the child get to its end? */
static bool read_records(FILE *file, ctune_job_result *out) {
    ctune_job_message message;
    bool is_done = false;
    while (!is_done && get_record(file, &message)) {
        switch (message.severity) {
        case CHANGED:
            out->is_changed = true;
            break;
        case LOCK:
            free(out->lock_path);
            out->lock_path = message.text;
            message.text = NULL;
            break;
        case FAILED:
            snprintf(out->failure, sizeof out->failure, "%s",
                     message.text != NULL ? message.text : "");
            break;
        case DONE:
            is_done = true;
            break;
        default:
            if (keep_message(out, &message)) {
                continue;
            }
        }
        clear_message(&message);
    }
    if (!is_done) {
        clear_message(&message);
    }
    return is_done;
}

/* What ended the child, in words. */
static void describe_end(int state, char *out, size_t size) {
    if (WIFSIGNALED(state)) {
        snprintf(out, size, "internal error: the transformation was ended by signal %d (%s)",
                 WTERMSIG(state), strsignal(WTERMSIG(state)));
    } else {
        snprintf(out, size, "internal error: the transformation gave up with exit code %d",
                 WEXITSTATUS(state));
    }
}

static void run_parent(pid_t pid, FILE *records, ctune_job_result *out) {
    int state;
    while (waitpid(pid, &state, 0) < 0) {
        if (errno != EINTR) {
            snprintf(out->failure, sizeof out->failure, "cannot wait for a child: %s",
                     strerror(errno));
            return;
        }
    }
    rewind(records);
    if (!read_records(records, out) && out->failure[0] == '\0') {
        out->is_changed = false;
        describe_end(state, out->failure, sizeof out->failure);
    }
}

static void run_once(const ctune_transform_options *options, const void *self,
                     ctune_job_result *out) {
    memset(out, 0, sizeof *out);
    out->fd = memfd_create("ctune-text", MFD_CLOEXEC);
    int records_fd = memfd_create("ctune-records", MFD_CLOEXEC);
    FILE *records = records_fd >= 0 ? fdopen(records_fd, "w+") : NULL;
    if (records == NULL && records_fd >= 0) {
        close(records_fd);
    }
    fflush(NULL); /* or the child would write it once more */
    pid_t pid = records != NULL && out->fd >= 0 ? fork() : -1;
    if (pid == 0) {
        run_child(options, self, out->fd, records);
        fflush(records);
        _exit(0);
    }
    if (pid < 0) {
        snprintf(out->failure, sizeof out->failure, "cannot start a child: %s", strerror(errno));
    } else {
        run_parent(pid, records, out);
    }
    if (records != NULL) {
        fclose(records);
    }
    if (!out->is_changed && out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
}

/* ---- report --------------------------------------------------------------------------------- */
/* The transform appends to a report; what it says counts only when the compiler takes the text, so
 * it is kept until then. -1: no report is wanted, or none can be kept. */
static int keep_report(const ctune_transform_options *options, char *path, size_t size) {
    int fd = options->report_path != NULL ? memfd_create("ctune-report", MFD_CLOEXEC) : -1;
    snprintf(path, size, "/proc/self/fd/%d", fd);
    return fd;
}

static void say(ctune_job_result *out, const ctune_transform_options *options, const char *text) {
    ctune_job_message message = {.severity = CTUNE_WARNING,
                                 .file = strdup(options->file),
                                 .code = strdup("no-transform"),
                                 .text = strdup(text)};
    if (!keep_message(out, &message)) {
        clear_message(&message);
    }
}

/* In one piece: compiles that run at the same time do not mix their lines. */
static void append_report(const ctune_transform_options *options, int kept, ctune_job_result *out) {
    struct stat st;
    char text[600];
    char *bytes = fstat(kept, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    int fd = open(options->report_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool ok = bytes != NULL && fd >= 0 && pread(kept, bytes, (size_t)st.st_size, 0) == st.st_size &&
              write_all(fd, bytes, (size_t)st.st_size);
    if (!ok) {
        snprintf(text, sizeof text, "cannot write the report '%s': %s", options->report_path,
                 strerror(errno));
        say(out, options, text);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(bytes);
}

/* ---- check ---------------------------------------------------------------------------------- */
/* The user's own text does not compile either: then it is not ours that is at fault. */
static bool fails_without(const ctune_transform_options *options, ctune_job_check check, void *user,
                          char *said, ctune_job_result *out) {
    int fd = memfd_create("ctune-user", MFD_CLOEXEC);
    if (fd < 0 || !write_all(fd, options->text, strlen(options->text))) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    ctune_job_verdict verdict = check(user, fd, said, MAX_SAID);
    if (verdict == CTUNE_JOB_IS_CHILD) {
        close(out->fd);
        out->fd = fd;
        out->is_check = true;
        return false;
    }
    close(fd);
    return verdict == CTUNE_JOB_REFUSED;
}

/* Is the same line at fault again? Then naming the line was no use. */
static bool has_failed(const ctune_transform_failure *failures, int n, int line) {
    for (int i = 0; i < n; i++) {
        if (failures[i].line == line) {
            return true;
        }
    }
    return false;
}

static void drop_text(ctune_job_result *out) {
    close(out->fd);
    out->fd = -1;
    out->is_changed = false;
}

typedef struct rounds {
    const void *self;
    ctune_job_check check;
    void *user;
    char *said;      /* [MAX_SAID] */
    int kept_report; /* -1: none */
    int n_failures;
    ctune_transform_failure failures[MAX_ROUNDS];
} rounds;

/* One transform and its check. false: there is nothing more to do. */
static bool run_round(ctune_transform_options *options, rounds *r, ctune_job_result *out) {
    options->n_failures = r->n_failures;
    options->failures = r->failures;
    if (r->kept_report >= 0 && ftruncate(r->kept_report, 0) != 0) {
        return false;
    }
    run_once(options, r->self, out);
    if (!out->is_changed || r->check == NULL) {
        return false;
    }
    ctune_job_verdict verdict = r->check(r->user, out->fd, r->said, MAX_SAID);
    out->is_check = verdict == CTUNE_JOB_IS_CHILD;
    if (verdict != CTUNE_JOB_REFUSED) {
        return false;
    }
    ctune_transform_failure *failure = &r->failures[r->n_failures];
    ctune_job_first_error(r->said, failure);
    if (r->n_failures == 0 && fails_without(options, r->check, r->user, r->said, out)) {
        ctune_job_clear(out); /* the compiler has its own words for it */
        return false;
    }
    if (out->is_check) {
        return false;
    }
    if (has_failed(r->failures, r->n_failures, failure->line) || r->n_failures + 2 >= MAX_ROUNDS) {
        failure->line = 0;
    }
    bool is_last = r->n_failures > 0 && r->failures[r->n_failures - 1].line == 0;
    r->n_failures++;
    if (is_last) {
        drop_text(out); /* what is left has nothing of ours that could be at fault */
        snprintf(out->failure, sizeof out->failure, "the compiler does not take the text: %.200s",
                 failure->text);
    } else {
        ctune_job_clear(out);
    }
    return !is_last;
}

void ctune_job_run(const ctune_transform_options *options, const void *self, ctune_job_check check,
                   void *check_user, ctune_job_result *out) {
    char report[64];
    ctune_transform_options own = *options;
    rounds *r = calloc(1, sizeof *r);
    memset(out, 0, sizeof *out);
    out->fd = -1;
    if (r != NULL) {
        *r = (rounds){.self = self, .check = check, .user = check_user, .said = malloc(MAX_SAID)};
    }
    if (r == NULL || r->said == NULL) {
        snprintf(out->failure, sizeof out->failure, "out of memory");
        free(r);
        return;
    }
    r->kept_report = keep_report(options, report, sizeof report);
    own.report_path = r->kept_report >= 0 ? report : NULL;
    while (run_round(&own, r, out)) {
    }
    if (r->kept_report >= 0 && !out->is_check) {
        append_report(options, r->kept_report, out);
    }
    if (r->kept_report >= 0) {
        close(r->kept_report);
    }
    free(r->said);
    free(r);
}

void ctune_job_clear(ctune_job_result *result) {
    for (int i = 0; i < result->n_messages; i++) {
        clear_message(&result->messages[i]);
    }
    free(result->messages);
    free(result->lock_path);
    if (result->fd >= 0) {
        close(result->fd);
    }
    memset(result, 0, sizeof *result);
    result->fd = -1;
}
