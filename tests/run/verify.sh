# What `ctune check` compares: the user's own file at many sizes, or a copy of the loop and why.
. "$(dirname "$0")/lib.sh"
cat >v.c <<'END'
#include <math.h>
#include <stdio.h>
void outside(void);
static float W[64][64], out[64], factor = 2;
void pointers(int n, float *x, float *y) {
#pragma tune sizes(n=64)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i * n + j] = y[j * n + i] * 3;
}
static inline void leading(int n, int lda, const float *a, float *b) {
#pragma tune sizes(n=64,lda=64)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i * lda + j] = a[j * lda + i] + 1;
}
void smallest(int n, const int *restrict a, int *restrict b) {
#pragma tune sizes(n=64)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i] = a[i * n + j] < b[i] ? a[i * n + j] : b[i];
}
double returned(int n, const double *x, const double *y) {
    double s = 0;
#pragma tune sizes(n=5000) reassoc
    for (int i = 0; i < n; i++)
        s += x[i] * y[i];
    printf("%g\n", s);
    return s;
}
void globals(void) {
#pragma tune
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++)
            out[i] += fabsf(W[i][j]) * factor;
}
void calls(int n, float *x) {
    outside();
#pragma tune sizes(n=64)
    for (int i = 0; i < n; i++)
        x[i] = x[i] * 2;
}
void computes(int n, float *x) {
    int m = n / 2;
#pragma tune sizes(m=64)
    for (int i = 0; i < m; i++)
        x[i] = x[i] * 2;
}
void unused(int n, float *x, int more) {
#pragma tune sizes(n=64)
    for (int i = 0; i < n; i++)
        x[i] = x[i] * 2;
}
void hidden(float *x) {
    float local[64] = {0};
#pragma tune
    for (int i = 0; i < 64; i++)
        local[i] = x[i] * 2;
    x[0] = local[3];
}
int main(void) {
    static float x[64 * 64], y[64 * 64];
    leading(64, 64, x, y);
#pragma tune
    for (int i = 0; i < 64; i++)
        out[i] += W[i][i];
    return 0;
}
END

# $1: the region. A schedule that is none of the fastest, in the place of what tune found.
schedule() {
    case $1 in
    pointers | leading) echo "    split j 24 -> j0 j1\n    split i 5 -> i0 i1\n    reorder j0 i0 i1 j1\n    vectorize j1" ;;
    smallest) echo "    split i 16 -> i0 i1\n    split j 8 -> j0 j1\n    reorder i0 j0 i1 j1" ;;
    globals) echo "    reorder j i" ;;
    *) echo "    split i 48 -> i0 i1" ;;
    esac
}

for cc in "gcc -O2 -march=native -ffp-contract=off" "clang-19 -O2 -march=native"; do
    rm -rf ctune.lock .ctune
    expect 0 "$CTUNE" tune v.c --trials 2 --batch 2 --rounds 3 --quiet -- $cc
    awk -v all="$(for r in pointers leading smallest globals other; do printf '%s=%s;' $r "$(schedule $r)"; done)" '
        BEGIN { n = split(all, rows, ";"); for (i = 1; i < n; i++) { at = index(rows[i], "="); s[substr(rows[i], 1, at - 1)] = substr(rows[i], at + 1) } }
        /^region/ { region = $2 }
        /^  schedule/ { print "  schedule"; print (region in s) ? s[region] : s["other"]; skip = 1; next }
        /^end/ { skip = 0 }
        !skip { print }' ctune.lock >new.lock && mv new.lock ctune.lock
    expect 0 "$CTUNE" check v.c -- $cc
    out_has "pointers .*results identical; compared with the user's compile of pointers() at n=64 65 63 37 23 4 1 0, overlapping, too"
    out_has "leading .*results identical; compared with the user's compile of leading() at n,lda=64,64 65,65 63,63 37,37 .*37,44"
    out_has "smallest .*results identical; compared with the user's compile of smallest() at n=64 65 63 37 15 7 1 0,"
    has_not "$work/stdout" 'smallest .*overlapping' # restrict: undefined
    out_has "returned .*results within bound; compared with the user's compile of returned() at n=5000 5001 4999 37"
    out_has "globals: fresh, results identical; compared with the user's compile of globals(),"
    out_has "calls .*a copy of the loop (calls() is not called: it calls outside()) at n=64 65 63 37"
    out_has "computes .*a copy of the loop (computes() is not called: what its argument 'n' should be cannot be told"
    out_has "unused .*a copy of the loop (unused() is not called: what its argument 'more' should be cannot be told"
    out_has "hidden: fresh, .*(hidden() is not called: .local. cannot be seen from outside)"
    out_has "main: fresh, .*a copy of the loop (main() is not called: it is the whole program)"
    for region in calls computes unused hidden main; do
        has_not "$work/stdout" "v.c:[0-9]*: $region.*results identical;"
    done
    expect 0 "$CTUNE" check v.c --json -- $cc
    out_has '"region":"pointers".*"verdict":"fresh, results identical; compared with'
