/* The work of `ctune model`: see model_job.h. */
#include "plugin/tool/model_job.h"

#include "plugin/tool/records.h"
#include "runtime/rng.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is asked for ----------------------------------------------------------------------- */
/* "estimate,knob" or, with a leading '-', all but those. */
static ctune_status get_groups(ctune_ctx *ctx, const char *list, unsigned *out) {
    *out = 0; /* the kind's own */
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

static ctune_status get_objective(ctune_ctx *ctx, const char *word, ctune_kind_options *out) {
    if (word == NULL) {
        return CTUNE_OK;
    }
#define X(id, name, help)                                                                          \
    if (strcmp(word, name) == 0) {                                                                 \
        out->gbt.objective = CTUNE_GBT_##id;                                                       \
        out->net.regression = CTUNE_GBT_##id == CTUNE_GBT_REGRESSION;                              \
        return CTUNE_OK;                                                                           \
    }
    CTUNE_GBT_OBJECTIVE_TABLE(X)
#undef X
    return ctune_fail(ctx, CTUNE_EUSAGE, "--objective: '%s' is not good; rank or regression", word);
}

static ctune_status get_net(ctune_ctx *ctx, const ctune_options *o, ctune_net_config *net) {
    bool is_lstm = o->backbone != NULL && strcmp(o->backbone, "lstm") == 0;
    if (o->backbone != NULL && !is_lstm && strcmp(o->backbone, "attention") != 0) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "--backbone: '%s' is not good; attention or lstm",
                          o->backbone);
    }
    net->lstm = is_lstm;
    net->position = !o->no_position;
    net->seed = (uint64_t)o->seed;
    net->epochs = o->epochs > 0 && o->epochs <= 100000 ? (int)o->epochs : net->epochs;
    net->hidden = o->width > 0 && o->width <= INT_MAX ? (int)o->width : net->hidden;
    if (o->for_target != NULL) {
        snprintf(net->target, sizeof net->target, "%s", o->for_target);
    }
    return CTUNE_OK;
}

ctune_status ctune_model_job_init(ctune_ctx *ctx, ctune_model_job *job,
                                  const ctune_options *options, const ctune_model *trained) {
    unsigned groups;
    *job = (ctune_model_job){.options = options, .kind = CTUNE_KIND_GBT};
    ctune_status status = get_groups(ctx, options->features, &groups);
    if (status == CTUNE_OK && options->kind != NULL) {
        job->kind = ctune_kind_find(options->kind);
        status = job->kind >= 0
                     ? CTUNE_OK
                     : ctune_fail(ctx, CTUNE_EUSAGE, "--kind: there is no '%s'", options->kind);
    }
    if (status != CTUNE_OK) {
        return status;
    }
    int n_items = options->items <= CTUNE_INPUT_MAX_ITEMS ? (int)options->items : 0;
    ctune_encoding_init(&job->input, ctune_kind_input(job->kind), groups,
                        options->no_region ? 0 : CTUNE_INPUT_REGION, n_items);
    if (trained != NULL) {
        job->input = trained->input;
    }
    ctune_kind_options_default(job->kind, &job->input, &job->config);
    ctune_gbt_options *gbt = &job->config.gbt;
    gbt->seed = (uint64_t)options->seed;
    gbt->n_trees = options->trees > 0 ? (int)options->trees : gbt->n_trees;
    gbt->n_members = options->members > 0 ? (int)options->members : gbt->n_members;
    gbt->max_depth = options->depth > 0 ? (int)options->depth : gbt->max_depth;
    if (options->labels > 100 || (options->labels > 0 && options->for_target == NULL)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "--labels: at most 100, of a --target");
    }
    status = get_objective(ctx, options->objective, &job->config);
    return status == CTUNE_OK ? get_net(ctx, options, &job->config.net) : status;
}

ctune_status ctune_model_open(ctune_ctx *ctx, const char *given, ctune_model *out) {
    char path[PATH_MAX];
    *out = (ctune_model){0};
    ctune_status status = ctune_cost_model_find(ctx, given, path, sizeof path);
    if (status == CTUNE_OK) {
        status = ctune_kind_load(ctx, path, out);
    }
    if (status == CTUNE_OK) {
        status = ctune_encoding_check(ctx, &out->input, path);
        if (status != CTUNE_OK) {
            out->destroy(out->self);
            *out = (ctune_model){0};
        }
    }
    return status;
}

/* ---- data ------------------------------------------------------------------------------------ */
ctune_status ctune_model_job_load(ctune_ctx *ctx, ctune_model_job *j, int n_files,
                                  const char *const *files) {
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
        status = ctune_learner_rows(ctx, learner, &j->input, &j->data, &j->counts);
    }
    ctune_learner_destroy(learner);
    if (status == CTUNE_OK && j->data.n_rows == 0) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "no records to learn from");
    }
    if (status == CTUNE_OK) {
        j->select = calloc((size_t)j->data.n_tasks + 1, sizeof *j->select);
        j->evaluated = calloc((size_t)j->data.n_tasks + 1, sizeof *j->evaluated);
        j->scores = calloc(j->data.n_rows + 1, sizeof *j->scores);
        j->members = calloc(j->data.n_rows + 1, CTUNE_FOREST_MAX_MEMBERS * sizeof *j->members);
        status =
            j->select != NULL && j->evaluated != NULL && j->scores != NULL && j->members != NULL
                ? CTUNE_OK
                : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    return status;
}

void ctune_model_job_clear(ctune_model_job *job) {
    ctune_dataset_clear(&job->data);
    free(job->select);
    free(job->evaluated);
    free(job->scores);
    free(job->members);
}

