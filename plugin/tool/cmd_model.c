/*
 * ctune model: train, eval and info of learned cost models.
 *
 * In: histories (or their exports). train: rows of all records with a dump, one task per region,
 * sizes and target; a forest goes to -o. eval: how well a model ranks the tasks of histories;
 * with --leave-one-out it trains one model per kernel on all other kernels, and ranks the tasks of
 * the one that was left out, so that no size, type or target of a kernel is on both sides. replay:
 * how many trials searches over the measured candidates need (replay.h).
 */
#include "costmodel/gbt/gbt.h"
#include "costmodel/metrics.h"
#include "plugin/session/replay.h"
#include "plugin/tool/records.h"
#include "plugin/tool/tool.h"
#include "search/learn/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for ----------------------------------------------------------------------- */
/* "estimate,knob" or, with a leading '-', all but those. */
static ctune_status get_groups(ctune_ctx *ctx, const char *list, unsigned *out) {
    *out = CTUNE_FEATURE_ALL;
    if (list == NULL) {
        return CTUNE_OK;
    }
    bool is_without = list[0] == '-';
    unsigned groups = 0;
    for (const char *p = list + is_without; *p != '\0';) {
        size_t n = strcspn(p, ",");
        int found = -1;
        for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
            const char *name = ctune_feature_group_name((ctune_feature_group)g);
            found = strlen(name) == n && memcmp(name, p, n) == 0 ? g : found;
        }
        if (found < 0) {
            return ctune_fail(ctx, CTUNE_EUSAGE, "--features: no group '%.*s'", (int)n, p);
        }
        groups |= 1u << found;
        p += n + (p[n] == ',');
    }
    *out = is_without ? CTUNE_FEATURE_ALL & ~groups : groups;
    return *out != 0 ? CTUNE_OK : ctune_fail(ctx, CTUNE_EUSAGE, "--features: nothing is left");
}

static ctune_status get_gbt_options(ctune_ctx *ctx, const ctune_options *options,
                                    ctune_gbt_options *out) {
    ctune_gbt_options_default(out);
    out->n_trees = 300; /* trained once, for all tasks */
    out->max_depth = 6;
    out->eta = 0.08;
    out->subsample = 0.8;
    out->colsample = 0.5;
    out->objective = CTUNE_GBT_RANK;
    out->seed = (uint64_t)options->seed;
    out->n_trees = options->trees > 0 ? (int)options->trees : out->n_trees;
    out->max_depth = options->depth > 0 ? (int)options->depth : out->max_depth;
    if (options->objective == NULL) {
        return CTUNE_OK;
    }
#define X(id, name, help)                                                                          \
    if (strcmp(options->objective, name) == 0) {                                                   \
        out->objective = CTUNE_GBT_##id;                                                           \
        return CTUNE_OK;                                                                           \
    }
    CTUNE_GBT_OBJECTIVE_TABLE(X)
#undef X
    return ctune_fail(ctx, CTUNE_EUSAGE, "--objective: '%s' is not good; rank or regression",
                      options->objective);
}

/* ---- data ------------------------------------------------------------------------------------ */
typedef struct job {
    const ctune_options *options;
    unsigned groups;
    ctune_gbt_options gbt;
    ctune_dataset data;
    ctune_learn_counts counts;
    bool *select;  /* [n_tasks] */
    float *scores; /* [n_rows] */
} job;

static ctune_status load_data(ctune_ctx *ctx, job *j, int n_files, const char *const *files) {
    ctune_learner *learner = NULL;
    ctune_status status = ctune_learner_create(ctx, &learner);
    for (int i = 0; i < n_files && status == CTUNE_OK; i++) {
        ctune_history *history = NULL;
        status = ctune_records_open(ctx, files[i], &history);
        if (status == CTUNE_OK) {
            status = ctune_learner_add(ctx, learner, history);
        }
        if (history != NULL) {
            ctune_history_close(history);
        }
    }
    if (status == CTUNE_OK) {
        status = ctune_learner_dataset(ctx, learner, j->groups, &j->data, &j->counts);
    }
    ctune_learner_destroy(learner);
    if (status == CTUNE_OK && j->data.n_rows == 0) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "no records to learn from");
    }
    if (status == CTUNE_OK) {
        j->select = calloc((size_t)j->data.n_tasks + 1, sizeof *j->select);
        j->scores = calloc(j->data.n_rows + 1, sizeof *j->scores);
        status = j->select != NULL && j->scores != NULL
                     ? CTUNE_OK
                     : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return status;
}

