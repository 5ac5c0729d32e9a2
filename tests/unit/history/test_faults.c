/*
 * Faults in records: writes that fail, corrupt and cut files, two writers at once, a writer killed
 * in the middle. What was there before must survive each of them.
 */
#include "search/history/history.h"
#include "search/lock/lock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    char folder[64], db[128], lock[128];
    ctune_ctx ctx;
    int n_warnings;
} fixture;

static void count(void *user, const ctune_diag *diag) {
    fixture *f = user;
    f->n_warnings += diag->severity == CTUNE_WARNING && strcmp(diag->code, "history-corrupt") == 0;
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/ctune-faults-XXXXXX");
    if (mkdtemp(f->folder) == NULL) {
        return -1;
    }
    snprintf(f->db, sizeof f->db, "%s/history.db", f->folder);
    snprintf(f->lock, sizeof f->lock, "%s/ctune.lock", f->folder);
    f->ctx.sink = count;
    f->ctx.sink_user = f;
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    int rc = system(command);
    free(f);
    return rc;
}

static ctune_record record(int seed, int trial) {
    return (ctune_record){.workload = 1,
                          .target = "t",
                          .region = "r",
                          .te = "te 1\n",
                          .sizes = "",
                          .schedule = "unroll i\n",
                          .seed = (uint64_t)seed,
                          .trial = trial,
                          .best_ns = 1,
                          .median_ns = 1,
                          .original_ns = 1};
}

static ctune_lock_entry entry(char *region) {
    static char source[] = "a.c", target[] = "t", sizes[] = "", schedule[] = "unroll i\n";
    return (ctune_lock_entry){.region = region,
                              .source = source,
                              .target = target,
                              .sizes = sizes,
                              .schedule = schedule,
                              .speedup = 2,
                              .tuned_ns = 1e6};
}

static bool count_record(void *user, const ctune_record *r) {
    int *n = user; /* n[seed] counts; trials of a seed come in order */
    assert_int_equal(r->trial, n[r->seed]);
    n[r->seed]++;
    return true;
}

/* Records of each seed in the history, after opening it anew. */
static void count_records(fixture *f, int *n) {
    ctune_history *h;
    assert_int_equal(ctune_history_open(&f->ctx, f->db, &h), CTUNE_OK);
    assert_int_equal(ctune_history_visit(&f->ctx, h, 0, NULL, count_record, n), CTUNE_OK);
    ctune_history_close(h);
}

/* Append `n` records in this process (a child); exit status 0 when all went in. */
static void append_child(fixture *f, int seed, int n, int go_fd) {
    ctune_history *h;
    char c;
    bool ok = (go_fd < 0 || read(go_fd, &c, 1) == 1) &&
              ctune_history_open(&f->ctx, f->db, &h) == CTUNE_OK;
    for (int i = 0; i < n && ok; i++) {
        ctune_record r = record(seed, i);
        ok = ctune_history_append(&f->ctx, h, &r) == CTUNE_OK;
    }
    if (!ok) {
        fprintf(stderr, "child: %s\n", f->ctx.error);
    }
    _exit(ok ? 0 : 1);
}

static void test_two_writers_of_a_history(void **state) {
    fixture *f = *state;
    int go[2];
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            append_child(f, i, 40, go[0]);
        }
    }
    assert_int_equal(write(go[1], "xxx", 3), 3); /* all open the missing file at once */
    for (int i = 0; i < 3; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    int n[3] = {0};
    count_records(f, n);
    assert_true(n[0] == 40 && n[1] == 40 && n[2] == 40);
    assert_int_equal(f->n_warnings, 0);
    close(go[0]);
    close(go[1]);
}

static void test_killed_writer(void **state) {
    fixture *f = *state;
    int n_before = 0;
    /* Longer from round to round, until a writer on a busy machine has written something, too. */
    for (int round = 0; round < 7 || (n_before == 0 && round < 11); round++) {
        pid_t pid = fork();
        if (pid == 0) {
            ctune_history *h;
            bool ok = ctune_history_open(&f->ctx, f->db, &h) == CTUNE_OK;
            for (int i = n_before; ok; i++) {
                ctune_record r = record(0, i);
                ok = ctune_history_append(&f->ctx, h, &r) == CTUNE_OK;
            }
            _exit(1);
        }
        long ms = 5L << round;
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
        kill(pid, SIGKILL);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        int n = 0; /* count_record checks that trials are 0, 1, 2, ... without a gap */
        count_records(f, &n);
        assert_true(n >= n_before);
        n_before = n;
    }
    assert_true(n_before > 0);
    assert_int_equal(f->n_warnings, 0);
}

