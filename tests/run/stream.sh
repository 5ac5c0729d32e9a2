# Stores past the caches: the instructions are there in both compilers' code, fences after them, results are the original's at every
# alignment, for each width of elements, with threads.
. "$(dirname "$0")/lib.sh"

cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void doubles(long n, double *restrict a, const double *restrict b, const double *restrict c) {
#pragma tune schedule("split i 96 -> i0 i1; vectorize i1; stream S0")
    for (long i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
}
void floats(int n, int m, float a[restrict n][m], float b[restrict n][m]) {
#pragma tune schedule("split j 64 -> j0 j1; vectorize j1; parallel i; stream S0")
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) a[i][j] = b[i - 1][j] + b[i][j - 1] * b[i][j + 1] + b[i + 1][j];
}
void bytes(int n, unsigned char *restrict a, const unsigned char *restrict b) {
#pragma tune schedule("split i 256 -> i0 i1; vectorize i1; stream S0")
    for (int i = 0; i < n; i++) a[i] = b[i] ^ 0x5a;
}
void mixed(int n, double *restrict a, const float *restrict b) {
#pragma tune schedule("split i 32 -> i0 i1; vectorize i1; stream S0")
    for (int i = 0; i < n; i++) a[i] = b[i];
}
int main(void) {
    static unsigned char memory[4][1 << 16];
    unsigned long sum = 1;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 1 << 16; i++) memory[k][i] = (unsigned char)(i * 7 + k);
    for (int at = 0; at < 70; at++) {
        double *a = (double *)(memory[0] + 8 * (at % 9)), *b = (double *)memory[1], *c = (double *)(memory[2] + 8 * at);
        for (int i = 0; i < 1000; i++) b[i] = i * 0.7, c[i] = at - i / 3.0;
        doubles(at * 11, a, b, c);
        for (int i = 0; i < 4000; i++) ((float *)memory[1])[i] = i / 7.0f;
        floats(20, 30 + at, (void *)(memory[3] + 4 * at), (void *)memory[1]);
        bytes(at * 37, memory[3] + 20000 + at, memory[2] + 100);
        mixed(at * 5, (double *)memory[0] + 2000 + at, (float *)memory[1] + 1);
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 1 << 16; i++) sum = sum * 31 + memory[k][i];
    }
    printf("%lu\n", sum);
    return 0;
}
C
for compiler in clang-19 gcc; do
    command -v $compiler >/dev/null || continue
    for arch in x86-64-v2 x86-64-v3 x86-64-v4; do
        options="-O2 -march=$arch -ffp-contract=off -fopenmp"
        expect 0 "$CTUNE" apply program.c -o tuned.c -- $compiler $options
        [ "$(grep -c 'CTUNE_STREAM(' tuned.c)" -ge 4 ] || fail "$compiler $arch: no stores past the caches"
        $compiler $options -w -S -o tuned.s tuned.c || fail "$compiler $arch"
        has tuned.s 'movnt[pd]'
        # one fence for the program, one more for each thread of the parallel loop
        [ "$(grep -c sfence tuned.s)" -ge 5 ] || fail "$compiler $arch: fences are missing"
        $compiler $options -Wall -Wextra -Werror -Wno-unknown-pragmas tuned.c -o tuned 2>"$work/stderr" || fail "$compiler $arch"
        $compiler $options -w program.c -o original
        if ./original >want 2>/dev/null; then # this machine has it
            ./tuned >got && cmp -s want got || fail "$compiler $arch: another result"
        fi
    done
done
# what may not be streamed
cat >updates.c <<'C'
void f(int n, float *a, float *b) {
#pragma tune
    for (int i = 0; i < n; i++) a[i] += b[i];
}
C
printf 'stream S0\n' >schedule.txt
expect 1 "$CTUNE" show nest updates.c --schedule schedule.txt -- $flags
err_has 'an update reads what it stores to'
