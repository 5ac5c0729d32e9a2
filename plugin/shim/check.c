/*
 * A child that does what the compiler is about to do, to see whether it works: see job.h.
 *
 * The child is a fork of the compiler, which has read its options and no file yet: nothing can be
 * nearer to this compile, its flags and its standard than that. It is limited in CPU time, not in
 * time: whether a text is taken must not depend on how busy the machine is.
 */
#include "plugin/shim/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHECK_CPU_S = 60 }; /* parsing takes a fraction of a second */

void ctune_job_limit_cpu(int seconds) {
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) == 0 && getrlimit(RLIMIT_CPU, &limit) == 0) {
        rlim_t end = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + (rlim_t)seconds;
        limit.rlim_cur = limit.rlim_cur < end ? limit.rlim_cur : end;
        setrlimit(RLIMIT_CPU, &limit);
    }
}

void ctune_job_reset_signals(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGPIPE};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        signal(fatal[i], SIG_DFL);
    }
}

static void become_check(int said_fd) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(said_fd, STDERR_FILENO);
    dup2(null >= 0 ? null : said_fd, STDOUT_FILENO);
    ctune_job_reset_signals();
    ctune_job_limit_cpu(CHECK_CPU_S);
}

/* Reads all that the child writes, keeps what fits: its start, where the first error is. */
static void drain(int fd, char *said, size_t size) {
    char rest[4096];
    size_t n = 0;
    for (;;) {
        ssize_t got = n + 1 < size ? read(fd, said + n, size - 1 - n) : read(fd, rest, sizeof rest);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        n += n + 1 < size ? (size_t)got : 0;
    }
    said[n] = '\0';
}

static ctune_job_verdict wait_for(pid_t pid, char *said, size_t size) {
    int state;
    while (waitpid(pid, &state, 0) < 0) {
        if (errno != EINTR) {
            snprintf(said, size, "cannot wait for a child: %s", strerror(errno));
            return CTUNE_JOB_REFUSED;
        }
    }
    if (WIFSIGNALED(state)) {
        snprintf(said, size, "the compiler was ended by signal %d (%s)", WTERMSIG(state),
                 strsignal(WTERMSIG(state)));
    }
    return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? CTUNE_JOB_COMPILES : CTUNE_JOB_REFUSED;
}

ctune_job_verdict ctune_job_fork(char *said, size_t size) {
    int ends[2];
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(said, size, "cannot start a child: %s", strerror(errno));
        return CTUNE_JOB_REFUSED;
    }
    fflush(NULL); /* or the child would write it once more */
    pid_t pid = fork();
    if (pid == 0) {
        become_check(ends[1]);
        close(ends[0]);
        close(ends[1]);
        return CTUNE_JOB_IS_CHILD;
    }
    close(ends[1]);
    ctune_job_verdict verdict = CTUNE_JOB_REFUSED;
    if (pid < 0) {
        snprintf(said, size, "cannot start a child: %s", strerror(errno));
    } else {
        drain(ends[0], said, size);
        verdict = wait_for(pid, said, size);
    }
    close(ends[0]);
    return verdict;
}

/* ---- the first error ------------------------------------------------------------------------ */
/* The number that ends at `end` with a colon in front, which *end becomes. 0: it is none. */
static int take_number(const char *begin, const char **end) {
    const char *p = *end;
    int value = 0;
    for (int scale = 1; p > begin && p[-1] >= '0' && p[-1] <= '9' && scale < 100000000;
         scale *= 10) {
        value += (*--p - '0') * scale;
    }
    if (p == *end || p == begin || p[-1] != ':') {
        return 0;
    }
    *end = p - 1;
    return value;
}

/* "FILE:LINE:COLUMN: KIND: TEXT", the column may be missing: LINE, 0: there is none. at: in KIND */
static int line_number(const char *said, const char *at) {
    const char *begin = at;
    while (begin > said && begin[-1] != '\n') {
        begin--;
    }
    while (at > begin && !(at[0] == ' ' && at[-1] == ':')) {
        at--;
    }
    if (at == begin) {
        return 0;
    }
    const char *end = at - 1;
    int last = take_number(begin, &end), first = last > 0 ? take_number(begin, &end) : 0;
    return first > 0 ? first : last;
}

/* GCC names the place in a macro's definition first, and then where that is used. */
static int line_of_use(const char *said, const char *error) {
    static const char note[] = "note: in expansion of macro";
    const char *end = strstr(error + 1, "error: ");
    int line = 0;
    for (const char *p = error; (p = strstr(p, note)) != NULL && (end == NULL || p < end); p++) {
        line = line_number(said, p);
    }
    return line;
}

void ctune_job_first_error(const char *said, ctune_transform_failure *out) {
    static const char word[] = "error: ";
    memset(out, 0, sizeof *out);
    const char *at = strstr(said, word);
    const char *text = at != NULL ? at + sizeof word - 1 : said;
    snprintf(out->text, sizeof out->text, "%.*s", (int)strcspn(text, "\n"), text);
    if (at != NULL) {
        int use = line_of_use(said, at);
        out->line = use > 0 ? use : line_number(said, at);
    }
}
