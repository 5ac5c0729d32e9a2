/*
 * History: every measurement, in SQLite. Opening is in history_open.c, the JSON form in
 * history_export.c and history_import.c.
 *
 * In: records, one at a time or a batch; out: the same, in order of insertion. WAL with
 * synchronous=FULL: a record is on disk when append returns, a killed writer loses at most the
 * transaction that it had open, and readers never wait. The dump of a region is long and the same
 * for thousands of records, so it is stored once in table `te`, and read once in a visit.
 */
#include "search/history/history_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- small things over SQLite ------------------------------------------------------------ */
ctune_status ctune_history_fail(ctune_ctx *ctx, const ctune_history *history, const char *doing) {
    int code = sqlite3_errcode(history->db);
    ctune_status status = (code & 0xff) == SQLITE_NOMEM ? CTUNE_ENOMEM : CTUNE_EENV;
    return ctune_fail(ctx, status, "%s: %s: %s", history->path, doing, sqlite3_errmsg(history->db));
}

bool ctune_history_run(ctune_history *history, ctune_statement id) {
    int code = sqlite3_step(history->statement[id]);
    sqlite3_reset(history->statement[id]);
    sqlite3_clear_bindings(history->statement[id]);
    return code == SQLITE_DONE;
}

/* ---- append ------------------------------------------------------------------------------ */
static bool bind_text(sqlite3_stmt *s, int column, const char *text) {
    return sqlite3_bind_text(s, column, text != NULL ? text : "", -1, SQLITE_STATIC) == SQLITE_OK;
}

/* Not finite: stored as NULL, read back as NaN. */
static bool bind_ns(sqlite3_stmt *s, int column, double ns) {
    return (isfinite(ns) ? sqlite3_bind_double(s, column, ns) : sqlite3_bind_null(s, column)) ==
           SQLITE_OK;
}

