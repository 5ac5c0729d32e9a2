/*
 * Recorded shapes in the tool: see profile.h.
 */
#include "plugin/tool/profile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Shapes that together take this share of a nest's time are tuned. */
#define COVERAGE 0.95

char *ctune_profile_path(const char *file) {
    static const char name[] = ".ctune/profile";
    const char *slash = strrchr(file, '/');
    size_t n = slash != NULL ? (size_t)(slash - file) + 1 : 0;
    char *out = malloc(n + sizeof name);
    if (out != NULL) {
        memcpy(out, file, n);
        memcpy(out + n, name, sizeof name);
    }
    return out;
}

ctune_status ctune_profile_open(ctune_ctx *ctx, const ctune_options *options, const char *file,
                                ctune_profile *out) {
    ctune_status status = ctune_profile_init(ctx, out);
    if (status != CTUNE_OK || options->no_profile) {
        return status;
    }
    if (options->profile != NULL && access(options->profile, F_OK) != 0) {
        return ctune_fail(ctx, CTUNE_EENV, "no profile %s; `ctune record` makes one",
                          options->profile);
    }
    char *path = options->profile != NULL ? strdup(options->profile) : ctune_profile_path(file);
    status = path != NULL ? ctune_profile_read(ctx, path, false, out)
                          : ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    free(path);
    return status;
}

static void say(ctune_ctx *ctx, const ctune_source *source, const ctune_region *region,
                ctune_severity severity, const char *code, const char *text, const char *hint) {
    ctune_diag_send(ctx, &(ctune_diag){.severity = severity,
                                       .file = source->file,
                                       .line = region->line,
                                       .code = code,
                                       .text = text,
                                       .hint = hint});
}

void ctune_profile_use(ctune_ctx *ctx, const ctune_profile *profile, const ctune_source *source,
                       const ctune_region *region, ctune_profile_sizes *sizes) {
    char text[256], time[32];
    ctune_profile_choose(profile, source->base, region, COVERAGE, sizes);
    if (sizes->is_stale) {
        snprintf(text, sizeof text, "%s: changed since its sizes were recorded", region->name);
        say(ctx, source, region, CTUNE_REMARK, "profile-stale", text, "run `ctune record` again");
    }
    if (sizes->n > 0) {
        ctune_time_print(sizes->ns, time, sizeof time);
        snprintf(text, sizeof text,
                 "%s: sizes from the profile: %d of %d, with %.0f %% of the recorded %s",
                 region->name, sizes->n, sizes->n_shapes, 100 * sizes->covered, time);
        say(ctx, source, region, CTUNE_REMARK, "profile", text, NULL);
    }
}
