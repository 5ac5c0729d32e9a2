/*
 * History: every measurement, in SQLite. The JSON form is in history_json.c.
 *
 * In: records, one at a time or a batch; out: the same, in order of insertion. WAL with
 * synchronous=FULL: a record is on disk when append returns, a killed writer loses at most the
 * transaction that it had open, and readers never wait. The dump of a region is long and the same
 * for thousands of records, so it is stored once in table `te`.
 *
 * Opening runs under the guard of the path, because creating the schema, switching to WAL and
 * moving a corrupt file aside must be done by one process only.
 */
#include "search/records/history.h"

#include "search/records/guard.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA_VERSION = 1, BUSY_MS = 10000, CHECKED_BYTES = 64 << 20, MAX_ASIDE = 100 };

/* The statements of a handle, prepared once: enum suffix, SQL. */
#define RECORD_COLUMNS                                                                             \
    "workload, target, region, te, sizes, schedule, seed, trial, outcome, best_ns, median_ns, "    \
    "original_ns"
#define INSERT_RECORD                                                                              \
    "INSERT INTO record(" RECORD_COLUMNS                                                           \
    ") SELECT ?1, ?2, ?3, (SELECT id FROM te WHERE body = ?4),"                                    \
    " ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12"
#define SELECT_RECORDS                                                                             \
    "SELECT workload, target, region, body, sizes, schedule, seed, trial, outcome, best_ns, "      \
    "median_ns,"                                                                                   \
    " original_ns FROM record JOIN te ON te.id = record.te WHERE record.id <= ?3"
#define STATEMENT_TABLE(X)                                                                         \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(ADD_TE, "INSERT OR IGNORE INTO te(body) VALUES(?1)")                                         \
    X(ADD, INSERT_RECORD)                                                                          \
    X(ADD_NEW, INSERT_RECORD                                                                       \
      " WHERE NOT EXISTS (SELECT 1 FROM record WHERE workload = ?1 AND target = ?2"                \
      " AND seed = ?7 AND trial = ?8 AND region = ?3 AND sizes = ?5 AND schedule = ?6"             \
      " AND te = (SELECT id FROM te WHERE body = ?4) AND outcome = ?9"                             \
      " AND best_ns IS ?10 AND median_ns IS ?11 AND original_ns IS ?12)")                          \
    X(LAST, "SELECT coalesce(max(id), 0) FROM record")

typedef enum statement_id {
#define X(id, sql) SQL_##id,
    STATEMENT_TABLE(X)
#undef X
        N_STATEMENTS
} statement_id;

static const char *const statement_sql[] = {
#define X(id, sql) sql,
    STATEMENT_TABLE(X)
#undef X
};

static const char schema[] =
    "CREATE TABLE te(id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE);"
    "CREATE TABLE record(id INTEGER PRIMARY KEY, workload INTEGER NOT NULL, target TEXT NOT NULL,"
    " region TEXT NOT NULL, te INTEGER NOT NULL REFERENCES te(id), sizes TEXT NOT NULL,"
    " schedule TEXT NOT NULL, seed INTEGER NOT NULL, trial INTEGER NOT NULL, outcome TEXT NOT NULL,"
    " best_ns REAL, median_ns REAL, original_ns REAL);"
    "CREATE INDEX record_of ON record(workload, target, seed, trial);"
    "PRAGMA user_version = 1;";

struct ctune_history {
    sqlite3 *db;
    char *path; /* for messages */
    sqlite3_stmt *statement[N_STATEMENTS];
};

/* ---- small things over SQLite ------------------------------------------------------------ */
static ctune_status fail_sql(ctune_ctx *ctx, const ctune_history *h, const char *doing) {
    int code = sqlite3_errcode(h->db);
    ctune_status status = (code & 0xff) == SQLITE_NOMEM ? CTUNE_ENOMEM : CTUNE_EENV;
    return ctune_fail(ctx, status, "%s: %s: %s", h->path, doing, sqlite3_errmsg(h->db));
}

/* Run a prepared statement that gives no rows; its bindings are dropped. */
static bool run(ctune_history *h, statement_id id) {
    int code = sqlite3_step(h->statement[id]);
    sqlite3_reset(h->statement[id]);
    sqlite3_clear_bindings(h->statement[id]);
    return code == SQLITE_DONE;
}

