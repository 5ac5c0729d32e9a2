/*
 * What a measured function receives. Written out again in the text of candidates (emit_prelude), so
 * keep both in step.
 */
#ifndef CTUNE_RUNTIME_ARGS_H
#define CTUNE_RUNTIME_ARGS_H

typedef struct ctune_args {
    const long *params;   /* [n_params], by parameter id */
    void *const *tensors; /* [n_tensors], by tensor id; row-major; NULL for temporaries */
} ctune_args;

/* 0 = ran, 1 = guard or allocation failed and nothing was written. Batch shared objects export
 *     int ctune_batch_n; int (*const ctune_batch[])(const ctune_args *);                    */
typedef int ctune_candidate_fn(const ctune_args *args);

#endif
