/*
 * Opening a history: schema, migration, corrupt files. history.c reads and writes records.
 *
 * Opening runs under the guard of the path, because creating or changing the schema, switching to
 * WAL and moving a corrupt file aside must be done by one process only. A read-only handle does
 * none of that: it takes what is there, and works on folders that cannot be written.
 *
 * Schema 2 is schema 1 with a table of target facts; a program that knows only schema 1 and has the
 * file open meanwhile goes on writing records undisturbed.
 */
#include "runtime/guard.h"
#include "search/history/history_private.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA_VERSION = 2, BUSY_MS = 10000, CHECKED_BYTES = 64 << 20, MAX_ASIDE = 100 };

/* What each version adds to the one before. */
static const char *const schema[SCHEMA_VERSION] = {
    "CREATE TABLE te(id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE);"
    "CREATE TABLE record(id INTEGER PRIMARY KEY, workload INTEGER NOT NULL, target TEXT NOT NULL,"
    " region TEXT NOT NULL, te INTEGER NOT NULL REFERENCES te(id), sizes TEXT NOT NULL,"
    " schedule TEXT NOT NULL, seed INTEGER NOT NULL, trial INTEGER NOT NULL, outcome TEXT NOT NULL,"
    " best_ns REAL, median_ns REAL, original_ns REAL);"
    "CREATE INDEX record_of ON record(workload, target, seed, trial);",
    "CREATE TABLE target(key TEXT PRIMARY KEY, facts TEXT NOT NULL) WITHOUT ROWID;",
};

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

