/*
 * History, the facts of targets: one row of text a target key (facts.h), beside its records.
 *
 * Facts are written by whoever measures on that target; records that were made before there were
 * facts, or came without, are described by what their key says. Measured facts are never replaced
 * by defaults, nor by another machine's that has the same key.
 */
#include "search/history/history_private.h"

#include <stdio.h>
#include <string.h>

/* Text of the stored facts, appended; *is_there false when there are none. */
static ctune_status get_text(ctune_ctx *ctx, ctune_history *h, const char *key, ctune_text *out,
                             bool *is_there) {
    sqlite3_stmt *s = h->statement[CTUNE_SQL_GET_FACTS];
    *is_there = false;
    if (s == NULL) { /* schema 1 */
        return CTUNE_OK;
    }
    (void)sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    int code = sqlite3_step(s);
    if (code == SQLITE_ROW) {
        *is_there = true;
        ctune_text_append(out, (const char *)sqlite3_column_text(s, 0));
    }
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return code != SQLITE_ROW && code != SQLITE_DONE ? ctune_history_fail(ctx, h, "cannot read")
           : out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", h->path)
                         : CTUNE_OK;
}

/* What the key says, and over it the text's facts; those of a text that cannot be read are named
 * and left. false: left. */
static bool read_text(ctune_ctx *ctx, const ctune_history *h, const char *key, const char *text,
                      ctune_target *out) {
    char name[320];
    snprintf(name, sizeof name, "facts of '%.256s'", key);
    ctune_target_from_key(key, out);
    if (ctune_target_facts_parse(ctx, name, text, out) == CTUNE_OK) {
        return true;
    }
    ctune_diag_send(ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                       .file = h->path,
                                       .code = "target-facts",
                                       .text = ctx->error,
                                       .hint = "what the key says is used"});
    return false;
}

ctune_status ctune_history_facts_get(ctune_ctx *ctx, ctune_history *history, const char *key,
                                     ctune_target *out, bool *is_stored) {
    ctune_text text;
    ctune_text_init(&text);
    bool is_there;
    ctune_status status = get_text(ctx, history, key, &text, &is_there);
    ctune_target_from_key(key, out);
    if (status == CTUNE_OK && is_there) {
        is_there = read_text(ctx, history, key, ctune_text_get(&text), out);
    }
    if (is_stored != NULL) {
        *is_stored = is_there;
    }
    ctune_text_clear(&text);
    return status;
}

static ctune_status put(ctune_ctx *ctx, ctune_history *h, const char *key, const char *text) {
    sqlite3_stmt *s = h->statement[CTUNE_SQL_SET_FACTS];
    if (s == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: opened for reading only", h->path);
    }
    (void)sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, 2, text, -1, SQLITE_STATIC);
    return ctune_history_run(h, CTUNE_SQL_SET_FACTS)
               ? CTUNE_OK
               : ctune_history_fail(ctx, h, "cannot write facts");
}

/* is_own: measured facts replace measured ones. */
static ctune_status set(ctune_ctx *ctx, ctune_history *h, const char *key,
                        const ctune_target *facts, bool is_own) {
    ctune_text now, before;
    ctune_text_init(&now);
    ctune_text_init(&before);
    ctune_target old;
    bool is_there = false;
    ctune_target_facts_print(facts, &now);
    ctune_status status = now.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                     : get_text(ctx, h, key, &before, &is_there);
    if (status == CTUNE_OK) {
        bool is_same = is_there && strcmp(now.data, ctune_text_get(&before)) == 0;
        is_there = is_there && read_text(ctx, h, key, ctune_text_get(&before), &old);
        bool replaces = !is_there || (facts->is_measured && (is_own || !old.is_measured));
        status = replaces && !is_same ? put(ctx, h, key, now.data) : CTUNE_OK;
    }
    ctune_text_clear(&now);
    ctune_text_clear(&before);
    return status;
}

ctune_status ctune_history_facts_set(ctune_ctx *ctx, ctune_history *history, const char *key,
                                     const ctune_target *facts) {
    return set(ctx, history, key, facts, true);
}

ctune_status ctune_history_facts_add(ctune_ctx *ctx, ctune_history *history, const char *key,
                                     const ctune_target *facts) {
    return set(ctx, history, key, facts, false);
}
