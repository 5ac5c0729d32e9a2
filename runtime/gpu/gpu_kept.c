/*
 * Kept arrays: which side's copy counts, and the copies between them.
 *
 * In: ranges of host memory and what regions do to them. Out: a device buffer that is current, or a
 * host range that is. There are three owners (gpu_side): the host after keep and sync, both after a
 * region read it, the device after a region wrote it. Every way back to the host goes through
 * `fetch`. An array whose only current copy is on a lost device is an error that is told.
 *
 * CTUNE_GPU=check: while both sides count their bytes are hashed, and the device's compared too;
 * while the device's counts the host's bytes are filled with 0xff (a NaN), which must stay.
 */
#include "runtime/gpu/gpu_private.h"

#include <stdlib.h>
#include <string.h>

enum { POISON = 0xff };

static gpu_kept *kept_list;

/* ---- the list ---------------------------------------------------------------------------------
 */
static bool overlaps(const gpu_kept *kept, const void *base, size_t bytes) {
    uintptr_t at = (uintptr_t)base, from = (uintptr_t)kept->base;
    return bytes > 0 && at < from + kept->bytes && from < at + bytes;
}

gpu_kept *ctune_gpu_kept_find(const void *base, size_t bytes) {
    uintptr_t at = (uintptr_t)base;
    for (gpu_kept *k = kept_list; k != NULL; k = k->next) {
        uintptr_t from = (uintptr_t)k->base;
        if (k->side != GPU_LOST && at >= from && at - from <= k->bytes &&
            bytes <= k->bytes - (at - from)) {
            return k;
        }
    }
    return NULL;
}

static gpu_kept *find_at(const void *ptr) {
    gpu_kept *k = kept_list;
    while (k != NULL && !overlaps(k, ptr, 1)) {
        k = k->next;
    }
    return k;
}

static void free_kept(gpu_kept *kept) {
    if (kept->memory != 0) {
        ctune_gpu_pool_put(kept->memory);
    }
    free(kept);
}

/* ---- checking ---------------------------------------------------------------------------------
 */
static gpu_rect whole(const gpu_kept *kept) {
    return (gpu_rect){1, kept->bytes, kept->bytes, kept->bytes};
}

static void check_poison(const gpu_kept *kept) {
    for (size_t i = 0; i < kept->bytes; i++) {
        if ((unsigned char)kept->base[i] != POISON) {
            ctune_gpu_error(
                "check: the host wrote byte %zu of the kept array at %p while the device's "
                "copy was the newer one: call ctune_gpu_sync before",
                i, (void *)kept->base);
            return;
        }
    }
}

static void check_both(const gpu_kept *kept) {
    if (ctune_gpu_hash(kept->base, kept->bytes) != kept->hash) {
        ctune_gpu_error("check: the host wrote the kept array at %p after a region read it: call "
                        "ctune_gpu_sync before",
                        (void *)kept->base);
    }
    const gpu_driver *driver = ctune_gpu_driver_get();
    void *copy = driver != NULL ? malloc(kept->bytes) : NULL;
    gpu_rect rect = whole(kept);
    if (copy != NULL && driver->copy_out(copy, kept->memory, &rect) &&
        ctune_gpu_hash(copy, kept->bytes) != kept->hash) {
        ctune_gpu_error("check: a region changed the kept array at %p although it only reads it",
                        (void *)kept->base);
    }
    free(copy);
}

/* The side that does not count, or both, must be as we left them. */
static void check_untouched(const gpu_kept *kept) {
    if (ctune_gpu_mode_get() == GPU_CHECK) {
        if (kept->side == GPU_DEVICE) {
            check_poison(kept);
        } else if (kept->side == GPU_BOTH) {
            check_both(kept);
        }
    }
}

static void set_side(gpu_kept *kept, gpu_side side) {
    kept->side = side;
    if (ctune_gpu_mode_get() == GPU_CHECK) {
        if (side == GPU_DEVICE) {
            memset(kept->base, POISON, kept->bytes);
        } else if (side == GPU_BOTH) {
            kept->hash = ctune_gpu_hash(kept->base, kept->bytes);
        }
    }
}

/* ---- moves ------------------------------------------------------------------------------------
 */
static bool lose(gpu_kept *kept) {
    kept->side = GPU_LOST;
    ctune_gpu_error("the kept array at %p (%zu bytes) is lost: its newer copy is on a device that "
                    "failed (%s)",
                    (void *)kept->base, kept->bytes, ctune_gpu_why());
    return false;
}

/* The host's copy becomes current; then the sides are equal. */
static bool fetch(gpu_kept *kept) {
    if (kept->side == GPU_LOST) {
        return lose(kept);
    }
    if (kept->side != GPU_DEVICE) {
        return true;
    }
    const gpu_driver *driver = ctune_gpu_driver_get();
    gpu_rect rect = whole(kept);
    if (driver == NULL) {
        return lose(kept);
    }
    if (!driver->finish() || !driver->copy_out(kept->base, kept->memory, &rect)) {
        kept->side = GPU_LOST; /* what is on the host now is half of it */
        ctune_gpu_switch_off("copying a kept array back");
        return lose(kept);
    }
    set_side(kept, GPU_BOTH);
    return true;
}

