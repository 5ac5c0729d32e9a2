/*
 * Program: a region with its dependences and the structures (forms) that schedules have asked for
 * so far.
 *
 * A form is what the structural prefix of a schedule makes: computed once with isl, then shared by
 * all candidates, so that applying the rest of a schedule is plain array work.
 */
#ifndef CTUNE_SEARCH_SCHEDULE_PROGRAM_H
#define CTUNE_SEARCH_SCHEDULE_PROGRAM_H

#include "search/schedule/schedule.h"

typedef struct ctune_form {
    char *prefix; /* canonical text of the structural primitives, "" = source order */
    ctune_tree *tree;
    ctune_depvecs vecs;
    const uint8_t *const *stable; /* [n_stmts][n_reads]: ctune_deps_stable of each read */
    int n_fixed;                  /* specialize: parameters fixed */
    int fixed_param[8];
    int64_t fixed_value[8];
    bool round_products; /* no product may be fused with a sum */
} ctune_form;

typedef struct ctune_program {
    const ctune_region *region; /* borrowed */
    ctune_deps *deps;
    int n_forms;
    bool round_products;  /* every form made from now on has it */
    ctune_form *form[64]; /* [0]: source order */
} ctune_program;

/* region borrowed. Fails EREFUSED when dependences cannot be computed. */
CTUNE_MUST_USE ctune_status ctune_program_create(ctune_ctx *ctx, const ctune_region *region,
                                                 ctune_program **out);
void ctune_program_destroy(ctune_program *program);

/* Forms made so far and those to come round their products, or leave that to the compiler. */
void ctune_program_set_rounding(ctune_program *program, bool rounds);

/* The form that the structural primitives of schedule (its leading ones) make; cached. EREFUSED
 * with words. */
CTUNE_MUST_USE ctune_status ctune_program_form(ctune_ctx *ctx, ctune_program *program,
                                               const ctune_schedule *schedule,
                                               const ctune_form **out);
/* The tree after one structural primitive that changes it (not specialize, not polyhedral). Owner
 * of *out: caller. EREFUSED, EUSAGE with words. */
CTUNE_MUST_USE ctune_status ctune_program_step(ctune_ctx *ctx, ctune_program *program,
                                               const ctune_tree *tree, const ctune_prim *prim,
                                               ctune_tree **out);
/* Apply a whole schedule. EREFUSED with the primitive and the rule in ctx->error when it is not
 * legal; EUSAGE when an operand does not exist. nest is written only on OK. The legality of the
 * final order is checked (ctune_nest_check). */
CTUNE_MUST_USE ctune_status ctune_schedule_apply(ctune_ctx *ctx, ctune_program *program,
                                                 const ctune_schedule *schedule, ctune_nest *nest);
/* The same of a schedule's text. */
CTUNE_MUST_USE ctune_status ctune_nest_parse(ctune_ctx *ctx, ctune_program *program,
                                             const char *schedule, ctune_nest *nest);
/* Only the loop and memory primitives, on a nest that exists; no final check. The fast path of the
 * search. */
CTUNE_MUST_USE ctune_status ctune_nest_apply(ctune_ctx *ctx, ctune_nest *nest,
                                             const ctune_prim *prim);

#endif
