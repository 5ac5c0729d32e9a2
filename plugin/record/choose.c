/*
 * Which shapes of a region are worth tuning: see profile.h.
 *
 * By time, not by calls: a thousand calls of a tiny shape matter less than one of a large.
 */
#include "plugin/record/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ctune_sizes_read(const char *text, const ctune_region *region, int64_t *params) {
    for (int i = 0; i < region->n_params; i++) {
        const char *equals = text + strcspn(text, "= ");
        char *end;
        errno = 0;
        params[i] = *equals == '=' ? strtoll(equals + 1, &end, 10) : 0;
        bool is_last = i + 1 == region->n_params;
        if (equals == text || *equals != '=' || end == equals + 1 || errno != 0 ||
            *end != (is_last ? '\0' : ' ')) {
            return false;
        }
        text = end + !is_last;
    }
    return region->n_params > 0 || text[0] == '\0';
}

static void insert(ctune_profile_sizes *out, const ctune_profile_size *size) {
    int i = out->n;
    if (i == CTUNE_PROFILE_MAX_SIZES) {
        if (out->size[i - 1].ns >= size->ns) {
            return;
        }
        i--;
    } else {
        out->n++;
    }
    for (; i > 0 && out->size[i - 1].ns < size->ns; i--) {
        out->size[i] = out->size[i - 1];
    }
    out->size[i] = *size;
}

uint64_t ctune_shape_key(const ctune_region *region) {
    ctune_region plain = *region;
    ctune_stage *stages = CTUNE_NEW_ARRAY(region->arena, ctune_stage, region->n_stages + 1);
    if (stages == NULL) {
        return ctune_workload_key(region, NULL);
    }
    memcpy(stages, region->stages, (size_t)region->n_stages * sizeof *stages);
    for (int i = 0; i < region->n_stages; i++) {
        stages[i].reassoc = false;
    }
    plain.stages = stages;
    plain.reassoc = plain.serial = plain.noalias = false;
    plain.n_threads = 0;
    plain.n_assumes = 0;
    return ctune_workload_key(&plain, NULL);
}

void ctune_profile_choose(const ctune_profile *profile, const char *source,
                          const ctune_region *region, double coverage, ctune_profile_sizes *out) {
    /* before there was a key of shapes, programs recorded the other one */
    uint64_t key = ctune_shape_key(region), workload = ctune_workload_key(region, NULL);
    bool is_fresh = false;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < profile->n; i++) {
        const ctune_shape *s = &profile->shape[i];
        if (strcmp(s->source, source) != 0 || strcmp(s->region, region->name) != 0) {
            continue;
        }
        if (s->workload != key && s->workload != workload) {
            out->is_stale = true;
            continue;
        }
        ctune_profile_size size = {.calls = (double)s->calls, .ns = ctune_shape_total_ns(s)};
        is_fresh = true;
        out->ns += size.ns;
        if (region->n_params <= CTUNE_PROFILE_MAX_PARAMS &&
            ctune_sizes_read(s->sizes, region, size.params)) {
            out->n_shapes++;
            if (size.ns > 0) {
                insert(out, &size);
            }
        }
    }
    out->is_stale = out->is_stale && !is_fresh;
    int n = 0;
    while (n < out->n && out->covered < coverage) {
        out->size[n].share = out->size[n].ns / out->ns;
        out->covered += out->size[n++].share;
    }
    out->n = n;
}

const ctune_region *ctune_region_at(const ctune_region *region, const int64_t *params) {
    ctune_region *copy = CTUNE_NEW(region->arena, ctune_region);
    ctune_param *own = CTUNE_NEW_ARRAY(region->arena, ctune_param, region->n_params + 1);
    if (copy == NULL || own == NULL) {
        return NULL;
    }
    for (int i = 0; i < region->n_params; i++) {
        own[i] = region->params[i];
        own[i].n_sizes = 1;
        own[i].sizes[0] = params[i];
    }
    *copy = *region;
    copy->params = own;
    return copy;
}
