/*
 * Texts that this compiler, with these words, has once made code from without an error: a table of
 * hashes (state.h), of constant size. Only what it saves is a second code
 * generation of the same text; without a place for it every text is new. C++ may
 * include this header.
 */
#ifndef CTUNE_PLUGIN_SHIM_SEEN_H
#define CTUNE_PLUGIN_SHIM_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a text, the n words of the compile, and the compiler itself (program file, its time). */
uint64_t ctune_shim_seen_key(const char *text, size_t n_text, int n, char *const *words);

bool ctune_shim_seen_has(uint64_t key);
void ctune_shim_seen_add(uint64_t key);

#ifdef __cplusplus
}
#endif

#endif
