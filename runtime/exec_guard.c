/*
 * Faults and time limits inside the runner process.
 *
 * A candidate that faults or runs too long ends the process; before that, a handler says why in one
 * line, with the place relative to the tensors when there is one. Only write, setitimer and _exit
 * are used in handlers. The parent has its own, later, deadline for the case that no handler can
 * run.
 *
 * The pointer and the flag below are the only mutable globals of runtime/: a signal handler has no
 * argument. Only the runner executable sets them; the ctune library side never calls this file.
 */
#include "runtime/exec_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static const ctune_exec *guarded;
static volatile sig_atomic_t is_deadline; /* the timer stands for the parent's deadline */

typedef struct message {
    char text[256];
    size_t len;
} message;

static void put(message *m, const char *text) {
    while (*text != '\0' && m->len < sizeof m->text) {
        m->text[m->len++] = *text++;
    }
}

static void put_number(message *m, size_t value) {
    char digits[24];
    int n = 23;
    digits[n] = '\0';
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(m, digits + n);
}

static const struct {
    int number;
    const char *name;
} faults[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};

/* Where a bad address lies relative to the tensors. */
static void put_place(message *m, const unsigned char *at) {
    if ((uintptr_t)at < 65536) {
        put(m, ": null pointer");
        return;
    }
    for (int i = 0; i < guarded->load.n_tensors; i++) {
        const ctune_exec_tensor *t = &guarded->tensor[i];
        if (t->map == NULL || at < t->map || at >= t->map + t->map_bytes) {
            continue;
        }
        const unsigned char *end = t->base + t->bytes;
        if (at >= end) {
            put(m, ": ");
            put_number(m, (size_t)(at - end));
            put(m, " bytes past the end of tensor ");
        } else if (at < t->base) {
            put(m, ": ");
            put_number(m, (size_t)(t->base - at));
            put(m, " bytes before the start of tensor ");
        } else {
            put(m, ": store into read-only tensor ");
        }
        put_number(m, (size_t)i);
        return;
    }
}

static void finish(message *m) {
    put(m, "\n");
    ssize_t ignored = write(guarded->out_fd, m->text, m->len);
    (void)ignored;
    _exit(3);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    int saved_errno = errno;
    message m = {.len = 0};
    put(&m, saved_errno == ENOMEM ? "memory " : "crash ");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (faults[i].number == number) {
            put(&m, faults[i].name);
        }
    }
    if (saved_errno == ENOMEM) {
        put(&m, " after a failed allocation");
    } else if (number == SIGSEGV || number == SIGBUS) {
        put_place(&m, info->si_addr);
    }
    finish(&m);
}

static void on_alarm(int number) {
    (void)number;
    message m = {.len = 0};
    put(&m, is_deadline ? "late" : "timeout");
    finish(&m);
}

void ctune_exec_guard_install(const ctune_exec *exec) {
    guarded = exec;
    size_t bytes = 64 * 1024;
    stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes}; /* lives as long as the process */
    if (stack.ss_sp != NULL) {
        sigaltstack(&stack, NULL);
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    action.sa_sigaction = on_fault;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sigaction(faults[i].number, &action, NULL);
    }
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
}

static void set_timer(double ns) {
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    double us = ns / 1000 + 1;
    if (ns > 0 && us < 1e15) {
        timer.it_value.tv_sec = (time_t)(us / 1e6);
        timer.it_value.tv_usec = (suseconds_t)(us - (double)timer.it_value.tv_sec * 1e6);
    }
    setitimer(ITIMER_REAL, &timer, NULL);
}

void ctune_exec_timer_arm(double limit_ns, bool is_late) {
    is_deadline = is_late;
    set_timer(limit_ns > 1000 ? limit_ns : 1000);
}
void ctune_exec_timer_disarm(void) {
    set_timer(0);
}

void ctune_exec_memory_limit(size_t bytes) {
#ifndef __SANITIZE_ADDRESS__ /* its shadow is terabytes of address space */
    ctune_ctx ctx;
    ctune_text statm;
    ctune_ctx_init(&ctx);
    ctune_text_init(&statm);
    unsigned long pages = 0;
    if (ctune_file_read(&ctx, "/proc/self/statm", &statm) == CTUNE_OK) {
        pages = strtoul(ctune_text_get(&statm), NULL, 10);
    }
    ctune_text_clear(&statm);
    struct rlimit limit;
    if (pages > 0 && getrlimit(RLIMIT_AS, &limit) == 0) {
        limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
        if (limit.rlim_max == RLIM_INFINITY || limit.rlim_cur < limit.rlim_max) {
            setrlimit(RLIMIT_AS, &limit);
        }
    }
#else
    (void)bytes;
#endif
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
}
