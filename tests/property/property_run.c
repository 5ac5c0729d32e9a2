/*
 * Compiling a batch and running its candidates: see property.h.
 *
 * The child process maps each tensor so that its last byte touches a guard page (first byte, in
 * every other set), and writes outcomes into memory that it shares with the parent; when it dies,
 * the candidate that ran is the one to blame, and a new child goes on after it. A run may take
 * RUN_SECONDS.
 */
#include "tests/property/property.h"

#include "runtime/args.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN_SECONDS = 20, MAX_TENSORS = 16, SLACK = 0xA5 };

extern char **environ;

/* ---- compiler -------------------------------------------------------- */

static bool spawn(char *const *words, const char *log, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int rc = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0;
}

bool property_has_compiler(const char *name) {
    char command[64];
    pid_t pid;
    int status = 0;
    snprintf(command, sizeof command, "%s", name);
    char version[] = "--version", *words[] = {command, version, NULL};
    return spawn(words, "/dev/null", &pid) && waitpid(pid, &status, 0) == pid &&
           WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool property_folder_create(property *p) {
    const char *base = getenv("TMPDIR");
    snprintf(p->folder, sizeof p->folder, "%s/ctune-property-XXXXXX",
             base != NULL && strlen(base) < 80 ? base : "/tmp");
    return mkdtemp(p->folder) != NULL;
}

void property_folder_remove(property *p) {
    if (p->is_kept) {
        fprintf(stderr, "kept: %s\n", p->folder);
    } else {
        rmdir(p->folder);
    }
}

bool property_compile_start(property *p, property_batch *b) {
    snprintf(b->c_path, sizeof b->c_path, "%s/batch%d.c", p->folder, b->number);
    snprintf(b->so_path, sizeof b->so_path, "%s/batch%d.so", p->folder, b->number);
    snprintf(b->log_path, sizeof b->log_path, "%s/batch%d.log", p->folder, b->number);
    if (ctune_file_write(&p->ctx, b->c_path, ctune_text_get(&b->source), b->source.len) !=
        CTUNE_OK) {
        return false;
    }
    /* -fwrapv: the random programs themselves overflow */
    const char *words[] = {b->compiler,
                           "-std=gnu11",
                           "-O1",
                           "-march=native",
                           "-Wall",
                           "-Wextra",
                           "-Wno-type-limits",
                           "-Wno-tautological-compare",
                           "-fwrapv",
                           "-fPIC",
                           "-shared",
                           "-o",
                           b->so_path,
                           b->c_path,
                           "-lm",
                           b->may_contract ? "-ffp-contract=fast" : "-ffp-contract=off",
                           NULL,
                           NULL,
                           NULL,
                           NULL};
    size_t n = 0;
    while (words[n] != NULL) {
        n++;
    }
    if (b->target.openmp) {
        words[n++] = "-fopenmp";
    }
    if (p->is_sanitized) { /* undefined behaviour ends the child: no runtime library is needed */
        words[n++] = "-fsanitize=undefined";
        words[n++] = strstr(b->compiler, "clang") != NULL ? "-fsanitize-trap=undefined"
                                                          : "-fsanitize-undefined-trap-on-error";
    }
    if (!spawn((char *const *)(uintptr_t)words, b->log_path, &b->compile_pid)) {
        ctune_status status = ctune_fail(&p->ctx, CTUNE_EENV, "cannot run %s", b->compiler);
        return status == CTUNE_OK;
    }
    return true;
}

bool property_compile_wait(property_batch *b, char *message, size_t size) {
    int status = 0;
    message[0] = '\0';
    bool is_done = waitpid(b->compile_pid, &status, 0) == b->compile_pid;
    b->is_compiled = is_done && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    FILE *log = fopen(b->log_path, "r");
    size_t n = log != NULL ? fread(message, 1, size - 1, log) : 0;
    message[n] = '\0';
    if (log != NULL) {
        fclose(log);
    }
    if (!b->is_compiled && n == 0) {
        snprintf(message, size, "compiler: wait status %d", status);
    }
    return b->is_compiled && n == 0;
}

/* ---- tensors between guard pages ------------------------------------- */

typedef struct tensor_memory {
    unsigned char *map, *data;
    size_t map_bytes, bytes;
    unsigned char *initial, *want; /* malloc: contents before, and what the interpreter leaves */
} tensor_memory;

static bool memory_create(tensor_memory *m, size_t bytes, bool at_end) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (bytes + page - 1) / page * page;
    room = room == 0 ? page : room;
    *m = (tensor_memory){.map_bytes = room + 2 * page, .bytes = bytes};
    void *map = mmap(NULL, m->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m->initial = malloc(bytes + 1);
    m->want = malloc(bytes + 1);
    if (map == MAP_FAILED || m->initial == NULL || m->want == NULL ||
        mprotect((char *)map + page, room, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    m->map = map;
    m->data = m->map + page + (at_end ? room - bytes : 0);
    memset(m->map + page, SLACK, room);
    return true;
}

static void memory_destroy(tensor_memory *m) {
    if (m->map != NULL) {
        munmap(m->map, m->map_bytes);
    }
    free(m->initial);
    free(m->want);
}

static bool has_slack_changed(const tensor_memory *m) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const unsigned char *begin = m->map + page, *end = m->map + m->map_bytes - page;
    for (const unsigned char *p = begin; p < end; p++) {
        if ((p < m->data || p >= m->data + m->bytes) && *p != SLACK) {
            return true;
        }
    }
    return false;
}

typedef struct workset {
    const ctune_region *region;
    long params[PROPERTY_PARAMS];
    tensor_memory memory[MAX_TENSORS]; /* zero for temporaries */
    void *tensors[MAX_TENSORS];
    bool is_ready;
    char error[200];
} workset;

static void workset_create(property_region *r, int set, ctune_products products, workset *w) {
    ctune_ctx ctx;
    size_t bytes[MAX_TENSORS] = {0};
    void *want[MAX_TENSORS] = {0};
    ctune_rng rng = r->rng;
    ctune_ctx_init(&ctx);
    *w = (workset){.region = r->region};
    for (int i = 0; i < r->region->n_params; i++) {
        w->params[i] = r->params[set][i];
    }
    for (int t = 0; t < r->region->n_tensors; t++) {
        const ctune_tensor *tensor = &r->region->tensors[t];
        int64_t extents[CTUNE_MAX_RANK];
        int64_t n = ctune_tensor_shape(r->region, t, r->params[set], extents);
        if (tensor->is_temp) {
            continue;
        }
        bytes[t] = (size_t)n * (size_t)tensor->elem_stride_bytes;
        if (n < 0 || n > 1 << 25 || !memory_create(&w->memory[t], bytes[t], set % 2 == 0)) {
            snprintf(w->error, sizeof w->error, "tensor %s: no memory", tensor->name);
            return;
        }
        random_fill_tensor(&rng, r->region, t, r->params[set], (size_t)n, w->memory[t].initial);
        memcpy(w->memory[t].want, w->memory[t].initial, bytes[t]);
        want[t] = w->memory[t].want;
        w->tensors[t] = w->memory[t].data;
    }
    if (ctune_te_eval(&ctx, r->region, products, r->params[set], want, bytes) != CTUNE_OK) {
        snprintf(w->error, sizeof w->error, "the interpreter: %.150s", ctx.error);
        return;
    }
    w->is_ready = true;
}

static void workset_destroy(workset *w) {
    for (int t = 0; t < MAX_TENSORS; t++) {
        memory_destroy(&w->memory[t]);
    }
}

/* ---- comparing ------------------------------------------------------- */

static bool is_same_element(const ctune_region *region, ctune_type type, const unsigned char *a,
                            const unsigned char *b) {
    if (type == CTUNE_F32 || type == CTUNE_F64) {
        float x32, y32;
        double x, y;
        memcpy(type == CTUNE_F32 ? (void *)&x32 : (void *)&x, a, type == CTUNE_F32 ? 4 : 8);
        memcpy(type == CTUNE_F32 ? (void *)&y32 : (void *)&y, b, type == CTUNE_F32 ? 4 : 8);
        if (type == CTUNE_F32) {
            x = (double)x32;
            y = (double)y32;
        }
        /* A NaN's sign and payload depend on the order of operands; reordered sums may flip the
         * sign of zero. */
        return (x != x && y != y) || (region->reassoc && x == y);
    }
    return false;
}

static void print_element(ctune_type type, const unsigned char *at, char *out, size_t size) {
    uint64_t bits = 0;
    memcpy(&bits, at,
           (size_t)ctune_type_get(type)->bytes < 8 ? (size_t)ctune_type_get(type)->bytes : 8);
    float f;
    double d;
    memcpy(&f, at, sizeof f);
    if (type == CTUNE_F32) {
        snprintf(out, size, "%.9g", (double)f);
    } else if (type == CTUNE_F64) {
        memcpy(&d, at, sizeof d);
        snprintf(out, size, "%.17g", d);
    } else {
        snprintf(out, size, "0x%llx", (unsigned long long)bits);
    }
}

/* expected: `want` after a run, `initial` after a declined one. false with words in c->detail. */
static bool check_result(const workset *w, int set, bool is_declined, property_candidate *c) {
    for (int t = 0; t < w->region->n_tensors; t++) {
        const ctune_tensor *tensor = &w->region->tensors[t];
        const tensor_memory *m = &w->memory[t];
        if (tensor->is_temp) {
            continue;
        }
        const unsigned char *want = is_declined ? m->initial : m->want;
        size_t elem = (size_t)ctune_type_get(tensor->type)->bytes;
        for (size_t at = 0; memcmp(m->data, want, m->bytes) != 0 && at < m->bytes; at += elem) {
            if (memcmp(m->data + at, want + at, elem) == 0 ||
                is_same_element(w->region, tensor->type, m->data + at, want + at)) {
                continue;
            }
            char a[40], b[40];
            print_element(tensor->type, m->data + at, a, sizeof a);
            print_element(tensor->type, want + at, b, sizeof b);
            snprintf(c->detail, sizeof c->detail, "set %d: %s element %zu is %s, not %s%s", set,
                     tensor->name, at / elem, a, b, is_declined ? " (it declined)" : "");
            return false;
        }
        if (has_slack_changed(m)) {
            snprintf(c->detail, sizeof c->detail, "set %d: wrote outside %s", set, tensor->name);
            return false;
        }
    }
    return true;
}

static void run_candidate(ctune_candidate_fn *run, workset *sets, property_candidate *c) {
    for (int set = 0; set < RANDOM_SETS; set++) {
        workset *w = &sets[set];
        if (!w->is_ready) {
            snprintf(c->detail, sizeof c->detail, "set %d: %.150s", set, w->error);
            c->outcome = PROPERTY_WRONG;
            return;
        }
        for (int t = 0; t < w->region->n_tensors; t++) {
            if (w->memory[t].data != NULL) {
                memcpy(w->memory[t].data, w->memory[t].initial, w->memory[t].bytes);
            }
        }
        size_t n = (size_t)snprintf(c->detail, sizeof c->detail, "set %d:", set);
        for (int i = 0; i < w->region->n_params; i++) {
            n += (size_t)snprintf(c->detail + n, sizeof c->detail - n, " %s=%ld",
                                  w->region->params[i].name, w->params[i]);
        }
        ctune_args args = {.params = w->params, .tensors = w->tensors};
        alarm(RUN_SECONDS);
        int rc = run(&args);
        alarm(0);
        c->n_declined += rc != 0;
        if (rc != 0 && c->is_original) {
            snprintf(c->detail + n, sizeof c->detail - n, ": the original declined");
            c->outcome = PROPERTY_WRONG;
            return;
        }
        if (!check_result(w, set, rc != 0, c)) {
            c->outcome = PROPERTY_WRONG;
            return;
        }
    }
    c->outcome = PROPERTY_OK;
}

/* ---- child processes ------------------------------------------------- */

typedef struct shared {
    volatile int current; /* candidate that runs */
    property_candidate candidates[];
} shared;

static void child(const property_batch *b, shared *s, int first) {
    void *object = dlopen(b->so_path, RTLD_NOW | RTLD_LOCAL);
    ctune_candidate_fn *const *table = object != NULL ? dlsym(object, "ctune_batch") : NULL;
    if (table == NULL) {
        snprintf(s->candidates[first].detail, sizeof s->candidates[first].detail, "dlopen: %.150s",
                 dlerror());
        _exit(3);
    }
    static workset sets[RANDOM_SETS];
    int i_region = -1;
    for (int i = first; i < b->n_candidates; i++) {
        property_candidate *c = &s->candidates[i];
        s->current = i;
        if (c->i_region != i_region) {
            for (int set = 0; set < RANDOM_SETS; set++) {
                if (i_region >= 0) {
                    workset_destroy(&sets[set]);
                }
                workset_create(&b->regions[c->i_region], set, b->products, &sets[set]);
            }
            i_region = c->i_region;
        }
        run_candidate(table[i], sets, c);
    }
    _exit(0);
}

void property_run(property *p, property_batch *b) {
    size_t n_bytes = (size_t)b->n_candidates * sizeof *b->candidates;
    shared *s =
        mmap(NULL, sizeof *s + n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        p->n_failures++;
        return;
    }
    memcpy(s->candidates, b->candidates, n_bytes);
    int first = 0;
    fflush(NULL);
    while (first < b->n_candidates) {
        int status = 0;
        s->current = first;
        pid_t pid = fork();
        if (pid == 0) {
            child(b, s, first);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid ||
            (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
            p->n_failures += pid < 0;
            break;
        }
        property_candidate *c = &s->candidates[s->current];
        size_t n = strnlen(c->detail, sizeof c->detail - 40);
        snprintf(c->detail + n, sizeof c->detail - n, " died: %s",
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
        c->outcome = PROPERTY_CRASH;
        first = s->current + 1;
    }
    memcpy(b->candidates, s->candidates, n_bytes);
    munmap(s, sizeof *s + n_bytes);
    if (!p->is_kept) {
        bool is_good = true;
        for (int i = 0; i < b->n_candidates; i++) {
            is_good = is_good && b->candidates[i].outcome == PROPERTY_OK;
        }
        if (is_good) {
            unlink(b->c_path);
        }
        unlink(b->so_path);
        unlink(b->log_path);
    }
}
