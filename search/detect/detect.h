/*
 * Detecting: a compiler with flags, and this machine -> a complete target.
 *
 * The macros decide rather than the flags; flags tell what no macro does. The parts are here for
 * tests, and for facts of a key, which need the machine alone.
 */
#ifndef CTUNE_SEARCH_DETECT_DETECT_H
#define CTUNE_SEARCH_DETECT_DETECT_H

#include "runtime/runner.h"
#include "runtime/text.h"
#include "search/target/target.h"

/* Ask the compiler (one run with -dM -E) and the machine. Fails EENV when the compiler cannot be
 * run. */
CTUNE_MUST_USE ctune_status ctune_target_get(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                                             ctune_target *out);
/* The same without running anything: macros are the `#define` lines that a run with -dM -E would
 * print (a compiler plugin has them). */
CTUNE_MUST_USE ctune_status ctune_target_make(ctune_ctx *ctx, const ctune_run_compiler *compiler,
                                              const char *macros, ctune_target *out);

/* ---- parts ---------------- */
/* Flags that change code, canonical: of flags that override each other the last one stays; paths
 * are cut, defines, warnings, debug and dependency output dropped; sorted; longer than out: cut,
 * with a hash. */
CTUNE_MUST_USE ctune_status ctune_target_flags(ctune_ctx *ctx, int n_flags,
                                               const char *const *flags, char *out, size_t size);
/* Is `flag` without meaning for a dry preprocessor run, or harmful (it writes files)? *n_args: how
 * many of the words after it belong to it. */
bool ctune_target_is_dropped(const char *flag, int *n_args);
/* Value of the last flag that begins with `prefix` ("-march="), NULL when there is none. */
const char *ctune_target_last(int n_flags, const char *const *flags, const char *prefix);

/* Read `#define` lines (as -dM gives them) into out: compiler, isa, vector_bytes, openmp,
 * fast_math, and the architecture as the cpu. */
void ctune_target_read_macros(const char *macros, ctune_target *out);
/* Cache sizes below `folder` (/sys/devices/system/cpu/cpu0/cache); what is not there keeps its
 * default. */
void ctune_target_read_caches(const char *folder, ctune_target *out);
/* Caches, by default or as they are, and the CPU of this machine. */
void ctune_target_read_machine(ctune_target *out);
/* What the flags say about fusing products and sums, on an instruction set that can.
 * contract.c
 */
ctune_contract ctune_target_contract(const char *compiler, int n_flags, const char *const *flags);
/* LLVM's name of this machine's CPU, "" when it has none. */
void ctune_host_cpu_name(char *out, size_t size);

#endif
