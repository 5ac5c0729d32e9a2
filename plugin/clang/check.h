/*
 * Does this clang, with this compile's invocation, take another text for the main file?
 */
#ifndef CTUNE_PLUGIN_CLANG_CHECK_H
#define CTUNE_PLUGIN_CLANG_CHECK_H

#include "plugin/clang/compat.h"
#include "plugin/shim/job.h"

namespace ctune {

/* A ctune_job_check; user: the CompilerInstance. Never CTUNE_JOB_IS_CHILD. */
ctune_job_verdict check_text(void *compiler, int fd, char *said, size_t size);

/* Is this process such a check? Then the plugin leaves the text alone. */
bool is_check();

} // namespace ctune

#endif
