# C as it is written: called bodies, jumps, while and do, switch, pointers that move, #if, carried indices. The rewritten program
# prints what the original prints, with both compilers, and final values are those of the original.
. "$(dirname "$0")/lib.sh"

cat >program.c <<'C'
#include <stdio.h>
#include <string.h>
#define TUNE _Pragma("tune schedule(\"split i 8 -> i0 i1\")")
#define TUNE_2 _Pragma("tune schedule(\"split i_2 8 -> i0 i1\")") /* i is what it starts with */
#define N 203
static double x[N], y[N], z[2 * N];
static int k[N];

static void rotate(double *p, double *q, double c, double s) {
    double t = c * *p - s * *q;
    *q = s * *p + c * *q;
    *p = t;
}
static double norm(const double *p, int n) {
    double s = 0;
    for (int j = 0; j < n; j++) s += p[j] * p[j];
    if (s > 40) return 40;
    return s;
}
static double by_kind(double v, int kind) {
    switch (kind) {
    case 0: return v;
    case 1: return v > 0 ? v : 0;
    case 2: { double t = v * v; return t + 1; }
    }
    return -v;
}

static void calls(int n, int kind) {
TUNE
    for (int i = 0; i < n; i++) {
        rotate(&x[i], &y[i], 0.5, 0.25);
        z[i] = norm(z + i, 3) + by_kind(x[i], kind) + by_kind(y[i], k[i] & 3);
    }
}
static void jumps(int n) {
TUNE
    for (int i = 0; i < n; i++) {
        if (x[i] > 0.5) goto large;
        if (y[i] < 0) {
            if (i > 7) continue;
            y[i] = 1;
        }
        z[i] += 1;
        goto done;
    large:
        z[i] = -z[i];
    done:
        y[i] += z[i];
    }
}
static int loops(int n, int first) {
    int i = first;
TUNE_2
    while (i < n) {
        x[i] += y[i];
        i += 3;
    }
    return i;
}
static int steps(int n, int t) {
    int i = 0;
TUNE
    do {
        y[i] = y[i] * 0.5 + t;
        i++;
    } while (i < n);
    return i;
}
static void choices(int n) {
TUNE
    for (int i = 0; i < n; i++) {
        switch (k[i]) {
        case 1:
        case 2: x[i] = 3; break;
        case -3: x[i] = 4; /* falls through */
        default: y[i] += 2;
        }
    }
}
static double *walk(double *p, const double *q, int n) {
TUNE
    for (int i = 0; i < n; i++) *p++ = *q++ * 2 + 1;
    return p;
}
static void lines(int n) {
TUNE
    for (int i = 0; i < n; i++) {
#ifdef VERBOSE
        printf("%d\n", i);
#elif N > 100
        x[i] += 2;
#else
        x[i] += 3;
#endif
    }
}
static void carried(int n) {
    int last = N - 1, before = N - 2;
TUNE
    for (int i = 0; i < n; i++) {
        z[i] += x[last] + y[before];
        before = last;
        last = i;
    }
}

int main(void) {
    double sum = 0;
    int i;
    for (i = 0; i < N; i++) x[i] = (i * 7 % 13) / 8.0 - 0.5, y[i] = (i * 5 % 11) / 4.0 - 1, k[i] = i * 3 % 8 - 3;
    for (i = 0; i < 2 * N; i++) z[i] = (i % 9) / 2.0;
    for (int kind = -1; kind < 4; kind++) calls(N, kind);
    jumps(N), jumps(5);
    printf("%d %d %d\n", loops(N, 1), loops(3, 7), loops(-1, 0));
    printf("%d %d\n", steps(N, 1), steps(0, 2));
    choices(N);
    printf("%d %d\n", (int)(walk(z, x, N) - z), (int)(walk(z, x, 0) - z));
    lines(N), carried(N), carried(1), carried(2);
    for (i = 0; i < N; i++) sum += x[i] * (i + 1) + y[i] * (i % 7) + z[i] / 3 + z[N + i];
    printf("%.17g\n", sum);
    return 0;
}
C
for compiler in clang-19 gcc; do
    command -v $compiler >/dev/null || continue
    words="$compiler -O2 -march=native -ffp-contract=off"
    $words -w program.c -o original
    expect 0 "$CTUNE" apply program.c -o tuned.c -- $words
    [ "$(grep -c 'ctune:begin' tuned.c)" = 8 ] || fail "not all are tuned"
    $words -Wall -Wextra -Werror -Wno-unknown-pragmas tuned.c -o tuned 2>"$work/stderr" || fail "$compiler"
    ./original >want
    ./tuned >got
    cmp -s want got || fail "$compiler: $(cat got), not $(cat want)"
done
nothing_left
