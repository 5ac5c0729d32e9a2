/*
 * Giving up what a candidate has no use for: see sandbox.h.
 *
 * A candidate is C that was printed from the user's loop, but a user's expression may hold a call,
 * and a miscompiled loop may jump anywhere. It computes on memory that is there already: files,
 * sockets and processes are none of its business. A filter of system calls (seccomp) has the kernel
 * refuse these; the limit on file sizes is a resource limit. Threads stay possible, OpenMP needs
 * them: clone is refused unless it makes one, and clone3, whose flags are in memory that a filter
 * cannot read, does not exist, so that the C library takes clone.
 *
 * Refused calls fail with EPERM instead of ending the process: what they would have done fails, and
 * the results tell whether it mattered.
 */
#include "runtime/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#define MAX_CALL 0x3fffffff /* above are those of x32 */
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#define MAX_CALL 0x7fffffff
#endif

#if defined ARCH && defined SYS_seccomp
#define IS_CLONE_THREAD 0x10000 /* CLONE_THREAD */

/* One row a call: its number. Those that an architecture lacks are left out. */
static const int refused[] = {
    SYS_socket,   SYS_socketpair, SYS_connect,
    SYS_bind,     SYS_listen,     SYS_accept4,
    SYS_execve,   SYS_execveat,
#ifdef SYS_fork
    SYS_fork,     SYS_vfork,
#endif
    SYS_kill,     SYS_ptrace,     SYS_process_vm_writev,
    SYS_unlinkat, SYS_renameat2,
#ifdef SYS_unlink
    SYS_unlink,   SYS_rename,     SYS_rmdir,
    SYS_mkdir,    SYS_chmod,
#endif
    SYS_mkdirat,  SYS_linkat,     SYS_symlinkat,
    SYS_fchmodat, SYS_fchownat,   SYS_truncate,
    SYS_mount,    SYS_umount2,    SYS_setsid,
};
enum { N_REFUSED = sizeof refused / sizeof *refused, N_MORE = 13 };

static void put(struct sock_filter *filter, unsigned short *n, uint16_t code, uint32_t k,
                uint8_t if_true, uint8_t if_false) {
    filter[(*n)++] = (struct sock_filter){code, if_true, if_false, k};
}

static int filter_calls(void) {
    enum { LOAD = BPF_LD | BPF_W | BPF_ABS, EQUAL = BPF_JMP | BPF_JEQ | BPF_K };
    struct sock_filter filter[2 * N_REFUSED + N_MORE];
    unsigned short n = 0;
    const uint32_t no = SECCOMP_RET_ERRNO | EPERM, none = SECCOMP_RET_ERRNO | ENOSYS;
    put(filter, &n, LOAD, offsetof(struct seccomp_data, arch), 0, 0);
    put(filter, &n, EQUAL, ARCH, 1, 0);
    put(filter, &n, BPF_RET | BPF_K, no, 0, 0);
    put(filter, &n, LOAD, offsetof(struct seccomp_data, nr), 0, 0);
    put(filter, &n, BPF_JMP | BPF_JGT | BPF_K, MAX_CALL, 0, 1);
    put(filter, &n, BPF_RET | BPF_K, no, 0, 0);
    for (int i = 0; i < N_REFUSED; i++) {
        put(filter, &n, EQUAL, (uint32_t)refused[i], 0, 1);
        put(filter, &n, BPF_RET | BPF_K, no, 0, 0);
    }
#ifdef SYS_clone3
    put(filter, &n, EQUAL, SYS_clone3, 0, 1);
    put(filter, &n, BPF_RET | BPF_K, none, 0, 0);
#endif
    put(filter, &n, EQUAL, SYS_clone, 0, 3);
    put(filter, &n, LOAD, offsetof(struct seccomp_data, args), 0, 0); /* the flags, low half */
    put(filter, &n, BPF_JMP | BPF_JSET | BPF_K, IS_CLONE_THREAD, 1, 0);
    put(filter, &n, BPF_RET | BPF_K, no, 0, 0);
    put(filter, &n, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog program = {n, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
               ? CTUNE_SANDBOX_NO_CALLS
               : 0;
}
#else
static int filter_calls(void) {
    return 0;
}
#endif

static int limit_files(void) {
    const struct rlimit none = {0, 0};
    signal(SIGXFSZ, SIG_IGN); /* EFBIG is enough */
    return setrlimit(RLIMIT_FSIZE, &none) == 0 ? CTUNE_SANDBOX_NO_FILES : 0;
}

static int follow_parent(void) {
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 ? CTUNE_SANDBOX_DIES : 0;
}

int ctune_sandbox_enter(void) {
    return follow_parent() | limit_files() | filter_calls();
}
