/*
 * CUDA C to a cubin by NVRTC.
 *
 * In: text and a compute capability. Out: machine code of that capability, or of the highest lower
 * one of the same generation; PTX, which the driver compiles, only for generations that are newer
 * than NVRTC. A cubin is taken by every driver of NVRTC's major version, PTX by newer ones only, so
 * the library is chosen by the driver. Nothing is fused and nothing flushed: the text says where.
 */
#include "runtime/gpu/nvrtc.h"
#include "runtime/gpu/cuda_api.h"
#include "runtime/gpu/gpu_private.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARCHS = 64 };

static struct {
#define POINTER(result, name, symbol, parameters) result(*name) parameters;
    NVRTC_FUNCTIONS(POINTER)
#undef POINTER
    void *library;
    char version[32];
} rtc;

/* ---- the library ------------------------------------------------------------------------------
 */
static const struct {
    int major;
    const char *file;
} releases[] = {{13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}};

/* Toolkits, then wheels in the usual places of Python. */
static const struct {
    const char *root; /* a variable, or NULL */
    const char *folder;
} places[] = {
    {NULL, "/usr/local/cuda/lib64"},
    {NULL, "/usr/local/cuda-*/lib64"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
    {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/*-packages/nvidia/*/lib"},
};

static void *open_in_folders(const char *file) {
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        const char *root = places[i].root != NULL ? secure_getenv(places[i].root) : "";
        glob_t found;
        if (root == NULL ||
            snprintf(path, sizeof path, "%s%s/%s", root, places[i].folder, file) >= PATH_MAX ||
            glob(path, 0, NULL, &found) != 0) {
            continue;
        }
        for (size_t j = 0; library == NULL && j < found.gl_pathc; j++) {
            library = dlopen(found.gl_pathv[j], RTLD_NOW | RTLD_LOCAL);
        }
        globfree(&found);
    }
    return library;
}

static void *open_release(int i) {
    void *library = dlopen(releases[i].file, RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? library : open_in_folders(releases[i].file);
}

static bool bind(void *library) {
#define FIND(result, name, symbol, parameters)                                                     \
    *(void **)&rtc.name = dlsym(library, symbol);                                                  \
    if (rtc.name == NULL) {                                                                        \
        return ctune_gpu_fail("NVRTC lacks " symbol);                                              \
    }
    NVRTC_FUNCTIONS(FIND)
#undef FIND
    int major = 0, minor = 0;
    if (rtc.nvrtcVersion(&major, &minor) != 0) {
        return ctune_gpu_fail("NVRTC does not tell its version");
    }
    snprintf(rtc.version, sizeof rtc.version, "%d.%d", major, minor);
    return true;
}

/* "--gpu-architecture=sm_90", or compute_NN when only PTX will do. */
static bool choose_architecture(int cc, char *option, size_t size, bool *is_ptx) {
    int archs[MAX_ARCHS], n = 0, same = 0, older = 0;
    if (rtc.nvrtcGetNumSupportedArchs(&n) != 0 || n <= 0 || n > MAX_ARCHS ||
        rtc.nvrtcGetSupportedArchs(archs) != 0) {
        return ctune_gpu_fail("NVRTC does not tell its architectures");
    }
    for (int i = 0; i < n; i++) {
        if (archs[i] <= cc) {
            older = archs[i] > older ? archs[i] : older;
            same = archs[i] / 10 == cc / 10 && archs[i] > same ? archs[i] : same;
        }
    }
    if (older == 0) {
        return ctune_gpu_fail("NVRTC %s has no code for compute capability %d.%d", rtc.version,
                              cc / 10, cc % 10);
    }
    *is_ptx = same == 0;
    snprintf(option, size, "--gpu-architecture=%s_%d", *is_ptx ? "compute" : "sm",
             *is_ptx ? older : same);
    return true;
}

/* Can it be used, and does it know the device? Else it is closed. */
static bool accept_library(void *library, int cc) {
    char option[64];
    bool is_ptx;
    if (library == NULL) {
        return false;
    }
    if (!bind(library) || (cc > 0 && !choose_architecture(cc, option, sizeof option, &is_ptx))) {
        dlclose(library);
        return false;
    }
    rtc.library = library;
    return true;
}

static bool find_library(int driver_major, int cc) {
    static const char *const none[] = {"libnvrtc.so", NULL};
    const char *given = secure_getenv("CTUNE_NVRTC");
    if (given != NULL && given[0] != '\0') {
        return accept_library(ctune_gpu_library_open("CTUNE_NVRTC", none), cc);
    }
    ctune_gpu_fail("no NVRTC for this driver (libnvrtc.so of CUDA %d or older; CTUNE_NVRTC may "
                   "name one)",
                   driver_major > 0 ? driver_major : releases[0].major);
    for (int i = 0; i < (int)(sizeof releases / sizeof *releases); i++) {
        if ((driver_major == 0 || releases[i].major <= driver_major) &&
            accept_library(open_release(i), cc)) {
            return true;
        }
    }
    return false;
}

bool ctune_nvrtc_open(int driver_major, int cc) {
    return rtc.library != NULL || find_library(driver_major, cc);
}

const char *ctune_nvrtc_version(void) {
    return rtc.version;
}

/* ---- compiling --------------------------------------------------------------------------------
 */
static void tell_log(nvrtcProgram program) {
    size_t n = 0;
    char *log = NULL;
    if (rtc.nvrtcGetProgramLogSize(program, &n) == 0 && n > 0 && (log = malloc(n)) != NULL &&
        rtc.nvrtcGetProgramLog(program, log) == 0) {
        ctune_gpu_fail("the kernels do not compile: %.*s", n > 600 ? 600 : (int)n, log);
    } else {
        ctune_gpu_fail("the kernels do not compile");
    }
    free(log);
}

static char *get_code(nvrtcProgram program, bool is_ptx, size_t *bytes) {
    size_t n = 0;
    nvrtcResult status =
        is_ptx ? rtc.nvrtcGetPTXSize(program, &n) : rtc.nvrtcGetCUBINSize(program, &n);
    char *code = status == 0 && n > 0 ? malloc(n) : NULL;
    if (code != NULL) {
        status = is_ptx ? rtc.nvrtcGetPTX(program, code) : rtc.nvrtcGetCUBIN(program, code);
    }
    if (code == NULL || status != 0) {
        ctune_gpu_fail("NVRTC gives no code");
        free(code);
        return NULL;
    }
    *bytes = n;
    return code;
}

static char *compile(const char *text, int n_options, const char *const *options, bool is_ptx,
                     size_t *bytes) {
    nvrtcProgram program = NULL;
    if (rtc.nvrtcCreateProgram(&program, text, "kernels.cu", 0, NULL, NULL) != 0) {
        ctune_gpu_fail("nvrtcCreateProgram failed");
        return NULL;
    }
    char *code = NULL;
    if (rtc.nvrtcCompileProgram(program, n_options, options) != 0) {
        tell_log(program);
    } else {
        code = get_code(program, is_ptx, bytes);
    }
    rtc.nvrtcDestroyProgram(&program);
    return code;
}

char *ctune_nvrtc_compile(const char *text, int cc, size_t *bytes) {
    char architecture[64];
    bool is_ptx = false;
    if (!choose_architecture(cc, architecture, sizeof architecture, &is_ptx)) {
        return NULL;
    }
    const char *const options[] = {architecture,      "--fmad=false",     "--ftz=false",
                                   "--prec-div=true", "--prec-sqrt=true", "--std=c++17"};
    enum { N_OPTIONS = sizeof options / sizeof *options };
    const char *parts[N_OPTIONS + 3] = {"cuda", rtc.version};
    memcpy(parts + 2, options, sizeof options);
    parts[N_OPTIONS + 2] = text;
    size_t key_bytes = 0;
    char *key = ctune_gpu_cache_key(parts, N_OPTIONS + 3, &key_bytes);
    if (key == NULL) {
        ctune_gpu_fail("no memory");
        return NULL;
    }
    char *code = ctune_gpu_cache_read(key, key_bytes, bytes);
    if (code == NULL) {
        code = compile(text, N_OPTIONS, options, is_ptx, bytes);
        if (code != NULL) {
            ctune_gpu_cache_write(key, key_bytes, code, *bytes);
        }
    }
    free(key);
    return code;
}
