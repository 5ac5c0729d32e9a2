/*
 * The child of job.h. What it hands back: the new text in one memory file, and in another one a
 * sequence of records
 *
 *     int kind, line, col;  then four strings, each as int length (-1: NULL) and bytes
 *
 * kind is a ctune_severity, or LOCK and CHANGED and FAILED for what is no message. DONE comes last:
 * without it the child did not get to its end.
 */
#include "plugin/gcc/job.h"

#include "plugin/shim/lines.h"
#include "plugin/shim/shim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHANGED = 100, LOCK, FAILED, DONE };

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

/* The compiler's own handlers would report its internal error. */
static void reset_signals(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGPIPE};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        signal(fatal[i], SIG_DFL);
    }
}

static void run_child(const ctune_transform_options *options, const void *self, int text_fd,
                      FILE *records) {
    char error[400];
    reset_signals();
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

void ctune_job_run(const ctune_transform_options *options, const void *self,
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
