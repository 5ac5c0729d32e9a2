# What the run tests share. Sourced: . "$(dirname "$0")/lib.sh"
# In: CTUNE, CTUNE_RUNNER, CTUNE_ROOT. The test runs in a folder of its own that goes away in the end; its name has a
# space and a quote, as users' folders do.
set -u
: "${CTUNE:?}" "${CTUNE_ROOT:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/it's here" "$work/tmp"
cd "$work/it's here" || exit 99
TMPDIR=$work/tmp
XDG_CACHE_HOME=$work/cache
export TMPDIR XDG_CACHE_HOME
flags="clang-19 -O2 -march=native"

fail() {
    echo "FAILED: $*" >&2
    for file in stdout stderr; do
        [ -s "$work/$file" ] && { echo "-- $file"; head -c 4000 "$work/$file"; } >&2
    done
    exit 1
}

# expect CODE WORDS...: runs the words, output to $work/stdout and $work/stderr
expect() {
    want_code=$1
    shift
    "$@" >"$work/stdout" 2>"$work/stderr"
    code=$?
    [ "$code" = "$want_code" ] || fail "exit code $code, not $want_code, of: $*"
}

# has FILE PATTERN
has() {
    grep -q -e "$2" "$1" || fail "no '$2' in $1"
}
has_not() {
    ! grep -q -e "$2" "$1" || fail "'$2' in $1"
}
out_has() { has "$work/stdout" "$1"; }
err_has() { has "$work/stderr" "$1"; }
same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

# A small gemm with main that prints a checksum. All values are whole numbers that fit: the sum does not depend on whether a
# compiler contracts a * b + c. $1: file name, $2: clauses
make_gemm() {
    cat >"$1" <<END
/* gemm for tests */
#include <stdio.h>

static float A[1600], B[1600], C[1600];

void gemm(int n, float a[n][n], float b[n][n], float c[n][n]) {
#pragma tune $2
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j]; /* the work */
}

int main(void) {
    unsigned sum = 0;
    for (int n = 1; n <= 40; n += 13) {
        for (int i = 0; i < 1600; i++) {
            A[i] = (float)(i * 37 % 101);
            B[i] = (float)(i * 53 % 97);
        }
        gemm(n, (float (*)[n])A, (float (*)[n])B, (float (*)[n])C);
        for (int i = 0; i < 1600; i++) {
            unsigned bits;
            __builtin_memcpy(&bits, &C[i], sizeof bits);
            sum = sum * 31 + bits;
        }
    }
    printf("%u\n", sum);
    return 0;
}
END
}

# compile_run FILE COMPILER...: prints what the program prints; warnings are failures
compile_run() {
    file=$1
    shift
    "$@" -Wall -Wextra -Werror -Wno-unknown-pragmas -o "$work/exe" "$file" -lm 2>"$work/stderr" ||
        fail "$file does not compile with $*"
    "$work/exe" || fail "$file crashes"
}
