/*
 * Target keys: the words by which records and lock entries name what they are valid for.
 *
 * The words are few, so that people can read a lock; what they leave out of a target is described
 * by facts beside them. Flags are a hash.
 */
#include "search/target/target.h"

#include "runtime/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ctune_target_key(const ctune_target *target, char *out, size_t size) {
    uint64_t hash = ctune_hash(CTUNE_HASH_INIT, target->flags, strlen(target->flags));
    snprintf(out, size, "%s %s %s t%d %08x", target->compiler, target->cpu, target->isa,
             target->n_threads, (unsigned)(hash ^ hash >> 32));
}

void ctune_target_machine_key(const ctune_target *target, const char *key, char *out, size_t size) {
    bool is_hidden = target->host[0] != '\0' && strcmp(target->host, target->cpu) != 0;
    snprintf(out, size, "%s%s%s", key, is_hidden ? " @" : "", is_hidden ? target->host : "");
}

/* The word before *end, which moves to its begin; copied, cut when too long. */
static void take_last_word(const char *key, const char **end, char *out, size_t size) {
    const char *p = *end;
    while (p > key && p[-1] == ' ') {
        p--;
    }
    const char *stop = p;
    while (p > key && p[-1] != ' ') {
        p--;
    }
    snprintf(out, size, "%.*s", (int)(stop - p), p);
    *end = p;
}

/* "clang 19 znver5 avx512 t1 1a2b3c4d", from its end: only the compiler has blanks. */
void ctune_target_from_key(const char *key, ctune_target *out) {
    char threads[32], hash[32];
    const char *end = key + strlen(key);
    memset(out, 0, sizeof *out);
    take_last_word(key, &end, hash, sizeof hash);
    take_last_word(key, &end, threads, sizeof threads);
    take_last_word(key, &end, out->isa, sizeof out->isa);
    take_last_word(key, &end, out->cpu, sizeof out->cpu);
    while (end > key && end[-1] == ' ') {
        end--;
    }
    snprintf(out->compiler, sizeof out->compiler, "%.*s", (int)(end - key), key);
    int n = threads[0] == 't' ? atoi(threads + 1) : 0;
    out->n_threads = out->n_cores = n < 1 ? 1 : n > 65536 ? 65536 : n;
    ctune_target_complete(out);
}

/* Row of the instruction set of this name, -1: none. */
static int find_isa(const char *name) {
    for (int i = 0; ctune_isa_get(i) != NULL; i++) {
        if (strcmp(ctune_isa_get(i)->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Fused products give other bits: the schedule was chosen for what the original did there. */
static bool fuses_alike(const ctune_target *mine, const ctune_isa *theirs) {
    return mine->contract == CTUNE_CONTRACT_OFF || mine->has_fma == theirs->has_fma;
}

int ctune_target_nearness(const ctune_target *mine, const char *key) {
    ctune_target theirs;
    char own[256];
    ctune_target_from_key(key, &theirs);
    ctune_target_key(mine, own, sizeof own);
    int i_mine = find_isa(mine->isa), i_theirs = find_isa(theirs.isa);
    const char *hash = strrchr(key, ' '), *own_hash = strrchr(own, ' ');
    if (ctune_compiler_get(mine->compiler) != ctune_compiler_get(theirs.compiler) || i_mine < 0 ||
        i_theirs < i_mine || hash == NULL || own_hash == NULL ||
        ctune_isa_get(i_mine)->family != ctune_isa_get(i_theirs)->family ||
        !fuses_alike(mine, ctune_isa_get(i_theirs))) {
        return -1;
    }
    bool is_parallel = mine->n_threads > 1;
    return 16 * (64 - i_theirs) + 8 * (strcmp(hash, own_hash) == 0) +
           4 * (strcmp(mine->compiler, theirs.compiler) == 0) +
           2 * (strcmp(mine->cpu, theirs.cpu) == 0) + (is_parallel == (theirs.n_threads > 1));
}
