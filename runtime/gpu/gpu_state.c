/*
 * The library's state in a process: environment, lock, the device in use, switching off, messages.
 *
 * In: the environment, once. Out: a driver with an open device, or none. Nothing is looked for
 * before the first region; nothing is unloaded at exit, since the vendor's libraries may be gone
 * by then. A forked child has no device: neither interface survives fork.
 */
#include "runtime/gpu/gpu_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_SIZE = 1024 };

static struct {
    bool is_read, is_off, is_entered;
    bool is_tried[2]; /* drivers that were opened or could not be */
    bool is_gone;     /* released, or its parent's: nothing of the driver may be called */
    unsigned n_runs;
    gpu_mode mode;
    const char *log; /* NULL: silent */
    const gpu_driver *driver;
    gpu_device device;
    int saved_errno;
    char why[MESSAGE_SIZE];
    char no_device[MESSAGE_SIZE];
    char error[MESSAGE_SIZE]; /* to be told; "" none */
} state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- messages ---------------------------------------------------------------------------------
 */
static void put_line(const char *text) {
    bool is_stderr = strcmp(state.log, "1") == 0 || strcmp(state.log, "stderr") == 0;
    int fd = is_stderr ? STDERR_FILENO
                       : open(state.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    char line[MESSAGE_SIZE + 16];
    int n = snprintf(line, sizeof line, "ctune-gpu: %s\n", text);
    ssize_t unused = write(fd, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    (void)unused;
    if (!is_stderr) {
        close(fd);
    }
}

void ctune_gpu_log(const char *format, ...) {
    if (state.log != NULL) {
        char text[MESSAGE_SIZE];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        put_line(text);
    }
}

bool ctune_gpu_has_log(void) {
    return state.log != NULL;
}

bool ctune_gpu_fail(const char *format, ...) {
    char text[MESSAGE_SIZE]; /* an argument may be ctune_gpu_why() */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(state.why, text, sizeof text);
    return false;
}

const char *ctune_gpu_why(void) {
    return state.why;
}

void ctune_gpu_error(const char *format, ...) {
    char text[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (state.error[0] == '\0') {
        memcpy(state.error, text, sizeof text);
    }
    ctune_gpu_log("%s", text);
}

static void default_handler(const char *message) {
    fprintf(stderr, "ctune-gpu: %s\n", message);
    abort();
}

static void (*error_handler)(const char *) = default_handler;

void ctune_gpu_on_error(void (*handler)(const char *message)) {
    pthread_mutex_lock(&lock);
    error_handler = handler != NULL ? handler : default_handler;
    pthread_mutex_unlock(&lock);
}

/* ---- environment ------------------------------------------------------------------------------
 */
static const char *get_word(const char *name) {
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static void read_environment(void) {
    static const struct {
        const char *word;
        gpu_mode mode;
    } modes[] = {
        {"auto", GPU_AUTO}, {"off", GPU_OFF}, {"require", GPU_REQUIRE}, {"check", GPU_CHECK}};
    state.is_read = true;
    state.mode = GPU_AUTO;
    state.log = get_word("CTUNE_GPU_LOG");
    const char *word = get_word("CTUNE_GPU");
    bool is_known = word == NULL;
    for (size_t i = 0; word != NULL && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(word, modes[i].word) == 0) {
            state.mode = modes[i].mode;
            is_known = true;
        }
    }
    if (!is_known) { /* who mistypes `off` must not get the GPU */
        state.mode = GPU_OFF;
        ctune_gpu_log("CTUNE_GPU=%s is none of auto, off, require, check: off", word);
    }
}

gpu_mode ctune_gpu_mode_get(void) {
    return state.mode;
}

/* ---- the lock ---------------------------------------------------------------------------------
 */
static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork_parent(void) {
    pthread_mutex_unlock(&lock);
}

static void after_fork_child(void) {
    if (state.driver != NULL && !state.is_off) {
        ctune_gpu_fail("a forked child cannot use the device of its parent");
        ctune_gpu_kept_abandon(false);
    }
    state.is_off = state.is_gone = true;
    pthread_mutex_unlock(&lock);
}

static void on_fork(void) {
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void ctune_gpu_enter(void) {
    int saved = errno;
    pthread_once(&fork_once, on_fork);
    pthread_mutex_lock(&lock);
    state.saved_errno = saved;
    if (!state.is_read) {
        read_environment();
    }
}

/* After a failure, when nobody uses it any more. A context that cannot be entered takes what is in
 * it along when its last reference goes. */
static void release_device(void) {
    (void)ctune_gpu_releaser_get();
    ctune_gpu_kept_forget_memory();
    ctune_gpu_pool_clear();
    ctune_gpu_module_reset();
    if (state.is_entered) {
        state.driver->leave();
        state.is_entered = false;
    }
    state.driver->close();
    ctune_gpu_stage_clear();
    state.is_gone = true;
}

void ctune_gpu_leave(void) {
    char error[MESSAGE_SIZE];
    if (state.is_off && !state.is_gone && state.driver != NULL && state.n_runs == 0) {
        release_device();
    }
    if (state.is_entered) {
        state.driver->leave();
        state.is_entered = false;
    }
    memcpy(error, state.error, sizeof error);
    state.error[0] = '\0';
    void (*handler)(const char *) = error_handler;
    int saved = state.saved_errno;
    pthread_mutex_unlock(&lock);
    if (error[0] != '\0') {
        handler(error);
    }
    errno = saved;
}

/* ---- the device -------------------------------------------------------------------------------
 */
static bool try_open(const gpu_driver *driver, bool any_device, char *reasons) {
    memset(&state.device, 0, sizeof state.device);
    if (driver->open(&state.device, any_device)) {
        state.driver = driver;
        ctune_gpu_log("%s: %s", driver->name, state.device.name);
        return true;
    }
    size_t used = strlen(reasons);
    snprintf(reasons + used, MESSAGE_SIZE - used, "%s%s: %.400s", used > 0 ? "; " : "",
             driver->name, state.why);
    return false;
}

/* In the order in which they are tried. */
static const gpu_driver *const drivers[] = {&ctune_gpu_cuda, &ctune_gpu_opencl};

enum { N_DRIVERS = sizeof drivers / sizeof *drivers };

static bool is_wanted(const char *api) {
    bool is_known = false;
    for (int i = 0; api != NULL && i < N_DRIVERS; i++) {
        is_known |= strcmp(api, drivers[i]->name) == 0;
    }
    return api == NULL || is_known ||
           ctune_gpu_fail("CTUNE_GPU_API=%s is neither cuda nor opencl", api);
}

/* The first interface with a device and, if it is for a region, with text of its kernels: a region
 * for OpenCL alone that comes first is not refused because there is CUDA. */
static void open_device(const struct ctune_gpu_region *region) {
    const char *api = get_word("CTUNE_GPU_API");
    bool is_tried = false;
    if (!is_wanted(api)) {
        snprintf(state.no_device, sizeof state.no_device, "%s", state.why);
        return;
    }
    for (int i = 0; state.driver == NULL && i < N_DRIVERS; i++) {
        if ((api == NULL || strcmp(api, drivers[i]->name) == 0) && !state.is_tried[i] &&
            (region == NULL || drivers[i]->text(region) != NULL)) {
            state.is_tried[i] = is_tried = true;
            try_open(drivers[i], api != NULL, state.no_device);
        }
    }
    if (state.driver == NULL && is_tried) {
        ctune_gpu_log("no device (%s)", state.no_device);
    }
}

const gpu_driver *ctune_gpu_driver_for(const struct ctune_gpu_region *region) {
    if (state.mode == GPU_OFF) {
        ctune_gpu_fail("CTUNE_GPU=off");
        return NULL;
    }
    if (state.is_off) {
        ctune_gpu_fail("switched off");
        return NULL;
    }
    if (state.driver == NULL) {
        open_device(region);
    }
    if (state.driver == NULL) {
        ctune_gpu_fail("no device (%.1000s)",
                       state.no_device[0] != '\0' ? state.no_device : "no kernel");
        return NULL;
    }
    if (!state.is_entered) {
        if (!state.driver->enter()) {
            ctune_gpu_switch_off("entering the device's context");
            return NULL;
        }
        state.is_entered = true;
    }
    return state.driver;
}

const gpu_driver *ctune_gpu_driver_get(void) {
    return ctune_gpu_driver_for(NULL);
}

bool ctune_gpu_is_off(void) {
    return state.is_off || state.mode == GPU_OFF;
}

const gpu_driver *ctune_gpu_releaser_get(void) {
    if (state.driver == NULL || state.is_gone) {
        return NULL;
    }
    if (!state.is_entered) {
        state.is_entered = state.driver->enter();
    }
    return state.is_entered ? state.driver : NULL;
}

void ctune_gpu_runs_add(int change) {
    state.n_runs += (unsigned)change;
}

const gpu_device *ctune_gpu_device_get(void) {
    return &state.device;
}

void ctune_gpu_switch_off(const char *what) {
    if (state.is_off) {
        return;
    }
    char why[MESSAGE_SIZE];
    memcpy(why, state.why, sizeof why);
    ctune_gpu_log("%s: %s; this process goes on without the device", what, why);
    ctune_gpu_kept_abandon(state.is_entered);
    state.is_off = true;
    memcpy(state.why, why, sizeof why);
}

void ctune_gpu_reset(void) {
    pthread_mutex_lock(&lock);
    if (state.driver != NULL && !state.is_gone) {
        release_device();
    }
    ctune_gpu_kept_reset();
    ctune_gpu_stage_clear();
    ctune_gpu_pays_reset();
    memset(&state, 0, sizeof state);
    error_handler = default_handler;
    pthread_mutex_unlock(&lock);
}

void *ctune_gpu_library_open(const char *variable, const char *const *names) {
    const char *given = get_word(variable);
    if (given != NULL) {
        void *handle = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            ctune_gpu_fail("%s=%s: %s", variable, given, dlerror());
        }
        return handle;
    }
    ctune_gpu_fail("%s is not there", names[0]);
    for (; *names != NULL; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (handle != NULL) {
            return handle;
        }
    }
    return NULL;
}

const char *ctune_gpu_device_name(char *why, size_t size) {
    static char name[192];
    ctune_gpu_enter();
    const gpu_driver *driver = ctune_gpu_driver_get();
    if (driver == NULL) {
        name[0] = '\0';
        if (why != NULL && size > 0) {
            snprintf(why, size, "%s", state.why);
        }
    } else {
        snprintf(name, sizeof name, "%s: %s", driver->name, state.device.name);
    }
    ctune_gpu_leave();
    return name;
}
