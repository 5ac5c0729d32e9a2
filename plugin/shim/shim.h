/*
 * What the compiler plugins share before the transform library is loaded: looking for the pragma,
 * arguments, the driver's words, and the loading itself.
 *
 * Small C without dependencies (libdl): it is in every compile of a build that uses a plugin. C++
 * may include this header.
 */
#ifndef CTUNE_PLUGIN_SHIM_SHIM_H
#define CTUNE_PLUGIN_SHIM_SHIM_H

#include "plugin/transform/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* May `text` hold `#pragma tune`, `%:pragma tune` or `_Pragma("tune...")`, line splices and
 * comments in between included? True too often (in a comment, in a string), never false when there
 * is one. */
bool ctune_shim_has_pragma(const char *text, size_t n_text);

/* The plugin's arguments. */
typedef struct ctune_shim_args {
    ctune_transform_mode mode;
    const char *lock;   /* NULL: beside the source */
    const char *report; /* file for JSON lines, NULL: none */
    bool is_nearest;    /* target=nearest */
    bool shows_remarks; /* report=remarks: in the compiler's output */
    bool werror;
} ctune_shim_args;

/* One argument, already split: "mode", "predict"; value NULL when there was no '='. Strings are
 * kept. false: bad, with words for the user in error. */
bool ctune_shim_arg_set(ctune_shim_args *args, const char *key, const char *value, char *error,
                        size_t size);

/* The words of one command. Owner: the struct. */
typedef struct ctune_shim_words {
    int n;
    char **words; /* the compiler's name is [0] */
} ctune_shim_words;

/* Of process `pid` (0: this one), from /proc; @files are expanded. false: not to be had. */
bool ctune_shim_words_read(int pid, ctune_shim_words *out);
/* Path of the program that process `pid` (0: this one) runs: what a compile may start again without
 * asking PATH. false: not to be had. */
bool ctune_shim_program_find(int pid, char *out, size_t size);
/* From text as GCC keeps it in COLLECT_GCC_OPTIONS: 'a' 'b c' 'it'\''s'. [0] is set to name. */
bool ctune_shim_words_parse(const char *name, const char *quoted, ctune_shim_words *out);
void ctune_shim_words_clear(ctune_shim_words *words);

/* Load libctune-transform.so from the folder of the library that `self` (an address in it) is in.
 * NULL with words for the user in error: not there, or of another version. Never unloaded. */
const ctune_transform_api *ctune_shim_load(const void *self, char *error, size_t size);

#ifdef __cplusplus
}
#endif

#endif
