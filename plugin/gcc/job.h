/*
 * One run of the transform library on behalf of a compiler, in a child process.
 *
 * The child is a fork of the compiler (which has one thread and has done next to nothing yet); it
 * loads libclang, isl and all, works, and hands back the text and the messages through files in
 * memory. So the compiler keeps a clean address space, and a crash in there costs the tuned code
 * and not the build. C++ may include this header.
 */
#ifndef CTUNE_PLUGIN_GCC_JOB_H
#define CTUNE_PLUGIN_GCC_JOB_H

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

typedef struct ctune_job_result {
    bool is_changed; /* false: the user's text is to be compiled, fd is -1 */
    int fd;          /* memory file with the new text, owned; position undefined */
    char *lock_path; /* a dependency of the output; owned, NULL: there is no lock */
    int n_messages;
    ctune_job_message *messages; /* owned */
    char failure[512]; /* what went wrong in words, "": nothing, or all is in the messages */
} ctune_job_result;

/*
 * options  as for ctune_transform_run
 * self     an address in the plugin: the library lies beside it
 *
 * Never fails: what goes wrong is in out->failure and the text is unchanged. Owner of *out: caller.
 */
void ctune_job_run(const ctune_transform_options *options, const void *self, ctune_job_result *out);
void ctune_job_clear(ctune_job_result *result);

#ifdef __cplusplus
}
#endif

#endif
