/*
 * The main file of a GCC compile: another text put in its place without anybody noticing.
 *
 * libcpp reads the main file by its name, and everything that names the user's file afterwards
 * (debug information, __FILE__, the folder of #include "...", diagnostics, dependencies) comes from
 * that name. So the new text is a memory file, opened under a name /proc/self/fd/N that is padded
 * to the length of the user's; once libcpp has opened it, the user's name is written over it, in
 * the very string that libcpp keeps. No file is left anywhere, however the compile ends.
 */
#ifndef CTUNE_PLUGIN_GCC_INPUT_H
#define CTUNE_PLUGIN_GCC_INPUT_H

#include "plugin/gcc/compat.h"

struct ctune_gcc_input {
    const char *file; /* as the user wrote it; "-": standard input */
    ctune_gcc_text text;
    char *alias;      /* name under which the new text is opened, owned; NULL: the user's own */
    bool hides_lines; /* of -E output: the first line marker, which would name the alias */
};

/* Reads in_fnames[0]. false: there is no such text (the compiler has its own words for that). */
bool ctune_gcc_input_read(ctune_gcc_input *input);

/* The compiler is to read the memory file fd (taken over) instead; before it opens its main file.
 * false: words in error. */
bool ctune_gcc_input_replace(ctune_gcc_input *input, int fd, char *error, size_t size);

/* The text stays: gives back what reading took. false: words in error. */
bool ctune_gcc_input_keep(ctune_gcc_input *input, char *error, size_t size);

/* Gives the main file its name back; when the compiler has opened it and looked at nothing. */
void ctune_gcc_input_restore_name(ctune_gcc_input *input);

/* __BASE_FILE__ takes its value from a copy of the name: defines it anew. Callback for
 * PLUGIN_INCLUDE_FILE, user data: the input. */
void ctune_gcc_input_define_base(void *name, void *input);

/* Dependencies: the user's file instead of the alias, and the lock when it is not NULL. */
void ctune_gcc_input_add_deps(const ctune_gcc_input *input, const char *lock);

#endif
