/*
 * Replay of a fuzz target without a fuzzer: runs every file of a folder, then seeded mutations of
 * them.
 *
 *     fuzz_<target> FOLDER [MUTATIONS [SEED]]       in all, spread over the files
 *     fuzz_<target> FILE                            this one input (as a crash left it)
 *
 * Each mutation depends only on the seed, the file's name and its ordinal. When the target dies,
 * the input is in "crash-input" in the current folder. An input that takes 20 s counts as a hang.
 */
#include "runtime/rng.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 4096, MAX_BYTES = 1 << 16, LIMIT_S = 20 };

typedef struct input {
    char name[256];
    uint8_t *data;
    size_t size;
} input;

/* What the signal handler saves. */
static struct {
    const uint8_t *data;
    size_t size;
} current;

static void on_death(int number) {
    static const char words[] = "input saved as crash-input\n";
    int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0 && write(fd, current.data, current.size) == (ssize_t)current.size) {
        (void)!write(2, words, sizeof words - 1);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void run(const uint8_t *data, size_t size) {
    current.data = data;
    current.size = size;
    alarm(LIMIT_S);
    (void)LLVMFuzzerTestOneInput(data, size);
    alarm(0);
}

/* ---- corpus ------------------------------------------------------------------------------ */
static bool read_input(const char *path, input *out) {
    FILE *file = fopen(path, "rb");
    out->data = malloc(MAX_BYTES);
    if (file == NULL || out->data == NULL) {
        perror(path);
        return false;
    }
    out->size = fread(out->data, 1, MAX_BYTES, file);
    fclose(file);
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const input *)a)->name, ((const input *)b)->name);
}

/* Number of files, -1 when one cannot be read. */
static int read_corpus(const char *folder, input *out) {
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *e; dir != NULL && n < MAX_FILES && (e = readdir(dir)) != NULL;) {
        char path[4096];
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        snprintf(out[n].name, sizeof out[n].name, "%s", e->d_name);
        if (!read_input(path, &out[n++])) {
            n = -1;
            break;
        }
    }
    if (dir == NULL || closedir(dir) != 0) {
        perror(folder);
        return -1;
    }
    if (n > 0) {
        qsort(out, (size_t)n, sizeof *out, by_name);
    }
    return n;
}

/* ---- mutations --------------------------------------------------------------------------- */
/* Replace data[at, at + n_old) by n_new bytes of `with`. False when it would become too long. */
static bool replace_bytes(uint8_t *data, size_t *size, size_t at, size_t n_old, const uint8_t *with,
                          size_t n_new) {
    if (*size - n_old + n_new > MAX_BYTES) {
        return false;
    }
    memmove(data + at + n_new, data + at + n_old, *size - at - n_old);
    memcpy(data + at, with, n_new);
    *size = *size - n_old + n_new;
    return true;
}

static void mutate_once(ctune_rng *rng, uint8_t *data, size_t *size, const input *other) {
    static const char *const words[] = {"(",
                                        ")",
                                        "\"",
                                        "\\",
                                        "\n",
                                        ",",
                                        ";",
                                        "=",
                                        "-",
                                        "|",
                                        "0x",
                                        "[",
                                        "]",
                                        " ",
                                        "{",
                                        "}",
                                        "/*",
                                        "//",
                                        "->",
                                        "end",
                                        "1",
                                        "0",
                                        "'",
                                        "...",
                                        "\xff",
                                        ":",
                                        ">=",
                                        "-1",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "%s"};
    uint8_t bytes[64];
    size_t at = (size_t)ctune_rng_below(rng, *size + 1), left = *size - at;
    size_t n = (size_t)ctune_rng_below(rng, (left < 32 ? left : 32) + 1);
    switch (ctune_rng_below(rng, 6)) {
    case 0: /* another byte */
        if (left > 0) {
            data[at] = (uint8_t)ctune_rng_below(rng, 256);
        }
        break;
    case 1: /* one bit */
        if (left > 0) {
            data[at] ^= (uint8_t)(1u << ctune_rng_below(rng, 8));
        }
        break;
    case 2: /* cut */
        (void)replace_bytes(data, size, at, n, data, 0);
        break;
    case 3: { /* a piece of this one, again */
        size_t to = (size_t)ctune_rng_below(rng, *size + 1);
        memcpy(bytes, data + at, n);
        (void)replace_bytes(data, size, to, 0, bytes, n);
        break;
    }
    case 4: { /* a piece of another one */
        size_t from = (size_t)ctune_rng_below(rng, other->size + 1);
        size_t n_new = other->size - from < 64 ? other->size - from : 64;
        (void)replace_bytes(data, size, at, n, other->data + from, n_new);
        break;
    }
    default: { /* a word that means something somewhere */
        const char *word = words[ctune_rng_below(rng, sizeof words / sizeof *words)];
        (void)replace_bytes(data, size, at, ctune_rng_below(rng, 2) ? n : 0, (const uint8_t *)word,
                            strlen(word));
        break;
    }
    }
}

static void run_mutation(const input *corpus, int n_files, int i_file, uint64_t seed,
                         uint64_t ordinal) {
    const input *base = &corpus[i_file];
    uint64_t key = ctune_hash(seed ^ CTUNE_HASH_INIT, base->name, strlen(base->name));
    ctune_rng rng;
    ctune_rng_init(&rng, ctune_hash(key, &ordinal, sizeof ordinal));
    uint8_t *data = malloc(MAX_BYTES + 1);
    if (data == NULL) {
        return;
    }
    size_t size = base->size;
    memcpy(data, base->data, size);
    for (uint64_t n = 1 + ctune_rng_below(&rng, 6); n > 0; n--) {
        mutate_once(&rng, data, &size, &corpus[ctune_rng_below(&rng, (uint64_t)n_files)]);
    }
    run(data, size);
    free(data);
}

int main(int argc, char **argv) {
    static input corpus[MAX_FILES];
    uint64_t n_mutations = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    struct stat info;
    if (argc < 2 || stat(argv[1], &info) != 0) {
        fprintf(stderr, "usage: %s FOLDER|FILE [MUTATIONS [SEED]]\n", argv[0]);
        return 2;
    }
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM};
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        signal(deaths[i], on_death);
    }
    bool is_folder = S_ISDIR(info.st_mode);
    int n = is_folder ? read_corpus(argv[1], corpus) : read_input(argv[1], corpus) ? 1 : -1;
    if (n <= 0) {
        fprintf(stderr, "%s: no corpus\n", argv[1]);
        return 2;
    }
    printf("%d files, %llu mutations, seed %llu\n", n, (unsigned long long)n_mutations,
           (unsigned long long)seed);
    fflush(stdout);
    for (int i = 0; i < n; i++) {
        run(corpus[i].data, corpus[i].size);
    }
    for (uint64_t i = 0; i < n_mutations; i++) {
        run_mutation(corpus, n, (int)(i % (uint64_t)n), seed, i / (uint64_t)n);
    }
    for (int i = 0; i < n; i++) {
        free(corpus[i].data);
    }
    return 0;
}
