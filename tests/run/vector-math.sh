# Vectors of math functions, which reassoc permits: close to libm's, over many arguments, with both compilers.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || exit 77
ldconfig -p 2>/dev/null | grep -q libmvec || [ -e /lib/x86_64-linux-gnu/libmvec.so.1 ] || exit 77
bound=4.5 # the library's 4 units in the last place, libm's own half
cat >f.c <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20011 };
static float x[N], y[N];
static double u[N], v[N];

void floats(int n, float a[n], float b[n]) {
#pragma tune reassoc noalias schedule("split i 16 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        b[i] = FUNCTION##f(a[i]);
}
void doubles(int n, double a[n], double b[n]) {
#pragma tune reassoc noalias schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        b[i] = FUNCTION(a[i]);
}

int main(void) {
    double worst = 0;
    for (int i = 0; i < N; i++)
        u[i] = LOW + (HIGH - LOW) * i / N, x[i] = (float)u[i];
    floats(N, x, y);
    doubles(N, u, v);
    for (int i = 0; i < N; i++) {
        long double exact = FUNCTION##l((long double)x[i]);
        double unit = fabs(nextafterf((float)exact, INFINITY) - (float)exact);
        double error = (double)(fabsl(y[i] - exact) / unit);
        worst = error > worst ? error : worst;
        exact = FUNCTION##l((long double)u[i]);
        unit = fabs(nextafter((double)exact, INFINITY) - (double)exact);
        error = (double)(fabsl(v[i] - exact) / unit);
        worst = error > worst ? error : worst;
    }
    printf("%.2f\n", worst);
    return !(worst <= BOUND);
}
END
for row in "exp -80 80" "log 1e-3 1e4" "sin -3 3" "cos -1.5 1.5" "tanh -9 9" "erf -3 3" "sqrt 0 100"; do
    # shellcheck disable=SC2086
    set -- $row
    sed "s/FUNCTION##\(.\)/$1\1/g; s/FUNCTION/$1/g; s/LOW/($2)/g; s/HIGH/($3)/g; s/BOUND/$bound/" f.c >"$1.c"
    for compiler in "$clang" "$gcc"; do
        rm -f ctune.lock
        # shellcheck disable=SC2086
        "$CTUNE" tune --trials 1 --rounds 1 --quiet "$1.c" -- $compiler >"$work/stdout" 2>"$work/stderr" || fail "$row"
        "$CTUNE" apply "$1.c" -o tuned.c -- $compiler >"$work/stdout" 2>"$work/stderr" || fail "apply $row"
        has tuned.c "_ZGV.*v_$1(\|ctune_sqrt_f64x"
        $compiler -Wall -Wextra -Werror -Wno-unknown-pragmas tuned.c -o tuned -lm 2>"$work/stderr" || fail "compile $row"
        ./tuned >"$work/stdout" || fail "$row: more than $bound units in the last place"
    done
done