/* Integer of a prepared statement's first row; false on failure, *out -1 without a row. */
static bool get_integer(ctune_history *h, ctune_statement id, int64_t *out) {
    sqlite3_stmt *s = h->statement[id];
    int code = sqlite3_step(s);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

static void forget_te(ctune_history *h) {
    free(h->last_te);
    h->last_te = NULL;
}

/* Id of a dump, which is stored when it is new. Records come in runs of one dump. */
static bool te_id(ctune_history *h, const char *te, int64_t *id) {
    if (h->last_te != NULL && strcmp(h->last_te, te) == 0) {
        *id = h->last_te_id;
        return true;
    }
    bool ok =
        bind_text(h->statement[CTUNE_SQL_FIND_TE], 1, te) && get_integer(h, CTUNE_SQL_FIND_TE, id);
    if (ok && *id < 0) {
        ok = bind_text(h->statement[CTUNE_SQL_ADD_TE], 1, te) &&
             ctune_history_run(h, CTUNE_SQL_ADD_TE);
        *id = ok ? sqlite3_last_insert_rowid(h->db) : -1;
    }
    forget_te(h);
    h->last_te = ok ? strdup(te) : NULL;
    h->last_te_id = *id;
    return ok;
}

static bool append_one(ctune_history *h, const ctune_record *r, bool is_new_only) {
    ctune_statement id = is_new_only ? CTUNE_SQL_ADD_NEW : CTUNE_SQL_ADD;
    sqlite3_stmt *s = h->statement[id];
    int64_t te;
    return te_id(h, r->te != NULL ? r->te : "", &te) &&
           sqlite3_bind_int64(s, 1, (sqlite3_int64)r->workload) == SQLITE_OK &&
           bind_text(s, 2, r->target) && bind_text(s, 3, r->region) &&
           sqlite3_bind_int64(s, 4, te) == SQLITE_OK && bind_text(s, 5, r->sizes) &&
           bind_text(s, 6, r->schedule) &&
           sqlite3_bind_int64(s, 7, (sqlite3_int64)r->seed) == SQLITE_OK &&
           sqlite3_bind_int(s, 8, r->trial) == SQLITE_OK &&
           bind_text(s, 9, ctune_run_outcome_name(r->outcome)) && bind_ns(s, 10, r->best_ns) &&
           bind_ns(s, 11, r->median_ns) && bind_ns(s, 12, r->original_ns) &&
           ctune_history_run(h, id);
}

ctune_status ctune_history_begin(ctune_ctx *ctx, ctune_history *history) {
    forget_te(history); /* of a transaction that may have been rolled back */
    return ctune_history_run(history, CTUNE_SQL_BEGIN)
               ? CTUNE_OK
               : ctune_history_fail(ctx, history, "cannot begin to write");
}

ctune_status ctune_history_add(ctune_ctx *ctx, ctune_history *history, const ctune_record *record,
                               bool is_new_only, bool *is_added) {
    if (!append_one(history, record, is_new_only)) {
        return ctune_history_fail(ctx, history, "cannot write a record");
    }
    if (is_added != NULL) {
        *is_added = sqlite3_changes(history->db) > 0;
    }
    return CTUNE_OK;
}

ctune_status ctune_history_end(ctune_ctx *ctx, ctune_history *history, ctune_status status) {
    if (status == CTUNE_OK && !ctune_history_run(history, CTUNE_SQL_COMMIT)) {
        status = ctune_history_fail(ctx, history, "cannot write");
    }
    if (status != CTUNE_OK && sqlite3_get_autocommit(history->db) == 0) {
        (void)ctune_history_run(history, CTUNE_SQL_ROLLBACK);
    }
    return status;
}

ctune_status ctune_history_append_batch(ctune_ctx *ctx, ctune_history *history,
                                        const ctune_record *records, int n) {
    ctune_status status = ctune_history_begin(ctx, history);
    if (status != CTUNE_OK) {
        return status;
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        status = ctune_history_add(ctx, history, &records[i], false, NULL);
    }
    return ctune_history_end(ctx, history, status);
}

ctune_status ctune_history_append(ctune_ctx *ctx, ctune_history *history,
                                  const ctune_record *record) {
    return ctune_history_append_batch(ctx, history, record, 1);
}

/* ---- visit ------------------------------------------------------------------------------- */
static double column_ns(sqlite3_stmt *s, int column) {
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static const char *column_text(sqlite3_stmt *s, int column) {
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text != NULL ? text : "";
}

/* Dumps that were met in a visit, by id; ids are dense. */
enum { MAX_TES = 1 << 24 };
typedef struct te_cache {
    char **text; /* owned; NULL = not met */
    int64_t size;
} te_cache;

static bool te_cache_reserve(te_cache *cache, int64_t id) {
    int64_t size = cache->size > 0 ? cache->size : 64;
    while (size <= id) {
        size *= 2;
    }
    char **text = realloc(cache->text, (size_t)size * sizeof *text); /* id < MAX_TES */
    if (text == NULL) {
        return false;
    }
    memset(text + cache->size, 0, (size_t)(size - cache->size) * sizeof *text);
    cache->text = text;
    cache->size = size;
    return true;
}

static ctune_status te_cache_get(ctune_ctx *ctx, te_cache *cache, ctune_history *h, int64_t id,
                                 const char **out) {
    if (id < 0 || id >= MAX_TES) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: a record refers to no dump", h->path);
    }
    if (id >= cache->size && !te_cache_reserve(cache, id)) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", h->path);
    }
    if (cache->text[id] == NULL) {
        sqlite3_stmt *s = h->statement[CTUNE_SQL_GET_TE];
        (void)sqlite3_bind_int64(s, 1, id);
        bool is_there = sqlite3_step(s) == SQLITE_ROW;
        cache->text[id] = is_there ? strdup(column_text(s, 0)) : NULL;
        sqlite3_reset(s);
        if (cache->text[id] == NULL) {
            return is_there
                       ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", h->path)
                       : ctune_fail(ctx, CTUNE_EENV, "%s: a record refers to no dump", h->path);
        }
    }
    *out = cache->text[id];
    return CTUNE_OK;
}

