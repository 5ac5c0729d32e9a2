/* The sandbox in a child process: what is refused, what goes on working. What the system lacks is
 * not tested. */
#include "runtime/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/ctune-sandbox-XXXXXX";

static void *set_one(void *value) {
    *(int *)value = 1;
    return NULL;
}

/* Bits of what was not as it should be. */
static int look(void) {
    int bits = ctune_sandbox_enter(), wrong = 0, value = 0;
    if (bits & CTUNE_SANDBOX_NO_CALLS) {
        char *const words[] = {"true", NULL};
        pid_t pid;
        wrong |= socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM ? 0 : 1;
        pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        wrong |= pid < 0 ? 0 : 2;
        wrong |= posix_spawnp(&pid, "true", NULL, NULL, words, words + 1) != 0 ? 0 : 4;
        wrong |= kill(getppid(), 0) < 0 ? 0 : 8;
        wrong |= unlink(path) < 0 ? 0 : 16;
    }
    if (bits & CTUNE_SANDBOX_NO_FILES) {
        int fd = open(path, O_WRONLY);
        wrong |= fd >= 0 && write(fd, "x", 1) < 0 && errno == EFBIG ? 0 : 32;
    }
    pthread_t thread;
    wrong |= pthread_create(&thread, NULL, set_one, &value) == 0 &&
                     pthread_join(thread, NULL) == 0 && value == 1
                 ? 0
                 : 64;
    void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrong |= memory != MAP_FAILED ? 0 : 128;
    return wrong;
}

static void test_refused(void **state) {
    (void)state;
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(look());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
}

/* The grandchild holds the pipe's end until its parent is gone. */
static void test_dies(void **state) {
    (void)state;
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t second = fork();
        if (second == 0) {
            int bits = ctune_sandbox_enter();
            byte = (char)bits;
            ssize_t n = write(ends[1], &byte, 1);
            while (n == 1 && (bits & CTUNE_SANDBOX_DIES)) {
                pause();
            }
            _exit(0);
        }
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1); /* leaves it behind */
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    alarm(60);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* the end of the file: nobody has it open */
    alarm(0);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_dies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
