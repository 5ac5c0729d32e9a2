/*
 * What the CUDA side needs of the driver's and NVRTC's binary interfaces, written from their
 * documentation. A name and its symbol differ where the function exists in a second version: the
 * first one's sizes have 32 bits.
 */
#ifndef CTUNE_RUNTIME_GPU_CUDA_API_H
#define CTUNE_RUNTIME_GPU_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_STREAM_NON_BLOCKING = 1,
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_DEVICE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_MAX_BLOCK_DIM_X = 2, /* y, z: the next two */
    CU_DEVICE_MAX_GRID_DIM_X = 5,  /* y, z: the next two */
    CU_DEVICE_MAX_PITCH = 11,      /* bytes, of a copy of pieces */
    CU_DEVICE_COMPUTE_MAJOR = 75,
    CU_DEVICE_COMPUTE_MINOR = 76,
    CU_DEVICE_MAX_SHARED_OPTIN = 97,
    CU_FUNC_STATIC_SHARED = 1,
    CU_FUNC_MAX_DYNAMIC_SHARED = 8,
    CUDA_DEFAULT_SHARED = 48 * 1024, /* of a block; more only when the function opts in */
};

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* X(result, name, symbol, parameters) */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(CUresult, cuInit, "cuInit", (unsigned))                                                      \
    X(CUresult, cuDriverGetVersion, "cuDriverGetVersion", (int *))                                 \
    X(CUresult, cuGetErrorName, "cuGetErrorName", (CUresult, const char **))                       \
    X(CUresult, cuDeviceGetCount, "cuDeviceGetCount", (int *))                                     \
    X(CUresult, cuDeviceGet, "cuDeviceGet", (CUdevice *, int))                                     \
    X(CUresult, cuDeviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                       \
    X(CUresult, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))              \
    X(CUresult, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))     \
    X(CUresult, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))             \
    X(CUresult, cuCtxGetDevice, "cuCtxGetDevice", (CUdevice *))                                    \
    X(CUresult, cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                              \
    X(CUresult, cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                              \
    X(CUresult, cuCtxSynchronize, "cuCtxSynchronize", (void))                                      \
    X(CUresult, cuStreamCreate, "cuStreamCreate", (CUstream *, unsigned))                          \
    X(CUresult, cuStreamDestroy, "cuStreamDestroy_v2", (CUstream))                                 \
    X(CUresult, cuStreamSynchronize, "cuStreamSynchronize", (CUstream))                            \
    X(CUresult, cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                              \
    X(CUresult, cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                          \
    X(CUresult, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                         \
      (CUdeviceptr, const void *, size_t, CUstream))                                               \
    X(CUresult, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                         \
      (void *, CUdeviceptr, size_t, CUstream))                                                     \
    X(CUresult, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                         \
      (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                                \
    X(CUresult, cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D *, CUstream))          \
    X(CUresult, cuModuleLoadDataEx, "cuModuleLoadDataEx",                                          \
      (CUmodule *, const void *, unsigned, int *, void **))                                        \
    X(CUresult, cuModuleUnload, "cuModuleUnload", (CUmodule))                                      \
    X(CUresult, cuModuleGetFunction, "cuModuleGetFunction",                                        \
      (CUfunction *, CUmodule, const char *))                                                      \
    X(CUresult, cuFuncGetAttribute, "cuFuncGetAttribute", (int *, int, CUfunction))                \
    X(CUresult, cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction, int, int))                  \
    X(CUresult, cuLaunchKernel, "cuLaunchKernel",                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
       void **, void **))

#define NVRTC_FUNCTIONS(X)                                                                         \
    X(nvrtcResult, nvrtcVersion, "nvrtcVersion", (int *, int *))                                   \
    X(nvrtcResult, nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *))                \
    X(nvrtcResult, nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", (int *))                      \
    X(nvrtcResult, nvrtcCreateProgram, "nvrtcCreateProgram",                                       \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    X(nvrtcResult, nvrtcDestroyProgram, "nvrtcDestroyProgram", (nvrtcProgram *))                   \
    X(nvrtcResult, nvrtcCompileProgram, "nvrtcCompileProgram",                                     \
      (nvrtcProgram, int, const char *const *))                                                    \
    X(nvrtcResult, nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (nvrtcProgram, size_t *))     \
    X(nvrtcResult, nvrtcGetProgramLog, "nvrtcGetProgramLog", (nvrtcProgram, char *))               \
    X(nvrtcResult, nvrtcGetCUBINSize, "nvrtcGetCUBINSize", (nvrtcProgram, size_t *))               \
    X(nvrtcResult, nvrtcGetCUBIN, "nvrtcGetCUBIN", (nvrtcProgram, char *))                         \
    X(nvrtcResult, nvrtcGetPTXSize, "nvrtcGetPTXSize", (nvrtcProgram, size_t *))                   \
    X(nvrtcResult, nvrtcGetPTX, "nvrtcGetPTX", (nvrtcProgram, char *))

#endif
