/*
 * mode=record: instrumented C for a file's annotated nests.
 *
 * The user's statement stays as it is and gets a call of runtime/record before and after it. Only
 * nests that were extracted are recorded: nothing in them jumps out, so that the second call is
 * always reached. The text goes through ctune_rewrite like tuned code and is undone like it. It
 * needs no header, and is free of warnings in C99 and later.
 */
#ifndef CTUNE_PLUGIN_RECORD_RECORD_H
#define CTUNE_PLUGIN_RECORD_RECORD_H

#include "plugin/extract/extract.h"
#include "runtime/text.h"

/*
 * What the file needs once, before its first recorded nest: declarations, and one site a region.
 *
 * path  of the source, as the profile will name it; best absolute: the program runs elsewhere
 * Fails ENOMEM
 */
CTUNE_MUST_USE ctune_status ctune_record_emit_prelude(ctune_ctx *ctx, const ctune_unit *unit,
                                                      const char *path, ctune_text *out);

/*
 * The statement that replaces region i_region; nothing when it was refused or is off.
 *
 * path      the same as for the prelude
 * original  the user's bytes of the statement
 * Fails     ENOMEM
 */
CTUNE_MUST_USE ctune_status ctune_record_emit_body(ctune_ctx *ctx, const ctune_unit *unit,
                                                   const char *path, int i_region,
                                                   const char *original, ctune_text *out);

#endif
