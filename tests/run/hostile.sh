# Run tests again in surroundings that are less friendly than the builder's; what they test is theirs, see there.
#   hostile.sh noisy           clang warns about -march=native in every compile, as clang 19 does on some CPUs
#   hostile.sh busy            one CPU, with two neighbours that use it; another umask and folder for temporary files
#   hostile.sh march MARCH [SCRIPT WORDS...]
#                              the instructions of MARCH, when the CPU has them (asked by cpuid, not by name)
#   hostile.sh user            not as root, in a folder that is his
. "$(dirname "$0")/lib.sh"
: "${CTUNE_BUILD:?}"
kind=$1

# again SCRIPT WORDS...: a run test in the surroundings of now
again() {
    script=$1
    shift
    sh "$tests/$script.sh" "$@" >"$work/stdout" 2>"$work/stderr" || fail "$script $*, $kind"
}

# Compiles and a search as the user types them: the compiler's warning is passed on as it is, once, and changes nothing.
test_noisy() {
    mkdir "$work/bin"
    cp "$tests/noisy-compiler.sh" "$work/bin/clang-19"
    chmod +x "$work/bin/clang-19"
    PATH=$work/bin:$PATH
    native="clang-19 -O2 -march=native"
    make_gemm gemm.c 'sizes(n=40)'
    $native -w gemm.c -o plain || fail "the compiler does not run"
    $native -c gemm.c -o plain.o 2>plain.txt
    has plain.txt 'warning: invalid feature'
    expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 --quiet -- $native
    out_has 'trials'
    out_has '(0 failed'
    expect 0 "$CTUNE" check gemm.c -- $native
    expect 0 "$CTUNE" show te gemm.c -- $native
    out_has '^te 1'
    [ ! -s "$work/stderr" ] || fail "show te says something"
    expect 0 "$CTUNE" doctor -- $native
    if [ -n "${CTUNE_CLANG_PLUGIN:-}" ]; then
        expect 0 $native "-fplugin=$CTUNE_CLANG_PLUGIN" gemm.c -o tuned
        same plain.txt "$work/stderr"
        [ "$(./tuned)" = "$(./plain)" ] || fail "other results"
        expect 1 $native -Werror "-fplugin=$CTUNE_CLANG_PLUGIN" -c gemm.c -o tuned.o
        again clang-plugin-says
    fi
    again apply
    again kernel gemm clang-19
}

# Uses the CPU until its test is over
neighbour='while kill -0 "$1" 2>/dev/null; do :; done'
test_busy() {
    command -v taskset >/dev/null || exit 77
    cpu=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    taskset -pc "$cpu" $$ >/dev/null || exit 77
    sh -c "$neighbour" neighbour $$ &
    first=$!
    nice sh -c "$neighbour" neighbour $$ &
    second=$!
    trap 'kill $first $second; rm -rf "$work"' EXIT
    umask 077
    mkdir "$work/it's a tmp"
    TMPDIR="$work/it's a tmp"
    for name in runner faults exec; do
        "$CTUNE_BUILD/tests/test_$name" >"$work/stdout" 2>&1 || fail "test_$name, busy"
    done
    again kernel gemm gcc
    again kill
    again record
    nothing_left
}

# CPU_HAS MARCH: what the CPU says about itself
cpu_has() {
    printf 'int main(void) { __builtin_cpu_init(); return !__builtin_cpu_supports("%s"); }\n' "$1" |
        gcc -x c - -o has 2>"$work/stderr" && ./has
}
test_march() {
    cpu_has "$1" || exit 77
    CTUNE_TEST_MARCH=$1
    export CTUNE_TEST_MARCH
    [ -n "$(march gcc)" ] || exit 77
    shift
    [ $# = 0 ] || { again "$@"; return; }
    again apply
    for compiler in clang-19 gcc; do
        again kernel gemm $compiler
        again kernel int8-gemm $compiler
    done
}

# The files of the build are only read.
test_user() {
    command -v setpriv >/dev/null && [ "$(id -u)" = 0 ] || exit 77
    mkdir "$work/his"
    chmod 755 "$work"
    chown 65534:65534 "$work/his"
    TMPDIR=$work/his
    for script in tune doctor cli; do
        setpriv --reuid=65534 --regid=65534 --clear-groups sh "$tests/$script.sh" >"$work/stdout" 2>"$work/stderr" ||
            fail "$script as another user"
    done
    nothing_left
}

shift
test_$kind "$@"
