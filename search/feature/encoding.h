/*
 * Encodings: what a cost model's rows hold, made of a nest and its schedule. The groups of features
 * (feature.h) are one of four; the others are lists of items for models that look at sequences,
 * trees or sets.
 *
 *   sequence  one item a primitive, as the lock stores them: kind (one-hot), number, operands as
 *             tokens in order of appearance, with how many iterations the named loop has. Option
 *             CTUNE_INPUT_REGION puts the target, the region's axes, stages and accesses in front,
 *             as items of further kinds: schedules of other kernels then say what they are for.
 *   tree      one item a loop or statement of the nest, in preorder, below one for the target:
 *             lengths, products, annotation, operations, footprint, and per access stride, count
 *             and reuse (context.h), the costliest four and the rest pooled
 *   stores    one item a statement, the dearest first: groups of features as if it were the hottest
 *
 * What has more items than there is room for is cropped at the end.
 */
#ifndef CTUNE_SEARCH_FEATURE_ENCODING_H
#define CTUNE_SEARCH_FEATURE_ENCODING_H

#include "costmodel/model.h"
#include "search/feature/feature.h"
#include "search/schedule/schedule.h"

enum {
    CTUNE_ENCODING_VERSION = 1, /* of the lists; rows have CTUNE_FEATURE_VERSION, stores both */
    CTUNE_SEQUENCE_STEPS = 25   /* as published; with the region in front: more */
};

/* n_items 0: the usual. groups: of ROW and STORES, 0: the usual. */
void ctune_encoding_init(ctune_model_input *out, ctune_input_kind kind, unsigned groups,
                         unsigned options, int n_items);
/* EUSAGE with words unless this ctune makes such rows. name: of the model, for the words. */
CTUNE_MUST_USE ctune_status ctune_encoding_check(ctune_ctx *ctx, const ctune_model_input *input,
                                                 const char *name);
/* schedule: of the nest; only SEQUENCE looks at it. row [ctune_model_input_count(input)], all
 * finite. Never fails. */
void ctune_encoding_get(const ctune_model_input *input, const ctune_schedule *schedule,
                        const ctune_nest *nest, const ctune_target *target, float *row);

#endif
