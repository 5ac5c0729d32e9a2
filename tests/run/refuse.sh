# Refusals are diagnostics with a place; other regions of the file go on; the code stays as it was.
. "$(dirname "$0")/lib.sh"

cat >two.c <<'END'
void sum(int n, const int *idx, float *restrict y) {
#pragma tune
    for (int i = 0; i < n; i++)
        if (y[idx[i]] < 0) break;
}

void scale(int n, float *restrict y) {
#pragma tune sizes(n=1000)
    for (int i = 0; i < n; i++)
        y[i] *= 2;
}
END
expect 1 "$CTUNE" tune two.c --trials 4 --batch 4 --rounds 3 -- $flags
err_has '^two.c:[0-9]*:[0-9]*: remark: .*\[.*\]'
out_has 'scale'
expect 1 "$CTUNE" tune two.c --trials 4 --batch 4 --rounds 3 --json -- $flags
out_has '"status":"refused"'
expect 1 "$CTUNE" apply two.c -o out.c -- $flags
clang-19 -w -c out.c -o out.o || fail "out.c does not compile"
expect 2 "$CTUNE" tune two.c --region nothing --trials 4 -- $flags
err_has "no region 'nothing'"

cat >none.c <<'END'
int main(void) { return 0; }
END
expect 0 "$CTUNE" tune none.c --trials 4 -- $flags
err_has 'no `#pragma tune`'

# more data than can be measured
cat >huge.c <<'END'
void f(long n, float *restrict y) {
#pragma tune sizes(n=100000000000)
    for (long i = 0; i < n; i++)
        y[i] += 1;
}
END
expect 1 "$CTUNE" tune huge.c --trials 4 -- $flags
err_has 'not-tuned'
