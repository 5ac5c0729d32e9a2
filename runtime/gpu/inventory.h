/*
 * What GPU libraries and devices this machine has: for `ctune doctor` and scripts/gpu-check.
 */
#ifndef CTUNE_RUNTIME_GPU_INVENTORY_H
#define CTUNE_RUNTIME_GPU_INVENTORY_H

/* One call of tell for each of cuda, nvrtc, opencl: a device or version, or why there is none; the
 * last, gpu, is what regions use in this environment. Opens and closes devices: before any region
 * ran in this process. */
void ctune_gpu_inventory(void *data, void (*tell)(void *data, const char *name, const char *value));

#endif