/* First column of the first row of `sql`, -1 on failure. */
static int64_t query_integer(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        value = sqlite3_column_int64(s, 0);
    }
    int code = sqlite3_finalize(s);
    return code == SQLITE_OK ? value : -1;
}

static bool is_corrupt_code(int code) {
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

/* ---- open -------------------------------------------------------------------------------- */
static ctune_status make_folders(ctune_ctx *ctx, const char *path) {
    char *copy = strdup(path);
    if (copy == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    ctune_status status = CTUNE_OK;
    for (char *p = copy; *p != '\0' && status == CTUNE_OK; p++) {
        if (*p != '/' || p == copy) {
            continue;
        }
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            status = ctune_fail(ctx, CTUNE_EENV, "%s: cannot make the folder: %s", copy,
                                strerror(errno));
        }
        *p = '/';
    }
    free(copy);
    return status;
}

static ctune_status connect(ctune_ctx *ctx, ctune_history *h) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(h->path, &h->db, flags, NULL) != SQLITE_OK) {
        return h->db == NULL ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", h->path)
                             : fail_sql(ctx, h, "cannot open");
    }
    sqlite3_busy_timeout(h->db, BUSY_MS);
    return CTUNE_OK;
}

static void disconnect(ctune_history *h) {
    for (int i = 0; i < N_STATEMENTS; i++) {
        sqlite3_finalize(h->statement[i]);
        h->statement[i] = NULL;
    }
    sqlite3_close(h->db);
    h->db = NULL;
}

/* Does the file hold a database that can be read? Small ones are read whole. */
static bool is_corrupt(ctune_history *h) {
    struct stat info;
    bool is_small = stat(h->path, &info) == 0 && info.st_size < CHECKED_BYTES;
    const char *sql = is_small ? "PRAGMA quick_check(1)" : "SELECT count(*) FROM sqlite_master";
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(h->db, sql, -1, &s, NULL);
    bool is_bad = false;
    if (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW && is_small) {
        const char *answer = (const char *)sqlite3_column_text(s, 0);
        is_bad = answer == NULL || strcmp(answer, "ok") != 0;
    }
    sqlite3_finalize(s);
    return is_bad || is_corrupt_code(code);
}

static bool rename_suffix(const char *path, const char *suffix, const char *aside) {
    ctune_text from, to;
    ctune_text_init(&from);
    ctune_text_init(&to);
    ctune_text_printf(&from, "%s%s", path, suffix);
    ctune_text_printf(&to, "%s%s", aside, suffix);
    bool ok = !from.failed && !to.failed && rename(from.data, to.data) == 0;
    ctune_text_clear(&from);
    ctune_text_clear(&to);
    return ok;
}

/* "<path>.corrupt", or ".corrupt.2" and so on when that is taken. */
static ctune_status move_aside(ctune_ctx *ctx, const char *path) {
    ctune_text aside;
    ctune_text_init(&aside);
    ctune_text_printf(&aside, "%s.corrupt", path);
    for (int i = 2; i < MAX_ASIDE && !aside.failed && access(aside.data, F_OK) == 0; i++) {
        aside.len = 0;
        ctune_text_printf(&aside, "%s.corrupt.%d", path, i);
    }
    ctune_status status = CTUNE_OK;
    if (aside.failed || !rename_suffix(path, "", aside.data)) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: corrupt, and cannot be moved aside: %s", path,
                            strerror(errno));
    } else {
        (void)rename_suffix(path, "-wal", aside.data);
        (void)rename_suffix(path, "-shm", aside.data);
        char words[600];
        snprintf(words, sizeof words, "history is corrupt; moved to %.400s, a new one is begun",
                 aside.data);
        ctune_diag diag = {.severity = CTUNE_WARNING,
                           .file = path,
                           .code = "history-corrupt",
                           .text = words,
                           .hint = "`sqlite3 FILE .recover` may save records of the moved file"};
        ctune_diag_send(ctx, &diag);
    }
    ctune_text_clear(&aside);
    return status;
}

