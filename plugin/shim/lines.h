/*
 * Line numbers of tuned code in a build: the line of the statement that it comes from, else the
 * pragma's, and no other.
 *
 * A rewritten source that a person reads has its generated code on many lines, which count on from
 * the #line before them: in debug information, breakpoints and profiles they would pass for lines
 * of the user's file below. A compiler gets the same text with these lines joined.
 */
#ifndef CTUNE_PLUGIN_SHIM_LINES_H
#define CTUNE_PLUGIN_SHIM_LINES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* text: of ctune_transform_run. Everything outside of ctune's markers, the user's original in the
 * else branch and directives stay as they are. Owner: caller, free; NUL-terminated. NULL: no
 * memory. */
char *ctune_shim_lines_join(const char *text, size_t n_text, size_t *n_out);

#ifdef __cplusplus
}
#endif

#endif
