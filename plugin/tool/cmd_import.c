/*
 * ctune import: records from elsewhere into the history.
 *
 * Files are JSON lines (plain or gzip) or other histories; each is one transaction. What became of
 * their records is said for each file: nothing is left out without a word.
 */
#include "plugin/tool/tool.h"
#include "search/facts/facts.h"
#include "search/history/history.h"

#include <stdlib.h>
#include <string.h>

static const char default_path[] = ".ctune/history.db";

static void print_counts(const char *file, const ctune_import_counts *counts) {
    printf("%s: %lld records: %lld imported, %lld there already", file,
           (long long)counts->n_records, (long long)counts->n_new, (long long)counts->n_known);
    if (counts->n_malformed > 0) {
        printf("; %lld malformed lines left out", (long long)counts->n_malformed);
    }
    printf("\n");
}

static int import_file(ctune_ctx *ctx, ctune_history *history, const char *file) {
    ctune_import_counts counts = {0};
    ctune_status status = ctune_history_import_file(ctx, history, file, &counts);
    if (status != CTUNE_OK) {
        return ctune_report(ctx, status);
    }
    print_counts(strcmp(file, "-") == 0 ? "standard input" : file, &counts);
    return counts.n_malformed > 0 ? CTUNE_EXIT_USAGE : CTUNE_EXIT_OK;
}

/* ---- --here ---------------------------------------------------------------------------------- */
typedef struct targets {
    int n, size;
    char **key; /* owned */
    bool has_failed;
} targets;

static bool add_target(void *user, const ctune_record *record) {
    targets *t = user;
    for (int i = t->n; i-- > 0;) {
        if (strcmp(t->key[i], record->target) == 0) {
            return true;
        }
    }
    if (t->n == t->size) {
        int size = t->size > 0 ? 2 * t->size : 16;
        char **key = realloc(t->key, (size_t)size * sizeof *key);
        if (key == NULL) {
            t->has_failed = true;
            return false;
        }
        t->key = key;
        t->size = size;
    }
    t->key[t->n] = strdup(record->target);
    t->has_failed = t->key[t->n] == NULL;
    t->n += !t->has_failed;
    return !t->has_failed;
}

static ctune_status set_facts(ctune_ctx *ctx, ctune_history *history, const char *key) {
    ctune_target facts;
    bool is_stored;
    ctune_status status = ctune_history_facts_get(ctx, history, key, &facts, &is_stored);
    if (status != CTUNE_OK || is_stored) {
        return status;
    }
    ctune_machine_facts_of_key(ctx, key, &facts);
    status = ctune_history_facts_set(ctx, history, key, &facts);
    if (status == CTUNE_OK) {
        printf("%s: facts of this machine\n", key);
    }
    return status;
}

static ctune_status set_all_facts(ctune_ctx *ctx, ctune_history *history) {
    targets t = {0};
    ctune_status status = ctune_history_visit(ctx, history, 0, NULL, add_target, &t);
    if (status == CTUNE_OK && t.has_failed) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < t.n; i++) {
        if (status == CTUNE_OK) {
            status = set_facts(ctx, history, t.key[i]);
        }
        free(t.key[i]);
    }
    free(t.key);
    return status;
}

int ctune_cmd_import(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words == 0 && !options->here) {
        ctune_fail(ctx, CTUNE_EUSAGE, "no file given; try `ctune import --help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    ctune_history *history = NULL;
    ctune_status status = ctune_history_open(
        ctx, options->history != NULL ? options->history : default_path, &history);
    int code = ctune_report(ctx, status);
    for (int i = 0; i < options->n_words && status == CTUNE_OK && ctune_signal_get() == 0; i++) {
        code = ctune_exit_worse(code, import_file(ctx, history, options->words[i]));
    }
    if (status == CTUNE_OK && options->here) {
        code = ctune_exit_worse(code, ctune_report(ctx, set_all_facts(ctx, history)));
    }
    ctune_history_close(history);
    return code;
}
