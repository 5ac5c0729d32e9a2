/*
 * The bound: see bound.h.
 *
 * isl counts pivots, whatever a pivot costs. Its integer linear programs add a row for each cut, so
 * that the same number of pivots takes milliseconds or minutes; a count low enough for the worst
 * would refuse what is harmless. What a pivot costs is the rows that it rewrites, and each of them
 * is normalised by isl_seq_normalize: the linker hands us these calls (--wrap), and their lengths
 * are the work. No clock: the same input ends in the same way on any machine. A build with a shared
 * isl has isl's count alone.
 */
#include "search/bound/bound.h"

#include <stdbool.h>
#include <stddef.h>

/* What counts: the calls have no argument for it, and isl's context is not ours. */
static _Thread_local struct {
    isl_ctx *isl; /* NULL: nothing is counted */
    long left;    /* entries */
    long shared;  /* entries left to this call and those after it; while is_shared */
    bool is_shared;
} bound;

/* The names are the linker's: __wrap_F takes the calls of F, __real_F is F. Weak: where nothing is
 * wrapped there is no such name, and no call. */
void __real_isl_seq_normalize(isl_ctx *isl, void *entries, unsigned n) __attribute__((__weak__));
void __wrap_isl_seq_normalize(isl_ctx *isl, void *entries, unsigned n);

long ctune_bound_share(long entries) {
    long left = bound.is_shared ? bound.shared : -1;
    bound.is_shared = entries >= 0;
    bound.shared = entries;
    return left;
}

void ctune_bound_begin(isl_ctx *isl, unsigned long operations) {
    isl_ctx_reset_error(isl);
    isl_ctx_reset_operations(isl);
    if (bound.is_shared && __real_isl_seq_normalize == NULL) {
        bound.shared -= CTUNE_BOUND_CALL;
    }
    bool is_spent = bound.is_shared && bound.shared < 0;
    isl_ctx_set_max_operations(isl, is_spent ? 1 : operations);
    bound.isl = isl;
    bound.left = CTUNE_BOUND_ENTRIES;
}

void ctune_bound_end(isl_ctx *isl) {
    bound.isl = NULL;
    isl_ctx_resume(isl);
    isl_ctx_set_max_operations(isl, 0);
    isl_ctx_reset_error(isl);
}

void __wrap_isl_seq_normalize(isl_ctx *isl, void *entries, unsigned n) {
    if (isl == bound.isl) {
        bound.left -= (long)n;
        bound.shared -= bound.is_shared ? (long)n : 0;
        if (bound.left < 0 || (bound.is_shared && bound.shared < 0)) {
            isl_ctx_abort(isl);
        }
    }
    __real_isl_seq_normalize(isl, entries, n);
}
