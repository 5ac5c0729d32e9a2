# Failures say their reason, with --quiet, too; a search of which nothing works is an error, one of which most fails says so.
. "$(dirname "$0")/lib.sh"

# ---- sizes come from the arrays; what cannot be told is asked for ----
cat >extent.c <<'END'
static double A[90][120], C[90][120];
static float v[500];
void f(int n, int m) {
#pragma tune
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            C[i][j] += A[i][j] * 3;
}
float g(void) { return v[3]; }
double h(void) { return C[2][3]; }
END
expect 0 "$CTUNE" tune extent.c --trials 3 --rounds 3 --quiet -- $flags
out_has 'extent.c:4: f \[n=90 m=120\]'
[ ! -s "$work/stderr" ] || fail "stderr"
sed 's/i < n;/i < n * n;/' extent.c >product.c
expect 1 "$CTUNE" tune product.c --trials 3 --quiet -- $flags
err_has 'product.c:5:.*loop not tuned: .*write sizes(n=..., m=...) \[sizes-unknown\]'
sed 's/tune$/tune sizes(n=91|90, m=121)/' extent.c >beyond.c
expect 2 "$CTUNE" tune beyond.c --trials 3 --quiet -- $flags
err_has "beyond.c:4:.*error: sizes(n=91, m=121): the loops reach index 90 in dimension 1 of '.', which is declared with 90"
sed 's/tune$/tune sizes(n=90, m=120)/' extent.c >exact.c
expect 0 "$CTUNE" tune exact.c --trials 3 --rounds 3 --quiet -- $flags
expect 1 "$CTUNE" tune extent.c --sizes n=400 --trials 3 --quiet -- $flags
err_has 'extent.c:4:.*warning: .*the original loop cannot be measured: crash: .*\[not-tuned\]'
err_has 'note: do the arrays have room for these --sizes?'
sed 's/C\[i\]\[j\] +=/while (n) C[i][j] +=/' extent.c >while.c
expect 1 "$CTUNE" tune while.c --trials 3 --quiet -- $flags
err_has 'loop not tuned: .*\[while-loop\]'

# ---- candidates that do not compile ----
# $1: of the candidates' names, those that "compile"
make_compiler() {
    mkdir -p fake
    cat >fake/clang-19 <<END
#!/bin/sh
for word; do
    case \$word in *.c) [ -f "\$word" ] && grep -o 'static int ctune_[cf][a-z_]*[0-9]*' "\$word" | grep -v -q "$1" && {
        echo "\$word:3:4: error: not this candidate" >&2
        exit 1
    } ;; esac
done
exec $(command -v clang-19) "\$@"
END
    chmod +x fake/clang-19
}
make_gemm gemm.c 'sizes(n=40)'
make_compiler 'none of them'
expect 3 "$CTUNE" tune gemm.c --trials 6 --rounds 3 --quiet --lock all.lock -- "$PWD/fake/clang-19" -O2
err_has 'error: .*all 6 candidates failed; the first: compile-error: .*not this candidate'
[ ! -s all.lock ] || has_not all.lock gemm
sed 's/tune sizes(n=40)/tune sizes(n=40) schedule("split i 8 -> i0 i1")/' gemm.c >clause.c
expect 3 "$CTUNE" tune clause.c --quiet --lock all.lock -- "$PWD/fake/clang-19" -O2
err_has 'error: .*all 1 candidates failed; the first: compile-error: .*not this candidate'
make_compiler 'ctune_c[0-9]*[36]$\|final'
rm -rf .ctune
expect 0 "$CTUNE" tune gemm.c --trials 12 --rounds 3 --quiet --lock some.lock -- "$PWD/fake/clang-19" -O2
err_has 'gemm.c:7:.*warning: gemm: [0-9]* of 12 candidates failed; the first: compile-error: .*not this candidate \[candidates-failed\]'
has some.lock gemm
make_compiler 'ctune'
rm -rf .ctune
expect 0 "$CTUNE" tune gemm.c --trials 6 --rounds 3 --quiet --lock none.lock -- "$PWD/fake/clang-19" -O2
[ ! -s "$work/stderr" ] || fail "stderr"