static ctune_status make_schema(ctune_ctx *ctx, ctune_history *h) {
    int64_t version = query_integer(h->db, "PRAGMA user_version");
    if (version > SCHEMA_VERSION) {
        return ctune_fail(
            ctx, CTUNE_EENV,
            "%s: written by a newer ctune (schema %lld, this one knows %d): use that one, or "
            "another history",
            h->path, (long long)version, SCHEMA_VERSION);
    }
    if (version < 0 || sqlite3_exec(h->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
                                    NULL, NULL, NULL) != SQLITE_OK) {
        return fail_sql(ctx, h, "cannot prepare the history");
    }
    if (version == SCHEMA_VERSION) {
        return CTUNE_OK;
    }
    if (query_integer(h->db, "SELECT count(*) FROM sqlite_master") != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: a database that is no history of ctune", h->path);
    }
    bool ok = sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(h->db, schema, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    return ok ? CTUNE_OK : fail_sql(ctx, h, "cannot create the history");
}

static ctune_status prepare(ctune_ctx *ctx, ctune_history *h) {
    for (int i = 0; i < N_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(h->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &h->statement[i], NULL) != SQLITE_OK) {
            return fail_sql(ctx, h, "not the tables of a history");
        }
    }
    return CTUNE_OK;
}

static ctune_status open_guarded(ctune_ctx *ctx, ctune_history *h) {
    ctune_status status = connect(ctx, h);
    if (status == CTUNE_OK && is_corrupt(h)) {
        disconnect(h);
        status = move_aside(ctx, h->path);
        status = status == CTUNE_OK ? connect(ctx, h) : status;
    }
    status = status == CTUNE_OK ? make_schema(ctx, h) : status;
    return status == CTUNE_OK ? prepare(ctx, h) : status;
}

