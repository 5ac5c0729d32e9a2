/*
 * Lanes: what the vectorise pass asks about values, and the vector form of a value. Private to the
 * passes.
 */
#ifndef CTUNE_SEARCH_PASSES_LANES_H
#define CTUNE_SEARCH_PASSES_LANES_H

#include "search/passes/passes_private.h"

/* One loop at work. */
typedef struct ctune_lane_ctx {
    ctune_loops *l;
    int var;       /* index of the loop */
    int lanes;     /* 0 while the loop is checked */
    int max_bytes; /* widest element of a vector */
    ctune_type widest;
    int n_private, cap_private; /* scalar variables that live within one iteration */
    int *scalar, *vector;
    bool is_approx;               /* may functions have other bits, of the library for vectors? */
    const ctune_value *statement; /* value of the statement at work */
    const ctune_place *target;    /* STORE: its place, else NULL */
} ctune_lane_ctx;

/* Scalar variables that live within one iteration, so that each lane has its own. */
int ctune_lane_find(const ctune_lane_ctx *c, int var); /* position in scalar, -1 = none */
void ctune_lane_add(ctune_lane_ctx *c, int var);

/* ---- vectorise.c: statements */
/* Can the statement run in lanes? Notes its private variables and widest type. */
bool ctune_lane_check(ctune_lane_ctx *c, const ctune_lnode *node);
bool ctune_lane_check_value(ctune_lane_ctx *c, const ctune_value *v, const ctune_place *target);
/* The statement for c->lanes iterations; it was checked. */
void ctune_lane_apply(ctune_lane_ctx *c, ctune_lnode *node);
/* Lanes of a loop of so many iterations that could be a VECTOR loop, 1 = none. */
int ctune_lane_count(ctune_loops *l, int vector_bytes, bool is_approx, ctune_lnode *node,
                     int64_t trips);
bool ctune_lane_is_approx(const ctune_loops *l, const ctune_pass_options *options);

/* ---- jam.c */
/* A FULL loop over chunks of a vector loop, around other loops: becomes its first chunk with the
 * others beside it, innermost. */
void ctune_lane_jam(ctune_loops *l, ctune_lnode *node);

/* ---- lanes.c: values */
/* Is v the same in all iterations? */
bool ctune_lane_is_invariant(const ctune_lane_ctx *c, const ctune_value *v);
/* Are the places of neighbouring iterations neighbours in memory? */
bool ctune_lane_is_contiguous(const ctune_lane_ctx *c, const ctune_place *place);
/* Does v, which is not invariant, have a vector form whose kids are vectors? */
bool ctune_lane_has_form(const ctune_lane_ctx *c, const ctune_value *v);
/* Vector whose lanes are v in iterations var, var + 1, ...; v's type has vectors. */
const ctune_value *ctune_lane_vector(ctune_lane_ctx *c, const ctune_value *v);
/* v as lane `lane` would compute it: a scalar. */
const ctune_value *ctune_lane_scalar(ctune_lane_ctx *c, const ctune_value *v, int lane);

#endif
