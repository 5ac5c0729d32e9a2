/*
 * Strides of a linearised array: which products of parameters separate its rows?
 */
#ifndef CTUNE_PLUGIN_EXTRACT_STRIDES_H
#define CTUNE_PLUGIN_EXTRACT_STRIDES_H

#include "plugin/extract/build.h"

enum { CTUNE_MAX_STRIDES = CTUNE_MAX_RANK };

typedef struct ctune_shape {
    int n; /* dimensions, outermost first */
    ctune_mono stride[CTUNE_MAX_STRIDES];
    const ctune_poly
        *sum[CTUNE_MAX_STRIDES]; /* strides that are sums ((n + 2) * i); NULL: `stride` */
    int axis[CTUNE_MAX_STRIDES]; /* sums: the outermost counter that has the stride */
    const ctune_aff *extent[CTUNE_MAX_STRIDES]; /* [0] unused */
} ctune_shape;

/* Products of parameters, without extents. false: they do not divide each other. */
bool ctune_strides_find(ctune_build *b, int tensor, ctune_shape *s);
bool ctune_strides_extents(ctune_build *b, ctune_shape *s, CXCursor at);
/* Split the last dimension by the constant factors of its counters: 100*i + j. false: nothing to
 * split. */
bool ctune_strides_split(ctune_build *b, int tensor, ctune_shape *s);
/* Sums of products, with extents. Facts may be assumed: C == heads * size. */
bool ctune_strides_sums(ctune_build *b, int tensor, ctune_shape *s);
/* Strides that the given sizes say are 1 become 1. false: there are none. */
bool ctune_strides_unit(ctune_build *b, int tensor);
/* Parameters that the given sizes say are multiples of a stride become products with it: t * C3 + h
 * * size, with C3 = size * (C3 / size) as a fact. false: there are none. */
bool ctune_strides_multiples(ctune_build *b, int tensor);

/* Parts of monomials. */
bool ctune_stride_params(const ctune_mono *m, ctune_mono *out, int *n_others);
bool ctune_stride_divide(const ctune_mono *whole, const ctune_mono *part, ctune_mono *out);

#endif
