/*
 * The hot loop of a function's assembly.
 */
#ifndef CTUNE_PLUGIN_PAGE_HOT_H
#define CTUNE_PLUGIN_PAGE_HOT_H

#include "runtime/text.h"

/* Lines of one function out of an assembly file: from its label to its .size. */
void ctune_assembly_function(const char *assembly, const char *name, ctune_text *out);

/* The lines of the innermost loop with the most vector arithmetic; without any, of the longest
 * innermost loop; nothing when there is no loop. A loop is what lies between a label and a later
 * jump back to it, innermost when no other lies inside. Directives are left out. x86-64 (AT&T) and
 * AArch64. Where the machine runs longest is not measured: this is the loop that does most of the
 * work where all run equally often. */
void ctune_assembly_hot_loop(const char *function, ctune_text *out);

#endif
