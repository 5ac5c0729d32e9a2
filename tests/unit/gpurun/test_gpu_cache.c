/* The cache on disk: exactly what was written comes back, or nothing. */
#include "runtime/gpu/gpu_private.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64], folder[96];

static int setup(void **state) {
    (void)state;
    strcpy(root, "/tmp/ctune-cache-XXXXXX");
    if (mkdtemp(root) == NULL) {
        return 1;
    }
    snprintf(folder, sizeof folder, "%s/a b/gpu", root);
    setenv("CTUNE_GPU_CACHE", folder, 1);
    ctune_gpu_reset();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void write_text(const char *key, const char *text) {
    ctune_gpu_cache_write(key, strlen(key) + 1, text, strlen(text) + 1);
}

/* What is there for the key equals text; NULL: nothing is. */
static void expect_text(const char *key, const char *text) {
    size_t bytes = 0;
    char *found = ctune_gpu_cache_read(key, strlen(key) + 1, &bytes);
    if (text == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_int_equal(bytes, strlen(text) + 1);
        assert_string_equal(found, text);
    }
    free(found);
}

/* The only file there. */
static void only_file(char *path, size_t size) {
    char command[160];
    snprintf(command, sizeof command, "ls '%s'", folder);
    FILE *list = popen(command, "r");
    char name[64] = "";
    assert_int_equal(fscanf(list, "%63s", name), 1);
    pclose(list);
    snprintf(path, size, "%s/%s", folder, name);
}

static void test_round_trip(void **state) {
    (void)state;
    struct stat info;
    expect_text("a", NULL);
    write_text("a", "first");
    write_text("b", "second");
    expect_text("a", "first");
    expect_text("b", "second");
    expect_text("c", NULL);
    write_text("a", "other");
    expect_text("a", "other");
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    const char *const parts[] = {"x", "", "yz"};
    size_t bytes = 0;
    char *key = ctune_gpu_cache_key(parts, 3, &bytes);
    assert_int_equal(bytes, 6);
    assert_memory_equal(key, "x\0\0yz", 6);
    free(key);
}

/* Each byte changed, each length cut: nothing, never something else. */
static void test_damage(void **state) {
    (void)state;
    char path[192];
    unsigned char whole[256];
    write_text("key", "the machine code");
    only_file(path, sizeof path);
    int fd = open(path, O_RDWR);
    ssize_t n = read(fd, whole, sizeof whole);
    assert_true(n > 40 && n < (ssize_t)sizeof whole);
    for (ssize_t i = 0; i < n; i++) {
        unsigned char bad = whole[i] ^ 0x10;
        assert_int_equal(pwrite(fd, &bad, 1, i), 1);
        expect_text("key", NULL);
        assert_int_equal(pwrite(fd, &whole[i], 1, i), 1);
    }
    expect_text("key", "the machine code");
    assert_int_equal(pwrite(fd, "x", 1, n), 1); /* longer */
    expect_text("key", NULL);
    for (ssize_t length = n - 1; length >= 0; length--) {
        assert_int_equal(ftruncate(fd, length), 0);
        expect_text("key", NULL);
    }
    close(fd);
    write_text("key", "again");
    expect_text("key", "again");
}

static void test_not_ours(void **state) {
    (void)state;
    write_text("key", "text");
    assert_int_equal(chmod(folder, 0770), 0);
    expect_text("key", NULL);
    write_text("key", "evil");
    assert_int_equal(chmod(folder, 0700), 0);
    expect_text("key", "text");
    char moved[192];
    snprintf(moved, sizeof moved, "%s/moved", root);
    assert_int_equal(rename(folder, moved), 0);
    assert_int_equal(symlink(moved, folder), 0);
    expect_text("key", NULL);
    setenv("CTUNE_GPU_CACHE", "off", 1);
    write_text("key", "text");
    expect_text("key", NULL);
}

/* Processes that write the same key at once: always one of the texts, whole. */
static void test_processes(void **state) {
    (void)state;
    enum { N = 4 };
    pid_t child[N];
    char text[3000];
    for (int i = 0; i < N; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            for (int j = 0; j < 50; j++) {
                memset(text, 'a' + i, sizeof text - 1);
                text[sizeof text - 1] = '\0';
                write_text("key", text);
            }
            _exit(0);
        }
    }
    for (int j = 0; j < 200; j++) {
        size_t bytes = 0;
        char *found = ctune_gpu_cache_read("key", 4, &bytes);
        if (found != NULL) {
            assert_int_equal(bytes, sizeof text);
            assert_int_equal(strspn(found, (char[]){found[0], '\0'}), sizeof text - 1);
        }
        free(found);
    }
    for (int i = 0; i < N; i++) {
        int status = 1;
        waitpid(child[i], &status, 0);
        assert_int_equal(status, 0);
    }
    char command[160];
    snprintf(command, sizeof command, "[ $(ls '%s' | wc -l) = 1 ]", folder);
    assert_int_equal(system(command), 0);
}

/* The one that was used last stays. */
static void test_size(void **state) {
    (void)state;
    char path[192], key[16];
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "key %d", i);
        write_text(key, "some text that takes a few bytes of the cache");
    }
    snprintf(path, sizeof path, "find '%s' -type f -exec touch -d @1000 {} +", folder);
    assert_int_equal(system(path), 0);
    expect_text("key 7", "some text that takes a few bytes of the cache");
    ctune_gpu_cache_prune(1 << 20);
    expect_text("key 3", "some text that takes a few bytes of the cache");
    snprintf(path, sizeof path, "find '%s' -type f -exec touch -d @1000 {} +", folder);
    assert_int_equal(system(path), 0);
    expect_text("key 7", "some text that takes a few bytes of the cache");
    ctune_gpu_cache_prune(200);
    expect_text("key 7", "some text that takes a few bytes of the cache");
    int n = 0;
    for (int i = 0; i < 20; i++) {
        size_t bytes = 0;
        snprintf(key, sizeof key, "key %d", i);
        char *found = ctune_gpu_cache_read(key, strlen(key) + 1, &bytes);
        n += found != NULL;
        free(found);
    }
    assert_int_equal(n, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_size, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