ctune_status ctune_history_open(ctune_ctx *ctx, const char *path, ctune_history **out) {
    *out = NULL;
    ctune_history *h = calloc(1, sizeof *h);
    if (h == NULL || (h->path = strdup(path)) == NULL) {
        free(h);
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    ctune_guard guard = {0};
    ctune_status status = make_folders(ctx, path);
    status = status == CTUNE_OK ? ctune_guard_acquire(ctx, path, &guard) : status;
    status = status == CTUNE_OK ? open_guarded(ctx, h) : status;
    ctune_guard_release(&guard);
    if (status != CTUNE_OK) {
        ctune_history_close(h);
        return status;
    }
    *out = h;
    return CTUNE_OK;
}

void ctune_history_close(ctune_history *history) {
    if (history != NULL) {
        disconnect(history);
        free(history->path);
        free(history);
    }
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

static bool append_one(ctune_history *h, const ctune_record *r, bool is_new_only) {
    sqlite3_stmt *te = h->statement[SQL_ADD_TE];
    statement_id id = is_new_only ? SQL_ADD_NEW : SQL_ADD;
    sqlite3_stmt *s = h->statement[id];
    return bind_text(te, 1, r->te) && run(h, SQL_ADD_TE) &&
           sqlite3_bind_int64(s, 1, (sqlite3_int64)r->workload) == SQLITE_OK &&
           bind_text(s, 2, r->target) && bind_text(s, 3, r->region) && bind_text(s, 4, r->te) &&
           bind_text(s, 5, r->sizes) && bind_text(s, 6, r->schedule) &&
           sqlite3_bind_int64(s, 7, (sqlite3_int64)r->seed) == SQLITE_OK &&
           sqlite3_bind_int(s, 8, r->trial) == SQLITE_OK &&
           bind_text(s, 9, ctune_run_outcome_name(r->outcome)) && bind_ns(s, 10, r->best_ns) &&
           bind_ns(s, 11, r->median_ns) && bind_ns(s, 12, r->original_ns) && run(h, id);
}

ctune_status ctune_history_begin(ctune_ctx *ctx, ctune_history *history) {
    return run(history, SQL_BEGIN) ? CTUNE_OK : fail_sql(ctx, history, "cannot begin to write");
}

ctune_status ctune_history_add(ctune_ctx *ctx, ctune_history *history, const ctune_record *record,
                               bool is_new_only, int *n_added) {
    if (!append_one(history, record, is_new_only)) {
        return fail_sql(ctx, history, "cannot write a record");
    }
    if (n_added != NULL) {
        *n_added += sqlite3_changes(history->db) > 0;
    }
    return CTUNE_OK;
}

ctune_status ctune_history_end(ctune_ctx *ctx, ctune_history *history, ctune_status status) {
    if (status == CTUNE_OK && !run(history, SQL_COMMIT)) {
        status = fail_sql(ctx, history, "cannot write");
    }
    if (status != CTUNE_OK && sqlite3_get_autocommit(history->db) == 0) {
        (void)run(history, SQL_ROLLBACK);
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

static bool read_record(sqlite3_stmt *s, ctune_record *out) {
    *out = (ctune_record){.workload = (uint64_t)sqlite3_column_int64(s, 0),
                          .target = column_text(s, 1),
                          .region = column_text(s, 2),
                          .te = column_text(s, 3),
                          .sizes = column_text(s, 4),
                          .schedule = column_text(s, 5),
                          .seed = (uint64_t)sqlite3_column_int64(s, 6),
                          .trial = sqlite3_column_int(s, 7),
                          .best_ns = column_ns(s, 9),
                          .median_ns = column_ns(s, 10),
                          .original_ns = column_ns(s, 11)};
    return ctune_run_outcome_parse(column_text(s, 8), &out->outcome);
}

/* By which of (workload, target) are given. Records appended by the visitor itself are not visited
 * (?3). */
static const char *const select_sql[2][2] = {
    {SELECT_RECORDS " ORDER BY record.id", SELECT_RECORDS " AND target = ?2 ORDER BY record.id"},
    {SELECT_RECORDS " AND workload = ?1 ORDER BY record.id",
     SELECT_RECORDS " AND workload = ?1 AND target = ?2 ORDER BY record.id"},
};

static int64_t last_id(ctune_history *h) {
    sqlite3_stmt *s = h->statement[SQL_LAST];
    int64_t id = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_reset(s);
    return id;
}

ctune_status ctune_history_visit(ctune_ctx *ctx, ctune_history *history, uint64_t workload,
                                 const char *target,
                                 bool (*visit)(void *user, const ctune_record *record),
                                 void *user) {
    const char *sql = select_sql[workload != 0][target != NULL];
    int64_t last = last_id(history);
    sqlite3_stmt *s = NULL;
    if (last < 0 || sqlite3_prepare_v2(history->db, sql, -1, &s, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(s, 3, last) != SQLITE_OK) {
        sqlite3_finalize(s);
        return fail_sql(ctx, history, "cannot read");
    }
    if (workload != 0) {
        (void)sqlite3_bind_int64(s, 1, (sqlite3_int64)workload);
    }
    if (target != NULL) {
        (void)bind_text(s, 2, target);
    }
    ctune_status status = CTUNE_OK;
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        ctune_record record;
        if (!read_record(s, &record)) {
            status = ctune_fail(ctx, CTUNE_EENV, "%s: a record has the unknown outcome '%.40s'",
                                history->path, column_text(s, 8));
            break;
        }
        if (!visit(user, &record)) {
            break;
        }
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        status = fail_sql(ctx, history, "cannot read");
    }
    sqlite3_finalize(s);
    return status;
}

/* ---- merge ------------------------------------------------------------------------------- */
typedef struct merge {
    ctune_ctx *ctx;
    ctune_history *into;
    ctune_status status;
    int n_added;
} merge;

static bool merge_record(void *user, const ctune_record *record) {
    merge *m = user;
    m->status = ctune_history_add(m->ctx, m->into, record, true, &m->n_added);
    return m->status == CTUNE_OK;
}

ctune_status ctune_history_merge(ctune_ctx *ctx, ctune_history *history, const char *other_path,
                                 int *n_merged) {
    if (access(other_path, R_OK) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: %s", other_path, strerror(errno));
    }
    ctune_history *other;
    ctune_status status = ctune_history_open(ctx, other_path, &other);
    if (status != CTUNE_OK) {
        return status;
    }
    merge m = {.ctx = ctx, .into = history, .status = CTUNE_OK};
    status = ctune_history_begin(ctx, history);
    if (status == CTUNE_OK) {
        status = ctune_history_visit(ctx, other, 0, NULL, merge_record, &m);
        status = ctune_history_end(ctx, history, status == CTUNE_OK ? m.status : status);
    }
    ctune_history_close(other);
    if (status == CTUNE_OK && n_merged != NULL) {
        *n_merged = m.n_added;
    }
    return status;
}
