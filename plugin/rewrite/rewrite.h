/*
 * Rewriting: splice emitted C into the user's text. Pure text work; #line keeps later lines the
 * user's.
 *
 * What a rewritten region looks like; everything from begin to end stands in place of the
 * statement:
 *
 *     #pragma tune sizes(n=1024)
 *         / * ctune:begin gemm * /
 *     #line 3 "gemm.c"
 *         { tuned code ... else {
 *     #line 3 "gemm.c"
 *         / * ctune:original begin * /
 *         for (...) ...                       the user's bytes, untouched
 *         / * ctune:original end * /
 *     #line 3 "gemm.c"
 *         } }
 *     #line 7 "gemm.c"
 *         / * ctune:end gemm * /              what followed the statement on its line follows here
 *
 * The prelude stands once, before the function that holds the first rewritten region:
 *
 *     / * ctune:prelude begin * /
 *     ...
 *     #line 2 "gemm.c" / * ctune:prelude end * /
 */
#ifndef CTUNE_PLUGIN_REWRITE_REWRITE_H
#define CTUNE_PLUGIN_REWRITE_REWRITE_H

#include "plugin/extract/extract.h"

/* What goes in place of region i of a unit; body NULL = leave it as it is (an earlier rewriting is
 * undone). */
typedef struct ctune_splice {
    int i_region;
    const char *body; /* from ctune_emit_region */
} ctune_splice;

/* prelude: text put once, before the first declaration that contains a splice (after any earlier
 * line of the file: the place is before the first function that holds a rewritten region). The
 * pragma stays in the text, inside markers, so that rewriting again replaces the earlier output:
 * rewriting is idempotent. Line endings of the file are kept. A region without a splice keeps its
 * bytes, rewritten or not; when no region is rewritten in the end the prelude goes, too. */
CTUNE_MUST_USE ctune_status ctune_rewrite(ctune_ctx *ctx, const ctune_unit *unit,
                                          const char *prelude, const ctune_splice *splices,
                                          int n_splices, ctune_text *out);

/* The same with a choice of the file named by #line; NULL = no #line at all (for rewriting in
 * place, where the file on disk is the rewritten one). */
CTUNE_MUST_USE ctune_status ctune_rewrite_lines(ctune_ctx *ctx, const ctune_unit *unit,
                                                const char *prelude, const ctune_splice *splices,
                                                int n_splices, const char *line_file,
                                                ctune_text *out);

/* The name that an earlier rewriting wrote into the prelude's #line: the file that `text` was made
 * from. Copied to out, empty when there is none. */
void ctune_rewrite_origin(const char *text, size_t n_text, char *out, size_t size);

#endif
