/*
 * History, merging another history: what is not here yet, facts first, in one transaction. The
 * other file is only read, so that a data set on read-only media or of an older schema will do.
 */
#include "search/history/history_private.h"

#include <string.h>

typedef struct merge {
    ctune_ctx *ctx;
    ctune_history *into, *from;
    ctune_status status;
    ctune_import_counts counts;
} merge;

static bool merge_record(void *user, const ctune_record *record) {
    merge *m = user;
    bool is_new = false;
    m->status = ctune_history_add(m->ctx, m->into, record, true, &is_new);
    m->counts.n_records++;
    m->counts.n_new += is_new;
    m->counts.n_known += !is_new;
    return m->status == CTUNE_OK;
}

static ctune_status merge_facts(ctune_ctx *ctx, merge *m) {
    sqlite3_stmt *s = m->from->statement[CTUNE_SQL_ALL_FACTS];
    ctune_status status = CTUNE_OK;
    int code = SQLITE_DONE;
    while (s != NULL && status == CTUNE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(s, 0);
        ctune_target facts;
        bool is_stored = false;
        status = ctune_history_facts_get(ctx, m->from, key, &facts, &is_stored);
        if (status == CTUNE_OK && is_stored) {
            status = ctune_history_facts_add(ctx, m->into, key, &facts);
        }
    }
    sqlite3_reset(s);
    return status == CTUNE_OK && code != SQLITE_DONE
               ? ctune_history_fail(ctx, m->from, "cannot read")
               : status;
}

ctune_status ctune_history_merge(ctune_ctx *ctx, ctune_history *history, const char *other_path,
                                 ctune_import_counts *counts) {
    merge m = {.ctx = ctx, .into = history, .status = CTUNE_OK};
    ctune_status status = ctune_history_open_readonly(ctx, other_path, &m.from);
    if (status != CTUNE_OK) {
        return status;
    }
    status = ctune_history_begin(ctx, history);
    if (status == CTUNE_OK) {
        status = merge_facts(ctx, &m);
        if (status == CTUNE_OK) {
            status = ctune_history_visit(ctx, m.from, 0, NULL, merge_record, &m);
        }
        status = ctune_history_end(ctx, history, status == CTUNE_OK ? m.status : status);
    }
    ctune_history_close(m.from);
    if (status == CTUNE_OK && counts != NULL) {
        *counts = m.counts;
    }
    return status;
}