static ctune_status connect(ctune_ctx *ctx, ctune_history *h, const char *name, int flags) {
    if (sqlite3_open_v2(name, &h->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        return h->db == NULL ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", h->path)
                             : ctune_history_fail(ctx, h, "cannot open");
    }
    sqlite3_busy_timeout(h->db, BUSY_MS);
    return CTUNE_OK;
}

static void disconnect(ctune_history *h) {
    for (int i = 0; i < CTUNE_N_STATEMENTS; i++) {
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

static ctune_status check_version(ctune_ctx *ctx, const ctune_history *h) {
    return h->version <= SCHEMA_VERSION
               ? CTUNE_OK
               : ctune_fail(ctx, CTUNE_EENV,
                            "%s: written by a newer ctune (schema %lld, this one knows %d): use "
                            "that one, or another history",
                            h->path, (long long)h->version, SCHEMA_VERSION);
}

/* Tables of the versions after `from`, in one transaction. */
static bool bring_up_to_date(ctune_history *h, int64_t from) {
    char set_version[64];
    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", SCHEMA_VERSION);
    bool ok = sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    for (int64_t version = from; version < SCHEMA_VERSION && ok; version++) {
        ok = sqlite3_exec(h->db, schema[version], NULL, NULL, NULL) == SQLITE_OK;
    }
    return ok && sqlite3_exec(h->db, set_version, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static ctune_status make_schema(ctune_ctx *ctx, ctune_history *h) {
    h->version = query_integer(h->db, "PRAGMA user_version");
    ctune_status status = check_version(ctx, h);
    if (status != CTUNE_OK) {
        return status;
    }
    if (h->version < 0 ||
        sqlite3_exec(h->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL,
                     NULL) != SQLITE_OK) {
        return ctune_history_fail(ctx, h, "cannot prepare the history");
    }
    if (h->version == SCHEMA_VERSION) {
        return CTUNE_OK;
    }
    const char *tables = "SELECT count(*) FROM sqlite_master";
    const char *own = "SELECT count(*) FROM sqlite_master WHERE name IN ('te', 'record')";
    if (query_integer(h->db, h->version == 0 ? tables : own) != (h->version == 0 ? 0 : 2)) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: a database that is no history of ctune", h->path);
    }
    if (!bring_up_to_date(h, h->version)) {
        return ctune_history_fail(ctx, h,
                                  h->version == 0 ? "cannot create the history"
                                                  : "cannot bring the history up to date");
    }
    h->version = SCHEMA_VERSION;
    return CTUNE_OK;
}

static ctune_status prepare(ctune_ctx *ctx, ctune_history *h) {
    static const struct {
        int version;
        const char *sql;
    } rows[] = {
#define X(id, version, sql) {version, sql},
        CTUNE_STATEMENT_TABLE(X)
#undef X
    };
    for (int i = 0; i < CTUNE_N_STATEMENTS; i++) {
        if (rows[i].version <= h->version &&
            sqlite3_prepare_v3(h->db, rows[i].sql, -1, SQLITE_PREPARE_PERSISTENT, &h->statement[i],
                               NULL) != SQLITE_OK) {
            return ctune_history_fail(ctx, h, "not the tables of a history");
        }
    }
    return CTUNE_OK;
}

static ctune_status open_guarded(ctune_ctx *ctx, ctune_history *h) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    ctune_status status = connect(ctx, h, h->path, flags);
    if (status == CTUNE_OK && is_corrupt(h)) {
        disconnect(h);
        status = move_aside(ctx, h->path);
        status = status == CTUNE_OK ? connect(ctx, h, h->path, flags) : status;
    }
    status = status == CTUNE_OK ? make_schema(ctx, h) : status;
    return status == CTUNE_OK ? prepare(ctx, h) : status;
}

static ctune_history *handle_create(const char *path) {
    ctune_history *h = calloc(1, sizeof *h);
    if (h != NULL && (h->path = strdup(path)) == NULL) {
        free(h);
        h = NULL;
    }
    return h;
}

ctune_status ctune_history_open(ctune_ctx *ctx, const char *path, ctune_history **out) {
    *out = NULL;
    ctune_history *h = handle_create(path);
    if (h == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    ctune_guard guard = {0};
    ctune_status status = ctune_folders_make(ctx, path);
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
        free(history->last_te);
        free(history->path);
        free(history);
    }
}

/* ---- read-only --------------------------------------------------------------------------- */
/* "file:PATH?immutable=1": a database in a folder in which SQLite can make no lock files. */
static void immutable_name(const char *path, ctune_text *out) {
    ctune_text_append(out, "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p != '\0'; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= '0' && *p <= '9') || strchr("/._-", *p) != NULL;
        ctune_text_printf(out, is_plain ? "%c" : "%%%02X", *p);
    }
    ctune_text_append(out, "?immutable=1");
}

/* Nothing is in the file beside it that a reader would miss. */
static bool has_no_wal(const char *path) {
    struct stat info;
    ctune_text wal;
    ctune_text_init(&wal);
    ctune_text_printf(&wal, "%s-wal", path);
    bool is_none = !wal.failed && (stat(wal.data, &info) != 0 || info.st_size == 0);
    ctune_text_clear(&wal);
    return is_none;
}

static ctune_status connect_readonly(ctune_ctx *ctx, ctune_history *h) {
    ctune_status status = connect(ctx, h, h->path, SQLITE_OPEN_READONLY);
    h->version = status == CTUNE_OK ? query_integer(h->db, "PRAGMA user_version") : -1;
    if (status != CTUNE_OK || h->version >= 0 ||
        (sqlite3_errcode(h->db) & 0xff) != SQLITE_CANTOPEN || !has_no_wal(h->path)) {
        return status;
    }
    ctune_text name;
    ctune_text_init(&name);
    immutable_name(h->path, &name);
    disconnect(h);
    status = name.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", h->path)
                         : connect(ctx, h, name.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    ctune_text_clear(&name);
    h->version = status == CTUNE_OK ? query_integer(h->db, "PRAGMA user_version") : -1;
    return status;
}

ctune_status ctune_history_open_readonly(ctune_ctx *ctx, const char *path, ctune_history **out) {
    *out = NULL;
    if (access(path, R_OK) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, strerror(errno));
    }
    ctune_history *h = handle_create(path);
    if (h == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    ctune_status status = connect_readonly(ctx, h);
    if (status == CTUNE_OK && h->version < 0) {
        status = ctune_history_fail(ctx, h, "cannot read the history");
    } else if (status == CTUNE_OK && is_corrupt(h)) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: corrupt", path);
    } else if (status == CTUNE_OK && h->version == 0) {
        status = ctune_fail(ctx, CTUNE_EENV, "%s: no history of ctune", path);
    }
    status = status == CTUNE_OK ? check_version(ctx, h) : status;
    status = status == CTUNE_OK ? prepare(ctx, h) : status;
    if (status != CTUNE_OK) {
        ctune_history_close(h);
        return status;
    }
    *out = h;
    return CTUNE_OK;
}
