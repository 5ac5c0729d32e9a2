/*
 * BLAS: see blas.h. Names are tried in the order of how fast the libraries usually are. The library
 * is told to use one thread, where it has a function for that: the other cores measure.
 */
#include "costmodel/nn/blas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *open_first(const char *given, const char **name) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libblis.so.4",
                                        "libcblas.so.3", "libblas.so.3"};
    if (given != NULL && given[0] != '\0') {
        *name = given;
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle != NULL && dlsym(handle, "cblas_sgemm") != NULL) {
            *name = names[i];
            return handle;
        }
        if (handle != NULL) {
            dlclose(handle);
        }
    }
    return NULL;
}

/* A function pointer out of dlsym's object pointer, without a cast that ISO C does not have. */
static void symbol_get(void *handle, const char *name, void *function) {
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
}

ctune_status ctune_blas_get(ctune_ctx *ctx, const ctune_blas **out) {
    static ctune_blas blas;
    void (*set_threads)(int) = NULL;
    *out = NULL;
    if (blas.sgemm == NULL) {
        const char *given = getenv("CTUNE_BLAS"), *name = "";
        void *handle = open_first(given, &name);
        if (handle != NULL) {
            symbol_get(handle, "cblas_sgemm", (void *)&blas.sgemm);
            symbol_get(handle, "openblas_set_num_threads", (void *)&set_threads);
        }
        if (blas.sgemm == NULL) {
            return ctune_fail(ctx, CTUNE_EENV,
                              "neural models need a BLAS library with cblas_sgemm (libopenblas0 "
                              "has one): %s%s",
                              given != NULL && given[0] != '\0' ? given : "none is installed",
                              given != NULL && given[0] != '\0' ? " is none" : "");
        }
        if (set_threads != NULL) {
            set_threads(1);
        }
        blas.name = name;
    }
    *out = &blas;
    return CTUNE_OK;
}
