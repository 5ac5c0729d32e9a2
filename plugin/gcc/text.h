/*
 * The bytes of the main file, and memory files in their place. No GCC in here: its headers forbid
 * malloc. C++ may include this header.
 */
#ifndef CTUNE_PLUGIN_GCC_TEXT_H
#define CTUNE_PLUGIN_GCC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctune_gcc_text {
    char *text; /* contents, NUL-terminated, owned */
    size_t n_text;
    bool is_stdin;
    bool is_consumed;         /* reading it once was all: the compiler needs another one */
    off_t begin;              /* of standard input that is a file: where it stood; else -1 */
    struct timespec times[2]; /* of the file, for __TIMESTAMP__ */
} ctune_gcc_text;

/* file: path, "-" or "" for standard input. false: cannot be read, or no memory; *out is empty. */
bool ctune_gcc_text_read(const char *file, ctune_gcc_text *out);
void ctune_gcc_text_clear(ctune_gcc_text *text);

/* Puts standard input back to where it stood. false: it is not a file. */
bool ctune_gcc_text_rewind(const ctune_gcc_text *text);

/* A memory file with the text. -1: none to be had, errno tells. */
int ctune_gcc_text_copy(const ctune_gcc_text *text);

/* A name under which the memory file fd can be opened, at least as long as `name`, ready to be read
 * from its start and with the times of text. Owner: caller, free. NULL: no, errno tells. */
char *ctune_gcc_text_alias(int fd, const char *name, const ctune_gcc_text *text);

/* fd becomes standard input, from its start; it is closed. false: no, errno tells. */
bool ctune_gcc_text_to_stdin(int fd);

/* `NAME="value"` as -D takes it. Owner: caller, free. NULL: no memory. */
char *ctune_gcc_text_definition(const char *name, const char *value);

#ifdef __cplusplus
}
#endif

#endif
