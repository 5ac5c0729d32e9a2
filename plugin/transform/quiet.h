/*
 * Private to plugin/transform: the user's warning flags are for the user's code.
 */
#ifndef CTUNE_PLUGIN_TRANSFORM_QUIET_H
#define CTUNE_PLUGIN_TRANSFORM_QUIET_H

#include "runtime/text.h"

/* A rewritten text (with #line), no warnings in what was put in: for clang, whose -Weverything and
 * -pedantic-errors would find something in any code. The user's statements keep theirs. */
void ctune_quiet_add(const char *text, ctune_text *out);

#endif
