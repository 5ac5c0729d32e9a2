# A plugin never breaks a build: whatever the tuned code is worth to this compiler, its standard and its flags, the compile
# succeeds and gives what the original gives, and code that is not taken costs exactly one warning.
. "$(dirname "$0")/lib.sh"

compilers=
for compiler in clang-19 gcc; do
    [ -n "$("$CTUNE" flags "${compiler%-19}" 2>/dev/null)" ] && compilers="$compilers $compiler"
done
[ -n "$compilers" ] || { echo "no plugin here"; exit 0; }

# builds COMPILER FLAGS...: exit code 0, at most one warning, and that one says why
builds() {
    label="$*"
    "$CTUNE" cc --mode predict "$@" >"$work/stdout" 2>"$work/stderr" || fail "the build fails: $label"
    [ "$(grep -c 'warning: ' "$work/stderr")" -le 1 ] || fail "more than one warning: $label"
    ! grep 'warning: ' "$work/stderr" | grep -qv -e 'ctune:does-not-compile' -e 'ctune:not-applied' -e 'ctune:language-macro' -e 'ctune:addresses' || fail "another warning: $label"
}
applied() { ! grep -q 'warning: ' "$work/stderr" || fail "not applied: $label"; }

# runs FILE COMPILER FLAGS...: as builds; the program prints what it prints without the plugin
runs() {
    file=$1
    shift
    builds "$@" "$file" -o tuned.exe -lm
    "$@" -w "$file" -o plain.exe -lm 2>/dev/null || fail "the original fails: $*"
    [ "$(./tuned.exe)" = "$(./plain.exe)" ] || fail "results differ: $* $file"
}

# ---- OpenMP in text that stands on one line ----
cat >axpy.c <<'END'
#include <stdio.h>
static double x[1000], y[1000];
void axpy(long n, double a, const double *restrict u, double *restrict v) {
#pragma tune sizes(n=100000)
    for (long i = 0; i < n; i++)
        v[i] += a * u[i];
}
int main(void) {
    double sum = 0;
    for (int i = 0; i < 1000; i++) x[i] = i % 17, y[i] = i % 5;
    axpy(999, 3, x, y);
    for (int i = 0; i < 1000; i++) sum += y[i] * (i % 7);
    printf("%.0f\n", sum);
}
END
make_gemm simple.c 'sizes(n=512) schedule("parallel i")'
make_gemm tiled.c 'sizes(n=512) schedule("split i 8 -> i0 i1; split j 8 -> j0 j1; reorder i0 j0 i1 j1 k; parallel i0")'
make_gemm packed.c 'sizes(n=512) schedule("split i 2 -> i0 i1; split j 16 -> j0 j1; split k 256 -> k0 k1; reorder i0 k0 j0 k1 i1 j1; cache_read S0.1 at k0 pack; cache_write S0 at j0 register; unroll i1; vectorize j1; parallel i0")'
sed 's/static float A/#define omp none\n#define parallel serial\nstatic float A/' simple.c >macros.c
sed 's/void gemm/static inline void gemm/' simple.c >static.c
for compiler in $compilers; do
    if echo 'int main(void) { return 0; }' | $compiler -fopenmp -x c - -o omp.exe 2>/dev/null; then
        for file in axpy simple tiled packed macros static; do
            runs $file.c $compiler -O3 -fopenmp
        done
        runs simple.c $compiler -O2 -fopenmp -Wall -Wextra -Werror
        applied
        runs axpy.c $compiler -O2 -g -fopenmp -std=c99
        [ $compiler = clang-19 ] || runs tiled.c $compiler -O2 -fopenmp -save-temps # clang's is preprocessed by then
    fi
    runs axpy.c $compiler -O3
    runs tiled.c $compiler -O3
done

