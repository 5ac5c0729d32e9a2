/*
 * Known results: see known.h. Open addressing; the key is the 64-bit hash of the schedule text
 * alone (2^-64 per pair is small enough: a mistake costs one candidate, never a wrong result).
 */
#include "plugin/session/known.h"

#include "runtime/rng.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *schedule) {
    uint64_t hash = ctune_hash(CTUNE_HASH_INIT, schedule, strlen(schedule));
    return hash != 0 ? hash : 1;
}

static ctune_known_row *slot_of(const ctune_known *known, uint64_t hash) {
    size_t i = hash & (known->size - 1);
    while (known->row[i].hash != 0 && known->row[i].hash != hash) {
        i = (i + 1) & (known->size - 1);
    }
    return &known->row[i];
}

static bool grow(ctune_known *known) {
    ctune_known bigger = *known;
    bigger.size = known->size > 0 ? 2 * known->size : 256;
    bigger.n = 0;
    bigger.row = calloc(bigger.size, sizeof *bigger.row);
    if (bigger.row == NULL) {
        return false;
    }
    for (size_t i = 0; i < known->size; i++) {
        if (known->row[i].hash != 0) {
            *slot_of(&bigger, known->row[i].hash) = known->row[i];
            bigger.n++;
        }
    }
    free(known->row);
    *known = bigger;
    return true;
}

static void set_best(ctune_known *known, const char *schedule, double ratio) {
    if (known->best_schedule != NULL && ratio >= known->best_ratio) {
        return;
    }
    char *copy = strdup(schedule != NULL ? schedule : "");
    if (copy != NULL) {
        free(known->best_schedule);
        known->best_schedule = copy;
        known->best_ratio = ratio;
    }
}

static bool take_record(void *user, const ctune_record *record) {
    ctune_known *known = user;
    if (record->outcome == CTUNE_RUN_OK && !(record->original_ns > 0)) {
        return true;
    }
    if (2 * known->n >= known->size && !grow(known)) {
        return false; /* what is known so far is good enough */
    }
    uint64_t hash = hash_of(record->schedule != NULL ? record->schedule : "");
    ctune_known_row *row = slot_of(known, hash);
    known->n += row->hash == 0;
    *row = (ctune_known_row){.hash = hash, .outcome = record->outcome};
    if (record->outcome == CTUNE_RUN_OK) {
        row->best_ratio = record->best_ns / record->original_ns;
        row->median_ratio = record->median_ns / record->original_ns;
        set_best(known, record->schedule, row->median_ratio);
    }
    return true;
}

ctune_status ctune_known_load(ctune_ctx *ctx, ctune_history *history, uint64_t workload,
                              const char *target, ctune_known *out) {
    memset(out, 0, sizeof *out);
    return history == NULL ? CTUNE_OK
                           : ctune_history_visit(ctx, history, workload, target, take_record, out);
}

void ctune_known_clear(ctune_known *known) {
    free(known->row);
    free(known->best_schedule);
    memset(known, 0, sizeof *known);
}

const ctune_known_row *ctune_known_find(const ctune_known *known, const char *schedule) {
    if (known->size == 0) {
        return NULL;
    }
    const ctune_known_row *row = slot_of(known, hash_of(schedule));
    return row->hash != 0 ? row : NULL;
}
