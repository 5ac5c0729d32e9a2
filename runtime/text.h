/*
 * Growing text with indentation: what every printer writes to.
 *
 * Appending never fails loudly: when memory is out `failed` is set and later appends do nothing.
 */
#ifndef CTUNE_RUNTIME_TEXT_H
#define CTUNE_RUNTIME_TEXT_H

#include "runtime/base.h"

typedef struct ctune_text {
    char *data;  /* NUL-terminated when len > 0; owned */
    size_t len;  /* bytes without the NUL */
    size_t size; /* bytes allocated */
    int indent;  /* levels of 4 spaces put at the start of each line by ctune_text_line */
    bool failed;
} ctune_text;

void ctune_text_init(ctune_text *text);
void ctune_text_clear(ctune_text *text); /* frees; the struct is as after init */
void ctune_text_append(ctune_text *text, const char *bytes);
void ctune_text_append_n(ctune_text *text, const char *bytes, size_t n);
void ctune_text_printf(ctune_text *text, const char *format, ...) CTUNE_PRINTF(2, 3);
/* Indentation, formatted text, newline. */
void ctune_text_line(ctune_text *text, const char *format, ...) CTUNE_PRINTF(2, 3);
/* Never NULL. */
/* Times for people: "412 ms". */
void ctune_time_print(double ns, char *out, size_t size);
const char *ctune_text_get(const ctune_text *text);

/* Whole file into text (appended). EENV with the reason when it cannot be read. "-" is standard
 * input. */
CTUNE_MUST_USE ctune_status ctune_file_read(ctune_ctx *ctx, const char *path, ctune_text *out);
/* Write through a temporary file in the same folder and rename: the old file or the new one, never
 * half. */
CTUNE_MUST_USE ctune_status ctune_file_write(ctune_ctx *ctx, const char *path, const char *bytes,
                                             size_t n_bytes);

/* Remove a folder and the files in it, as far as that goes; folders in it keep it. A working folder
 * may hold what the user's flags make a compiler write beside its output (-fstack-usage, dumps). */
void ctune_folder_remove(const char *path);

#endif
