/*
 * Facts about a target as text.
 *
 * One table row a fact: name, where it is, what is plausible. History, exported lines and the
 * calibration file all print and read through it, so a new fact is one row. Text rather than
 * columns: facts are added over time, and a reader skips those that it does not know.
 */
#include "search/facts/facts.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW(name, kind, member, min, max, is_of_machine)                                           \
    {name,                                                                                         \
     CTUNE_FACT_##kind,                                                                            \
     offsetof(ctune_target, member),                                                               \
     sizeof(((ctune_target *)NULL)->member),                                                       \
     min,                                                                                          \
     max,                                                                                          \
     is_of_machine}

static const ctune_fact_row rows[] = {
    ROW("compiler", TEXT, compiler, 0, 0, false),
    ROW("is_gcc", BOOL, is_gcc, 0, 1, false),
    ROW("cpu", TEXT, cpu, 0, 0, false),
    ROW("host", TEXT, host, 0, 0, true),
    ROW("isa", TEXT, isa, 0, 0, true),
    ROW("vector_bytes", INT, vector_bytes, 1, 1024, true),
    ROW("vector_regs", INT, n_vector_regs, 1, 1024, false),
    ROW("threads", INT, n_threads, 1, 65536, false),
    ROW("cores", INT, n_cores, 1, 65536, true),
    ROW("l1_bytes", INT64, cache_bytes[0], 1024, 1e9, false),
    ROW("l2_bytes", INT64, cache_bytes[1], 1024, 1e10, false),
    ROW("l3_bytes", INT64, cache_bytes[2], 1024, 1e11, false),
    ROW("measured", BOOL, is_measured, 0, 1, true),
    ROW("ghz", REAL, ghz, 0.1, 10, true),
    ROW("fma_per_cycle", REAL, rates.fma_per_cycle, 0.05, 16, true),
    ROW("fma_f64_per_cycle", REAL, rates.fma_f64_per_cycle, 0.05, 16, true),
    ROW("fma_latency", REAL, rates.fma_latency, 1, 64, true),
    ROW("loads_per_cycle", REAL, rates.loads_per_cycle, 0.05, 16, true),
    ROW("stores_per_cycle", REAL, rates.stores_per_cycle, 0.05, 16, true),
    ROW("l1_bytes_per_cycle", REAL, rates.bytes_per_cycle[0], 0.5, 4096, true),
    ROW("l2_bytes_per_cycle", REAL, rates.bytes_per_cycle[1], 0.2, 2048, true),
    ROW("l3_bytes_per_cycle", REAL, rates.bytes_per_cycle[2], 0.1, 1024, true),
    ROW("memory_bytes_per_cycle", REAL, rates.bytes_per_cycle[3], 0.05, 512, true),
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const ctune_fact_row *ctune_fact_row_get(int i) {
    return i < N_ROWS ? &rows[i] : NULL;
}

const ctune_fact_row *ctune_fact_row_find(const char *name, size_t n) {
    for (int i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */
void ctune_fact_print(const ctune_fact_row *row, const ctune_target *facts, char *out,
                      size_t size) {
    const void *field = (const char *)facts + row->offset;
    switch (row->kind) {
    case CTUNE_FACT_TEXT:
        snprintf(out, size, "%s", (const char *)field);
        break;
    case CTUNE_FACT_BOOL:
        snprintf(out, size, "%d", *(const bool *)field);
        break;
    case CTUNE_FACT_INT:
        snprintf(out, size, "%d", *(const int *)field);
        break;
    case CTUNE_FACT_INT64:
        snprintf(out, size, "%lld", (long long)*(const int64_t *)field);
        break;
    case CTUNE_FACT_REAL:
        snprintf(out, size, "%.6g", *(const double *)field);
        break;
    }
}

static bool set_number(const ctune_fact_row *row, const char *text, void *field) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(value >= row->min && value <= row->max) ||
        (row->kind != CTUNE_FACT_REAL && value != floor(value))) {
        return false;
    }
    switch (row->kind) {
    case CTUNE_FACT_BOOL:
        *(bool *)field = value != 0;
        break;
    case CTUNE_FACT_INT:
        *(int *)field = (int)value;
        break;
    case CTUNE_FACT_INT64:
        *(int64_t *)field = (int64_t)value;
        break;
    default:
        *(double *)field = value;
        break;
    }
    return true;
}

bool ctune_fact_parse(const ctune_fact_row *row, const char *text, ctune_target *out) {
    void *field = (char *)out + row->offset;
    if (row->kind != CTUNE_FACT_TEXT) {
        return set_number(row, text, field);
    }
    if (strlen(text) >= row->size || strpbrk(text, "\r\n") != NULL) {
        return false;
    }
    strcpy(field, text);
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */
void ctune_target_facts_print(const ctune_target *facts, ctune_text *out) {
    char value[CTUNE_FACT_TEXT_BYTES];
    for (int i = 0; i < N_ROWS; i++) {
        ctune_fact_print(&rows[i], facts, value, sizeof value);
        ctune_text_printf(out, "%s%s%s\n", rows[i].name, value[0] != '\0' ? " " : "", value);
    }
}

bool ctune_fact_line_next(const char **text, const ctune_fact_row **row, char *name,
                          size_t name_size, char *value, size_t value_size) {
    const char *line = *text;
    size_t n = strcspn(line, "\n");
    if (line[0] == '\0') {
        return false;
    }
    *text = line + n + (line[n] == '\n');
    n -= n > 0 && line[n - 1] == '\r';
    size_t n_name = strcspn(line, " \r\n");
    size_t skip = n_name < n ? n_name + 1 : n;
    snprintf(name, name_size, "%.*s", (int)n_name, line);
    snprintf(value, value_size, "%.*s", (int)(n - skip), line + skip);
    *row = ctune_fact_row_find(line, n_name);
    return true;
}

ctune_status ctune_target_facts_parse(ctune_ctx *ctx, const char *name, const char *text,
                                      ctune_target *out) {
    ctune_target facts = *out;
    char word[64], value[2 * CTUNE_FACT_TEXT_BYTES];
    const ctune_fact_row *row;
    for (int line = 1; ctune_fact_line_next(&text, &row, word, sizeof word, value, sizeof value);
         line++) {
        if (row != NULL && !ctune_fact_parse(row, value, &facts)) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "%s:%d: %s: '%.60s' is not good", name, line, word,
                              value);
        }
    }
    *out = facts;
    return CTUNE_OK;
}
