/*
 * The table of texts: see seen.h.
 *
 * N_SLOTS hashes of 8 bytes, the place of each given by its value (state.h says where). Compiles
 * that run at the same time write different places or one of two good values, so there is no lock.
 */
#include "plugin/shim/seen.h"

#include "plugin/shim/state.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_SLOTS = 8192 };

static const char table[] = "gcc-texts";

uint64_t ctune_shim_seen_key(const char *text, size_t n_text, int n, char *const *words) {
    struct stat st;
    char program[PATH_MAX];
    uint64_t hash = ctune_shim_hash(CTUNE_SHIM_HASH, text, n_text);
    for (int i = 0; i < n; i++) {
        hash = ctune_shim_hash(hash, words[i], strlen(words[i]) + 1);
    }
    ssize_t n_program = readlink("/proc/self/exe", program, sizeof program);
    hash = ctune_shim_hash(hash, program, n_program > 0 ? (size_t)n_program : 0);
    if (stat("/proc/self/exe", &st) == 0) {
        hash = ctune_shim_hash(hash, &st.st_mtim, sizeof st.st_mtim);
        hash = ctune_shim_hash(hash, &st.st_size, sizeof st.st_size);
    }
    return hash != 0 ? hash : 1;
}

static off_t slot_of(uint64_t key) {
    return (off_t)(key % N_SLOTS * sizeof key);
}

bool ctune_shim_seen_has(uint64_t key) {
    uint64_t found = 0;
    int fd = ctune_shim_state_open(table, O_RDONLY);
    bool has = fd >= 0 && pread(fd, &found, sizeof found, slot_of(key)) == sizeof found;
    if (fd >= 0) {
        close(fd);
    }
    return has && found == key;
}

void ctune_shim_seen_add(uint64_t key) {
    int fd = ctune_shim_state_open(table, O_WRONLY | O_CREAT);
    if (fd >= 0) {
        ssize_t n = pwrite(fd, &key, sizeof key, slot_of(key));
        (void)n; /* not kept: not seen */
        close(fd);
    }
}
