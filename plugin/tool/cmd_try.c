/*
 * ctune try: judges schedules that somebody else proposes.
 *
 * In: a file with one annotated nest (or --region) and lines with one schedule each (--schedules).
 * Out: JSON lines: the nest with its measured original, then for each schedule whether it is legal
 * (if not, why), what came of the run, its time and ratio; with --verify the verdict of the user's
 * own file at many sizes, too. So other search programs, scripts and people can propose schedules,
 * and ctune judges them: from a pipe each line is answered before the next is read.
 */
#include "plugin/session/verify.h"
#include "plugin/tool/tool.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BATCH = 16, MOST_BATCH = 256 };

/* One proposed schedule. */
typedef struct try_row {
    char *schedule; /* owned */
    char *id;       /* owned; what the proposer calls it, NULL = nothing */
    ctune_text unit;
    char reason[512]; /* why it is not legal, or cannot be made; "" = it can */
    bool is_legal;
    int slot; /* in the runner's batch, -1 = it does not run */
    ctune_run_result result;
} try_row;

typedef struct try_job {
    const ctune_options *options;
    ctune_session session;
    ctune_source source;
    ctune_region region; /* the wanted one, with --sizes */
    ctune_sized sized;
    ctune_bench bench;
    ctune_verifier verifier;
    int n_tried;
    int n_bad; /* not legal, or without the original's result */
} try_job;

/* ---- input ---------------------------------------------------------------------------------- */
/* A line with a schedule, or an object with one: "{"schedule": ..., "id": ...}". */
static ctune_status read_row(ctune_ctx *ctx, const char *line, int n_line, try_row *row) {
    cJSON *root = line[0] == '{' ? cJSON_Parse(line) : NULL;
    const cJSON *schedule = cJSON_GetObjectItemCaseSensitive(root, "schedule");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(root, "id");
    ctune_status status = CTUNE_OK;
    if (line[0] == '{' && !cJSON_IsString(schedule)) {
        status =
            ctune_fail(ctx, CTUNE_EUSAGE,
                       "--schedules, line %d: not an object with the string \"schedule\"", n_line);
    } else {
        row->schedule = strdup(line[0] == '{' ? schedule->valuestring : line);
        row->id = id != NULL ? cJSON_PrintUnformatted(id) : NULL;
        status = row->schedule != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    cJSON_Delete(root);
    return status;
}

/* Up to `most` rows from the file; *n = 0: its end. Empty lines and comments are passed over. */
static ctune_status read_rows(ctune_ctx *ctx, FILE *file, int *n_line, int most, try_row *rows,
                              int *n) {
    char *line = NULL;
    size_t size = 0;
    ctune_status status = CTUNE_OK;
    *n = 0;
    while (status == CTUNE_OK && *n < most && getline(&line, &size, file) >= 0) {
        ++*n_line;
        line[strcspn(line, "\n")] = '\0';
        const char *text = line + strspn(line, " \t\r");
        if (*text != '\0' && *text != '#') {
            memset(&rows[*n], 0, sizeof rows[*n]);
            ctune_text_init(&rows[*n].unit);
            status = read_row(ctx, text, *n_line, &rows[*n]);
            ++*n;
        }
    }
    free(line);
    return status;
}

static void clear_rows(try_row *rows, int n) {
    for (int i = 0; i < n; i++) {
        free(rows[i].schedule);
        cJSON_free(rows[i].id);
        ctune_text_clear(&rows[i].unit);
    }
}

/* ---- one batch ------------------------------------------------------------------------------ */
/* The candidate's text, or the reason why there is none. */
static ctune_status make_row(ctune_ctx *ctx, const try_job *j, const char *name, try_row *row) {
    ctune_nest nest;
    ctune_status status = ctune_nest_parse(ctx, j->bench.program, row->schedule, &nest);
    row->is_legal = status == CTUNE_OK;
    if (status == CTUNE_OK) {
        status = ctune_emit_candidate(ctx, &nest, &j->bench.emit, name, &row->unit);
    }
    if (status == CTUNE_EREFUSED || status == CTUNE_EUSAGE) {
        snprintf(row->reason, sizeof row->reason, "%s", ctx->error);
        status = CTUNE_OK;
    }
    return status;
}

static ctune_status run_rows(ctune_ctx *ctx, try_job *j, try_row *rows, int n) {
    const char *units[MOST_BATCH], *names[MOST_BATCH];
    char name[MOST_BATCH][32];
    ctune_run_result results[MOST_BATCH];
    int n_run = 0;
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        rows[i].slot = -1;
        snprintf(name[i], sizeof name[i], "ctune_try%d", j->n_tried + i);
        status = make_row(ctx, j, name[i], &rows[i]);
        if (status == CTUNE_OK && rows[i].reason[0] == '\0' && !j->options->no_run) {
            units[n_run] = ctune_text_get(&rows[i].unit);
            names[n_run] = name[i];
            rows[i].slot = n_run++;
        }
    }
    if (status == CTUNE_OK && n_run > 0) {
        status = ctune_runner_submit(ctx, j->bench.runner, ctune_text_get(&j->bench.prelude), units,
                                     names, n_run);
    }
    if (status == CTUNE_OK && n_run > 0) {
        status = ctune_runner_collect(ctx, j->bench.runner, 0, results, n_run);
    }
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        if (rows[i].slot >= 0) {
            rows[i].result = results[rows[i].slot];
        }
    }
    return status;
}

