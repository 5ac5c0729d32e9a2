/*
 * A bound on the work of isl that can really stop it, and whose outcome depends on the input alone.
 */
#ifndef CTUNE_SEARCH_BOUND_BOUND_H
#define CTUNE_SEARCH_BOUND_BOUND_H

#include <isl/ctx.h>

/*
 * From now on calls with this context fail (isl_error_quota, isl_error_abort) after that many
 * operations of isl's own counting, or as soon as the rows that isl has rewritten in its tableaus
 * and matrices have CTUNE_BOUND_ENTRIES entries in all. One context at a time in a thread. The
 * second bound holds where isl is linked as an archive (see CMakeLists.txt).
 */
void ctune_bound_begin(isl_ctx *isl, unsigned long operations);
/* No bound any more, and no error. */
void ctune_bound_end(isl_ctx *isl);
/* What this thread begins from now on has together at most that many entries, besides each its own
 * bound: for steps that are tried and may all be left out. Negative: no such bound any more.
 * Returns what was left of the one before. Where nothing counts entries each call counts as
 * CTUNE_BOUND_CALL of them. */
long ctune_bound_share(long entries);

/* An entry costs 20 to 60 ns. Of the kernels in tests/kernels the greediest (adi) needs 12 million
 * for one call; next is deriche with 8. */
#define CTUNE_BOUND_ENTRIES 20000000L
#define CTUNE_BOUND_CALL 60000L

#endif
