/*
 * Where the cost model lies, and reading it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "plugin/predict/predict.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Folder of the program or shared library that this code is in. */
static bool self_folder(char *out, size_t size) {
    Dl_info info;
    char path[PATH_MAX];
    /* dladdr names a program as it was called, which may be found on PATH; the kernel knows better
     */
    bool is_library = dladdr((void *)(uintptr_t)&self_folder, &info) != 0 &&
                      info.dli_fname != NULL && strstr(info.dli_fname, ".so") != NULL;
    if (realpath(is_library ? info.dli_fname : "/proc/self/exe", path) == NULL) {
        return false;
    }
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    int n = snprintf(out, size, "%s", path);
    return n > 0 && (size_t)n < size;
}

ctune_status ctune_cost_model_find(ctune_ctx *ctx, const char *given, char *out, size_t size) {
    static const char *const places[] = {
        "../share/ctune/models/cpu.model", "../../share/ctune/models/cpu.model",
        "../../../share/ctune/models/cpu.model", "models/cpu.model"};
    const char *named = given != NULL ? given : getenv("CTUNE_MODEL");
    if (named != NULL && named[0] != '\0') {
        int n = snprintf(out, size, "%s", named);
        return n > 0 && (size_t)n < size ? CTUNE_OK
                                         : ctune_fail(ctx, CTUNE_EENV, "%s: too long", named);
    }
    char folder[PATH_MAX];
    for (size_t i = 0; i < sizeof places / sizeof *places && self_folder(folder, sizeof folder);
         i++) {
        int n = snprintf(out, size, "%s/%s", folder, places[i]);
        if (n > 0 && (size_t)n < size && access(out, R_OK) == 0) {
            return CTUNE_OK;
        }
    }
    return ctune_fail(ctx, CTUNE_EENV,
                      "no cost model is installed beside this program; $CTUNE_MODEL names one");
}

ctune_status ctune_cost_model_open(ctune_ctx *ctx, const char *given, ctune_forest **out) {
    char path[PATH_MAX];
    *out = NULL;
    ctune_status status = ctune_cost_model_find(ctx, given, path, sizeof path);
    if (status == CTUNE_OK) {
        status = ctune_forest_read(ctx, path, out);
    }
    if (status == CTUNE_OK) {
        status = ctune_forest_check(ctx, *out, path, CTUNE_FEATURE_VERSION,
                                    ctune_feature_count((*out)->feature_groups));
        if (status != CTUNE_OK) {
            ctune_forest_destroy(*out);
            *out = NULL;
        }
    }
    return status;
}