/* ---- output --------------------------------------------------------------------------------- */
static void put_result(cJSON *root, const try_row *row) {
    const ctune_run_result *r = &row->result;
    cJSON_AddStringToObject(root, "outcome", ctune_run_outcome_name(r->outcome));
    if (r->outcome != CTUNE_RUN_OK) {
        cJSON_AddStringToObject(root, "reason", r->detail);
        return;
    }
    cJSON_AddNumberToObject(root, "best_ns", r->best_ns);
    cJSON_AddNumberToObject(root, "median_ns", r->median_ns);
    cJSON_AddNumberToObject(root, "original_ns", r->original_ns);
    cJSON_AddNumberToObject(root, "ratio", r->original_ns / r->median_ns);
}

static ctune_status put_verdict(ctune_ctx *ctx, try_job *j, const try_row *row, cJSON *root,
                                bool *is_good) {
    ctune_verdict verdict = {0};
    ctune_status status = ctune_verify_run(ctx, &j->verifier, row->schedule, &verdict);
    if (status == CTUNE_OK) {
        cJSON_AddStringToObject(root, "results", ctune_agreement_word(verdict.agreement));
        cJSON_AddStringToObject(root, "against", verdict.against);
        cJSON_AddStringToObject(root, "at", verdict.sizes);
        if (verdict.detail[0] != '\0') {
            cJSON_AddStringToObject(root, "detail", verdict.detail);
        }
        *is_good = verdict.agreement != CTUNE_AGREES_WRONG;
    } else if (status == CTUNE_EREFUSED) {
        cJSON_AddStringToObject(root, "results", "not verified");
        cJSON_AddStringToObject(root, "detail", ctx->error);
        status = CTUNE_OK;
    }
    return status;
}

static ctune_status print_row(ctune_ctx *ctx, try_job *j, const try_row *row) {
    cJSON *root = cJSON_CreateObject();
    ctune_status status = CTUNE_OK;
    bool is_good = row->reason[0] == '\0';
    if (row->id != NULL) {
        cJSON_AddRawToObject(root, "id", row->id);
    }
    cJSON_AddNumberToObject(root, "n", j->n_tried++);
    cJSON_AddStringToObject(root, "schedule", row->schedule);
    cJSON_AddBoolToObject(root, "legal", row->is_legal);
    if (row->reason[0] != '\0') {
        cJSON_AddStringToObject(root, "outcome", row->is_legal ? "not-emitted" : "illegal");
        cJSON_AddStringToObject(root, "reason", row->reason);
    } else if (row->slot >= 0) {
        put_result(root, row);
        is_good = row->result.outcome == CTUNE_RUN_OK;
        if (is_good && j->options->verify) {
            status = put_verdict(ctx, j, row, root, &is_good);
        }
    }
    j->n_bad += !is_good;
    ctune_json_print(root, stdout);
    return status;
}

static void print_header(ctune_ctx *ctx, const try_job *j) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "file", j->source.file);
    cJSON_AddNumberToObject(root, "line", j->region.line);
    cJSON_AddStringToObject(root, "region", j->region.name);
    cJSON_AddStringToObject(root, "target", j->source.key);
    if (!j->options->no_run) {
        double terms, flops = ctune_flops_count(ctx, j->bench.region, &terms);
        cJSON_AddNumberToObject(root, "original_ns", j->bench.original_ns);
        cJSON_AddNumberToObject(root, "flops", flops);
    }
    ctune_json_print(root, stdout);
}

