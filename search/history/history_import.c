/*
 * History from JSON lines, compressed or not, or from another history's file.
 *
 * A line that is neither a record nor facts is left out, with a warning that names it; the others
 * go in. Records that are there already are left out and counted, so that importing twice changes
 * nothing. A record without a dump has that of the workload's record before it, in the file or else
 * in the history.
 */
#include "search/history/history_private.h"
#include "search/history/te_map.h"

#include "runtime/arena.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

enum { MAX_WARNINGS = 20 };

typedef struct importer {
    ctune_ctx *ctx;
    ctune_history *history;
    const char *name; /* of the file, for messages */
    int line;
    ctune_arena *arena; /* dumps */
    ctune_te_map tes;
    ctune_import_counts counts;
} importer;

/* Counts the line as malformed. */
static void reject(importer *m, int col, const char *format, const char *detail) {
    char words[200];
    snprintf(words, sizeof words, format, detail);
    if (++m->counts.n_malformed <= MAX_WARNINGS) {
        const char *hint = m->counts.n_malformed == MAX_WARNINGS
                               ? "further lines like this are counted only"
                               : NULL;
        ctune_diag_send(m->ctx, &(ctune_diag){.severity = CTUNE_WARNING,
                                              .file = m->name,
                                              .line = m->line,
                                              .col = col,
                                              .code = "import-malformed",
                                              .text = words,
                                              .hint = hint});
    }
}

/* ---- one record ------------------------------------------------------------------------------ */
static bool get_text(const cJSON *object, const char *key, const char **out) {
    *out = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return *out != NULL;
}

static bool get_u64(const cJSON *object, const char *key, int base, uint64_t *out) {
    const char *text;
    if (!get_text(object, key, &text) || text[0] == '\0' ||
        text[strspn(text, base == 16 ? "0123456789abcdef" : "0123456789")] != '\0') {
        return false;
    }
    errno = 0;
    *out = strtoull(text, NULL, base);
    return errno == 0;
}

static bool get_ns(const cJSON *object, const char *key, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    return cJSON_IsNumber(item) || cJSON_IsNull(item);
}

/* NULL, or the key that is missing or malformed. Texts are borrowed from `object`; te is NULL when
 * the line has none. */
static const char *record_from(const cJSON *object, ctune_record *out) {
    const cJSON *trial = cJSON_GetObjectItemCaseSensitive(object, "trial");
    const cJSON *te = cJSON_GetObjectItemCaseSensitive(object, "te");
    const char *outcome;
    memset(out, 0, sizeof *out);
    if (!cJSON_IsNumber(trial) || !(trial->valuedouble >= 0 && trial->valuedouble <= INT_MAX)) {
        return "trial";
    }
    out->trial = trial->valueint;
    out->te = cJSON_GetStringValue(te);
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
           : te != NULL && out->te == NULL                     ? "te"
                                                               : NULL;
}

/* Keeps the dump as the workload's last one. */
static ctune_status keep_te(importer *m, uint64_t workload, const char *te) {
    const char *copy = ctune_arena_strdup(m->arena, te);
    return copy != NULL && ctune_te_map_set(&m->tes, workload, copy)
               ? CTUNE_OK
               : ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory importing");
}

/* Gives the record its dump; te stays NULL when nobody knows it. */
static ctune_status find_te(importer *m, ctune_record *r) {
    const char *known = ctune_te_map_find(&m->tes, r->workload);
    ctune_status status = CTUNE_OK;
    if (r->te != NULL && (known == NULL || strcmp(r->te, known) != 0)) {
        status = keep_te(m, r->workload, r->te);
    } else if (r->te == NULL && known == NULL) {
        ctune_text text;
        ctune_text_init(&text);
        if (ctune_history_te_find(m->history, r->workload, &text)) {
            status = text.failed ? ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory importing")
                                 : keep_te(m, r->workload, ctune_text_get(&text));
        }
        ctune_text_clear(&text);
    }
    r->te = ctune_te_map_find(&m->tes, r->workload);
    return status;
}

static ctune_status import_record(importer *m, const cJSON *object) {
    ctune_record record;
    bool is_new = false;
    const char *wrong = record_from(object, &record);
    if (wrong != NULL) {
        reject(m, 1, "'%s' is missing or malformed", wrong);
        return CTUNE_OK;
    }
    ctune_status status = find_te(m, &record);
    if (status == CTUNE_OK && record.te == NULL) {
        reject(m, 1, "'te' is missing%s", ", and no record of this workload before it has one");
        return CTUNE_OK;
    }
    if (status == CTUNE_OK) {
        status = ctune_history_add(m->ctx, m->history, &record, true, &is_new);
    }
    m->counts.n_records++;
    m->counts.n_new += is_new;
    m->counts.n_known += !is_new;
    return status;
}

/* ---- facts of a target ----------------------------------------------------------------------- */
static bool fact_from(const cJSON *item, ctune_target *out) {
    char number[40];
    const ctune_fact_row *row = ctune_fact_row_find(item->string, strlen(item->string));
    if (row == NULL) {
        return true; /* a newer ctune's */
    }
    if (row->kind == CTUNE_FACT_TEXT) {
        return cJSON_IsString(item) && ctune_fact_parse(row, item->valuestring, out);
    }
    snprintf(number, sizeof number, "%.17g", item->valuedouble);
    return cJSON_IsNumber(item) && ctune_fact_parse(row, number, out);
}