/* A child whose files may not grow beyond `limit` bytes. */
static int run_limited(rlim_t limit, void (*body)(fixture *f), fixture *f) {
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit r = {limit, limit};
        if (setrlimit(RLIMIT_FSIZE, &r) == 0) {
            body(f);
        }
        _exit(100);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void append_until_full(fixture *f) {
    ctune_history *h;
    if (ctune_history_open(&f->ctx, f->db, &h) != CTUNE_OK) {
        _exit(101);
    }
    for (int i = 5; i < 10000; i++) {
        ctune_record r = record(0, i);
        ctune_status status = ctune_history_append(&f->ctx, h, &r);
        if (status != CTUNE_OK) {
            /* The handle still works for reading, and says no again. */
            int n = 0;
            bool ok = status == CTUNE_EENV && strstr(f->ctx.error, "cannot") != NULL &&
                      ctune_history_visit(&f->ctx, h, 0, NULL, count_record, &n) == CTUNE_OK &&
                      n == i;
            ctune_history_close(h);
            _exit(ok ? 0 : 102);
        }
    }
    _exit(103);
}

static void test_full_disk_under_a_history(void **state) {
    fixture *f = *state;
    ctune_history *h;
    assert_int_equal(ctune_history_open(&f->ctx, f->db, &h), CTUNE_OK);
    for (int i = 0; i < 5; i++) {
        ctune_record r = record(0, i);
        assert_int_equal(ctune_history_append(&f->ctx, h, &r), CTUNE_OK);
    }
    ctune_history_close(h);
    assert_int_equal(run_limited(200000, append_until_full, f), 0);
    int n = 0;
    count_records(f, &n);
    assert_true(n > 5);
    assert_int_equal(f->n_warnings, 0);
}

/* ---- bringing an old history up to date ------------------------------------------------------ */
/* A history of schema 1 with n records of seed 0. */
static void make_version_1(fixture *f, int n) {
    ctune_history *h;
    assert_int_equal(ctune_history_open(&f->ctx, f->db, &h), CTUNE_OK);
    for (int i = 0; i < n; i++) {
        ctune_record r = record(0, i);
        assert_int_equal(ctune_history_append(&f->ctx, h, &r), CTUNE_OK);
    }
    ctune_history_close(h);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "DROP TABLE target; PRAGMA user_version = 1", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
}

static void open_full(fixture *f) {
    ctune_history *h;
    ctune_status status = ctune_history_open(&f->ctx, f->db, &h);
    _exit(status == CTUNE_EENV && h == NULL && strstr(f->ctx.error, "cannot") != NULL ? 0 : 101);
}

static void test_full_disk_under_a_migration(void **state) {
    fixture *f = *state;
    make_version_1(f, 5);
    assert_int_equal(run_limited(3000, open_full, f), 0);
    ctune_history *h;
    int n = 0;
    assert_int_equal(ctune_history_open_readonly(&f->ctx, f->db, &h), CTUNE_OK);
    assert_int_equal(ctune_history_visit(&f->ctx, h, 0, NULL, count_record, &n), CTUNE_OK);
    ctune_history_close(h);
    assert_int_equal(n, 5);
    n = 0;
    count_records(f, &n);
    assert_int_equal(n, 5);
    assert_int_equal(f->n_warnings, 0);
}

static void test_several_migrate(void **state) {
    fixture *f = *state;
    int go[2];
    make_version_1(f, 5);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            append_child(f, i + 1, 20, go[0]);
        }
    }
    assert_int_equal(write(go[1], "xxx", 3), 3);
    for (int i = 0; i < 3; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    int n[4] = {0};
    count_records(f, n);
    assert_true(n[0] == 5 && n[1] == 20 && n[2] == 20 && n[3] == 20);
    close(go[0]);
    close(go[1]);
}

/* A program that knows only schema 1 has the file open and goes on. */
static void test_old_writer_goes_on(void **state) {
    fixture *f = *state;
    static const char insert[] =
        "INSERT INTO record(workload, target, region, te, sizes, schedule, seed, trial, outcome)"
        " SELECT 1, 't', 'r', 1, '', '', 0, count(*), 'ok' FROM record";
    make_version_1(f, 2);
    sqlite3 *db;
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, insert, -1, &s, NULL), SQLITE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sqlite3_step(s), SQLITE_DONE);
        sqlite3_reset(s);
        int n = 0;
        count_records(f, &n); /* the first time it migrates */
        assert_int_equal(n, i + 3);
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
}

static void update_full(fixture *f) {
    char region[] = "second";
    ctune_lock_entry e = entry(region);
    _exit(ctune_lock_update(&f->ctx, f->lock, &e, 1) == CTUNE_EENV ? 0 : 101);
}

static void test_full_disk_under_a_lock(void **state) {
    fixture *f = *state;
    char region[] = "first";
    ctune_lock_entry e = entry(region);
    assert_int_equal(ctune_lock_update(&f->ctx, f->lock, &e, 1), CTUNE_OK);
    assert_int_equal(run_limited(60, update_full, f), 0);
    ctune_lock lock;
    ctune_lock_init(&lock);
    assert_int_equal(ctune_lock_read(&f->ctx, f->lock, &lock), CTUNE_OK);
    assert_int_equal(lock.n, 1);
    assert_string_equal(lock.entry[0].region, "first");
    ctune_lock_clear(&lock);
    /* Neither the temporary file nor the guard stays behind. */
    char command[128];
    snprintf(command, sizeof command, "test \"$(ls %s)\" = ctune.lock", f->folder);
    assert_int_equal(system(command), 0);
}

