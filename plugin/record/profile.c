/*
 * Profiles in memory and as files: see profile.h.
 *
 * A sorted array: profiles have as many rows as a program has nests times shapes, some hundreds.
 */
#include "plugin/record/profile.h"

#include "runtime/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ctune_status ctune_profile_init(ctune_ctx *ctx, ctune_profile *profile) {
    memset(profile, 0, sizeof *profile);
    profile->arena = ctune_arena_create(ctx);
    return profile->arena != NULL ? CTUNE_OK : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
}

void ctune_profile_clear(ctune_profile *profile) {
    ctune_arena_destroy(profile->arena);
    free(profile->shape);
    memset(profile, 0, sizeof *profile);
}

static int compare(const ctune_shape *a, const ctune_shape *b) {
    int order = strcmp(a->source, b->source);
    order = order != 0 ? order : strcmp(a->region, b->region);
    order = order != 0 ? order : (a->workload > b->workload) - (a->workload < b->workload);
    return order != 0 ? order : strcmp(a->sizes, b->sizes);
}

/* Index of the first shape that is not smaller. */
static int find_place(const ctune_profile *p, const ctune_shape *shape) {
    int low = 0, high = p->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare(&p->shape[middle], shape) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint64_t add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool grow(ctune_profile *p) {
    size_t bytes;
    int size = p->size > 0 ? 2 * p->size : 64;
    if (p->size > INT32_MAX / 2 || !ctune_size_mul((size_t)size, sizeof *p->shape, &bytes)) {
        return false;
    }
    ctune_shape *bigger = realloc(p->shape, bytes);
    if (bigger != NULL) {
        p->shape = bigger;
        p->size = size;
    }
    return bigger != NULL;
}

ctune_status ctune_profile_add(ctune_ctx *ctx, ctune_profile *p, const ctune_shape *shape) {
    int i = find_place(p, shape);
    if (i < p->n && compare(&p->shape[i], shape) == 0) {
        ctune_shape *s = &p->shape[i];
        s->calls = add(s->calls, shape->calls);
        s->timed = add(s->timed, shape->timed);
        s->ns = add(s->ns, shape->ns);
        s->line = shape->line;
        return CTUNE_OK;
    }
    ctune_shape copy = *shape;
    copy.source = ctune_arena_strdup(p->arena, shape->source);
    copy.region = ctune_arena_strdup(p->arena, shape->region);
    copy.sizes = ctune_arena_strdup(p->arena, shape->sizes);
    if (ctune_arena_has_failed(p->arena) || (p->n == p->size && !grow(p))) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    memmove(&p->shape[i + 1], &p->shape[i], (size_t)(p->n - i) * sizeof *p->shape);
    p->shape[i] = copy;
    p->n++;
    return CTUNE_OK;
}

double ctune_shape_total_ns(const ctune_shape *shape) {
    return shape->timed > 0 ? (double)shape->ns / (double)shape->timed * (double)shape->calls : 0;
}

/* ---- files ---------------------------------------------------------------------------------- */
ctune_status ctune_profile_read(ctune_ctx *ctx, const char *path, bool is_capture,
                                ctune_profile *profile) {
    ctune_text text;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return CTUNE_OK;
    }
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(ctx, path, &text);
    if (status == CTUNE_OK) {
        status = ctune_profile_parse(ctx, path, ctune_text_get(&text), is_capture, profile);
    }
    ctune_text_clear(&text);
    return status;
}

/* The loop of these shapes has changed since the others were captured. */
static bool is_outdated(const ctune_shape *old, const ctune_shape *shapes, int n) {
    bool is_changed = false;
    for (int i = 0; i < n; i++) {
        if (strcmp(old->source, shapes[i].source) == 0 &&
            strcmp(old->region, shapes[i].region) == 0) {
            if (old->workload == shapes[i].workload) {
                return false;
            }
            is_changed = true;
        }
    }
    return is_changed;
}

static ctune_status merge(ctune_ctx *ctx, const char *path, const ctune_shape *shapes, int n) {
    ctune_profile p;
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_profile_init(ctx, &p);
    if (status == CTUNE_OK) {
        status = ctune_profile_read(ctx, path, false, &p);
    }
    int kept = 0;
    for (int i = 0; i < p.n; i++) {
        if (!is_outdated(&p.shape[i], shapes, n)) {
            p.shape[kept++] = p.shape[i];
        }
    }
    p.n = kept;
    for (int i = 0; i < n && status == CTUNE_OK; i++) {
        status = ctune_profile_add(ctx, &p, &shapes[i]);
    }
    if (status == CTUNE_OK) {
        ctune_profile_print(&p, &text);
        status = text.failed ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                             : ctune_file_write(ctx, path, ctune_text_get(&text), text.len);
    }
    ctune_text_clear(&text);
    ctune_profile_clear(&p);
    return status;
}

ctune_status ctune_profile_update(ctune_ctx *ctx, const char *path, const ctune_shape *shapes,
                                  int n) {
    ctune_guard guard;
    ctune_status status = ctune_folders_make(ctx, path);
    if (status == CTUNE_OK) {
        status = ctune_guard_acquire(ctx, path, &guard);
    }
    if (status == CTUNE_OK) {
        status = merge(ctx, path, shapes, n);
        ctune_guard_release(&guard);
    }
    return status;
}
