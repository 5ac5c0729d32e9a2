/*
 * ctune model: train, eval and info of learned cost models.
 *
 * In: histories (or their exports). train: rows of all records with a dump, one task per region,
 * sizes and target; a model of --kind goes to -o. eval: how well a model ranks the tasks of
 * histories; with --leave-one-out or --folds it trains one model per group of kernels on all
 * others, and ranks the tasks of those that were left out, so that no size, type or target of a
 * kernel is on both sides; --from and --on do the same with machines. replay: how many trials
 * searches over the measured candidates need (replay.h).
 */
#include "plugin/tool/model_job.h"

#include "costmodel/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- train ----------------------------------------------------------------------------------- */
static void put_targets(const ctune_model_job *j, ctune_text *out) {
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

static void put_kernels(const ctune_model_job *j, ctune_text *out) {
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

static ctune_status set_summary(ctune_ctx *ctx, const ctune_model_job *j, const ctune_metrics *m,
                                const ctune_model *model) {
    ctune_text text;
    ctune_text_init(&text);
    int n_tasks = 0;
    size_t n_rows = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        n_tasks += j->select[i];
        n_rows += j->select[i] ? j->data.task[i].n_rows : 0;
    }
    ctune_text_printf(&text, "tasks %d\nrows %zu\nseed %lld\n", n_tasks, n_rows,
                      (long long)j->options->seed);
    ctune_text_printf(&text, "training-top1 %.4f\ntraining-top5 %.4f\ntraining-pairs %.4f\n",
                      m->top1, m->top5, m->pair_accuracy);
    put_targets(j, &text);
    put_kernels(j, &text);
    ctune_status status = text.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                      : model->note(ctx, model->self, ctune_text_get(&text));
    ctune_text_clear(&text);
    return status;
}

static void print_metrics(const char *label, const ctune_metrics *m) {
    printf("%-24s top-1 %.3f (geo. mean %.3f)  top-5 %.3f (%.3f)  pairs %.3f  recall@64 %.3f  "
           "(%d tasks)\n",
           label, m->top1, m->geo1, m->top5, m->geo5, m->pair_accuracy, m->recall64, m->n_tasks);
}

static ctune_status write_model(ctune_ctx *ctx, const ctune_model_job *j,
                                const ctune_model *model) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = model->save(ctx, model->self, &text);
    if (status == CTUNE_OK) {
        status = ctune_file_write(ctx, j->options->output, ctune_text_get(&text), text.len);
    }
    ctune_text_clear(&text);
    return status;
}

static void print_trained(const ctune_model_job *j, const ctune_metrics *metrics,
                          const ctune_model *model) {
    ctune_text text;
    ctune_text_init(&text);
    model->describe(model->self, &text);
    const char *line = ctune_text_get(&text);
    ctune_model_job_print_counts(j, stdout);
    print_metrics("training", metrics);
    printf("%s: %s, %.*s\n", j->options->output, model->name, (int)strcspn(line, "\n"), line);
    ctune_text_clear(&text);
}

static ctune_status train(ctune_ctx *ctx, ctune_model_job *j) {
    ctune_model model = {0};
    ctune_metrics metrics;
    int n = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        j->select[i] = !ctune_model_job_is_without(j, j->data.task[i].kernel) &&
                       ctune_model_job_is_on(j, i, j->options->from);
        n += j->select[i];
    }
    ctune_status status =
        n > 0 ? CTUNE_OK : ctune_fail(ctx, CTUNE_EUSAGE, "--without and --from leave no task");
    ctune_text state;
    ctune_text_init(&state);
    ctune_text_printf(&state, "%s.part", j->options->output);
    if (status == CTUNE_OK) {
        status = ctune_model_job_train(ctx, j, ctune_text_get(&state), &model);
    }
    if (status == CTUNE_OK) {
        status = ctune_model_job_score(ctx, j, &model, NULL);
    }
    if (status == CTUNE_OK) {
        status = ctune_metrics_get(ctx, &j->data, j->scores, j->select, &metrics);
    }
    if (status == CTUNE_OK) {
        status = set_summary(ctx, j, &metrics, &model);
    }
    if (status == CTUNE_OK) {
        status = write_model(ctx, j, &model);
    }
    if (status == CTUNE_OK) {
        print_trained(j, &metrics, &model);
    }
    if (status == CTUNE_OK && ctune_signal_get() != 0 && j->kind != CTUNE_KIND_GBT) {
        fprintf(stderr, "ctune: stopped; the same command goes on from %s\n",
                ctune_text_get(&state));
    }
    if (model.destroy != NULL) {
        model.destroy(model.self);
    }
    ctune_text_clear(&state);
    return status;
}