static void test_two_writers_of_a_lock(void **state) {
    fixture *f = *state;
    enum { N_WRITERS = 4, N_EACH = 12 };
    for (int w = 0; w < N_WRITERS; w++) {
        if (fork() == 0) {
            bool ok = true;
            for (int i = 0; i < N_EACH && ok; i++) {
                char region[32];
                snprintf(region, sizeof region, "r%d.%d", w, i);
                ctune_lock_entry e = entry(region);
                ok = ctune_lock_update(&f->ctx, f->lock, &e, 1) == CTUNE_OK;
            }
            if (!ok) {
                fprintf(stderr, "child: %s\n", f->ctx.error);
            }
            _exit(ok ? 0 : 1);
        }
    }
    for (int w = 0; w < N_WRITERS; w++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    ctune_lock lock;
    ctune_lock_init(&lock);
    assert_int_equal(ctune_lock_read(&f->ctx, f->lock, &lock), CTUNE_OK);
    assert_int_equal(lock.n, N_WRITERS * N_EACH);
    ctune_lock_clear(&lock);
}

/* Damage the file in some way, open it: it must have been moved aside, and a new one must work. */
static void check_corrupt(fixture *f, const char *damage, int i_aside) {
    ctune_history *h;
    assert_int_equal(ctune_history_open(&f->ctx, f->db, &h), CTUNE_OK);
    for (int i = 0; i < 300; i += 100) {
        ctune_record batch[100];
        for (int j = 0; j < 100; j++) {
            batch[j] = record(0, i + j);
        }
        assert_int_equal(ctune_history_append_batch(&f->ctx, h, batch, 100), CTUNE_OK);
    }
    ctune_history_close(h);
    char command[512];
    snprintf(command, sizeof command, damage, f->db, f->db);
    assert_int_equal(system(command), 0);
    int n = 0;
    count_records(f, &n);
    assert_int_equal(n, 0);
    assert_int_equal(f->n_warnings, i_aside);
    char aside[160], suffix[24] = "";
    if (i_aside > 1) {
        snprintf(suffix, sizeof suffix, ".%d", i_aside);
    }
    snprintf(aside, sizeof aside, "%s.corrupt%s", f->db, suffix);
    assert_int_equal(access(aside, F_OK), 0);
    ctune_history *fresh;
    assert_int_equal(ctune_history_open(&f->ctx, f->db, &fresh), CTUNE_OK);
    ctune_record r = record(0, 0);
    assert_int_equal(ctune_history_append(&f->ctx, fresh, &r), CTUNE_OK);
    ctune_history_close(fresh);
    snprintf(command, sizeof command, "rm %s", f->db);
    assert_int_equal(system(command), 0);
}

static void test_corrupt_history(void **state) {
    fixture *f = *state;
    check_corrupt(f, "echo 'this is no database, it is a letter to the editor' > %s", 1);
    check_corrupt(f, "truncate -s 5000 %s", 2);
    check_corrupt(f, "yes garbage | dd of=%s bs=1 seek=4096 count=8000 conv=notrunc 2>/dev/null",
                  3);
}

static void test_unwritable_places(void **state) {
    fixture *f = *state;
    ctune_history *h;
    assert_int_equal(ctune_history_open(&f->ctx, "/proc/nowhere/history.db", &h), CTUNE_EENV);
    assert_null(h);
    char file[160];
    snprintf(file, sizeof file, "%s/file", f->folder);
    assert_int_equal(ctune_file_write(&f->ctx, file, "x", 1), CTUNE_OK);
    char below[192];
    snprintf(below, sizeof below, "%s/history.db", file);
    assert_int_equal(ctune_history_open(&f->ctx, below, &h), CTUNE_EENV);
    assert_int_equal(ctune_history_open(&f->ctx, f->folder, &h), CTUNE_EENV); /* a folder */
    char region[] = "r";
    ctune_lock_entry e = entry(region);
    assert_int_equal(ctune_lock_update(&f->ctx, "/proc/ctune.lock", &e, 1), CTUNE_EENV);
}

static void test_guard_of_a_dead_process(void **state) {
    fixture *f = *state;
    char path[160], region[] = "r";
    snprintf(path, sizeof path, "%s.lk", f->lock);
    int fd =
        open(path, O_CREAT | O_RDWR, 0666); /* left behind by a killed writer: nobody holds it */
    assert_true(fd >= 0);
    close(fd);
    ctune_lock_entry e = entry(region);
    assert_int_equal(ctune_lock_update(&f->ctx, f->lock, &e, 1), CTUNE_OK);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_writers_of_a_history, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk_under_a_history, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk_under_a_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk_under_a_migration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_migrate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_writer_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_writers_of_a_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_corrupt_history, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unwritable_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_guard_of_a_dead_process, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
