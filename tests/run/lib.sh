# What the run tests share. Sourced: . "$(dirname "$0")/lib.sh"
# In: CTUNE, CTUNE_RUNNER, CTUNE_ROOT; CTUNE_TEST_MARCH, the -march= of what runs (native). Out: $work, and $clang and $gcc,
# compilers with flags. The test runs in a folder of its own that goes away in the end; its name has a space and a quote, as
# users' folders do; so have a home and a folder for temporary files. Messages are in English, whatever the user reads.
set -u
: "${CTUNE:?}" "${CTUNE_ROOT:?}"
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/it's here" "$work/tmp dir" "$work/home"
cd "$work/it's here" || exit 99
TMPDIR="$work/tmp dir"
XDG_CACHE_HOME=$work/cache
HOME=$work/home # no calibration, no compiler cache, no settings of the user's
LC_ALL=C
export TMPDIR XDG_CACHE_HOME HOME LC_ALL
unset CTUNE_CC CTUNE_RECORD CTUNE_MACHINE CTUNE_KEEP CTUNE_MODEL CTUNE_PLUGIN_DIR
unset OMP_NUM_THREADS CPATH C_INCLUDE_PATH GCC_COLORS CLICOLOR_FORCE CCACHE_DIR MAKEFLAGS

# march COMPILER: the flags for what runs here. What the compiler says about them alone, compiling nothing, is no business of a
# test: clang 19 warns about -march=native on some CPUs, which is switched off by its name; nothing is printed for a compiler
# that cannot do without.
march() {
    arch=-march=${CTUNE_TEST_MARCH:-native}
    : >"$work/nothing.c"
    "$1" "$arch" -c "$work/nothing.c" -o "$work/nothing.o" 2>"$work/noise" || return 0
    arch="$arch$(sed -n 's/.*\[-W\([^],=]*\).*/ -Wno-\1/p' "$work/noise" | sort -u | tr -d '\n')"
    # shellcheck disable=SC2086
    "$1" $arch -Werror -c "$work/nothing.c" -o "$work/nothing.o" 2>"$work/noise" && [ ! -s "$work/noise" ] || return 0
    echo "$arch"
}
clang="clang-19 -O2 $(march clang-19)"
gcc="gcc -O2 $(march gcc)"
flags=$clang

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
silent() { [ ! -s "$work/stdout" ] && [ ! -s "$work/stderr" ] || fail "output${1:+ of $1}"; }
one_line() { [ "$(wc -l <"$work/stderr")" = 1 ] || fail "not one line${1:+ from $1}"; }
# nothing_left: what was written into TMPDIR is gone
nothing_left() { [ -z "$(ls "$TMPDIR")" ] || fail "left in TMPDIR${1:+ $1}: $(ls "$TMPDIR")"; }

# code OBJECT: its instructions and relocations, without the object's name
code() { objdump -dr --no-show-raw-insn "$1" | sed 1,3d; }
# same_code, other_code OBJECT OBJECT [OF WHAT]
same_code() {
    code "$1" >"$work/code.1"
    code "$2" >"$work/code.2"
    cmp -s "$work/code.1" "$work/code.2" || fail "$1 and $2 have other instructions: ${3-}"
}
other_code() {
    code "$1" >"$work/code.1"
    code "$2" >"$work/code.2"
    ! cmp -s "$work/code.1" "$work/code.2" || fail "$1 and $2 have the same instructions: ${3-}"
}

# wait_for SECONDS COMMAND...: until it succeeds; what is waited for takes a moment on a quiet machine
wait_for() {
    tries=$(($1 * 5))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.2
    done
}

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

# same_results PLAIN TUNED COMPILER...: both print the same
same_results() {
    plain_file=$1
    tuned_file=$2
    shift 2
    want=$(compile_run "$plain_file" "$@") || exit 1
    got=$(compile_run "$tuned_file" "$@") || exit 1
    [ "$want" = "$got" ] || fail "$*: $want before, $got after ($tuned_file)"
}

# odd_sizes KERNEL.c: the kernel with sizes of our own in place of MEDIUM, odd, below most tiles; large as the kernel needs
odd_sizes() {
    awk '/^static const int sizes/ { on = 1 }
        on {
            n = split($0, part, "[{}]")
            for (i = 1; i <= n; i++)
                if (part[i] ~ /^[0-9, ]+$/ && part[i] ~ /[0-9]/ && ++row == 3) {
                    m = split(part[i], size, ", *")
                    for (k = 1; k <= m; k++)
                        odd = odd (k > 1 ? ", " : "") (size[k] > 12 ? size[k] % 6 * 2 + 5 : size[k])
                    sub("{" part[i] "}", "{" odd "}")
                }
        }
        /;/ { on = 0 }
        { print }' "$1"
}
