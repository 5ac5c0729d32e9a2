/*
 * What compiles of one user know of each other: small tables in the folder for temporary files, the
 * only place where a compile may write besides its outputs. Without such a place nothing is
 * remembered, and nothing else changes. C++ may include this header.
 */
#ifndef CTUNE_PLUGIN_SHIM_STATE_H
#define CTUNE_PLUGIN_SHIM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Descriptor of the table `name` in $TMPDIR/.ctune-UID, which O_CREAT in flags makes. -1: there is
 * none, or it is another user's. Owner: caller. */
int ctune_shim_state_open(const char *name, int flags);

/* FNV-1a over n bytes; begin with CTUNE_SHIM_HASH. */
#define CTUNE_SHIM_HASH 0xcbf29ce484222325u
uint64_t ctune_shim_hash(uint64_t hash, const void *bytes, size_t n);

/* Is this the first time in this build that somebody asks for `what`? A build is what one command
 * of a session started: make, ninja, a script. */
bool ctune_shim_once(const char *what);

#ifdef __cplusplus
}
#endif

#endif