static void print_counts(const job *j, FILE *file) {
    const ctune_learn_counts *c = &j->counts;
    fprintf(file, "%lld records: %lld rows (%lld failed) in %d tasks", (long long)c->n_records,
            (long long)c->n_rows, (long long)c->n_failed, j->data.n_tasks);
    if (c->n_replaced + c->n_wrong + c->n_no_te + c->n_illegal > 0) {
        fprintf(file,
                "; not used: %lld measured twice, %lld with other results, %lld without a readable "
                "dump, %lld whose schedule does not apply",
                (long long)c->n_replaced, (long long)c->n_wrong, (long long)c->n_no_te,
                (long long)c->n_illegal);
    }
    fputc('\n', file);
}

/* Tasks of the kernels that --without names are left out. "gemm" also names "kernel_gemm". */
static bool is_without(const job *j, const char *kernel) {
    static const char prefix[] = "kernel_";
    const char *list = j->options->without;
    bool has_prefix = strncmp(kernel, prefix, sizeof prefix - 1) == 0;
    return ctune_list_has(list, kernel, strlen(kernel)) ||
           (has_prefix &&
            ctune_list_has(list, kernel + sizeof prefix - 1, strlen(kernel + sizeof prefix - 1)));
}

/* ---- train ----------------------------------------------------------------------------------- */
static ctune_status train_selected(ctune_ctx *ctx, const job *j, ctune_forest **out) {
    ctune_status status = ctune_gbt_train(ctx, &j->data, j->select, NULL, &j->gbt, out);
    if (status == CTUNE_OK) {
        (*out)->feature_version = CTUNE_FEATURE_VERSION;
        (*out)->feature_groups = j->groups;
    }
    return status;
}

static void put_targets(const job *j, ctune_text *out) {
    for (int i = 0; i < j->data.n_tasks; i++) {
        const char *key = strstr(j->data.task[i].name, " | ");
        bool is_new = key != NULL;
        for (int k = 0; k < i && is_new; k++) {
            const char *other = strstr(j->data.task[k].name, " | ");
            is_new = other == NULL || strcmp(other, key) != 0;
        }
        if (is_new) {
            ctune_text_printf(out, "target %s\n", key + 3);
        }
    }
}

static void put_kernels(const job *j, ctune_text *out) {
    ctune_text_append(out, "kernels");
    for (int i = 0; i < j->data.n_tasks; i++) {
        bool is_new = j->select[i];
        for (int k = 0; k < i && is_new; k++) {
            is_new = !j->select[k] || strcmp(j->data.task[k].kernel, j->data.task[i].kernel) != 0;
        }
        if (is_new) {
            ctune_text_printf(out, " %s", j->data.task[i].kernel);
        }
    }
    ctune_text_append(out, "\n");
}

static ctune_status set_summary(ctune_ctx *ctx, const job *j, const ctune_metrics *m,
                                ctune_forest *forest) {
    ctune_text text;
    ctune_text_init(&text);
    int n_tasks = 0;
    size_t n_rows = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        n_tasks += j->select[i];
        n_rows += j->select[i] ? j->data.task[i].n_rows : 0;
    }
    ctune_text_printf(&text, "tasks %d\nrows %zu\nseed %llu\n", n_tasks, n_rows,
                      (unsigned long long)j->gbt.seed);
    ctune_text_printf(&text, "training-top1 %.4f\ntraining-top5 %.4f\ntraining-pairs %.4f\n",
                      m->top1, m->top5, m->pair_accuracy);
    put_targets(j, &text);
    put_kernels(j, &text);
    free(forest->summary);
    forest->summary = text.failed ? NULL : strdup(ctune_text_get(&text));
    ctune_text_clear(&text);
    return forest->summary != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