static ctune_status import_facts(importer *m, const cJSON *object, const cJSON *list) {
    ctune_target facts;
    const cJSON *item;
    const char *key;
    if (!get_text(object, "target", &key) || !cJSON_IsObject(list)) {
        reject(m, 1, "'%s' is missing or malformed", cJSON_IsObject(list) ? "target" : "facts");
        return CTUNE_OK;
    }
    ctune_target_from_key(key, &facts);
    cJSON_ArrayForEach(item, list) {
        if (!fact_from(item, &facts)) {
            reject(m, 1, "the fact '%.60s' is malformed or not plausible", item->string);
            return CTUNE_OK;
        }
    }
    return ctune_history_facts_add(m->ctx, m->history, key, &facts);
}

/* ---- lines ----------------------------------------------------------------------------------- */
static ctune_status import_line(importer *m, const char *line, size_t n_bytes) {
    const char *stop = NULL;
    char *copy = strndup(line, n_bytes); /* cJSON would go on into the next line */
    cJSON *object = copy != NULL ? cJSON_ParseWithOpts(copy, &stop, true) : NULL;
    const cJSON *facts = cJSON_GetObjectItemCaseSensitive(object, "facts");
    ctune_status status = CTUNE_OK;
    if (copy == NULL) {
        status = ctune_fail(m->ctx, CTUNE_ENOMEM, "out of memory importing");
    } else if (!cJSON_IsObject(object)) {
        int col = object == NULL && stop != NULL ? (int)(stop - copy) + 1 : 1;
        reject(m, col, "not a JSON object%s", "");
    } else {
        status = facts != NULL ? import_facts(m, object, facts) : import_record(m, object);
    }
    cJSON_Delete(object);
    free(copy);
    return status;
}

ctune_status ctune_history_import(ctune_ctx *ctx, ctune_history *history, const char *name,
                                  const char *json_lines, ctune_import_counts *counts) {
    importer m = {.ctx = ctx, .history = history, .name = name, .arena = ctune_arena_create(ctx)};
    ctune_status status = m.arena != NULL
                              ? ctune_history_begin(ctx, history)
                              : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory importing");
    if (status == CTUNE_OK) {
        while (*json_lines != '\0' && status == CTUNE_OK) {
            size_t n = strcspn(json_lines, "\n");
            m.line++;
            if (strspn(json_lines, " \t\r") < n) {
                status = import_line(&m, json_lines, n);
            }
            json_lines += json_lines[n] == '\n' ? n + 1 : n;
        }
        status = ctune_history_end(ctx, history, status);
    }
    ctune_te_map_clear(&m.tes);
    ctune_arena_destroy(m.arena);
    if (status == CTUNE_OK && counts != NULL) {
        *counts = m.counts;
    }
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */
/* Records that resemble each other pack to a tenth or a fiftieth; gzip's limit is 1032. */
enum { BOMB_BYTES = 64 << 20, BOMB_RATIO = 300 };

/* The whole file, decompressed when it begins as gzip does. */
static ctune_status read_text(ctune_ctx *ctx, const char *path, ctune_text *out) {
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (file == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, strerror(errno));
    }
    char buffer[65536];
    int n = 0, code = Z_OK;
    bool is_bomb = false, has_nul = false;
    while (!is_bomb && !has_nul && !out->failed && (n = gzread(file, buffer, sizeof buffer)) > 0) {
        has_nul = memchr(buffer, '\0', (size_t)n) != NULL;
        ctune_text_append_n(out, buffer, (size_t)n);
        is_bomb = out->len > BOMB_BYTES && (z_off_t)(out->len / BOMB_RATIO) > gzoffset(file);
    }
    const char *words = gzerror(file, &code);
    ctune_status status = CTUNE_OK;
    if (is_bomb) {
        status = ctune_fail(ctx, CTUNE_EUSAGE,
                            "%s: unpacks to more than %d times its size: this is no export", path,
                            BOMB_RATIO);
    } else if (has_nul) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "%s: neither a history nor JSON lines", path);
    } else if (n < 0 || (code != Z_OK && code != Z_STREAM_END)) {
        status =
            ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, code == Z_ERRNO ? strerror(errno) : words);
    } else if (out->failed) {
        status = ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path);
    }
    gzclose(file);
    return status;
}

static bool is_database(const char *path) {
    static const char magic[] = "SQLite format 3"; /* with its NUL */
    char bytes[sizeof magic];
    FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "rb");
    bool is_one = file != NULL && fread(bytes, sizeof bytes, 1, file) == 1 &&
                  memcmp(bytes, magic, sizeof magic) == 0;
    if (file != NULL) {
        fclose(file);
    }
    return is_one;
}

ctune_status ctune_history_import_file(ctune_ctx *ctx, ctune_history *history, const char *path,
                                       ctune_import_counts *counts) {
    if (is_database(path)) {
        return ctune_history_merge(ctx, history, path, counts);
    }
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = read_text(ctx, path, &text);
    if (status == CTUNE_OK) {
        status = ctune_history_import(ctx, history, path, ctune_text_get(&text), counts);
    }
    ctune_text_clear(&text);
    return status;
}
