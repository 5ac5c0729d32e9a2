/*
 * Private to search/history: a history's handle, its statements, and its transaction for those that
 * write many records at once.
 */
#ifndef CTUNE_SEARCH_HISTORY_HISTORY_PRIVATE_H
#define CTUNE_SEARCH_HISTORY_HISTORY_PRIVATE_H

#include "search/facts/facts.h"
#include "search/history/history.h"

#include <sqlite3.h>

/* The statements of a handle, prepared once: enum suffix, schema version that has its tables, SQL.
 */
#define CTUNE_INSERT_RECORD                                                                        \
    "INSERT INTO record(workload, target, region, te, sizes, schedule, seed, trial, outcome, "     \
    "best_ns, median_ns, original_ns) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12"
#define CTUNE_STATEMENT_TABLE(X)                                                                   \
    X(BEGIN, 1, "BEGIN IMMEDIATE")                                                                 \
    X(COMMIT, 1, "COMMIT")                                                                         \
    X(ROLLBACK, 1, "ROLLBACK")                                                                     \
    X(ADD_TE, 1, "INSERT INTO te(body) VALUES(?1)")                                                \
    X(FIND_TE, 1, "SELECT id FROM te WHERE body = ?1")                                             \
    X(GET_TE, 1, "SELECT body FROM te WHERE id = ?1")                                              \
    X(TE_OF, 1,                                                                                    \
      "SELECT body FROM te WHERE id = (SELECT te FROM record WHERE workload = ?1 LIMIT 1)")        \
    X(ADD, 1, CTUNE_INSERT_RECORD)                                                                 \
    X(ADD_NEW, 1,                                                                                  \
      CTUNE_INSERT_RECORD                                                                          \
      " WHERE NOT EXISTS (SELECT 1 FROM record WHERE workload = ?1 AND target = ?2"                \
      " AND seed = ?7 AND trial = ?8 AND region = ?3 AND sizes = ?5 AND schedule = ?6"             \
      " AND te = ?4 AND outcome = ?9"                                                              \
      " AND best_ns IS ?10 AND median_ns IS ?11 AND original_ns IS ?12)")                          \
    X(LAST, 1, "SELECT coalesce(max(id), 0) FROM record")                                          \
    X(GET_FACTS, 2, "SELECT facts FROM target WHERE key = ?1")                                     \
    X(SET_FACTS, 2, "INSERT OR REPLACE INTO target(key, facts) VALUES(?1, ?2)")                    \
    X(ALL_FACTS, 2, "SELECT key, facts FROM target ORDER BY key")

typedef enum ctune_statement {
#define X(id, version, sql) CTUNE_SQL_##id,
    CTUNE_STATEMENT_TABLE(X)
#undef X
        CTUNE_N_STATEMENTS
} ctune_statement;

struct ctune_history {
    sqlite3 *db;
    char *path;      /* for messages */
    int64_t version; /* of its schema: < the newest only when read-only */
    sqlite3_stmt *statement[CTUNE_N_STATEMENTS]; /* NULL: needs a newer schema */
    char *last_te; /* of the record before in this transaction, owned; NULL = none */
    int64_t last_te_id;
};

/* ctx->error from SQLite's; EENV, or ENOMEM when that is it. */
ctune_status ctune_history_fail(ctune_ctx *ctx, const ctune_history *history, const char *doing);
/* Run a prepared statement that gives no rows; its bindings are dropped. */
bool ctune_history_run(ctune_history *history, ctune_statement id);

/* begin, add..., end(status so far): commits on OK, rolls everything back otherwise. */
CTUNE_MUST_USE ctune_status ctune_history_begin(ctune_ctx *ctx, ctune_history *history);
/* is_new_only: a record that is there already is left out. is_added may be NULL. */
CTUNE_MUST_USE ctune_status ctune_history_add(ctune_ctx *ctx, ctune_history *history,
                                              const ctune_record *record, bool is_new_only,
                                              bool *is_added);
CTUNE_MUST_USE ctune_status ctune_history_end(ctune_ctx *ctx, ctune_history *history,
                                              ctune_status status);

/* Facts that came from elsewhere: those that are there stay, unless they are defaults and the new
 * ones measured. Inside a transaction or not. */
CTUNE_MUST_USE ctune_status ctune_history_facts_add(ctune_ctx *ctx, ctune_history *history,
                                                    const char *key, const ctune_target *facts);
/* Appends the dump of some record of the workload; false when there is none. */
bool ctune_history_te_find(ctune_history *history, uint64_t workload, ctune_text *out);

#endif
