/*
 * What a search found, for people and as JSON.
 */
#include "plugin/session/verify.h"
#include "plugin/tool/tool.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_time_line(const char *label, double ns, double flops, const char *more,
                            FILE *file) {
    char time[32];
    ctune_time_print(ns, time, sizeof time);
    fprintf(file, "  %-9s %10s", label, time);
    if (flops > 0 && ns > 0) {
        fprintf(file, "  %8.1f GFLOP/s", flops / ns);
    }
    fprintf(file, "%s\n", more);
}

/* Where the time went, small parts left out. */
static void print_parts(const ctune_outcome *o, FILE *file) {
    const char *comma = "";
    fprintf(file, "  %-9s ", "time");
    for (int i = 0; i < CTUNE_N_PARTS; i++) {
        if (o->part_s[i] >= 0.05 && o->part_s[i] >= 0.01 * o->seconds) {
            fprintf(file, "%s%s %.1f s", comma, ctune_part_word((ctune_part)i), o->part_s[i]);
            comma = ", ";
        }
    }
    fprintf(file, "%s\n", comma[0] == '\0' ? "less than 0.1 s each" : "");
}

void ctune_outcome_print(const ctune_outcome *o, const char *lock_path, FILE *file) {
    fprintf(file, "%s:%d: %s%s%s%s\n", o->file, o->line, o->region, o->sizes[0] != '\0' ? " [" : "",
            o->sizes, o->sizes[0] != '\0' ? "]" : "");
    print_time_line("original", o->original_ns, o->flops, "", file);
    if (o->is_original) {
        fprintf(file, "  nothing faster than the original was found; it stays\n");
    } else {
        char more[160];
        snprintf(more, sizeof more, "   %.2fx   %s", o->original_ns / o->tuned_ns,
                 ctune_agreement_words((ctune_agreement)o->agreement));
        print_time_line("tuned", o->tuned_ns, o->flops, more, file);
        if (o->evidence[0] != '\0') {
            fprintf(file, "  %-9s %s\n", "products", o->evidence);
        }
        fprintf(file, "  %-9s %s\n", "verified", o->verified);
    }
    if (o->measured[0] != '\0') {
        fprintf(file, "  %-9s at %s (%s)%s\n", "measured", o->measured, o->scaled_by,
                o->is_whole ? ", once as asked for: these times" : "; times are extrapolated");
    }
    char slow[32] = "";
    if (o->n_slow > 0) {
        snprintf(slow, sizeof slow, "%d too slow, ", o->n_slow);
    }
    fprintf(file, "  %-9s %d (%d failed, %s%d from the history) in %.0f s", "trials", o->n_trials,
            o->n_failed - o->n_slow, slow, o->n_known, o->seconds);
    fprintf(file, "%s\n", strcmp(o->end, "no-gain") == 0 ? ", no gain expected" : "");
    print_parts(o, file);
    fprintf(file, "  %-9s %s\n", "lock", lock_path);
}

void ctune_json_print(cJSON *root, FILE *file) {
    char *text = cJSON_PrintUnformatted(root);
    if (text != NULL) {
        fprintf(file, "%s\n", text);
        fflush(file);
    }
    cJSON_free(text);
    cJSON_Delete(root);
}

void ctune_outcome_print_json(const ctune_outcome *o, const ctune_source *source, FILE *file) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "file", o->file);
    cJSON_AddNumberToObject(root, "line", o->line);
    cJSON_AddStringToObject(root, "region", o->region);
    cJSON_AddStringToObject(root, "status",
                            o->is_predicted  ? "predicted"
                            : o->is_original ? "original"
                                             : "tuned");
    cJSON_AddStringToObject(root, "sizes", o->sizes);
    cJSON_AddNumberToObject(root, "original_ns", o->original_ns);
    cJSON_AddNumberToObject(root, "tuned_ns", o->tuned_ns);
    cJSON_AddNumberToObject(root, "speedup", o->tuned_ns > 0 ? o->original_ns / o->tuned_ns : 0);
    if (o->flops > 0) {
        cJSON_AddNumberToObject(root, "flops", o->flops);
        cJSON_AddNumberToObject(root, "gflops", o->flops / o->tuned_ns);
    }
    if (!o->is_original && !o->is_predicted) {
        cJSON_AddStringToObject(root, "results",
                                ctune_agreement_word((ctune_agreement)o->agreement));
        cJSON_AddStringToObject(root, "verified", o->verified);
    }
    cJSON_AddNumberToObject(root, "trials", o->n_trials);
    cJSON_AddNumberToObject(root, "failed", o->n_failed);
    cJSON_AddNumberToObject(root, "slow", o->n_slow);
    cJSON_AddNumberToObject(root, "known", o->n_known);
    cJSON_AddNumberToObject(root, "seconds", o->seconds);
    if (o->measured[0] != '\0') {
        cJSON_AddStringToObject(root, "measured", o->measured);
        cJSON_AddBoolToObject(root, "extrapolated", !o->is_whole);
    }
    if (o->budget_s > 0) {
        cJSON_AddNumberToObject(root, "budget", o->budget_s);
    }
    cJSON *parts = cJSON_AddObjectToObject(root, "time");
    for (int i = 0; i < CTUNE_N_PARTS; i++) {
        cJSON_AddNumberToObject(parts, ctune_part_word((ctune_part)i), o->part_s[i]);
    }
    cJSON_AddNumberToObject(root, "model_share", o->model_share);
    if (isfinite(o->model_accuracy)) {
        cJSON_AddNumberToObject(root, "model_accuracy", o->model_accuracy);
    }
    if (isfinite(o->estimate_accuracy)) {
        cJSON_AddNumberToObject(root, "estimate_accuracy", o->estimate_accuracy);
    }
    if (o->incumbent_ns > 0) {
        cJSON_AddNumberToObject(root, "incumbent_ns", o->incumbent_ns);
    }
    if (o->end != NULL) {
        cJSON_AddStringToObject(root, "end", o->end);
    }
    cJSON_AddStringToObject(root, "schedule", o->schedule != NULL ? o->schedule : "");
    cJSON_AddStringToObject(root, "lock", source->lock_path);
    cJSON_AddStringToObject(root, "target", source->key);
    ctune_json_print(root, file);
}