static void print_metrics(const char *label, const ctune_metrics *m) {
    printf("%-24s top-1 %.3f (geo. mean %.3f)  top-5 %.3f (%.3f)  pairs %.3f  recall@64 %.3f  "
           "(%d tasks)\n",
           label, m->top1, m->geo1, m->top5, m->geo5, m->pair_accuracy, m->recall64, m->n_tasks);
}

static ctune_status train(ctune_ctx *ctx, job *j) {
    ctune_forest *forest = NULL;
    ctune_metrics metrics;
    ctune_text text;
    ctune_text_init(&text);
    int n = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        j->select[i] = !is_without(j, j->data.task[i].kernel);
        n += j->select[i];
    }
    ctune_status status =
        n > 0 ? CTUNE_OK : ctune_fail(ctx, CTUNE_EUSAGE, "--without leaves no task");
    if (status == CTUNE_OK) {
        status = train_selected(ctx, j, &forest);
    }
    if (status == CTUNE_OK) {
        ctune_forest_predict(forest, j->data.features, j->data.n_rows, j->scores);
        status = ctune_metrics_get(ctx, &j->data, j->scores, j->select, &metrics);
    }
    if (status == CTUNE_OK) {
        status = set_summary(ctx, j, &metrics, forest);
    }
    if (status == CTUNE_OK) {
        ctune_forest_print(forest, &text);
        status = text.failed
                     ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                     : ctune_file_write(ctx, j->options->output, ctune_text_get(&text), text.len);
    }
    if (status == CTUNE_OK) {
        print_counts(j, stdout);
        print_metrics("training", &metrics);
        printf("%s: %d trees, %d nodes\n", j->options->output, forest->n_trees, forest->n_nodes);
    }
    if (forest != NULL) {
        ctune_forest_destroy(forest);
    }
    ctune_text_clear(&text);
    return status;
}

/* ---- eval ------------------------------------------------------------------------------------ */
static bool is_first_of_kernel(const job *j, int task) {
    for (int i = 0; i < task; i++) {
        if (strcmp(j->data.task[i].kernel, j->data.task[task].kernel) == 0) {
            return false;
        }
    }
    return true;
}

/* Kernels in order of appearance: 0, 1, 2, ... */
static int kernel_of(const job *j, int task) {
    int n = 0;
    for (int i = 0; i < task; i++) {
        if (strcmp(j->data.task[i].kernel, j->data.task[task].kernel) == 0) {
            return kernel_of(j, i);
        }
        n += is_first_of_kernel(j, i);
    }
    return n;
}

/* Scores of the tasks of one fold by a model of all others. */
static ctune_status score_left_out(ctune_ctx *ctx, job *j, int fold, int n_folds) {
    ctune_forest *forest = NULL;
    int n = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        j->select[i] = kernel_of(j, i) % n_folds != fold;
        n += j->select[i];
    }
    if (n == 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "leaving kernels out needs more than one");
    }
    ctune_status status = train_selected(ctx, j, &forest);
    for (int i = 0; i < j->data.n_tasks && status == CTUNE_OK; i++) {
        const ctune_dataset_task *t = &j->data.task[i];
        if (!j->select[i]) {
            ctune_forest_predict(forest, j->data.features + t->first * (size_t)j->data.n_features,
                                 t->n_rows, j->scores + t->first);
        }
    }
    if (forest != NULL) {
        ctune_forest_destroy(forest);
    }
    return status;
}

static ctune_status print_by_kernel(ctune_ctx *ctx, job *j) {
    ctune_status status = CTUNE_OK;
    ctune_metrics m;
    for (int k = 0; k < j->data.n_tasks && status == CTUNE_OK; k++) {
        if (!is_first_of_kernel(j, k)) {
            continue;
        }
        for (int i = 0; i < j->data.n_tasks; i++) {
            j->select[i] = strcmp(j->data.task[i].kernel, j->data.task[k].kernel) == 0;
        }
        status = ctune_metrics_get(ctx, &j->data, j->scores, j->select, &m);
        if (status == CTUNE_OK && m.n_tasks > 0) {
            print_metrics(j->data.task[k].kernel, &m);
        }
    }
    if (status == CTUNE_OK) {
        status = ctune_metrics_get(ctx, &j->data, j->scores, NULL, &m);
    }
    if (status == CTUNE_OK) {
        print_metrics("all", &m);
    }
    return status;
}

