/*
 * Where the prelude belongs: the line on which the top-level declaration around a place begins.
 */
#ifndef CTUNE_PLUGIN_REWRITE_PLACE_H
#define CTUNE_PLUGIN_REWRITE_PLACE_H

#include <stddef.h>

/* Offset of a line start in text [n]: before the declaration that contains offset `at` and before
 * the comment directly above it, outside of every #if that does not contain all of that
 * declaration's head. */
size_t ctune_place_find(const char *text, size_t n, size_t at);

#endif