/* ---- the command ---------------------------------------------------------------------------- */
/* The one region to try: the only one that is wanted and handled. */
static ctune_status pick_region(ctune_ctx *ctx, try_job *j) {
    const ctune_region *found = NULL;
    for (int i = 0; i < j->source.unit->n_regions; i++) {
        const ctune_region *region = j->source.unit->regions[i].region;
        if (region != NULL && ctune_region_is_wanted(j->options, region)) {
            if (found != NULL) {
                return ctune_fail(ctx, CTUNE_EUSAGE,
                                  "%s has several tunable nests: choose one with --region %s or %s",
                                  j->source.file, found->name, region->name);
            }
            found = region;
        }
    }
    if (found == NULL) {
        return ctune_fail(ctx, CTUNE_EREFUSED, "%s: no tunable nest%s%s", j->source.file,
                          j->options->region != NULL ? " named " : "",
                          j->options->region != NULL ? j->options->region : "");
    }
    j->region = *found;
    return ctune_region_set_sizes(ctx, j->options->sizes, &j->region);
}

static ctune_status open_bench(ctune_ctx *ctx, try_job *j) {
    j->session = ctune_session_make(j->options);
    ctune_status status = ctune_sized_get(ctx, &j->region, 0, &j->sized);
    if (status == CTUNE_OK && j->options->no_run) {
        j->bench.emit = j->source.emit;
        return ctune_program_create(ctx, &j->sized.region, &j->bench.program);
    }
    if (status == CTUNE_OK) {
        status = ctune_bench_create(ctx, &j->session, &j->source, &j->sized, &j->bench);
    }
    if (status == CTUNE_OK && j->options->verify) {
        status = ctune_verifier_open(ctx, &j->bench, &j->verifier);
    }
    return status;
}

static ctune_status try_all(ctune_ctx *ctx, try_job *j, FILE *file) {
    int most = j->options->batch > 0 ? (int)j->options->batch : file == stdin ? 1 : FILE_BATCH;
    most = most < MOST_BATCH ? most : MOST_BATCH;
    try_row rows[MOST_BATCH];
    ctune_status status = CTUNE_OK;
    int n_line = 0, n = 1;
    while (status == CTUNE_OK && n > 0 && ctune_signal_get() == 0) {
        status = read_rows(ctx, file, &n_line, most, rows, &n);
        if (status == CTUNE_OK && n > 0) {
            status = run_rows(ctx, j, rows, n);
        }
        for (int i = 0; i < n && status == CTUNE_OK; i++) {
            status = print_row(ctx, j, &rows[i]);
        }
        clear_rows(rows, n);
    }
    return status;
}

static ctune_status try_file(ctune_ctx *ctx, try_job *j, FILE *file) {
    ctune_status status = ctune_source_open(ctx, j->options, j->options->words[0], &j->source);
    if (status == CTUNE_OK) {
        status = pick_region(ctx, j);
    }
    if (status == CTUNE_OK) {
        status = open_bench(ctx, j);
    }
    if (status == CTUNE_OK) {
        print_header(ctx, j);
        status = try_all(ctx, j, file);
    }
    ctune_verifier_close(&j->verifier);
    ctune_bench_destroy(&j->bench);
    ctune_source_close(&j->source);
    return status;
}

int ctune_cmd_try(ctune_ctx *ctx, const ctune_options *options) {
    if (options->n_words != 1 || options->schedules == NULL) {
        ctune_fail(ctx, CTUNE_EUSAGE,
                   "one file and --schedules FILE|- are needed; try `ctune try "
                   "--help`");
        return ctune_report(ctx, CTUNE_EUSAGE);
    }
    bool is_pipe = strcmp(options->schedules, "-") == 0;
    FILE *file = is_pipe ? stdin : fopen(options->schedules, "r");
    if (file == NULL) {
        return ctune_report(ctx, ctune_fail(ctx, CTUNE_EENV, "cannot open %s: %s",
                                            options->schedules, strerror(errno)));
    }
    try_job job = {.options = options};
    ctune_status status = try_file(ctx, &job, file);
    if (!is_pipe) {
        fclose(file);
    }
    return ctune_exit_worse(ctune_report(ctx, status),
                            job.n_bad > 0 ? CTUNE_EXIT_REFUSED : CTUNE_EXIT_OK);
}