static ctune_status eval_left_out(ctune_ctx *ctx, job *j) {
    int n_kernels = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        n_kernels += is_first_of_kernel(j, i);
    }
    int n_folds =
        j->options->folds > 0 && j->options->folds < n_kernels ? (int)j->options->folds : n_kernels;
    ctune_status status = CTUNE_OK;
    for (int f = 0; f < n_folds && status == CTUNE_OK && ctune_signal_get() == 0; f++) {
        status = score_left_out(ctx, j, f, n_folds);
    }
    return status;
}

static ctune_status find_estimate(ctune_ctx *ctx, const job *j, int *column) {
    for (int c = 0; c < j->data.n_features; c++) {
        if (strcmp(ctune_feature_name(j->groups, c), "estimate.total") == 0) {
            *column = c;
            return CTUNE_OK;
        }
    }
    return ctune_fail(ctx, CTUNE_EUSAGE, "the estimate is not among the features");
}

/* The analytic estimate as a model: what learning has to beat. */
static ctune_status eval_estimate(ctune_ctx *ctx, job *j) {
    int column = 0;
    ctune_status status = find_estimate(ctx, j, &column);
    for (size_t i = 0; i < j->data.n_rows && status == CTUNE_OK; i++) {
        j->scores[i] = -j->data.features[i * (size_t)j->data.n_features + (size_t)column];
    }
    return status;
}

static ctune_status eval(ctune_ctx *ctx, job *j, const ctune_forest *forest) {
    ctune_status status = CTUNE_OK;
    print_counts(j, stdout);
    if (forest != NULL) {
        ctune_forest_predict(forest, j->data.features, j->data.n_rows, j->scores);
    } else if (j->options->leave_one_out || j->options->folds > 0) {
        status = eval_left_out(ctx, j);
    } else {
        status = eval_estimate(ctx, j);
    }
    return status == CTUNE_OK ? print_by_kernel(ctx, j) : status;
}

/* ---- replay ---------------------------------------------------------------------------------- */
enum { REPLAY_SEEDS = 3, REPLAY_BATCH = 8, REPLAY_MIN_ROWS = 64 };