static void te_cache_clear(te_cache *cache) {
    for (int64_t i = 0; i < cache->size; i++) {
        free(cache->text[i]);
    }
    free(cache->text);
}

static ctune_status read_record(ctune_ctx *ctx, ctune_history *h, sqlite3_stmt *s, te_cache *cache,
                                ctune_record *out) {
    *out = (ctune_record){.workload = (uint64_t)sqlite3_column_int64(s, 0),
                          .target = column_text(s, 1),
                          .region = column_text(s, 2),
                          .sizes = column_text(s, 4),
                          .schedule = column_text(s, 5),
                          .seed = (uint64_t)sqlite3_column_int64(s, 6),
                          .trial = sqlite3_column_int(s, 7),
                          .best_ns = column_ns(s, 9),
                          .median_ns = column_ns(s, 10),
                          .original_ns = column_ns(s, 11)};
    if (!ctune_run_outcome_parse(column_text(s, 8), &out->outcome)) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: a record has the unknown outcome '%.40s'", h->path,
                          column_text(s, 8));
    }
    return te_cache_get(ctx, cache, h, sqlite3_column_int64(s, 3), &out->te);
}

#define SELECT_RECORDS                                                                             \
    "SELECT workload, target, region, te, sizes, schedule, seed, trial, outcome, best_ns, "        \
    "median_ns, original_ns FROM record WHERE id <= ?3"

/* By which of (workload, target) are given. Records appended by the visitor itself are not visited
 * (?3). */
static const char *const select_sql[2][2] = {
    {SELECT_RECORDS " ORDER BY id", SELECT_RECORDS " AND target = ?2 ORDER BY id"},
    {SELECT_RECORDS " AND workload = ?1 ORDER BY id",
     SELECT_RECORDS " AND workload = ?1 AND target = ?2 ORDER BY id"},
};

static ctune_status visit_rows(ctune_ctx *ctx, ctune_history *h, sqlite3_stmt *s,
                               bool (*visit)(void *user, const ctune_record *record), void *user) {
    te_cache cache = {0};
    ctune_status status = CTUNE_OK;
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        ctune_record record;
        status = read_record(ctx, h, s, &cache, &record);
        if (status != CTUNE_OK || !visit(user, &record)) {
            break;
        }
    }
    te_cache_clear(&cache);
    return code == SQLITE_ROW || code == SQLITE_DONE ? status
                                                     : ctune_history_fail(ctx, h, "cannot read");
}

ctune_status ctune_history_visit(ctune_ctx *ctx, ctune_history *history, uint64_t workload,
                                 const char *target,
                                 bool (*visit)(void *user, const ctune_record *record),
                                 void *user) {
    const char *sql = select_sql[workload != 0][target != NULL];
    int64_t last;
    sqlite3_stmt *s = NULL;
    if (!get_integer(history, CTUNE_SQL_LAST, &last) ||
        sqlite3_prepare_v2(history->db, sql, -1, &s, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(s, 3, last) != SQLITE_OK) {
        sqlite3_finalize(s);
        return ctune_history_fail(ctx, history, "cannot read");
    }
    if (workload != 0) {
        (void)sqlite3_bind_int64(s, 1, (sqlite3_int64)workload);
    }
    if (target != NULL) {
        (void)bind_text(s, 2, target);
    }
    ctune_status status = visit_rows(ctx, history, s, visit, user);
    sqlite3_finalize(s);
    return status;
}

bool ctune_history_te_find(ctune_history *history, uint64_t workload, ctune_text *out) {
    sqlite3_stmt *s = history->statement[CTUNE_SQL_TE_OF];
    (void)sqlite3_bind_int64(s, 1, (sqlite3_int64)workload);
    bool is_found = sqlite3_step(s) == SQLITE_ROW;
    if (is_found) {
        ctune_text_append(out, column_text(s, 0));
    }
    sqlite3_reset(s);
    return is_found;
}
