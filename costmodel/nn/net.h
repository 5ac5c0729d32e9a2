/*
 * Neural cost models: what they are, how they are trained, their file.
 *
 *   linear    a weight for each number of a row: what the others have to beat
 *   mlp       TenSet's: each store through two layers, summed, residual layers, a score
 *   treegru   AutoTVM's: a child-sum GRU over the tree of loops; softmax slots, summed over loops
 *   tlp       each primitive of the schedule through four layers, then attention (or an LSTM) over
 *             the sequence, residual layers, a score for each step, summed
 *   mtl-tlp   the same with a head for each target on one backbone
 *
 * Constants are those of the papers but for the width, which a flag sets. Where they differ:
 * padding does not exist (tape.h); a position code and the region's own tokens
 * (search/feature/encoding.h) are options that are on, since without them a model of many kernels
 * sees only the schedule.
 */
#ifndef CTUNE_COSTMODEL_NN_NET_H
#define CTUNE_COSTMODEL_NN_NET_H

#include "costmodel/dataset.h"
#include "costmodel/model.h"
#include "costmodel/nn/params.h"

/* id, name, input, help */
#define CTUNE_NET_TABLE(X)                                                                         \
    X(LINEAR, "linear", ROW, "a weight for each feature")                                          \
    X(MLP, "mlp", STORES, "TenSet's: layers over statements, summed")                              \
    X(TREEGRU, "treegru", TREE, "a recurrent network over the tree of loops")                      \
    X(TLP, "tlp", SEQUENCE, "attention (or an LSTM) over the schedule's primitives")               \
    X(MTL_TLP, "mtl-tlp", SEQUENCE, "the same with a head for each target")

typedef enum ctune_net_kind {
#define X(id, name, input, help) CTUNE_NET_##id,
    CTUNE_NET_TABLE(X)
#undef X
        CTUNE_N_NETS
} ctune_net_kind;

const char *ctune_net_name(ctune_net_kind kind);
ctune_input_kind ctune_net_input(ctune_net_kind kind);

/* Whole numbers of a configuration: field, word in the file, least, most. */
#define CTUNE_NET_COUNT_TABLE(X)                                                                   \
    X(hidden, "hidden", 4, 1024)       /* width of the layers */                                   \
    X(heads, "attention-heads", 1, 64) /* divide hidden */                                         \
    X(layers, "layers", 0, 8)          /* residual ones */                                         \
    X(slots, "slots", 1, 16)           /* treegru */                                               \
    X(lstm, "lstm", 0, 1)              /* tlp: in place of attention */                            \
    X(position, "position", 0, 1)      /* tlp: a position code */                                  \
    X(regression, "regression", 0, 1)  /* squared error in place of LambdaRank */                  \
    X(epochs, "epochs", 1, 100000)                                                                 \
    X(batch, "batch", 1, 65536)        /* rows, whole tasks or chunks of them */                   \
    X(patience, "patience", 0, 100000) /* epochs without a better score; 0 = off */

typedef struct ctune_net_config {
    ctune_net_kind kind;
    ctune_model_input input;
#define X(field, word, least, most) int field;
    CTUNE_NET_COUNT_TABLE(X)
#undef X
    ctune_nn_adam adam;
    double held_out; /* share of the kernels that early stopping looks at */
    uint64_t seed;
    char target[128]; /* mtl-tlp: head 0 is this target's (its key, or the key's beginning) */
} ctune_net_config;

/* input: as the caller encodes rows. */
void ctune_net_config_default(ctune_net_config *config, ctune_net_kind kind,
                              const ctune_model_input *input);

typedef struct ctune_net ctune_net;

/* Not trained: all scores 0. Owner of *out: caller. EUSAGE: a configuration that is none; EENV: no
 * BLAS library. */
CTUNE_MUST_USE ctune_status ctune_net_create(ctune_ctx *ctx, const ctune_net_config *config,
                                             ctune_net **out);
void ctune_net_destroy(ctune_net *net);
const ctune_net_config *ctune_net_get_config(const ctune_net *net);
/* Replaces the summary: lines "key value". */
CTUNE_MUST_USE ctune_status ctune_net_set_summary(ctune_ctx *ctx, ctune_net *net,
                                                  const char *summary);

/* See ctune_model. Training starts anew, or where the state file is; with the same data, seed and
 * configuration the result is the same, stopped and resumed or not. */
CTUNE_MUST_USE ctune_status ctune_net_learn(ctune_ctx *ctx, ctune_net *net,
                                            const ctune_dataset *data, const bool *select,
                                            const ctune_learn_watch *watch);
CTUNE_MUST_USE ctune_status ctune_net_predict(ctune_ctx *ctx, ctune_net *net, const float *rows,
                                              size_t n_rows, float *scores);
/* A few steps from where the training left it (not from the last update) towards one task's rows.
 */
CTUNE_MUST_USE ctune_status ctune_net_update(ctune_ctx *ctx, ctune_net *net, const float *rows,
                                             const float *labels, size_t n_rows);
/* The head for rows of this target; head 0 when it has none. */
void ctune_net_set_target(ctune_net *net, const char *key);

/* ---- model file: text, line-oriented, versioned ---------------------------------------------- */
/*     ctune-net 1
 *     kind tlp
 *     input sequence version 1 groups 0 options 1 items 56 width 37
 *     hidden 128                       (one line a row of CTUNE_NET_COUNT_TABLE)
 *     train rate 0.0007 decay 1e-06 clip 0.5 held-out 0.1 seed 1
 *     score scale 1 shift 0
 *     head clang 19 znver5 avx512 t1 507f8bea      (any number)
 *     summary tasks 120                            (any number)
 *     matrix step0.weight value 37 64
 *     0.25 -1.5e-07 ...                (eight a line)
 *     end
 *
 * A malformed file is EUSAGE with file and line; no text makes the reader take more memory than
 * some times its own length. A state file has, before the matrices, "state epoch 3 step 77 ...",
 * and matrices of further parts: moments, the best values so far. */
#define CTUNE_NET_MAGIC "ctune-net "
CTUNE_MUST_USE ctune_status ctune_net_parse(ctune_ctx *ctx, const char *name, const char *text,
                                            ctune_net **out);
CTUNE_MUST_USE ctune_status ctune_net_read(ctune_ctx *ctx, const char *path, ctune_net **out);
CTUNE_MUST_USE ctune_status ctune_net_print(ctune_ctx *ctx, const ctune_net *net, ctune_text *out);

/* The network as a model; it takes the network over. */
void ctune_net_model(ctune_net *net, ctune_model *out);

#endif
