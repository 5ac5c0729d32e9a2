/*
 * Shape capture: what a program built in mode=record links (libctune-record-runtime.a; C11 and
 * libc, nothing else of ctune).
 *
 * Each recorded nest has one ctune_record_site in its object file and stands between begin and end:
 *
 *     {
 *         const long long ctune_values[] = {(long long)(n)};
 *         struct ctune_record_call ctune_call;
 *         ctune_record_begin(&ctune_site_0123456789abcdef, ctune_values, &ctune_call);
 *         ... the user's statement ...
 *         if (ctune_call.slot) ctune_record_end(&ctune_call);
 *     }
 *
 * - Environment: CTUNE_RECORD=FILE turns recording on (`ctune record` sets it); without it begin is
 *   one load and a branch. FILE is appended to, at exit and now and then before, one line a shape
 *   (docs/record.md); several processes may share it.
 * - Cost: a hash of the values, at most 8 comparisons, one atomic addition; the clock is read
 * twice, for short nests only in 1 of 8 or 32 calls. Memory: 128 places a site, fixed.
 * - Limits: 64 shapes a site are told apart; calls with others are counted as "other".
 * - Threads: any number. A forked child counts what it does itself. errno is kept.
 * - Not seen: what a process did in its last seconds before _exit, exec or a deadly signal.
 *
 * Emitted code carries a copy of the declarations between the two marks, so that a recorded file
 * needs no include path; both have the same guard.
 */
/* declarations begin */
#ifndef CTUNE_RECORD_H
#define CTUNE_RECORD_H
struct ctune_record_site {
    void *state;                        /* of the runtime; 0 before the first call */
    const char *region, *file, *params; /* name, path of the source, "n m" */
    unsigned long long workload;        /* key of the loop without sizes */
    int version, line, n_params;        /* CTUNE_RECORD_VERSION, of the pragma, of values */
};
struct ctune_record_call {
    void *slot;         /* 0: this call is not timed */
    long long start_ns; /* of the monotonic clock */
};
#define CTUNE_RECORD_VERSION 1
extern void ctune_record_begin(struct ctune_record_site *site, const long long *values,
                               struct ctune_record_call *call);
extern void ctune_record_end(const struct ctune_record_call *call);
#endif
/* declarations end */
