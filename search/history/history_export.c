/*
 * History as JSON lines: what `ctune export` writes. history_import.c reads it.
 *
 * One object a line. A target's facts come before its first record; the dump of a region, which is
 * longer than the rest of a record together, only where it differs from that of the workload's
 * record before. 64-bit keys are strings, since JSON readers keep numbers as doubles. A time that
 * was never taken is null.
 */
#include "search/history/history_private.h"
#include "search/history/te_map.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct exporter {
    ctune_ctx *ctx;
    ctune_history *history;
    bool (*write)(void *user, const char *line);
    void *user;
    ctune_te_map tes;
    int n_targets, size_targets;
    char **targets; /* whose facts are written; owned */
    ctune_status status;
    bool is_stopped; /* by write */
} exporter;

static void fail_memory(exporter *e) {
    e->status = ctune_fail(e->ctx, CTUNE_ENOMEM, "out of memory exporting");
}

/* Writes the object as one line, and frees it. is_whole: all members could be added. */
static void write_object(exporter *e, cJSON *object, bool is_whole) {
    char *line = is_whole ? cJSON_PrintUnformatted(object) : NULL;
    if (line == NULL) {
        fail_memory(e);
    } else {
        e->is_stopped = !e->write(e->user, line);
    }
    cJSON_free(line);
    cJSON_Delete(object);
}

static bool add_text(cJSON *object, const char *key, const char *text) {
    return cJSON_AddStringToObject(object, key, text) != NULL;
}

/* ---- facts ----------------------------------------------------------------------------------- */
static bool add_fact(cJSON *object, const ctune_fact_row *row, const ctune_target *facts) {
    char value[CTUNE_FACT_TEXT_BYTES];
    ctune_fact_print(row, facts, value, sizeof value);
    return row->kind == CTUNE_FACT_TEXT ? add_text(object, row->name, value)
                                        : cJSON_AddRawToObject(object, row->name, value) != NULL;
}

static void write_facts(exporter *e, const char *target, const ctune_target *facts) {
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL && add_text(o, "target", target);
    cJSON *list = ok ? cJSON_AddObjectToObject(o, "facts") : NULL;
    ok = list != NULL;
    for (int i = 0; ok && ctune_fact_row_get(i) != NULL; i++) {
        ok = add_fact(list, ctune_fact_row_get(i), facts);
    }
    write_object(e, o, ok);
}

/* Most often the same target as before. */
static bool is_written(const exporter *e, const char *target) {
    for (int i = e->n_targets; i-- > 0;) {
        if (strcmp(e->targets[i], target) == 0) {
            return true;
        }
    }
    return false;
}

static bool remember_target(exporter *e, const char *target) {
    if (e->n_targets == e->size_targets) {
        int size = e->size_targets > 0 ? 2 * e->size_targets : 16;
        char **targets = realloc(e->targets, (size_t)size * sizeof *targets);
        if (targets == NULL) {
            return false;
        }
        e->targets = targets;
        e->size_targets = size;
    }
    e->targets[e->n_targets] = strdup(target);
    return e->targets[e->n_targets] != NULL && ++e->n_targets > 0;
}

/* Those that are stored: what a key says by itself, the reader finds out. */
static void export_facts(exporter *e, const char *target) {
    ctune_target facts;
    bool is_stored = false;
    e->status = ctune_history_facts_get(e->ctx, e->history, target, &facts, &is_stored);
    if (e->status == CTUNE_OK && !remember_target(e, target)) {
        fail_memory(e);
    }
    if (e->status == CTUNE_OK && is_stored) {
        write_facts(e, target, &facts);
    }
}

/* ---- records --------------------------------------------------------------------------------- */
static bool add_ns(cJSON *object, const char *key, double ns) {
    return (isfinite(ns) ? cJSON_AddNumberToObject(object, key, ns)
                         : cJSON_AddNullToObject(object, key)) != NULL;
}

static void write_record(exporter *e, const ctune_record *r) {
    char workload[20], seed[24];
    bool has_te = ctune_te_map_find(&e->tes, r->workload) != r->te;
    if (has_te && !ctune_te_map_set(&e->tes, r->workload, r->te)) {
        fail_memory(e);
        return;
    }
    snprintf(workload, sizeof workload, "%016llx", (unsigned long long)r->workload);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL && add_text(o, "workload", workload) && add_text(o, "target", r->target) &&
              add_text(o, "region", r->region) && add_text(o, "sizes", r->sizes) &&
              add_text(o, "schedule", r->schedule) && add_text(o, "seed", seed) &&
              cJSON_AddNumberToObject(o, "trial", r->trial) != NULL &&
              add_text(o, "outcome", ctune_run_outcome_name(r->outcome)) &&
              add_ns(o, "best_ns", r->best_ns) && add_ns(o, "median_ns", r->median_ns) &&
              add_ns(o, "original_ns", r->original_ns) && (!has_te || add_text(o, "te", r->te));
    write_object(e, o, ok);
}

static bool export_record(void *user, const ctune_record *record) {
    exporter *e = user;
    if (!is_written(e, record->target)) {
        export_facts(e, record->target);
    }
    if (e->status == CTUNE_OK && !e->is_stopped) {
        write_record(e, record);
    }
    return e->status == CTUNE_OK && !e->is_stopped;
}

ctune_status ctune_history_export(ctune_ctx *ctx, ctune_history *history,
                                  bool (*write)(void *user, const char *line), void *user) {
    exporter e = {.ctx = ctx, .history = history, .write = write, .user = user, .status = CTUNE_OK};
    ctune_status status = ctune_history_visit(ctx, history, 0, NULL, export_record, &e);
    ctune_te_map_clear(&e.tes);
    for (int i = 0; i < e.n_targets; i++) {
        free(e.targets[i]);
    }
    free(e.targets);
    return status == CTUNE_OK ? e.status : status;
}