static int by_int(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* One task, all strategies and seeds; trials [CTUNE_N_REPLAYS] sums over seeds, curves to file. */
static ctune_status replay_task(ctune_ctx *ctx, job *j, ctune_replay *r, FILE *file, int *trials) {
    size_t n = j->data.task[r->task].n_rows;
    float *curve = calloc(n + 1, sizeof *curve);
    ctune_status status = curve != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    for (int s = 0; s < CTUNE_N_REPLAYS && status == CTUNE_OK; s++) {
        for (int seed = 0; seed < REPLAY_SEEDS && status == CTUNE_OK; seed++) {
            r->strategy = (ctune_replay_strategy)s;
            r->seed = j->gbt.seed + (uint64_t)seed;
            status = ctune_replay_run(ctx, r, curve);
            trials[s * REPLAY_SEEDS + seed] = ctune_replay_trials(curve, n, 0.95);
            for (size_t i = 0; i < n && file != NULL && status == CTUNE_OK; i++) {
                fprintf(file, "%s\t%s\t%d\t%zu\t%.4f\n", j->data.task[r->task].name,
                        ctune_replay_name(r->strategy), seed, i + 1, (double)curve[i]);
            }
        }
    }
    free(curve);
    return status;
}

static ctune_status train_without(ctune_ctx *ctx, job *j, const char *kernel, ctune_forest **out) {
    for (int i = 0; i < j->data.n_tasks; i++) {
        j->select[i] = strcmp(j->data.task[i].kernel, kernel) != 0;
    }
    return train_selected(ctx, j, out);
}

static void print_replays(int n, const int *trials) {
    enum { PER_TASK = CTUNE_N_REPLAYS * REPLAY_SEEDS };
    int *sorted = calloc((size_t)n * REPLAY_SEEDS + 1, sizeof *sorted);
    for (int s = 0; s < CTUNE_N_REPLAYS && sorted != NULL; s++) {
        int k = 0;
        double sum = 0;
        for (int i = 0; i < n; i++) {
            for (int seed = 0; seed < REPLAY_SEEDS; seed++) {
                sorted[k] = trials[i * PER_TASK + s * REPLAY_SEEDS + seed];
                sum += log(sorted[k++]);
            }
        }
        qsort(sorted, (size_t)k, sizeof *sorted, by_int);
        printf("%-14s trials to 95 %%: median %d, geometric mean %.1f (%d tasks x %d seeds)\n",
               ctune_replay_name((ctune_replay_strategy)s), sorted[k / 2], exp(sum / k), n,
               REPLAY_SEEDS);
    }
    free(sorted);
}

/* Every task with enough rows, at most --samples of them, spread over the data set. */
static ctune_status replay(ctune_ctx *ctx, job *j) {
    ctune_gbt_options local;
    ctune_gbt_options_default(&local);
    ctune_forest *global = NULL;
    const char *kernel = NULL; /* that global leaves out */
    FILE *file = j->options->output != NULL ? fopen(j->options->output, "w") : NULL;
    int *trials =
        calloc((size_t)j->data.n_tasks * CTUNE_N_REPLAYS * REPLAY_SEEDS + 1, sizeof *trials);
    ctune_replay r = {.data = &j->data, .gbt = &local, .batch = REPLAY_BATCH, .epsilon = 0.05};
    ctune_status status = find_estimate(ctx, j, &r.estimate_column);
    int n = 0, n_good = 0, wanted = j->options->samples > 0 ? (int)j->options->samples : 32;
    for (int i = 0; i < j->data.n_tasks; i++) {
        n_good += j->data.task[i].n_rows >= REPLAY_MIN_ROWS && isfinite(j->data.task[i].best_ns);
    }
    int stride = n_good > wanted ? n_good / wanted : 1, ordinal = 0;
    for (int i = 0; i < j->data.n_tasks && status == CTUNE_OK && trials != NULL && n < wanted;
         i++) {
        const ctune_dataset_task *t = &j->data.task[i];
        if (t->n_rows < REPLAY_MIN_ROWS || !isfinite(t->best_ns) || ordinal++ % stride != 0) {
            continue;
        }
        if (kernel == NULL || strcmp(kernel, t->kernel) != 0) {
            if (global != NULL) {
                ctune_forest_destroy(global);
                global = NULL;
            }
            status = train_without(ctx, j, kernel = t->kernel, &global);
        }
        r.task = i;
        r.global = global;
        if (status == CTUNE_OK) {
            status = replay_task(ctx, j, &r, file, trials + n++ * CTUNE_N_REPLAYS * REPLAY_SEEDS);
        }
    }
    if (status == CTUNE_OK && n > 0) {
        print_replays(n, trials);
    } else if (status == CTUNE_OK) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "no task has %d records or more", REPLAY_MIN_ROWS);
    }
    if (file != NULL && fclose(file) != 0 && status == CTUNE_OK) {
        status = ctune_fail(ctx, CTUNE_EENV, "cannot write %s", j->options->output);
    }
    if (global != NULL) {
        ctune_forest_destroy(global);
    }
    free(trials);
    return status;
}

/* ---- info ------------------------------------------------------------------------------------ */
static void print_info(const char *path, const ctune_forest *f) {
    printf("%s: %s, %d trees, %d nodes, features of version %d (this ctune: %d), %d columns:", path,
           f->objective, f->n_trees, f->n_nodes, f->feature_version, CTUNE_FEATURE_VERSION,
           f->n_features);
    for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
        if (f->feature_groups & (1u << g)) {
            printf(" %s", ctune_feature_group_name((ctune_feature_group)g));
        }
    }
    const char *summary = f->summary != NULL ? f->summary : "";
    size_t n = strlen(summary);
    printf("\n%s%s", summary, n > 0 && summary[n - 1] != '\n' ? "\n" : "");
}

