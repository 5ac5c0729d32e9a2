/*
 * Private to plugin/pragma: texts made from tokens and the other way round.
 */
#ifndef CTUNE_PLUGIN_PRAGMA_TOKEN_H
#define CTUNE_PLUGIN_PRAGMA_TOKEN_H

#include "plugin/pragma/pragma.h"
#include "runtime/text.h"

bool ctune_token_is_word(
    const char *text); /* a C identifier or keyword; bytes >= 0x80 count as letters */
bool ctune_token_is_comment(const char *text); /* libclang hands comments over as tokens */
bool ctune_token_is_open(const char *text);    /* a string or character literal without its end */

/* Tokens as one line of C with canonical spacing: tokenising the result and joining again gives the
 * same text. */
void ctune_token_join(ctune_text *out, const ctune_token *tokens, int n_tokens);

/* Append the value of a narrow string literal token. Returns NULL, or words about what is wrong
 * with it. */
const char *ctune_token_unescape(ctune_text *out, const char *literal);
void ctune_token_escape(ctune_text *out, const char *value); /* the other way, with the quotes */

#endif
