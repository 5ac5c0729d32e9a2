/*
 * Loading the transform library: only in compiles of files with the pragma, because it brings
 * libclang, isl and more with it.
 */
#include "plugin/shim/shim.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Name of the folder of the library that `self` lies in. */
static bool folder_of(const void *self, char *out, size_t size) {
    Dl_info info;
    if (dladdr(self, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    int n = slash != NULL
                ? snprintf(out, size, "%.*s", (int)(slash - info.dli_fname), info.dli_fname)
                : snprintf(out, size, ".");
    return n >= 0 && (size_t)n < size;
}

const ctune_transform_api *ctune_shim_load(const void *self, char *error, size_t size) {
    char folder[PATH_MAX], path[PATH_MAX + 32];
    if (!folder_of(self, folder, sizeof folder)) {
        snprintf(error, size, "cannot find the folder of the plugin");
        return NULL;
    }
    snprintf(path, sizeof path, "%s/libctune-transform.so", folder);
    /* LOCAL: its libclang must not meet the compiler's own LLVM symbols; it is kept to the end. */
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(error, size, "%s", dlerror());
        return NULL;
    }
    const ctune_transform_api *(*get)(void) = NULL;
    *(void **)(void *)&get = dlsym(library, "ctune_transform_api_get");
    const ctune_transform_api *api = get != NULL ? get() : NULL;
    if (api == NULL || api->abi != CTUNE_TRANSFORM_ABI) {
        snprintf(error, size, "%s is of another version of ctune than the plugin", path);
        return NULL;
    }
    return api;
}