bool ctune_gpu_kept_take(gpu_kept *kept, bool is_overwritten) {
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver == NULL) {
        return false;
    }
    check_untouched(kept);
    if (kept->memory == 0) {
        kept->memory = ctune_gpu_pool_get(kept->bytes);
        if (kept->memory == 0) {
            return false;
        }
    }
    if (kept->side == GPU_HOST && !is_overwritten) {
        gpu_rect rect = whole(kept);
        if (!driver->copy_in(kept->memory, kept->base, &rect)) {
            return false;
        }
        set_side(kept, GPU_BOTH);
    }
    kept->users++;
    return true;
}

void ctune_gpu_kept_release(gpu_kept *kept) {
    if (--kept->users == 0 && kept->is_dropped) {
        free_kept(kept);
    }
}

void ctune_gpu_kept_written(gpu_kept *kept) {
    if (kept->side != GPU_LOST) {
        set_side(kept, GPU_DEVICE);
    }
}

void ctune_gpu_kept_spoilt(gpu_kept *kept, gpu_side before) {
    if (before == GPU_DEVICE || kept->side == GPU_DEVICE || kept->side == GPU_LOST) {
        lose(kept);
    } else {
        kept->side = GPU_HOST;
    }
}

void ctune_gpu_kept_settle(const void *base, size_t bytes, bool is_written) {
    for (gpu_kept *k = kept_list; k != NULL; k = k->next) {
        if (overlaps(k, base, bytes)) {
            if (k->side == GPU_DEVICE) {
                check_untouched(k);
            }
            if (fetch(k) && is_written) {
                k->side = GPU_HOST;
            }
        }
    }
}

void ctune_gpu_kept_abandon(bool can_copy) {
    const gpu_driver *driver = can_copy ? ctune_gpu_releaser_get() : NULL;
    for (gpu_kept *k = kept_list; k != NULL; k = k->next) {
        gpu_rect rect = whole(k);
        if (k->side == GPU_DEVICE) {
            /* a run in progress may have written half of it */
            bool is_saved = k->writers == 0 && driver != NULL && driver->finish() &&
                            driver->copy_out(k->base, k->memory, &rect);
            k->side = is_saved ? GPU_HOST : GPU_LOST;
        } else if (k->side == GPU_BOTH) {
            k->side = GPU_HOST;
        }
    }
}

void ctune_gpu_kept_forget_memory(void) {
    for (gpu_kept *k = kept_list; k != NULL; k = k->next) {
        if (k->memory != 0) {
            ctune_gpu_pool_put(k->memory);
            k->memory = 0;
        }
    }
}

void ctune_gpu_kept_reset(void) {
    while (kept_list != NULL) {
        gpu_kept *k = kept_list;
        kept_list = k->next;
        free(k);
    }
}

/* ---- for programs -----------------------------------------------------------------------------
 */
static int keep(void *ptr, size_t bytes) {
    if (ptr == NULL || bytes == 0 || (uintptr_t)ptr + bytes < (uintptr_t)ptr) {
        return 0;
    }
    for (gpu_kept *k = kept_list; k != NULL; k = k->next) {
        if (k->base == ptr && k->bytes == bytes) {
            return k->side != GPU_LOST;
        }
        if (overlaps(k, ptr, bytes)) {
            ctune_gpu_log("keep: %p overlaps the kept array at %p", ptr, (void *)k->base);
            return 0;
        }
    }
    if (ctune_gpu_is_off()) {
        return 0;
    }
    gpu_kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL) {
        return 0;
    }
    *kept = (gpu_kept){.next = kept_list, .base = ptr, .bytes = bytes, .side = GPU_HOST};
    kept_list = kept;
    return 1;
}

int ctune_gpu_keep(void *ptr, size_t bytes) {
    ctune_gpu_enter();
    int result = keep(ptr, bytes);
    ctune_gpu_leave();
    return result;
}

/* The kept array at ptr is the host's now. */
static int sync_at(void *ptr, gpu_kept **out) {
    gpu_kept *kept = find_at(ptr);
    *out = kept;
    if (kept == NULL) {
        return 1;
    }
    if (kept->side == GPU_DEVICE) {
        check_untouched(kept);
    }
    bool is_there = fetch(kept);
    if (is_there) {
        kept->side = GPU_HOST;
    }
    return is_there;
}

int ctune_gpu_sync(void *ptr) {
    gpu_kept *kept;
    ctune_gpu_enter();
    int result = sync_at(ptr, &kept);
    ctune_gpu_leave();
    return result;
}

int ctune_gpu_drop(void *ptr) {
    gpu_kept *kept;
    ctune_gpu_enter();
    int result = sync_at(ptr, &kept);
    if (kept != NULL) {
        gpu_kept **at = &kept_list;
        while (*at != kept) {
            at = &(*at)->next;
        }
        *at = kept->next;
        kept->is_dropped = true;
        if (kept->users == 0) {
            free_kept(kept);
        }
    }
    ctune_gpu_leave();
    return result;
}
