/*
 * One run of the transform library on behalf of a compiler, in a child process.
 *
 * The child is a fork of the compiler (which has one thread and has done next to nothing yet); it
 * loads libclang, isl and all, works, and hands back the text and the messages through files in
 * memory. So the compiler keeps a clean address space, and a crash in there costs the tuned code
 * and not the build.
 *
 * The text that comes back is then shown to the compiler itself (a ctune_job_check, in another
 * child): a region whose tuned code does not compile here, for whatever reason, stays as the user
 * wrote it, with one warning. C++ may include this header.
 */
#ifndef CTUNE_PLUGIN_SHIM_JOB_H
#define CTUNE_PLUGIN_SHIM_JOB_H

#include "plugin/transform/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A diagnostic, kept. Strings owned, NULL where the diagnostic had none. */
typedef struct ctune_job_message {
    int severity; /* ctune_severity */
    int line, col;
    char *file, *code, *text, *hint;
} ctune_job_message;

typedef enum ctune_job_verdict {
    CTUNE_JOB_COMPILES,
    CTUNE_JOB_REFUSED, /* an error, a crash, too much time */
    CTUNE_JOB_IS_CHILD /* this process is the check: it goes on as the compiler of the text */
} ctune_job_verdict;

/*
 * Does this compile's own front end, with its own flags, take the text?
 *
 * fd    memory file with it, borrowed; its position may change
 * said  what the compiler wrote to its standard error, of `size` bytes
 */
typedef ctune_job_verdict (*ctune_job_check)(void *user, int fd, char *said, size_t size);

typedef struct ctune_job_result {
    bool is_changed; /* false: the user's text is to be compiled, fd is -1 */
    bool is_check;   /* CTUNE_JOB_IS_CHILD: compile fd's text, say nothing, leave no output */
    int fd;          /* memory file with the new text, owned; position undefined */
    char *lock_path; /* a dependency of the output; owned, NULL: there is no lock */
    int n_messages;
    ctune_job_message *messages; /* owned */
    char failure[512]; /* what went wrong in words, "": nothing, or all is in the messages */
} ctune_job_result;

/*
 * options  as for ctune_transform_run
 * self     an address in the plugin: the library lies beside it
 * check    of the new text, with check_user
 *
 * Never fails: what goes wrong is in out->failure and the text is unchanged. Owner of *out: caller.
 */
void ctune_job_run(const ctune_transform_options *options, const void *self, ctune_job_check check,
                   void *check_user, ctune_job_result *out);
/*
 * For a ctune_job_check: splits off a child whose standard error is kept, whose standard output
 * goes nowhere and whose CPU time is limited. IS_CHILD in there; in this process, when the child
 * has ended: COMPILES when its exit code is 0, else REFUSED.
 */
ctune_job_verdict ctune_job_fork(char *said, size_t size);

/* The compiler's own handlers would report its internal error, and keep files for that. */
void ctune_job_reset_signals(void);
/* This process may use so much CPU time from now on. */
void ctune_job_limit_cpu(int seconds);

/* The first error in what a compiler said; *out all zero when it said nothing. */
void ctune_job_first_error(const char *said, ctune_transform_failure *out);

void ctune_job_clear(ctune_job_result *result);

#ifdef __cplusplus
}
#endif

#endif
