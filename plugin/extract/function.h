/*
 * The function around a region, as a caller sees it: see ctune_unit_function in extract.h.
 */
#ifndef CTUNE_PLUGIN_EXTRACT_FUNCTION_H
#define CTUNE_PLUGIN_EXTRACT_FUNCTION_H

#include "plugin/extract/cx.h"
#include "plugin/extract/extract.h"

/* Strings in the arena. Memory that is out: the arena remembers. */
void ctune_function_describe(ctune_arena *arena, CXCursor function, ctune_unit_function *out);

#endif
