/*
 * History as JSON lines, one record a line: what `ctune export` writes and what another machine's
 * history is merged from.
 *
 * 64-bit keys are strings, since JSON readers keep numbers as doubles. A time that was never taken
 * is null. Import is all or nothing, and leaves out records that are there already, so that
 * importing twice changes nothing.
 */
#include "search/records/history.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- export ------------------------------------------------------------------------------ */
static bool add_text(cJSON *object, const char *key, const char *text) {
    return cJSON_AddStringToObject(object, key, text) != NULL;
}

static bool add_ns(cJSON *object, const char *key, double ns) {
    return (isfinite(ns) ? cJSON_AddNumberToObject(object, key, ns)
                         : cJSON_AddNullToObject(object, key)) != NULL;
}

static char *record_line(const ctune_record *r) {
    char workload[20], seed[24];
    snprintf(workload, sizeof workload, "%016llx", (unsigned long long)r->workload);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL && add_text(o, "workload", workload) && add_text(o, "target", r->target) &&
              add_text(o, "region", r->region) && add_text(o, "sizes", r->sizes) &&
              add_text(o, "schedule", r->schedule) && add_text(o, "seed", seed) &&
              cJSON_AddNumberToObject(o, "trial", r->trial) != NULL &&
              add_text(o, "outcome", ctune_run_outcome_name(r->outcome)) &&
              add_ns(o, "best_ns", r->best_ns) && add_ns(o, "median_ns", r->median_ns) &&
              add_ns(o, "original_ns", r->original_ns) && add_text(o, "te", r->te);
    char *line = ok ? cJSON_PrintUnformatted(o) : NULL;
    cJSON_Delete(o);
    return line;
}

typedef struct exporter {
    bool (*write)(void *user, const char *line);
    void *user;
    bool has_failed; /* memory */
} exporter;

static bool export_record(void *user, const ctune_record *record) {
    exporter *e = user;
    char *line = record_line(record);
    e->has_failed = line == NULL;
    bool goes_on = line != NULL && e->write(e->user, line);
    cJSON_free(line);
    return goes_on;
}

ctune_status ctune_history_export(ctune_ctx *ctx, ctune_history *history,
                                  bool (*write)(void *user, const char *line), void *user) {
    exporter e = {.write = write, .user = user};
    ctune_status status = ctune_history_visit(ctx, history, 0, NULL, export_record, &e);
    return status == CTUNE_OK && e.has_failed
               ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory exporting")
               : status;
}

/* ---- import ------------------------------------------------------------------------------ */
static bool get_text(const cJSON *object, const char *key, const char **out) {
    *out = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return *out != NULL;
}

static bool get_u64(const cJSON *object, const char *key, int base, uint64_t *out) {
    const char *text;
    if (!get_text(object, key, &text) || text[0] == '\0' ||
        text[strspn(text, base == 16 ? "0123456789abcdef" : "0123456789")] != '\0' ||
        strlen(text) > 20) {
        return false;
    }
    *out = strtoull(text, NULL, base);
    return true;
}

static bool get_ns(const cJSON *object, const char *key, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    return cJSON_IsNumber(item) || cJSON_IsNull(item);
}

/* NULL, or the key that is missing or malformed. Texts are borrowed from `object`. */
static const char *record_from(const cJSON *object, ctune_record *out) {
    const cJSON *trial = cJSON_GetObjectItemCaseSensitive(object, "trial");
    const char *outcome;
    memset(out, 0, sizeof *out);
    if (!cJSON_IsNumber(trial) || !(trial->valuedouble >= 0 && trial->valuedouble <= INT_MAX)) {
        return "trial";
    }
    out->trial = trial->valueint;
    return !get_u64(object, "workload", 16, &out->workload)    ? "workload"
           : !get_text(object, "target", &out->target)         ? "target"
           : !get_text(object, "region", &out->region)         ? "region"
           : !get_text(object, "sizes", &out->sizes)           ? "sizes"
           : !get_text(object, "schedule", &out->schedule)     ? "schedule"
           : !get_u64(object, "seed", 10, &out->seed)          ? "seed"
           : !get_text(object, "outcome", &outcome)            ? "outcome"
           : !ctune_run_outcome_parse(outcome, &out->outcome)  ? "outcome"
           : !get_ns(object, "best_ns", &out->best_ns)         ? "best_ns"
           : !get_ns(object, "median_ns", &out->median_ns)     ? "median_ns"
           : !get_ns(object, "original_ns", &out->original_ns) ? "original_ns"
           : !get_text(object, "te", &out->te)                 ? "te"
                                                               : NULL;
}

static ctune_status import_line(ctune_ctx *ctx, ctune_history *history, const char *line,
                                size_t n_bytes, int i_line, int *n_added) {
    const char *stop = NULL;
    char *copy = strndup(line, n_bytes);
    cJSON *object = copy != NULL ? cJSON_ParseWithOpts(copy, &stop, true) : NULL;
    ctune_record record;
    ctune_status status;
    const char *wrong = object != NULL ? record_from(object, &record) : NULL;
    if (copy == NULL) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "out of memory importing");
    } else if (object == NULL) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "import:%d:%d: not a line of JSON", i_line,
                            stop != NULL ? (int)(stop - copy) + 1 : 1);
    } else if (wrong != NULL) {
        status =
            ctune_fail(ctx, CTUNE_EUSAGE, "import:%d: '%s' is missing or malformed", i_line, wrong);
    } else {
        status = ctune_history_add(ctx, history, &record, true, n_added);
    }
    cJSON_Delete(object);
    free(copy);
    return status;
}

ctune_status ctune_history_import(ctune_ctx *ctx, ctune_history *history, const char *json_lines,
                                  int *n_imported) {
    int n_added = 0, i_line = 0;
    ctune_status status = ctune_history_begin(ctx, history);
    if (status != CTUNE_OK) {
        return status;
    }
    while (*json_lines != '\0' && status == CTUNE_OK) {
        size_t n = strcspn(json_lines, "\n");
        i_line++;
        if (strspn(json_lines, " \t\r") < n) {
            status = import_line(ctx, history, json_lines, n, i_line, &n_added);
        }
        json_lines += json_lines[n] == '\n' ? n + 1 : n;
    }
    status = ctune_history_end(ctx, history, status);
    if (status == CTUNE_OK && n_imported != NULL) {
        *n_imported = n_added;
    }
    return status;
}
