/*
 * A cost model: numbers in, scores out. What the engine sees of a learned model; it knows no IR.
 *
 * Scores are log2 of (best time / time) up to a constant per task: higher is faster, a difference
 * of 1 is a factor of two. Models trained on ranks are calibrated to that scale when they are
 * fitted.
 *
 * One struct of functions for all kinds: forests (forest.h), the model of a search (gbt/gbt.h),
 * networks (nn/net.h). What a model cannot do is a NULL function.
 */
#ifndef CTUNE_COSTMODEL_MODEL_H
#define CTUNE_COSTMODEL_MODEL_H

#include "runtime/text.h"

/* id, name, what a row is */
#define CTUNE_INPUT_TABLE(X)                                                                       \
    X(ROW, "row", "numbers of fixed meaning, one row a candidate")                                 \
    X(SEQUENCE, "sequence", "the primitives of the schedule, one after another")                   \
    X(TREE, "tree", "the loops of the nest, each with its parent")                                 \
    X(STORES, "stores", "numbers of fixed meaning for each statement, the dearest first")

typedef enum ctune_input_kind {
#define X(id, name, help) CTUNE_INPUT_##id,
    CTUNE_INPUT_TABLE(X)
#undef X
        CTUNE_N_INPUTS
} ctune_input_kind;

enum {
    CTUNE_INPUT_MAX_ITEMS = 256,
    CTUNE_INPUT_MAX_WIDTH = 4096,
    CTUNE_MODEL_MAX_MEMBERS = 16,
    CTUNE_INPUT_REGION = 1 /* option of SEQUENCE: in front, what the region and the target are */
};

/*
 * What the rows of a model hold. Kinds other than ROW are lists of items: how many there are, then
 * room for n_items of them; items that are not there are 0 and never looked at. In a TREE an item
 * begins with the number of its parent's item + 1, which is smaller than its own (0: a root).
 */
typedef struct ctune_model_input {
    ctune_input_kind kind;
    int version;      /* of the meaning of the numbers (search/feature) */
    unsigned groups;  /* ROW, STORES: of features, bits */
    unsigned options; /* CTUNE_INPUT_* */
    int n_items;      /* most; ROW: 1 */
    int width;        /* of an item */
} ctune_model_input;

/* Floats of a row. */
static inline int ctune_model_input_count(const ctune_model_input *input) {
    return input->kind == CTUNE_INPUT_ROW ? input->width : 1 + input->n_items * input->width;
}

struct ctune_dataset;

/* How a training is watched. */
typedef struct ctune_learn_watch {
    /* After each epoch; score: of held-out tasks, higher is better. false: stop here. May be NULL.
     */
    bool (*progress)(void *user, int epoch, double loss, double score);
    void *user;
    const char *state_path; /* what a stopped training goes on from; NULL = cannot */
} ctune_learn_watch;

typedef struct ctune_model {
    const char *name;
    int n_features;
    void *self;
    /* features [n_rows][n_features] row-major, borrowed; scores [n_rows], higher is faster. */
    ctune_status (*predict)(ctune_ctx *ctx, void *self, const float *features, size_t n_rows,
                            float *scores);
    /* Scores of the members of an ensemble, scores [n_rows][n_members], whose mean is what predict
     * gives: how far they are apart says how far the score can be trusted. NULL: it has no members,
     * and n_members means nothing. */
    int n_members;
    ctune_status (*predict_members)(ctune_ctx *ctx, void *self, const float *features,
                                    size_t n_rows, float *scores);
    /* All rows of the task so far. labels [n_rows]: best time of the task / time, in 0..1, failures
     * 0. NULL: the model does not learn from a search. */
    ctune_status (*fit)(ctune_ctx *ctx, void *self, const float *features, const float *labels,
                        size_t n_rows);
    void (*destroy)(void *self); /* may be NULL: the model borrows what it uses */
    ctune_model_input input;     /* what a row holds; width 0: whoever made the model knows */
    /* From the selected tasks (NULL = all) of a data set of such rows, anew. watch may be NULL. */
    ctune_status (*learn)(ctune_ctx *ctx, void *self, const struct ctune_dataset *data,
                          const bool *select, const ctune_learn_watch *watch);
    /* The model file's text, appended. */
    ctune_status (*save)(ctune_ctx *ctx, const void *self, ctune_text *out);
    /* Words about where it comes from, lines "key value", for its file. */
    ctune_status (*note)(ctune_ctx *ctx, void *self, const char *summary);
    /* The target that the next rows are for; models that tell targets apart by rows alone have
     * none. */
    void (*set_target)(void *self, const char *key);
    /* Lines about it, for people, appended. */
    void (*describe)(const void *self, ctune_text *out);
} ctune_model;

#endif
