/*
 * The user's whole file as a text that compiles elsewhere: with its own name and lines (#line), its
 * regions marked or replaced, more text behind it.
 */
#ifndef CTUNE_PLUGIN_SOURCE_UNIT_TEXT_H
#define CTUNE_PLUGIN_SOURCE_UNIT_TEXT_H

#include "plugin/source/source.h"

/* File name that debug lines of region i_region's code carry when they are marked. */
void ctune_unit_mark(int i_region, char *out, size_t size);

/*
 * bodies   [unit->n_regions], an entry NULL: the user's statement, as it was before an earlier
 *          rewriting. bodies NULL: all of them
 * is_marked  statements get ctune_unit_mark's name in place of the file's
 */
void ctune_unit_print(const ctune_source *source, const char *const *bodies, bool is_marked,
                      ctune_text *out);

/*
 * argv of a compile of such a text: the user's compiler and flags, the folder of the user's file
 * for its includes, then more[n_more]; NULL-terminated, in the arena. NULL: memory is out.
 */
const char **ctune_unit_argv(const ctune_source *source, ctune_arena *arena, int n_more,
                             const char *const *more);

#endif
