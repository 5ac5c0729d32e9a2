/*
 * Workload key: names a computation, so that records of equal loops meet whatever their variables
 * are called.
 *
 * In: a region and, optionally, sizes. Out: a 64-bit hash of the normal dump (te_print.c) and the
 * sizes. The dump is the thing hashed, not the structures, so that the key is explained by a text
 * that a person can read.
 */
#include "search/te/te_private.h"

#include "runtime/rng.h"

uint64_t ctune_workload_key(const ctune_region *region, const int64_t *sizes) {
    ctune_text text;
    ctune_text_init(&text);
    ctune_te_print_normal(region, &text);
    for (int i = 0; sizes != NULL && i < region->n_params; i++) {
        ctune_text_printf(&text, "size %lld\n", (long long)sizes[i]);
    }
    uint64_t key = ctune_hash(CTUNE_HASH_INIT, ctune_text_get(&text), text.len);
    ctune_text_clear(&text);
    return key;
}
