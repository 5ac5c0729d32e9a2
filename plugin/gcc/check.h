/*
 * Does this GCC, with this compile's options, take another text for the main file?
 */
#ifndef CTUNE_PLUGIN_GCC_CHECK_H
#define CTUNE_PLUGIN_GCC_CHECK_H

#include "plugin/gcc/compat.h"

/* A ctune_job_check, user: the ctune_shim_words of the compile. In plugin_init; the child goes on
 * from there as the compiler of the text that it is given, without a file as its output. */
ctune_job_verdict ctune_gcc_check(void *words, int fd, char *said, size_t size);

/* In that child, when the compiler has looked at its options. */
void ctune_gcc_check_start(void);

#endif
