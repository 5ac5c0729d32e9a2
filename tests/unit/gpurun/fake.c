/* The part of the fake drivers that lies in the test program. See fake.h. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ALLOCATIONS = 256 };

static const uint64_t device_bit = 1ull << 62;

fake_state fake;
static struct {
    char *at;
    size_t bytes;
} allocations[MAX_ALLOCATIONS];

void fake_reset(void) {
    fake = (fake_state){
        .n_devices = 1, .cc = 90, .driver_version = 13000, .max_pitch = 2147483647, .is_gpu = true};
}

bool fake_step(const char *name) {
    fake.n_calls++;
    bool fails = fake.fail_at > 0 &&
                 (fake.n_calls == fake.fail_at || (fake.is_sticky && fake.n_calls > fake.fail_at));
    if (fails && fake.failed[0] == '\0') {
        snprintf(fake.failed, sizeof fake.failed, "%s", name);
    }
    return !fails;
}

void fake_misuse(const char *what) {
    fake.n_misuses++;
    snprintf(fake.misuse, sizeof fake.misuse, "%s", what);
}

uint64_t fake_alloc(size_t bytes) {
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].at == NULL) {
            allocations[i].at = malloc(bytes);
            memset(allocations[i].at, 0x5a, bytes); /* what nobody copied in is seen */
            allocations[i].bytes = bytes;
            fake.n_live++;
            return (uint64_t)(uintptr_t)allocations[i].at | device_bit;
        }
    }
    return 0;
}

void fake_free(uint64_t at) {
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].at != NULL &&
            ((uint64_t)(uintptr_t)allocations[i].at | device_bit) == at) {
            free(allocations[i].at);
            allocations[i].at = NULL;
            fake.n_live--;
            return;
        }
    }
    fake_misuse("memory that is not there is freed");
}

void *fake_pointer(uint64_t at, size_t bytes) {
    uint64_t host = at & ~device_bit;
    for (int i = 0; (at & device_bit) != 0 && i < MAX_ALLOCATIONS; i++) {
        uint64_t from = (uint64_t)(uintptr_t)allocations[i].at;
        if (from != 0 && host >= from && host - from <= allocations[i].bytes &&
            bytes <= allocations[i].bytes - (host - from)) {
            return (void *)(uintptr_t)host;
        }
    }
    fake_misuse("a range outside of the device's memory");
    return NULL;
}

void fake_free_all(void) {
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].at != NULL) {
            free(allocations[i].at);
            allocations[i].at = NULL;
            fake.n_live--;
        }
    }
}
