/*
 * What the fake drivers share: libraries with the interfaces of libcuda, NVRTC and libOpenCL that
 * count calls, fail at the one they are told, run kernels that are functions of the test, and know
 * what is alive. This part is in the test program; the libraries find it there.
 */
#ifndef CTUNE_TESTS_FAKE_H
#define CTUNE_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_state {
    long n_calls;
    long fail_at;   /* the call that fails, from 1; 0: none */
    bool is_sticky; /* all later ones fail too */
    long n_live;    /* objects: memory, modules, programs, streams, contexts */
    long n_misuses; /* calls that a real driver would not take */
    char failed[64];
    char misuse[128];
    int n_devices, cc, driver_version, max_pitch;
    bool is_gpu; /* what the OpenCL device says it is */
} fake_state;

extern fake_state fake;

/* Begin anew. */
void fake_reset(void);
/* One call; false: it is to fail. */
bool fake_step(const char *name);
void fake_misuse(const char *what);

/* Memory of the device: addresses that the host cannot use. 0: no memory. */
uint64_t fake_alloc(size_t bytes);
void fake_free(uint64_t at);
void fake_free_all(void);
/* The bytes behind an address; NULL and a misuse when the range is not all in one allocation. */
void *fake_pointer(uint64_t at, size_t bytes);

/* A kernel of the test: args[i] points to the i-th argument; memory is an address for
 * fake_pointer. */
typedef void fake_kernel(void *const *args, const unsigned grid[3], const unsigned block[3]);
/* By name; NULL: none. The test defines it. */
fake_kernel *fake_kernel_find(const char *name);

#endif
