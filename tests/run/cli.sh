# Commands, options and exit codes that need no search.
. "$(dirname "$0")/lib.sh"

expect 0 "$CTUNE" --version
out_has '^ctune [0-9]*\.[0-9]*\.[0-9]*$'
expect 2 "$CTUNE"
err_has 'usage: ctune'
expect 0 "$CTUNE" --help
out_has 'tune .*search'
for command in tune apply show check doctor export import; do
    expect 0 "$CTUNE" $command --help
    out_has "usage: ctune $command"
    out_has '.-help'
    expect 0 "$CTUNE" help $command
    expect 2 "$CTUNE" $command --no-such-option
    err_has 'no-such-option'
done
expect 0 "$CTUNE" help env
out_has CTUNE_RUNNER
expect 0 "$CTUNE" help exit
out_has '130'
expect 2 "$CTUNE" help nonsense
expect 2 "$CTUNE" tun
err_has "unknown command 'tun'"
expect 2 "$CTUNE" tune
expect 2 "$CTUNE" apply
expect 2 "$CTUNE" show te
expect 2 "$CTUNE" show nonsense a.c
for bad in 0 -3 x 5q ''; do
    expect 2 "$CTUNE" tune --budget "$bad" a.c
    expect 2 "$CTUNE" tune --trials "$bad" a.c
done
expect 2 "$CTUNE" tune --budget
expect 2 "$CTUNE" tune --strategy magic a.c
err_has magic
expect 2 "$CTUNE" tune --json=1 a.c
expect 2 "$CTUNE" apply -o b.c --in-place a.c
expect 2 "$CTUNE" tune -p . a.c -- -O2

# files and compilers that are not there
expect 3 "$CTUNE" show te missing.c -- $flags
err_has missing.c
make_gemm gemm.c 'sizes(n=40)'
expect 3 "$CTUNE" show te gemm.c -- clang-99 -O2
err_has clang-99
expect 2 "$CTUNE" show te gemm.c -- nonsense.c
printf 'void f(int n) {\n#pragma tune\n    for (int i = 0; i < n; i++) {\n' >broken.c
expect 3 "$CTUNE" show te broken.c -- $flags
expect 3 "$CTUNE" export
err_has 'no history'

# stages
for stage in te deps space nest loops code asm; do
    expect 0 "$CTUNE" show $stage gemm.c -- $flags
    [ -s "$work/stdout" ] || fail "show $stage prints nothing"
done
expect 0 "$CTUNE" show te gemm.c -- $flags
out_has '^te 1'
printf 'split i 8 -> i0 i1\n' >s.txt
expect 0 "$CTUNE" show nest --schedule s.txt gemm.c -- $flags
out_has i1
printf 'split nothing 8 -> i0 i1\n' >s.txt
expect 2 "$CTUNE" show nest --schedule s.txt gemm.c -- $flags
printf 'parallel k\n' >s.txt
expect 1 "$CTUNE" show nest --schedule s.txt gemm.c -- $flags
expect 0 sh -c '"$0" show code "$1" -- clang-19 -O2 >code.c' "$CTUNE" gemm.c
clang-19 -Wall -Wextra -Werror -Wno-unused-function -c code.c -o code.o || fail "show code does not compile"
expect 0 "$CTUNE" show asm gemm.c -- $flags
out_has 'ctune_candidate:'

# clauses
make_gemm bad.c 'sizes(n=40) magic(3)'
expect 2 "$CTUNE" show te bad.c -- $flags
err_has 'unknown-clause'
make_gemm off.c 'off'
expect 0 "$CTUNE" show te off.c -- $flags
expect 0 "$CTUNE" doctor -- $flags
out_has clang
nothing_left
