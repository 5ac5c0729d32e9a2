/*
 * The table of texts: see seen.h.
 *
 * $XDG_CACHE_HOME/ctune/gcc-texts, else the same below ~/.cache: N_SLOTS hashes of 8 bytes, the
 * place of each given by its value. Compiles that run at the same time write different places or
 * one of two good values, so there is no lock.
 */
#include "plugin/shim/seen.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_SLOTS = 8192 };

/* FNV-1a */
static uint64_t mix(uint64_t hash, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return hash;
}

uint64_t ctune_shim_seen_key(const char *text, size_t n_text, int n, char *const *words) {
    struct stat st;
    char program[PATH_MAX];
    uint64_t hash = mix(0xcbf29ce484222325u, text, n_text);
    for (int i = 0; i < n; i++) {
        hash = mix(hash, words[i], strlen(words[i]) + 1);
    }
    ssize_t n_program = readlink("/proc/self/exe", program, sizeof program);
    hash = mix(hash, program, n_program > 0 ? (size_t)n_program : 0);
    if (stat("/proc/self/exe", &st) == 0) {
        hash = mix(hash, &st.st_mtim, sizeof st.st_mtim);
        hash = mix(hash, &st.st_size, sizeof st.st_size);
    }
    return hash != 0 ? hash : 1;
}

/* -1: no place. */
static int open_table(int flags) {
    char path[PATH_MAX], *slash;
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache != NULL && cache[0] == '/') {
        n = snprintf(path, sizeof path, "%s/ctune/gcc-texts", cache);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, sizeof path, "%s/.cache/ctune/gcc-texts", home);
    }
    if (n < 0 || (size_t)n >= sizeof path) {
        return -1;
    }
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0 && (flags & O_CREAT) && (slash = strrchr(path, '/')) != NULL) {
        *slash = '\0';
        char *parent = strrchr(path, '/');
        *parent = '\0';
        mkdir(path, 0777); /* there already, most often */
        *parent = '/';
        mkdir(path, 0777);
        *slash = '/';
        fd = open(path, flags | O_CLOEXEC, 0666);
    }
    return fd;
}

static off_t slot_of(uint64_t key) {
    return (off_t)(key % N_SLOTS * sizeof key);
}

bool ctune_shim_seen_has(uint64_t key) {
    uint64_t found = 0;
    int fd = open_table(O_RDONLY);
    bool has = fd >= 0 && pread(fd, &found, sizeof found, slot_of(key)) == sizeof found;
    if (fd >= 0) {
        close(fd);
    }
    return has && found == key;
}

void ctune_shim_seen_add(uint64_t key) {
    int fd = open_table(O_WRONLY | O_CREAT);
    if (fd >= 0) {
        ssize_t n = pwrite(fd, &key, sizeof key, slot_of(key));
        (void)n; /* not kept: not seen */
        close(fd);
    }
}
