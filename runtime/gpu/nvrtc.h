/*
 * CUDA C to code for one device, by NVRTC (nvrtc.c). Needs neither driver nor GPU.
 */
#ifndef CTUNE_RUNTIME_GPU_NVRTC_H
#define CTUNE_RUNTIME_GPU_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

/* Load it: CTUNE_NVRTC, else the newest whose code a driver of that major version takes and that
 * knows compute capability cc; 0: any. */
bool ctune_nvrtc_open(int driver_major, int cc);
/* "12.9"; "" before open. */
const char *ctune_nvrtc_version(void);
/*
 * A cubin (else PTX, NUL included) for compute capability cc (major * 10 + minor), malloced, from
 * the cache on disk where it is there. NULL: ctune_gpu_why.
 */
char *ctune_nvrtc_compile(const char *text, int cc, size_t *bytes);

#endif