void ctune_model_job_print_counts(const ctune_model_job *j, FILE *file) {
    const ctune_learn_counts *c = &j->counts;
    fprintf(file, "%lld records: %lld rows (%lld failed) in %d tasks", (long long)c->n_records,
            (long long)c->n_rows, (long long)c->n_failed, j->data.n_tasks);
    if (c->n_sources > 0) {
        fprintf(file, ", and %lld originals", (long long)c->n_sources);
    }
    if (c->n_replaced + c->n_wrong + c->n_no_te + c->n_illegal > 0) {
        fprintf(file,
                "; not used: %lld measured twice, %lld with other results, %lld without a readable "
                "dump, %lld whose schedule does not apply",
                (long long)c->n_replaced, (long long)c->n_wrong, (long long)c->n_no_te,
                (long long)c->n_illegal);
    }
    fputc('\n', file);
}

/* "gemm" also names "kernel_gemm". */
bool ctune_model_job_is_without(const ctune_model_job *j, const char *kernel) {
    static const char prefix[] = "kernel_";
    const char *list = j->options->without;
    bool has_prefix = strncmp(kernel, prefix, sizeof prefix - 1) == 0;
    return ctune_list_has(list, kernel, strlen(kernel)) ||
           (has_prefix &&
            ctune_list_has(list, kernel + sizeof prefix - 1, strlen(kernel + sizeof prefix - 1)));
}

bool ctune_model_job_is_on(const ctune_model_job *job, int task, const char *word) {
    const char *key = job->data.task[task].target;
    return word == NULL || (key != NULL && strstr(key, word) != NULL);
}

/* ---- training and scores --------------------------------------------------------------------- */
static bool show_epoch(void *user, int epoch, double loss, double score) {
    const ctune_model_job *job = user;
    bool is_on = !job->options->quiet && isatty(2);
    if (is_on) {
        fprintf(stderr, "\repoch %d of %d: loss %.4f, held-out kernels %.4f ", epoch,
                job->config.net.epochs, loss, score);
        fflush(stderr);
    }
    return ctune_signal_get() == 0;
}

/* Is the row among those that --labels leaves? */
static bool has_label(const ctune_model_job *job, const ctune_dataset_task *task, size_t i) {
    const ctune_options *o = job->options;
    bool is_target = task->target != NULL && o->for_target != NULL &&
                     strncmp(task->target, o->for_target, strlen(o->for_target)) == 0;
    ctune_rng rng;
    ctune_rng_init(&rng, (uint64_t)o->seed ^ (task->first + i));
    return !is_target || o->labels == 0 || ctune_rng_below(&rng, 100) < (uint64_t)o->labels;
}

/* The data set with the same tasks, and the rows that have labels. */
static ctune_status thin_out(ctune_ctx *ctx, const ctune_model_job *job, ctune_dataset *out) {
    ctune_status status = CTUNE_OK;
    ctune_dataset_init(out, job->data.n_features);
    for (int t = 0; t < job->data.n_tasks && status == CTUNE_OK; t++) {
        const ctune_dataset_task *task = &job->data.task[t];
        status = ctune_dataset_add_task(ctx, out, task->name, task->kernel);
        if (status == CTUNE_OK && task->target != NULL) {
            status = ctune_dataset_set_target(ctx, out, task->target);
        }
        for (size_t i = 0; i < task->n_rows && status == CTUNE_OK; i++) {
            size_t row = task->first + i;
            if (has_label(job, task, i)) {
                status = ctune_dataset_add_row(ctx, out,
                                               job->data.features + row * (size_t)out->n_features,
                                               job->data.time_ns[row]);
            }
        }
    }
    return status;
}

ctune_status ctune_model_job_train(ctune_ctx *ctx, const ctune_model_job *job,
                                   const char *state_path, ctune_model *out) {
    ctune_learn_watch watch = {show_epoch, (void *)(uintptr_t)job, state_path};
    ctune_dataset thin = {0};
    bool is_thin = job->options->labels > 0;
    *out = (ctune_model){0};
    ctune_status status = is_thin ? thin_out(ctx, job, &thin) : CTUNE_OK;
    if (status == CTUNE_OK) {
        status = ctune_kind_create(ctx, job->kind, &job->input, &job->config, out);
    }
    if (status == CTUNE_OK) {
        status = out->learn(ctx, out->self, is_thin ? &thin : &job->data, job->select, &watch);
        if (job->kind != CTUNE_KIND_GBT && !job->options->quiet && isatty(2)) {
            fputc('\n', stderr);
        }
    }
    if (status != CTUNE_OK && out->destroy != NULL) {
        out->destroy(out->self);
        *out = (ctune_model){0};
    }
    ctune_dataset_clear(&thin);
    return status;
}

ctune_status ctune_model_job_score(ctune_ctx *ctx, ctune_model_job *job, const ctune_model *model,
                                   const bool *which) {
    ctune_status status = CTUNE_OK;
    for (int i = 0; i < job->data.n_tasks && status == CTUNE_OK; i++) {
        const ctune_dataset_task *t = &job->data.task[i];
        if (which != NULL && !which[i]) {
            continue;
        }
        if (model->set_target != NULL) {
            model->set_target(model->self, t->target != NULL ? t->target : "");
        }
        status = model->predict(ctx, model->self,
                                job->data.features + t->first * (size_t)job->data.n_features,
                                t->n_rows, job->scores + t->first);
        if (status == CTUNE_OK && model->predict_members != NULL) {
            size_t n = (size_t)model->n_members;
            job->n_members = model->n_members;
            status = model->predict_members(
                ctx, model->self, job->data.features + t->first * (size_t)job->data.n_features,
                t->n_rows, job->members + t->first * n);
        }
    }
    return status;
}
