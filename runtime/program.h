/*
 * Running a program and waiting for it: compilers that are asked something. Candidates go through
 * the runner (runner.h) instead.
 */
#ifndef CTUNE_RUNTIME_PROGRAM_H
#define CTUNE_RUNTIME_PROGRAM_H

#include "runtime/base.h"
#include "runtime/text.h"

/* Standard input is empty; standard output and error are appended to output (NULL: dropped).
 * *wait_status: as waitpid gives it. EENV only when it cannot be started or waited for; then errno
 * says why. */
CTUNE_MUST_USE ctune_status ctune_program_capture(ctune_ctx *ctx, const char *const *argv,
                                                  ctune_text *output, int *wait_status);
/* The same; EENV also when it does not end with exit status 0. */
CTUNE_MUST_USE ctune_status ctune_program_run(ctune_ctx *ctx, const char *const *argv,
                                              ctune_text *output);

#endif