/* Columns by how many splits use them. */
static ctune_status print_columns(ctune_ctx *ctx, const ctune_forest *f) {
    int *count = calloc((size_t)f->n_features + 1, sizeof *count);
    if (count == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    for (int i = 0; i < f->n_nodes; i++) {
        if (f->node[i].left >= 0) {
            count[f->node[i].feature]++;
        }
    }
    for (int shown = 0; shown < 16; shown++) {
        int best = 0;
        for (int c = 1; c < f->n_features; c++) {
            best = count[c] > count[best] ? c : best;
        }
        if (count[best] == 0) {
            break;
        }
        printf("splits %-6d %s\n", count[best], ctune_feature_name(f->feature_groups, best));
        count[best] = 0;
    }
    free(count);
    return CTUNE_OK;
}

static ctune_status info(ctune_ctx *ctx, const char *path) {
    ctune_forest *forest = NULL;
    ctune_status status = ctune_forest_read(ctx, path, &forest);
    if (status == CTUNE_OK) {
        print_info(path, forest);
        if (forest->feature_version == CTUNE_FEATURE_VERSION &&
            forest->n_features == ctune_feature_count(forest->feature_groups)) {
            status = print_columns(ctx, forest);
        }
        ctune_forest_destroy(forest);
    }
    return status;
}

/* ---- command --------------------------------------------------------------------------------- */
static ctune_status with_data(ctune_ctx *ctx, const ctune_options *options, const char *action,
                              int n_files, const char *const *files, ctune_forest *forest) {
    job j = {.options = options};
    ctune_status status = get_groups(ctx, options->features, &j.groups);
    if (forest != NULL) {
        j.groups = forest->feature_groups;
    }
    if (status == CTUNE_OK) {
        status = get_gbt_options(ctx, options, &j.gbt);
    }
    if (status == CTUNE_OK) {
        status = load_data(ctx, &j, n_files, files);
    }
    if (status == CTUNE_OK) {
        status = strcmp(action, "train") == 0    ? train(ctx, &j)
                 : strcmp(action, "replay") == 0 ? replay(ctx, &j)
                                                 : eval(ctx, &j, forest);
    }
    ctune_dataset_clear(&j.data);
    free(j.select);
    free(j.scores);
    return status;
}

int ctune_cmd_model(ctune_ctx *ctx, const ctune_options *options) {
    const char *action = options->n_words > 0 ? options->words[0] : "";
    const char *const *files = options->words + 1;
    int n_files = options->n_words - 1;
    ctune_forest *forest = NULL;
    ctune_status status = CTUNE_EUSAGE;
    if (strcmp(action, "info") == 0 && n_files == 1) {
        status = info(ctx, files[0]);
    } else if (strcmp(action, "train") == 0 && n_files > 0 && options->output != NULL) {
        status = with_data(ctx, options, action, n_files, files, NULL);
    } else if (strcmp(action, "replay") == 0 && n_files > 0) {
        status = with_data(ctx, options, action, n_files, files, NULL);
    } else if (strcmp(action, "eval") == 0 && n_files > 0) {
        status = CTUNE_OK;
        if (options->model != NULL) {
            status = ctune_forest_read(ctx, options->model, &forest);
        }
        if (status == CTUNE_OK && forest != NULL) {
            status = ctune_forest_check(ctx, forest, options->model, CTUNE_FEATURE_VERSION,
                                        ctune_feature_count(forest->feature_groups));
        }
        if (status == CTUNE_OK) {
            status = with_data(ctx, options, action, n_files, files, forest);
        }
    } else {
        ctune_fail(ctx, CTUNE_EUSAGE,
                   "train -o MODEL HISTORY..., eval [--model MODEL] HISTORY..., replay HISTORY..., "
                   "or info MODEL");
    }
    if (forest != NULL) {
        ctune_forest_destroy(forest);
    }
    return ctune_report(ctx, status);
}
