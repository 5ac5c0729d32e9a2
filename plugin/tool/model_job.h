/*
 * What `ctune model` works on: a data set of histories, and models of any kind trained on parts of
 * it.
 */
#ifndef CTUNE_PLUGIN_TOOL_MODEL_JOB_H
#define CTUNE_PLUGIN_TOOL_MODEL_JOB_H

#include "costmodel/kind/kind.h"
#include "costmodel/metrics.h"
#include "plugin/tool/tool.h"
#include "search/learn/learn.h"

typedef struct ctune_model_job {
    const ctune_options *options;
    int kind;
    ctune_model_input input; /* of the data set's rows */
    ctune_kind_options config;
    ctune_dataset data;
    ctune_learn_counts counts;
    bool *select;    /* [n_tasks] to train on */
    bool *evaluated; /* [n_tasks] to judge by */
    float *scores;   /* [n_rows] */
    int n_members;   /* of the models that scored; 0: they have no members */
    float *members;  /* [n_rows][CTUNE_FOREST_MAX_MEMBERS or less], their scores */
} ctune_model_job;

/* What the options ask for. trained (may be NULL): a model that exists, whose rows are needed. */
CTUNE_MUST_USE ctune_status ctune_model_job_init(ctune_ctx *ctx, ctune_model_job *job,
                                                 const ctune_options *options,
                                                 const ctune_model *trained);
CTUNE_MUST_USE ctune_status ctune_model_job_load(ctune_ctx *ctx, ctune_model_job *job, int n_files,
                                                 const char *const *files);
void ctune_model_job_clear(ctune_model_job *job);

/* Is the task's kernel among those that --without names? */
bool ctune_model_job_is_without(const ctune_model_job *job, const char *kernel);
/* Is `word` in the key of the task's target? NULL: yes. */
bool ctune_model_job_is_on(const ctune_model_job *job, int task, const char *word);
/* A model of the selected tasks. state_path: see ctune_learn_watch; NULL: without. *was_stopped: a
 * signal ended the training; the model is what it was by then. */
CTUNE_MUST_USE ctune_status ctune_model_job_train(ctune_ctx *ctx, const ctune_model_job *job,
                                                  const char *state_path, ctune_model *out);
/* Scores of the rows of the tasks in `which` (NULL: all). */
CTUNE_MUST_USE ctune_status ctune_model_job_score(ctune_ctx *ctx, ctune_model_job *job,
                                                  const ctune_model *model, const bool *which);
void ctune_model_job_print_counts(const ctune_model_job *job, FILE *file);

/* model_replay.c: `ctune model replay` */
CTUNE_MUST_USE ctune_status ctune_model_job_replay(ctune_ctx *ctx, ctune_model_job *job);
/* The column of the analytic estimate, where rows hold it; find: EUSAGE where they do not. */
bool ctune_model_job_has_estimate(const ctune_model_job *job, int *column);
CTUNE_MUST_USE ctune_status ctune_model_job_find_estimate(ctune_ctx *ctx,
                                                          const ctune_model_job *job, int *column);

#endif
