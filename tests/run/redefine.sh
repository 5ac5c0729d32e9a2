# A rewritten file stays right when it is compiled with other macros, types and constants than it was tuned with: the original runs
# then. Without warnings, as C90, too.
. "$(dirname "$0")/lib.sh"

cat >config.h <<'C'
#ifdef WIDE
typedef double from_header;
#else
typedef float from_header;
#endif
#define HEADER_SIZE 50
C
cat >program.c <<'C'
#include "config.h"
#include <stdio.h>
#ifndef REAL
#define REAL double
#endif
#ifndef N
#define N 40
#endif
#ifndef ALPHA
#define ALPHA 3.0
#endif
#ifdef FLIP
#define OP -
#define PICK(a, b) ((a) - 2 * (b))
#else
#define OP +
#define PICK(a, b) ((a) + (b))
#endif
#ifdef COARSE
typedef int whole;
#else
typedef REAL whole;
#endif
typedef REAL real;
enum { HALF = N / 2 };
struct point { REAL x; int id; };
static double x[N], y[N];
static real A[N][N], B[N][N];
static from_header h[HEADER_SIZE];
static struct point points[N];

static void macro_values(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < N; i++) x[i] = ALPHA * x[i] + i;
}
static void enumerators(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < HALF; i++) y[i] = y[i] + x[i];
}
static void operators(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < N; i++) y[i] = y[i] OP x[i];
}
static void functions(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < N; i++) y[i] = PICK(y[i], x[i]);
}
static void elements(int n, REAL *p, REAL a) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < n; i++) p[i] = a * p[i] + i;
}
static void typedefs(int n) {
    int i, j;
#pragma tune schedule("split j 8 -> j0 j1; vectorize j1")
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) A[i][j] = B[j][i] * 2 + A[i][j];
}
static void rows(int n, REAL (*p)[N], REAL (*q)[N]) {
    int i, j;
#pragma tune schedule("split j 8 -> j0 j1; vectorize j1")
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) p[i][j] = q[i][j] + 1;
}
static void casts(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < N; i++) x[i] = (whole)(x[i] / 3) + 1;
}
static void headers(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < HEADER_SIZE; i++) h[i] = h[i] * h[i] + i;
}
static void members(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < N; i++) points[i].x = points[i].x * 3 + i;
}
static void lines(void) {
    int i;
#pragma tune schedule("split i 16 -> i0 i1; vectorize i1")
    for (i = 0; i < N; i++) {
#if defined(FLIP) && N > 3
        y[i] = y[i] - 1;
#elif LEVEL == 2
        y[i] = y[i] + ALPHA;
#else
        y[i] = y[i] * 2;
#endif
#ifndef COARSE
        x[i] = x[i] + ALPHA;
#endif
    }
}

int main(void) {
    double sum = 0;
    int i, j;
    for (i = 0; i < N; i++) {
        x[i] = i / 7.0, y[i] = 2 * i, points[i].x = i, points[i].id = i;
        for (j = 0; j < N; j++) A[i][j] = i + 3 * j, B[i][j] = i - j;
    }
    for (i = 0; i < HEADER_SIZE; i++) h[i] = i / 3.0;
    macro_values(), enumerators(), operators(), functions(), elements(N * N, A[0], 2), typedefs(N - 1), casts(), headers(), members(), lines();
    rows(N - 3, A + 1, A);
    for (i = 0; i < N; i++) {
        sum += x[i] * (i + 1) + y[i] / 3 + points[i].x * points[i].id;
        for (j = 0; j < N; j++) sum += A[i][j] * (i - 2 * j);
    }
    for (i = 0; i < HEADER_SIZE; i++) sum += h[i] / 7;
    printf("%.17g\n", sum);
    return 0;
}
C
expect 0 "$CTUNE" apply program.c -o tuned.c -- $flags
expect 0 "$CTUNE" apply program.c -o old.c -- $flags -std=c90 -ffp-contract=fast
[ "$(grep -c 'ctune:begin' tuned.c)" = 11 ] || fail "not all are tuned"
has tuned.c 'CTUNE_SAME(OP, "+")'
has tuned.c 'CTUNE_SAME(PICK(ctune_1, ctune_2), "((ctune_1) + (ctune_2))")'
has tuned.c 'HALF == 20'
has tuned.c 'CTUNE_SAME(LEVEL, "LEVEL")'
for compiler in clang-19 gcc; do
    command -v $compiler >/dev/null || continue
    for define in -DAS_IT_WAS -DREAL=float "-DREAL=long double" -DREAL=int -DREAL=long -DN=70 -DN=9 -DALPHA=2.5f -DFLIP -DWIDE -DCOARSE -DLEVEL=2 -DLEVEL -DLEVEL=3 \
        -DHEADER_SIZE=3; do
        # the header's own definition stands, unless it is the command line's
        case $define in -DHEADER_SIZE*) sed -i.bak '/define HEADER_SIZE/d' config.h ;; esac
        $compiler -O2 -march=native -w "$define" program.c -o original && $compiler -O2 -march=native -Wall -Wextra -Werror \
            -Wno-unknown-pragmas "$define" tuned.c -o tuned 2>"$work/stderr" || fail "$compiler $define"
        [ "$(./original)" = "$(./tuned)" ] || fail "$compiler $define: $(./original), not $(./tuned)"
        case $define in -DHEADER_SIZE*) mv config.h.bak config.h ;; esac
    done
    $compiler -O1 -march=native -std=c90 -pedantic -Wall -Werror -Wno-unknown-pragmas old.c -o tuned 2>"$work/stderr" ||
        fail "$compiler -std=c90"
done
# with the macros that it was tuned with the tuned code runs: the guards fold to nothing
gcc -O2 -march=native -w -S -o tuned.s tuned.c
! grep -q strcmp tuned.s || fail "a guard is left at run time"