/* ---- eval ------------------------------------------------------------------------------------ */
static bool is_first_of_kernel(const ctune_model_job *j, int task) {
    for (int i = 0; i < task; i++) {
        if (strcmp(j->data.task[i].kernel, j->data.task[task].kernel) == 0) {
            return false;
        }
    }
    return true;
}

/* Kernels in order of appearance: 0, 1, 2, ... */
static int kernel_of(const ctune_model_job *j, int task) {
    int n = 0;
    for (int i = 0; i < task; i++) {
        if (strcmp(j->data.task[i].kernel, j->data.task[task].kernel) == 0) {
            return kernel_of(j, i);
        }
        n += is_first_of_kernel(j, i);
    }
    return n;
}

/* Scores of the judged tasks of one fold by a model of the tasks of all others. */
static ctune_status score_left_out(ctune_ctx *ctx, ctune_model_job *j, int fold, int n_folds) {
    const ctune_options *o = j->options;
    ctune_model model;
    bool *which = calloc((size_t)j->data.n_tasks + 1, sizeof *which);
    int n = 0;
    for (int i = 0; i < j->data.n_tasks && which != NULL; i++) {
        bool is_out = n_folds > 0 && kernel_of(j, i) % n_folds == fold;
        bool is_on = n_folds > 0 || o->from == NULL || !ctune_model_job_is_on(j, i, o->from);
        j->select[i] = !is_out && ctune_model_job_is_on(j, i, o->from);
        which[i] = (is_out || n_folds == 0) &&
                   (o->on != NULL ? ctune_model_job_is_on(j, i, o->on) : is_on);
        j->evaluated[i] = j->evaluated[i] || which[i];
        n += j->select[i];
    }
    if (n == 0 || which == NULL) {
        free(which);
        return ctune_fail(ctx, CTUNE_EUSAGE, "leaving out leaves nothing to train on");
    }
    ctune_status status = ctune_model_job_train(ctx, j, NULL, &model);
    if (status == CTUNE_OK) {
        status = ctune_model_job_score(ctx, j, &model, which);
    }
    if (model.destroy != NULL) {
        model.destroy(model.self);
    }
    free(which);
    return status;
}

static ctune_status print_by_kernel(ctune_ctx *ctx, ctune_model_job *j) {
    ctune_status status = CTUNE_OK;
    ctune_metrics m;
    for (int k = 0; k < j->data.n_tasks && status == CTUNE_OK; k++) {
        if (!is_first_of_kernel(j, k)) {
            continue;
        }
        for (int i = 0; i < j->data.n_tasks; i++) {
            j->select[i] =
                j->evaluated[i] && strcmp(j->data.task[i].kernel, j->data.task[k].kernel) == 0;
        }
        status = ctune_metrics_get(ctx, &j->data, j->scores, j->select, &m);
        if (status == CTUNE_OK && m.n_tasks > 0) {
            print_metrics(j->data.task[k].kernel, &m);
        }
    }
    if (status == CTUNE_OK) {
        status = ctune_metrics_get(ctx, &j->data, j->scores, j->evaluated, &m);
    }
    if (status == CTUNE_OK) {
        print_metrics("all", &m);
    }
    return status;
}