# ---- old standards, 32 bits, machines without vectors ----
cat >old.c <<'END'
void old(int n, const float *a, float *b) {
    int i, j;
#pragma tune sizes(n=100)
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            b[i * n + j] = a[j * n + i];
}
END
cat >sum.c <<'END'
void sum(int n, const double *a, double *b) {
    int i, j;
#pragma tune sizes(n=100) schedule("split i 8 -> i0 i1; reorder i0 j i1; vectorize i1")
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            b[i] += a[j * n + i] * 3;
}
END
cat >product.c <<'END'
void product(int n, const float *a, const float *b, float *c) {
    int i, j, k;
#pragma tune sizes(n=100)
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            for (k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}
END
for compiler in $compilers; do
    for set in -std=c89 -ansi '-std=c90 -pedantic-errors' -std=gnu89 '-std=gnu89 -Werror -Wpedantic' '-std=c99 -pedantic-errors' \
        -m32 '-m32 -std=c89' '-m32 -mno-sse' '-m32 -mavx2 -mfma' '-std=gnu23' '-Werror -Wall -Wextra'; do
        for file in old.c sum.c product.c; do
            $compiler -O2 $set -Wno-unknown-pragmas -c $file -o plain.o 2>/dev/null || continue # not here
            builds $compiler -O2 $set -c $file -o tuned.o
        done
    done
done

# ---- names of the user's ----
# names ARRAYS...: a convolution with arrays of these three names, and a product of two matrices
names() {
    cat >names.c <<END
#include <stdio.h>
enum { N = 100, M = 9 };
static float $1[N], $2[N + M], $3[M];
void conv(int n, int m, float $1[n], float $2[n + m], float $3[m]) {
#pragma tune sizes(n=4096, m=64)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            $1[i] += $2[i + k] * $3[k];
}
int main(void) {
    double sum = 0;
    for (int i = 0; i < N + M; i++) $2[i] = (float)(i % 11);
    for (int i = 0; i < M; i++) $3[i] = (float)(i % 3);
    conv(N, M, $1, $2, $3);
    for (int i = 0; i < N; i++) sum += $1[i] * (i % 7);
    printf("%.0f\n", sum);
}
END
}
for compiler in $compilers; do
    for set in 's0 v0 v1' 'tile pack lane' 'first last rest' 'acc_0 acc_1 i0' 'ctune_mem ctune_f32x8 ctune_v_n'; do
        names $set
        builds $compiler -O3 -c names.c -o names.o
    done
done

# ---- macros of the user's: their names are left to them, and a word of the language is nobody's ----
cat >macros.c <<'END'
#include <stdio.h>
#define io 3
#define ii(x) x
#define x_v 5
#define ctune_v_n 7
#define ctune_bytes_0 0
#define acc 3
#define a b
#define p q
#define raw bytes
#define unused
#define aligned(n) packed
#define vector_size 5
float x[100], y[100], z[100][100];
void f(int n, float *restrict x, float *restrict y) {
#pragma tune sizes(n=64) schedule("split i 8 -> io ii; reorder io j ii; cache_read S0.1 at io pack; cache_write S0 at io register; vectorize ii")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += z[i][j] * y[j];
}
int main(void) {
    double sum = 0;
    for (int i = 0; i < 100; i++) {
        x[i] = (float)(i % 17), y[i] = (float)(i % 5);
        for (int j = 0; j < 100; j++) z[i][j] = (float)((i + j) % 7);
    }
    for (int n = 0; n < 100; n += 9) f(n, x, y);
    for (int i = 0; i < 100; i++) sum = sum * 1.5 + (double)x[i];
    printf("%.17g\n", sum);
}
END
for compiler in $compilers; do
    runs macros.c $compiler -O2
    applied
    for macro in 'sizeof 0 * sizeof' '__builtin_malloc(n) (void *)y' 'double float' '__attribute__(x)'; do
        { sed '/^float x/q' macros.c; echo "#define $macro"; sed '1,/^float x/d; /^int main/,$d' macros.c
          echo "#undef ${macro%%[ (]*}"; sed -n '/^int main/,$p' macros.c; } >language.c
        runs language.c $compiler -O2
        err_has 'language-macro'
    done
done

# ---- code that no emitter can save: only the region that is at fault stays ----
cat >broken.c <<'END'
void good(int n, float *restrict a, const float *restrict b) {
#pragma tune sizes(n=1000) schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        a[i] += b[i];
}
#define for(...) for (__VA_ARGS__ @)
#undef for
#define const struct @
void bad(int n, float *restrict a, float *restrict b) {
#pragma tune sizes(n=1000) schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        a[i] -= b[i];
}
END
sed -n '7,$p' broken.c >all.c
for compiler in $compilers; do
    rm -f report.json
    builds $compiler -O2 -c all.c -o all.o
    err_has 'all.c:[34]:.*warning: .*does-not-compile'
    $compiler -O2 -w -c all.c -o plain.o
    objdump -d all.o | sed 1,3d >code1
    objdump -d plain.o | sed 1,3d >code2
    same code1 code2
    "$CTUNE" cc --report report.json $compiler -O2 -Werror -c broken.c -o broken.o 2>"$work/stderr" || fail "broken.c"
    [ "$(grep -c warning: "$work/stderr")" = 1 ] || fail "one warning for broken.c"
    err_has 'broken.c:10:.*does-not-compile'
    has report.json '"region":"good","status":"applied"'
    has report.json '"region":"bad","status":"refused".*"code":"does-not-compile"'
    [ "$(wc -l <report.json)" = 2 ] || fail "a line for each region"
    # from a pipe, and when the user's text is at fault there are the compiler's words alone
    "$CTUNE" cc $compiler -O2 -x c -c - -o broken.o <broken.c 2>"$work/stderr" || fail "standard input"
    [ "$(grep -c warning: "$work/stderr")" = 1 ] || fail "one warning for standard input"
    sed 's/good(int n/good(int n, int unused/' broken.c >wrong.c
    ! "$CTUNE" cc $compiler -O2 -Wall -Wextra -Werror -c wrong.c -o wrong.o 2>"$work/stderr" || fail "wrong.c compiles"
    has_not "$work/stderr" ctune:
done

# ---- a compiler that crashes on our text ----
cat >crash.c <<'END'
#define const _Pragma("clang __debug crash")
void f(int n, float *restrict a, float *restrict b) {
#pragma tune sizes(n=1000) schedule("split i 8 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++)
        a[i] -= b[i];
}
END
case $compilers in
*clang-19*)
    builds clang-19 -O2 -c crash.c -o crash.o
    err_has 'crash.c:3:.*does-not-compile'
    err_has 'ended by signal'
    [ "$(wc -l <"$work/stderr")" -le 6 ] || fail "a report of the crash"
    ;;
esac
[ -z "$(ls "$TMPDIR")" ] || fail "files are left"