done

# an older lock has no line about it, and an odd one is kept as it is
rm -rf ctune.lock .ctune
make_gemm gemm.c "sizes(n=64)"
cc="clang-19 -O2 -march=native"
expect 0 "$CTUNE" tune gemm.c --trials 6 --quiet -- $cc
out_has "verified  identical to the user's compile of gemm() at n=64 65 63 37"
has ctune.lock "^  verified identical to the user's compile of gemm() at n=64 65 63 37"
grep -v '^  verified' ctune.lock >old.lock
expect 0 "$CTUNE" check gemm.c --lock old.lock -- $cc
out_has "results identical; compared with the user's compile of gemm()"
expect 0 "$CTUNE" apply gemm.c --lock old.lock -o old.c -- $cc
expect 0 "$CTUNE" apply gemm.c -o new.c -- $cc
same old.c new.c

# `strict`, written later, does not take an entry that is identical but for contraction
sed 's/verified identical to/verified identical but for contraction to/' ctune.lock >new.lock
sed 's/#pragma tune/#pragma tune strict/' gemm.c >strict.c
mkdir strict && mv strict.c strict/gemm.c
expect 0 "$CTUNE" apply gemm.c --lock new.lock -o new.c -- $cc
same old.c new.c
expect 0 "$CTUNE" apply strict/gemm.c --lock ctune.lock -o new.c -- $cc
has new.c 'ctune:begin'
expect 1 "$CTUNE" apply strict/gemm.c --lock new.lock -o new.c -- $cc
err_has "strict, but the entry's results are identical but for contraction only \[not-applied\]"

# code that a copy of the loop cannot tell from the right one: the front end is clang's, the constant is GCC's
mkdir other && cd other || exit 99
# wrong FILE CONSTANT: a nest with that constant, and an entry for it that is faster for sure
wrong() {
    cat >"$1" <<END
enum { K = $2 };
void f(int n, const float *restrict y, float *restrict x) {
#pragma tune sizes(n=300)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[j * n + i] = y[i * n + j] * K;
}
END
    expect 0 "$CTUNE" tune "$1" --trials 2 --batch 2 --rounds 3 --quiet -- $cc
    has ctune.lock 'schedule original' # whatever was faster gave other results, or did not run
    awk '/^  schedule/ { print "  schedule\n    split i 48 -> i0 i1"; skip = 1; next } /^end/ { skip = 0 } !skip { print }' ctune.lock >new.lock
    rm ctune.lock
    expect 1 "$CTUNE" check "$1" --lock new.lock -- $cc
}
cc="gcc -O2 -march=native"
wrong w.c '__builtin_classify_type((_Bool)1)'
out_has "f \[n=300\]: fresh, wrong-result against the user's compile: tensor 0 element"
# a constant that the file asks a macro for is in the guard: such code never runs
wrong v.c '
#ifdef __clang__
3
#else
2
#endif
'
out_has "f \[n=300\]: fresh, the guard does not hold in the user's compile of f(): it never runs"
