/* An NVRTC whose machine code is the text. `#error` does not compile. */
#include "fake.h"
#include "runtime/gpu/cuda_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct _nvrtcProgram {
    char *text, code[4096];
};

static const int archs[] = {75, 80, 90};

#define STEP()                                                                                     \
    if (!fake_step(__func__)) {                                                                    \
        return 5;                                                                                  \
    }

nvrtcResult nvrtcVersion(int *major, int *minor) {
    STEP()
    *major = 13;
    *minor = 0;
    return 0;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *n) {
    STEP()
    *n = sizeof archs / sizeof *archs;
    return 0;
}

nvrtcResult nvrtcGetSupportedArchs(int *out) {
    STEP()
    memcpy(out, archs, sizeof archs);
    return 0;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int n,
                               const char *const *headers, const char *const *names) {
    (void)name, (void)n, (void)headers, (void)names;
    STEP()
    *program = calloc(1, sizeof **program);
    (*program)->text = strdup(text);
    fake.n_live++;
    return 0;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    free((*program)->text);
    free(*program);
    fake.n_live--;
    STEP()
    return 0;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n, const char *const *options) {
    STEP()
    bool is_unfused = false;
    for (int i = 0; i < n; i++) {
        is_unfused |= strcmp(options[i], "--fmad=false") == 0;
    }
    if (!is_unfused) {
        fake_misuse("compiled without --fmad=false");
    }
    snprintf(program->code, sizeof program->code, "%s %s", options[0], program->text);
    return strstr(program->text, "#error") != NULL ? 6 : 0;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    (void)program;
    STEP()
    *bytes = sizeof "the log";
    return 0;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    (void)program;
    STEP()
    memcpy(log, "the log", sizeof "the log");
    return 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
    STEP()
    if (strstr(program->code, "=sm_") == NULL) {
        fake_misuse("no cubin for a virtual architecture");
    }
    *bytes = strlen(program->code) + 1;
    return 0;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *code) {
    STEP()
    memcpy(code, program->code, strlen(program->code) + 1);
    return 0;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
    STEP()
    *bytes = strlen(program->code) + 1;
    return 0;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *code) {
    STEP()
    memcpy(code, program->code, strlen(program->code) + 1);
    return 0;
}
