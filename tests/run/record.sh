# Shape capture: a recorded program counts its calls right, in threads and in a forked child; runs add up; tune takes the
# shapes that matter.
. "$(dirname "$0")/lib.sh"
: "${CTUNE_RECORD_LIB:?}"

mkdir 'a b'
cat >'a b/nests.c' <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static float A[90000], B[90000], C[90000];

struct shape { int n; long m; };

static void gemm(int n, const float *a, const float *b, float *c) {
#pragma tune sizes(n=8) noalias
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* inline, no braces around the nest, a dangling else */
inline void scale(const struct shape *s, float x[], int sign);
inline void scale(const struct shape *s, float x[], int sign) {
    if (sign > 0)
#pragma tune
        for (int i = 0; i < s->n; i++)
            for (long j = 0; j < s->m; j++)
                x[i * s->m + j] *= 1.0f;
    else if (sign < 0)
        x[0] = 0;
}
extern inline void scale(const struct shape *s, float x[], int sign);

static int refused(const float *x, int n) {
#pragma tune
    for (int i = 0; i < n; i++)
        if (x[i] > 1e30f) return i;
    return -1;
}

static void *work(void *own) {
    for (int i = 0; i < 100; i++) {
        gemm(4 + i % 2, A, B, (float *)own);
        scale(&(struct shape){10 + i % 4, 3}, (float *)own, 1);
    }
    return own;
}

int main(int argc, char **argv) {
    static float own[2][100];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, own[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    gemm(300, A, B, C);
    if (chdir("/") != 0 || refused(C, 10) != -1)
        return 9;
    pid_t pid = fork();
    if (pid == 0) {
        gemm(5, A, B, C);
        gemm(17, A, B, C);
        scale(&(struct shape){10, 3}, C, 1);
        exit(0);
    }
    waitpid(pid, NULL, 0);
    printf("%s\n", argc > 1 ? argv[1] : "done");
    return argc > 1 ? 7 : 0;
}
END
profile='a b/.ctune/profile'
# count REGION SIZES CALLS: of the profile
count() {
    line=$(grep -F "$1 [$2] " "$profile") || fail "no $1 [$2] in the profile: $(cat "$profile")"
    case $line in
    "$1 [$2] calls $3 timed "[1-9]*" ns "[1-9]*" workload "*) ;;
    *) fail "not $3 calls: $line" ;;
    esac
}

warnings='-Wall -Wextra -Wshadow -Wconversion -Wpedantic -Wmissing-prototypes -Wredundant-decls -Wwrite-strings'
runs=0
for compiler in "clang-19 -O2 -std=gnu99" "gcc -O2 -std=gnu99" "gcc -O1 -std=gnu17 -flto"; do
    expect 1 "$CTUNE" apply --record 'a b/nests.c' -o recorded.c -- $compiler
    [ "$(grep -c 'ctune_record_begin(&' recorded.c)" = 2 ] || fail "not two recorded nests"
    expect 1 "$CTUNE" apply --undo recorded.c -o back.c -- $compiler
    same 'a b/nests.c' back.c
    expect 0 $compiler $warnings -Werror -Wno-unknown-pragmas -o app recorded.c "$CTUNE_RECORD_LIB"
    expect 0 ./app # not recorded: nothing is written
    [ ! -e ctune.profile ] || fail "a capture without CTUNE_RECORD"
    expect 7 "$CTUNE" record -- ./app 'its words'
    runs=$((runs + 1))
    out_has '^its words$'
    err_has 'nests.c:13: gemm \[n=300\]'
    err_has "recorded into .*/$profile"
    count gemm n=4 $((100 * runs))
    count gemm n=5 $((101 * runs))
    count gemm n=300 $runs
    count gemm n=17 $runs
    count scale 's_n=10 s_m=3' $((51 * runs))
    [ "$(wc -l <"$profile")" = 9 ] || fail "profile: $(cat "$profile")"
    has "$profile" '^ctune-profile 1$'
    has "$profile" ' at 13 nests.c$'
done
nothing_left

# a recorded file can be recorded again; clauses and refusals as ever
expect 1 "$CTUNE" apply --record recorded.c -o again.c -- $compiler
same recorded.c again.c

# captures of elsewhere, into a profile of one's own
CTUNE_RECORD=one.cap ./app >/dev/null && CTUNE_RECORD=two.cap ./app >/dev/null || fail "app"
[ -s one.cap ] || fail "the folder changed: no one.cap"
cp "$profile" before
expect 0 "$CTUNE" record --profile own.profile one.cap two.cap
same "$profile" before
profile=own.profile
count gemm n=300 2
expect 0 "$CTUNE" record --profile own.profile one.cap
count gemm n=300 3

# killed: what was written before stays; a torn line costs that line
printf 'gemm [n=4] calls 1 timed' >>two.cap
expect 0 "$CTUNE" record --profile own.profile two.cap
err_has '1 incomplete line'
count gemm n=300 4

# mistakes
expect 0 "$CTUNE" record --help
out_has "usage: ctune record"
expect 2 "$CTUNE" record
expect 2 "$CTUNE" record one.cap -- ./app
expect 3 "$CTUNE" record missing.cap
expect 3 "$CTUNE" record -- ./missing
expect 0 "$CTUNE" record -- true
err_has nothing-recorded
expect 143 "$CTUNE" record -- sh -c 'kill -TERM $$'
echo '<<<<<<<' >>own.profile
expect 2 "$CTUNE" record --profile own.profile one.cap
err_has 'own.profile:[0-9]*:1'
expect 3 "$CTUNE" tune 'a b/nests.c' --profile missing -- $flags

# tune: the shapes with the time, not those of the pragma
expect 1 "$CTUNE" tune 'a b/nests.c' --region gemm --trials 4 --batch 4 --rounds 3 --json -- $flags
err_has 'sizes from the profile'
out_has '"sizes":"n=300"'
[ "$(grep -c '"region":"gemm"' "$work/stdout")" = 1 ] || fail "more than the heavy shape"
has 'a b/ctune.lock' 'sizes n=300'
has_not 'a b/ctune.lock' 'sizes n=8'
expect 0 "$CTUNE" check 'a b/nests.c' -- $flags
out_has 'gemm \[n=300\]: fresh'
expect 1 "$CTUNE" tune 'a b/nests.c' --no-profile --region gemm --trials 4 --batch 4 --rounds 3 --json -- $flags
out_has '"sizes":"n=8"'

# the loop changes: its shapes are stale
sed -i 's/ += a/ -= a/' 'a b/nests.c'
expect 1 "$CTUNE" tune 'a b/nests.c' --region gemm --trials 4 --batch 4 --rounds 3 --json -- $flags
err_has profile-stale
out_has '"sizes":"n=8"'
