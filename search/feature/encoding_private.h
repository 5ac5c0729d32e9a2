/* The lists of encoding.h, one file each. Rows are zero on entry; each returns how many items. */
#ifndef CTUNE_SEARCH_FEATURE_ENCODING_PRIVATE_H
#define CTUNE_SEARCH_FEATURE_ENCODING_PRIVATE_H

#include "search/feature/encoding.h"

/* sequence.c */
int enc_sequence_width(void);
int enc_sequence_fill(const ctune_schedule *schedule, const ctune_nest *nest,
                      const ctune_target *target, unsigned options, int n_items, float *items);
/* looptree.c */
int enc_tree_width(void);
int enc_tree_fill(const ctune_nest *nest, const ctune_target *target, int n_items, float *items);
/* feature.c */
int enc_stores_fill(const ctune_nest *nest, const ctune_target *target, unsigned groups,
                    int n_items, float *items);

#endif
