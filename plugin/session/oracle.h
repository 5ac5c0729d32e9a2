/*
 * Oracle: the user's own file, compiled by the user's compiler with the user's flags, once as it is
 * and once with tuned code in it, each with a driver that calls the function around a region.
 */
#ifndef CTUNE_PLUGIN_SESSION_ORACLE_H
#define CTUNE_PLUGIN_SESSION_ORACLE_H

#include "plugin/session/session.h"

/* What the driver of tuned code returns; 0: the tuned code ran. */
enum { CTUNE_ORACLE_FELL_BACK = 3, CTUNE_ORACLE_NOT_REACHED = 4 };

typedef struct ctune_oracle {
    const ctune_bench *bench;
    int i_region;
    ctune_arena *arena;
    ctune_runner *runner; /* with the user's file in it; NULL: there is no oracle */
    char obstacle[200];   /* why there is none; "" = there is one */
} ctune_oracle;

/* Which argument of the function is the tensor? -1: none. */
int ctune_oracle_argument(const ctune_unit_function *function, const ctune_tensor *tensor);

/* OK without a runner when the function cannot be called: obstacle. Owner of what is in out:
 * ctune_oracle_close, in any case. */
CTUNE_MUST_USE ctune_status ctune_oracle_open(ctune_ctx *ctx, const ctune_bench *bench,
                                              ctune_oracle *out);
void ctune_oracle_close(ctune_oracle *oracle);

/* The user's file with the schedule in its place, as `apply` would write it, and the driver.
 * Appended to out; its function is called `ctune_driver`. */
CTUNE_MUST_USE ctune_status ctune_oracle_print(ctune_ctx *ctx, const ctune_oracle *oracle,
                                               const char *schedule, ctune_text *out);

#endif