static void print_choice(const ctune_model_job *j, const ctune_voices *voices, double caution) {
    ctune_choices c;
    ctune_choices_get(&j->data, voices, j->evaluated, caution, &c);
    if (c.n_tasks > 0) {
        printf("choice, caution %-8g best/choice %.3f  original/choice %.3f (worst %.3f)  %d of %d "
               "slower than the original, %d left as they are\n",
               caution, c.geo_best, c.geo_gain, c.least_gain, c.n_slower, c.n_tasks, c.n_kept);
    }
}

/*
 * What `tune --predict` would come to among what was measured, more and less cautious. Where rows
 * hold the analytic estimate it has a voice, as it has there.
 */
static ctune_status print_choices(ctune_ctx *ctx, const ctune_model_job *j) {
    static const double caution[] = {0, CTUNE_CHOICE_CAUTION / 2, CTUNE_CHOICE_CAUTION,
                                     2 * CTUNE_CHOICE_CAUTION};
    size_t n_members = j->n_members > 0 ? (size_t)j->n_members : 1, n = n_members + 1;
    const float *members = j->n_members > 0 ? j->members : j->scores;
    int column = 0;
    bool has_estimate = ctune_model_job_has_estimate(j, &column);
    float weight = has_estimate ? (float)CTUNE_CHOICE_MODEL_WEIGHT : 1;
    float *scores = calloc((j->data.n_rows + 1) * (n + 1), sizeof *scores);
    if (scores == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    float *expected = scores + j->data.n_rows * n;
    for (size_t i = 0; i < j->data.n_rows; i++) {
        float estimate = has_estimate
                             ? -j->data.features[i * (size_t)j->data.n_features + (size_t)column]
                             : j->scores[i];
        memcpy(scores + i * n, members + i * n_members, n_members * sizeof *scores);
        scores[i * n + n_members] = estimate;
        expected[i] = weight * j->scores[i] + (1 - weight) * estimate;
    }
    ctune_voices voices = {expected, (int)n, scores};
    for (size_t i = 0; i < sizeof caution / sizeof *caution; i++) {
        print_choice(j, &voices, caution[i]);
    }
    free(scores);
    return CTUNE_OK;
}

static ctune_status eval_left_out(ctune_ctx *ctx, ctune_model_job *j) {
    const ctune_options *o = j->options;
    int n_kernels = 0;
    for (int i = 0; i < j->data.n_tasks; i++) {
        n_kernels += is_first_of_kernel(j, i);
    }
    if (!o->leave_one_out && o->folds == 0) {
        return score_left_out(ctx, j, 0, 0);
    }
    int n_folds = o->folds > 0 && o->folds < n_kernels ? (int)o->folds : n_kernels;
    ctune_status status = CTUNE_OK;
    for (int f = 0; f < n_folds && status == CTUNE_OK && ctune_signal_get() == 0; f++) {
        status = score_left_out(ctx, j, f, n_folds);
    }
    return status;
}

/* The analytic estimate as a model: what learning has to beat. */
static ctune_status eval_estimate(ctune_ctx *ctx, ctune_model_job *j) {
    int column = 0;
    ctune_status status = ctune_model_job_find_estimate(ctx, j, &column);
    for (size_t i = 0; i < j->data.n_rows && status == CTUNE_OK; i++) {
        j->scores[i] = -j->data.features[i * (size_t)j->data.n_features + (size_t)column];
    }
    return status;
}

static ctune_status eval(ctune_ctx *ctx, ctune_model_job *j, const ctune_model *model) {
    const ctune_options *o = j->options;
    bool is_trained_here = model == NULL && (o->leave_one_out || o->folds > 0 || o->from != NULL);
    ctune_status status = CTUNE_OK;
    ctune_model_job_print_counts(j, stdout);
    for (int i = 0; i < j->data.n_tasks && !is_trained_here; i++) {
        j->evaluated[i] = ctune_model_job_is_on(j, i, o->on);
    }
    if (model != NULL) {
        status = ctune_model_job_score(ctx, j, model, j->evaluated);
    } else {
        status = is_trained_here ? eval_left_out(ctx, j) : eval_estimate(ctx, j);
    }
    if (status == CTUNE_OK) {
        status = print_by_kernel(ctx, j);
    }
    if (status == CTUNE_OK) {
        status = print_choices(ctx, j);
    }
    return status;
}

/* ---- info ------------------------------------------------------------------------------------ */
static void print_info(const char *path, const ctune_model *model) {
    static const char *const inputs[] = {
#define X(id, name, help) name,
        CTUNE_INPUT_TABLE(X)
#undef X
    };
    const ctune_model_input *in = &model->input;
    ctune_model_input ours;
    ctune_text text;
    ctune_text_init(&text);
    ctune_encoding_init(&ours, in->kind, in->groups, in->options, in->n_items);
    printf("%s: %s, rows: %s, features of version %d (this ctune: %d), %d columns:", path,
           model->name, inputs[in->kind], in->version, ours.version, in->width);
    for (int g = 0; g < CTUNE_N_FEATURE_GROUPS; g++) {
        if (in->groups & (1u << g)) {
            printf(" %s", ctune_feature_group_name((ctune_feature_group)g));
        }
    }
    model->describe(model->self, &text);
    printf("\n%s%s", ctune_text_get(&text),
           text.len > 0 && ctune_text_get(&text)[text.len - 1] != '\n' ? "\n" : "");
    ctune_text_clear(&text);
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
    ctune_model model;
    ctune_status status = ctune_kind_load(ctx, path, &model);
    if (status == CTUNE_OK) {
        const ctune_forest *forest = ctune_kind_forest(&model);
        print_info(path, &model);
        if (forest != NULL && forest->feature_version == CTUNE_FEATURE_VERSION &&
            forest->n_features == ctune_feature_count(forest->feature_groups)) {
            status = print_columns(ctx, forest);
        }
        model.destroy(model.self);
    }
    return status;
}

/* ---- command --------------------------------------------------------------------------------- */
static ctune_status with_data(ctune_ctx *ctx, const ctune_options *options, const char *action,
                              int n_files, const char *const *files, const ctune_model *model) {
    ctune_model_job j;
    ctune_status status = ctune_model_job_init(ctx, &j, options, model);
    if (status == CTUNE_OK) {
        status = ctune_model_job_load(ctx, &j, n_files, files);
    }
    if (status == CTUNE_OK) {
        status = strcmp(action, "train") == 0    ? train(ctx, &j)
                 : strcmp(action, "replay") == 0 ? ctune_model_job_replay(ctx, &j)
                                                 : eval(ctx, &j, model);
    }
    ctune_model_job_clear(&j);
    return status;
}

int ctune_cmd_model(ctune_ctx *ctx, const ctune_options *options) {
    const char *action = options->n_words > 0 ? options->words[0] : "";
    const char *const *files = options->words + 1;
    int n_files = options->n_words - 1;
    ctune_model model = {0}; /* destroy NULL: none */
    ctune_status status = CTUNE_EUSAGE;
    if (strcmp(action, "info") == 0 && n_files == 1) {
        status = info(ctx, files[0]);
    } else if (strcmp(action, "train") == 0 && n_files > 0 && options->output != NULL) {
        status = with_data(ctx, options, action, n_files, files, NULL);
    } else if (strcmp(action, "replay") == 0 && n_files > 0) {
        status = with_data(ctx, options, action, n_files, files, NULL);
    } else if (strcmp(action, "eval") == 0 && n_files > 0) {
        status = options->model != NULL ? ctune_model_open(ctx, options->model, &model) : CTUNE_OK;
        if (status == CTUNE_OK) {
            status = with_data(ctx, options, action, n_files, files,
                               model.destroy != NULL ? &model : NULL);
        }
    } else {
        ctune_fail(ctx, CTUNE_EUSAGE,
                   "train -o MODEL HISTORY..., eval [--model MODEL] HISTORY..., replay HISTORY..., "
                   "or info MODEL");
    }
    if (model.destroy != NULL) {
        model.destroy(model.self);
    }
    return ctune_report(ctx, status);
}
