/*
 * Kinds of models: one list of all that can be trained, one way to make, save and load each.
 *
 * Programs that learn link this. A compiler plugin does not: it reads forests (forest.h) and says
 * so of other files.
 */
#ifndef CTUNE_COSTMODEL_KIND_KIND_H
#define CTUNE_COSTMODEL_KIND_KIND_H

#include "costmodel/gbt/gbt.h"
#include "costmodel/nn/net.h"

/* A kind is a number: 0 is gbt, the networks follow in the order of CTUNE_NET_TABLE. */
enum { CTUNE_KIND_GBT = 0, CTUNE_N_KINDS = 1 + CTUNE_N_NETS };
const char *ctune_kind_name(int kind);
const char *ctune_kind_help(int kind);
ctune_input_kind ctune_kind_input(int kind);
int ctune_kind_find(const char *name); /* -1: there is none */

/* What a model is made with; which part counts depends on the kind. */
typedef struct ctune_kind_options {
    ctune_gbt_options gbt;
    ctune_net_config net; /* kind and input: filled by ctune_kind_create */
} ctune_kind_options;

/* The defaults of a kind for rows like input, for a model of many tasks. */
void ctune_kind_options_default(int kind, const ctune_model_input *input,
                                ctune_kind_options *options);
/* A model that can learn; before that all scores are 0. Owner of *out: caller, out->destroy. EENV:
 * the kind needs a library that is not there. */
CTUNE_MUST_USE ctune_status ctune_kind_create(ctune_ctx *ctx, int kind,
                                              const ctune_model_input *input,
                                              const ctune_kind_options *options, ctune_model *out);
/* Any model file. Likewise. */
CTUNE_MUST_USE ctune_status ctune_kind_load(ctune_ctx *ctx, const char *path, ctune_model *out);
/* The forest of a model that is one; NULL: it is another kind, or not trained. Borrowed. */
const ctune_forest *ctune_kind_forest(const ctune_model *model);

#endif
