/*
 * Compiled kernels on disk.
 *
 * In: a key, all that the result depends on, and bytes. Out: those bytes for exactly this key. One
 * file a key, named by a hash of it; the whole key is in the file and compared, so that no
 * collision gives the wrong kernel. A file is written under another name, then renamed: processes
 * that write the same key at once leave one whole file. What is cut off, changed or of another
 * format is as good as absent. The folder is ours alone (0700), else it is not used: who may write
 * there decides what runs.
 */
#include "runtime/gpu/gpu_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_LIMIT_BYTES = 256 << 20 }; /* then the oldest half goes */

typedef struct cache_head {
    char magic[8];
    uint64_t key_bytes, bytes;
    uint64_t hash; /* of key and data */
} cache_head;

static const char magic[8] = "ctgpu01";

/* FNV-1a over 8 bytes at a time, folded: fast enough for checking arrays, too. */
static uint64_t hash_more(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; bytes > 0; bytes--, at++) {
        hash = (hash ^ *at) * 0x100000001B3u;
    }
    return hash ^ hash >> 32;
}

uint64_t ctune_gpu_hash(const void *data, size_t bytes) {
    return hash_more(0xCBF29CE484222325u ^ bytes, data, bytes);
}

char *ctune_gpu_cache_key(const char *const *parts, unsigned n, size_t *bytes) {
    size_t total = 0;
    for (unsigned i = 0; i < n; i++) {
        total += strlen(parts[i]) + 1;
    }
    char *key = malloc(total), *at = key;
    for (unsigned i = 0; key != NULL && i < n; i++) {
        at = stpcpy(at, parts[i]) + 1;
    }
    *bytes = total;
    return key;
}

/* ---- the folder -------------------------------------------------------------------------------
 */
static bool make_folders(char *path) {
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700); /* what is missing in the end is seen in the end */
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool find_folder(char *out, size_t size) {
    const char *given = secure_getenv("CTUNE_GPU_CACHE");
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int n = -1;
    if (given != NULL) {
        n = given[0] == '\0' || strcmp(given, "off") == 0 ? -1 : snprintf(out, size, "%s", given);
    } else if (cache != NULL && cache[0] == '/') {
        n = snprintf(out, size, "%s/ctune/gpu", cache);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(out, size, "%s/.cache/ctune/gpu", home);
    }
    return n > 0 && (size_t)n < size;
}

/* The folder's descriptor, or -1. */
static int open_folder(bool is_made) {
    char path[PATH_MAX];
    if (!find_folder(path, sizeof path) || (is_made && !make_folders(path))) {
        return -1;
    }
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &info) != 0 || info.st_uid != geteuid() ||
                    (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
        ctune_gpu_log("%s belongs to others or can be written by them: not used", path);
        close(fd);
        fd = -1;
    }
    return fd;
}

static void name_file(const char *key, size_t key_bytes, char name[40]) {
    snprintf(name, 40, "%016llx%08llx", (unsigned long long)ctune_gpu_hash(key, key_bytes),
             (unsigned long long)(hash_more(key_bytes, key, key_bytes) & 0xFFFFFFFFu));
}

/* ---- files ------------------------------------------------------------------------------------
 */
static bool read_whole(int fd, void *data, size_t bytes) {
    char *at = data;
    while (bytes > 0) {
        ssize_t n = read(fd, at, bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_whole(int fd, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static uint64_t hash_both(const char *key, size_t key_bytes, const void *data, size_t bytes) {
    return hash_more(ctune_gpu_hash(key, key_bytes), data, bytes);
}

static void *read_file(int fd, const char *key, size_t key_bytes, size_t *bytes) {
    cache_head head;
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_uid != geteuid() || !S_ISREG(info.st_mode) ||
        !read_whole(fd, &head, sizeof head) || memcmp(head.magic, magic, sizeof magic) != 0 ||
        head.key_bytes != key_bytes || head.bytes == 0 || head.bytes > (uint64_t)info.st_size ||
        sizeof head + head.key_bytes + head.bytes != (uint64_t)info.st_size) {
        return NULL;
    }
    char *all = malloc(key_bytes + head.bytes);
    if (all == NULL || !read_whole(fd, all, key_bytes + head.bytes) ||
        memcmp(all, key, key_bytes) != 0 ||
        hash_both(key, key_bytes, all + key_bytes, head.bytes) != head.hash) {
        free(all);
        return NULL;
    }
    memmove(all, all + key_bytes, head.bytes);
    *bytes = head.bytes;
    return all;
}

void *ctune_gpu_cache_read(const char *key, size_t key_bytes, size_t *bytes) {
    char name[40];
    int folder = open_folder(false);
    if (folder < 0) {
        return NULL;
    }
    name_file(key, key_bytes, name);
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    void *data = fd >= 0 ? read_file(fd, key, key_bytes, bytes) : NULL;
    if (fd >= 0) {
        futimens(fd, NULL); /* used now: others go before it */
        close(fd);
    }
    close(folder);
    return data;
}

/* ---- size -------------------------------------------------------------------------------------
 */
typedef struct cache_file {
    char name[64];
    int64_t size, age; /* age: time of the last change or use */
} cache_file;

static int older_first(const void *a, const void *b) {
    const cache_file *x = a, *y = b;
    return (x->age > y->age) - (x->age < y->age);
}

/* Regular files of the folder; malloced. */
static cache_file *list_files(DIR *dir, size_t *n, int64_t *total) {
    cache_file *files = NULL;
    size_t size = 0;
    *n = 0;
    *total = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat info;
        if (strlen(entry->d_name) >= sizeof files->name ||
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode)) {
            continue;
        }
        if (*n == size) {
            size = size * 2 + 64;
            cache_file *more = realloc(files, size * sizeof *files);
            if (more == NULL) {
                break;
            }
            files = more;
        }
        strcpy(files[*n].name, entry->d_name);
        files[*n].size = info.st_size;
        files[*n].age = info.st_mtime;
        *total += info.st_size;
        ++*n;
    }
    return files;
}

void ctune_gpu_cache_prune(int64_t limit_bytes) {
    int folder = open_folder(false);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    if (dir == NULL) {
        if (folder >= 0) {
            close(folder);
        }
        return;
    }
    size_t n;
    int64_t total;
    cache_file *files = list_files(dir, &n, &total);
    if (total > limit_bytes) {
        qsort(files, n, sizeof *files, older_first);
        for (size_t i = 0; i < n && total > limit_bytes / 2; i++) {
            unlinkat(folder, files[i].name, 0);
            total -= files[i].size;
        }
    }
    free(files);
    closedir(dir);
}

void ctune_gpu_cache_write(const char *key, size_t key_bytes, const void *data, size_t bytes) {
    static unsigned serial; /* under the lock */
    char name[40], temporary[80];
    int folder = open_folder(true);
    if (folder < 0) {
        return;
    }
    name_file(key, key_bytes, name);
    snprintf(temporary, sizeof temporary, "%s.%ld.%u", name, (long)getpid(), serial++);
    cache_head head = {
        .key_bytes = key_bytes, .bytes = bytes, .hash = hash_both(key, key_bytes, data, bytes)};
    memcpy(head.magic, magic, sizeof magic);
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        bool ok = write_whole(fd, &head, sizeof head) && write_whole(fd, key, key_bytes) &&
                  write_whole(fd, data, bytes);
        ok = close(fd) == 0 && ok;
        if (!ok || renameat(folder, temporary, folder, name) != 0) {
            unlinkat(folder, temporary, 0);
        }
    }
    close(folder);
    ctune_gpu_cache_prune(CACHE_LIMIT_BYTES);
}
