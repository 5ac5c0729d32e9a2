# What a build says, once; what of its surroundings keeps the original or the tuned code. Both plugins.
. "$(dirname "$0")/lib.sh"

kinds=
for kind in clang-19 gcc; do
    "$CTUNE" flags $kind >"$work/flags.$kind" 2>/dev/null && kinds="$kinds $kind"
done
[ -n "$kinds" ] || exit 77
plugin() { eval "set -- $(cat "$work/flags.$1")"; printf '%s' "$1"; }
schedule='schedule("split j 8 -> j0 j1; reorder i j0 k j1; vectorize j1")'
make_gemm gemm.c "sizes(n=40) $schedule"

# ---- a pragma in a header, a lock that has nothing for this target: said once a build ----
cat >scale.h <<'END'
static inline void scale(int n, float *a) {
#pragma tune
    for (int i = 0; i < n; i++)
        a[i] *= 2;
}
END
for name in a b c; do
    printf '#include "scale.h"\nvoid %s(int n, float *a) { scale(n, a); }\n' $name >$name.c
done
make_gemm none1.c 'sizes(n=40)'
expect 0 "$CTUNE" tune none1.c --trials 1 --rounds 3 -q --lock ctune.lock -- clang-19 -O1
sed 's/none1/none2/' ctune.lock | sed 1d >>ctune.lock
cp none1.c none2.c
printf 'all: a.o b.o c.o none1.o none2.o\n%%.o: %%.c\n\t$(CC) $(CFLAGS) -w -O2 -c $< -o $@\n' >Makefile
for kind in $kinds; do
    for i in 1 2; do # a session of its own is a build of its own
        rm -f ./*.o
        setsid -w make -s CC=$kind CFLAGS="'$(plugin $kind)'" >"$work/stdout" 2>"$work/stderr" || fail "make with $kind"
        [ "$(grep -c 'ctune:pragma-in-header' "$work/stderr")" = 1 ] || fail "header: not once in build $i with $kind"
        [ "$(grep -c 'ctune.lock: has no entry for this target.*ctune:lock-none-applies' "$work/stderr")" = 1 ] ||
            fail "lock: not once in build $i with $kind"
    done
done
rm ctune.lock

# ---- the nearest target's entry: another CPU of the same instruction set ----
make_gemm near.c 'sizes(n=40)'
for kind in $kinds; do
    expect 0 "$CTUNE" tune near.c --trials 3 --rounds 3 -q -- $kind -O2 -march=x86-64-v3
    grep -q '^  *schedule$' ctune.lock || { # no candidate was faster: any schedule will do
        sed -i 's/^  schedule original/  schedule\n    split i 8 -> i0 i1/' ctune.lock
    }
    expect 0 "$CTUNE" apply near.c -o exact.c -- $kind -O2 -march=x86-64-v3
    for march in haswell x86-64-v4; do
        expect 0 "$CTUNE" apply near.c -- $kind -O2 -march=$march
        has_not "$work/stdout" ctune:begin
        expect 0 "$CTUNE" apply --nearest near.c -o nearest.c -- $kind -O2 -march=$march
        has nearest.c ctune:begin
        expect 0 $kind -w -O2 -march=$march "$(plugin $kind)" -fplugin-arg-ctune-target=nearest \
            -fplugin-arg-ctune-report=remarks -c near.c -o nearest.o
        err_has 'near.c:7.*another target ('
        $kind -w -O2 -march=$march -c nearest.c -o applied.o
        same_code nearest.o applied.o "$kind $march"
    done
    for march in x86-64-v2 x86-64; do # not for a machine that lacks the instructions
        expect 0 "$CTUNE" apply --nearest near.c -- $kind -O2 -march=$march
        has_not "$work/stdout" ctune:begin
        err_has lock-other-target
    done
    expect 0 "$CTUNE" apply --nearest near.c -- $kind -O2 -march=x86-64-v2 -ffp-contract=off
    has_not "$work/stdout" ctune:begin
    expect 0 "$CTUNE" cc --nearest --report remarks $kind -w -O2 -march=haswell -c near.c -o wrapped.o
    err_has 'another target ('
    if grep -q avx2 /proc/cpuinfo; then
        expect 0 "$CTUNE" check --nearest near.c -- $kind -O2 -march=haswell
        out_has 'near.c:7: gemm .n=40.: fresh, results identical'
    fi
    rm ctune.lock
    rm -rf .ctune
done
expect 1 "$CTUNE" cc --report remarks clang-19 -w -fplugin-arg-ctune-target=best -c near.c -o wrapped.o
err_has 'target=exact|nearest'

# ---- plain make: the recipe of the guide; a lock that appears, changes, goes ----
mkdir -p 'make'
make_gemm make/gemm.c 'sizes(n=40)'
cat >make/Makefile <<'END'
gemm: gemm.o
	$(CC) -o $@ $^
gemm.o: gemm.c $(wildcard ctune.lock)
	$(CC) $(CFLAGS) -w -O2 -MD -c $< -o $@
-include gemm.d
END
for kind in $kinds; do
    build() { expect 0 make -s -C make CC=$kind CFLAGS="'$(plugin $kind)'"; }
    current() { make -s -q -C make CC=$kind; }
    rm -f make/*.o make/*.d make/ctune.lock
    build
    current || fail "made again without a reason: $kind"
    cp make/gemm.o plain.o
    sleep 0.02
    echo 'ctune-lock 1' >make/ctune.lock
    ! current || fail "a lock that appears: $kind"
    build
    current || fail "made again with an old lock: $kind"
    grep -q 'ctune.lock' make/gemm.d || fail "no lock in the dependencies: $kind"
    [ "$(grep -c '^ctune.lock:' make/gemm.d)" = 1 ] || fail "not one empty rule for the lock: $kind"
    sleep 0.02
    expect 0 "$CTUNE" tune make/gemm.c --trials 2 --rounds 3 -q -- $kind -O2
    ! current || fail "a lock that changes: $kind"
    build
    rm make/ctune.lock
    build # no "No rule to make target"
    same_code make/gemm.o plain.o "without the lock again: $kind"
    current || fail "made again for ever: $kind"
    expect 0 $kind "$(plugin $kind)" -w -O2 -MD -MP -c make/gemm.c -o other.o
    rm -rf make/.ctune
done

# ---- gcov counts the user's lines: the original, a note, once ----
cat >stats.c <<'END'
void two(int n, float *restrict a, float *restrict b) {
#pragma tune sizes(n=1000) schedule("split i 64 -> i0 i1; vectorize i1")
    for (int i = 0; i < n; i++) {
        a[i] = a[i] * 2;

        b[i] = b[i] +
            a[i];
    }
}
END
for kind in $kinds; do
    for coverage in --coverage '-fprofile-arcs -ftest-coverage' -fprofile-arcs; do
        $kind -w -O2 $coverage -c stats.c -o want.o
        expect 0 setsid -w $kind -O2 "$(plugin $kind)" $coverage -Wall -Werror -c stats.c -o want2.o
        err_has 'ctune:coverage'
        mv want2.o got.o
        same_code want.o got.o "$kind $coverage"
    done
    expect 0 $kind -w -O2 "$(plugin $kind)" $coverage -fno-profile-arcs -c stats.c -o got.o
    other_code want.o got.o "$kind -fno-profile-arcs"
done

# ---- lines of tuned code are those of the statements ----
for kind in $kinds; do
    expect 0 $kind -w -g -O2 "$(plugin $kind)" -c stats.c -o lines.o
    llvm-dwarfdump-19 --debug-line lines.o | sed -n 's/^0x[0-9a-f]* *\([0-9]*\) .*/\1/p' | sort -un >lines.txt
    for line in 4 6; do
        grep -q "^$line\$" lines.txt || fail "no code of line $line: $kind: $(tr '\n' ' ' <lines.txt)"
    done
    ! awk '$1 > 9' lines.txt | grep . || fail "lines that are not there: $kind"
done

# ---- warnings about code that is never run ----
make_gemm gemm.c "sizes(n=40) $schedule"
for kind in $kinds; do
    expect 0 $kind -O2 -Wall -Wextra -Wunreachable-code -Werror -Wno-unknown-pragmas "$(plugin $kind)" -c gemm.c -o clean.o
    [ $kind = gcc ] ||
        expect 0 $kind -O2 -Wunreachable-code-aggressive -Werror -Wno-unknown-pragmas "$(plugin $kind)" -c gemm.c -o clean.o
    expect 0 "$CTUNE" apply gemm.c -o applied.c -- $kind -O2
    expect 0 $kind -O2 -Wall -Wextra -Wunreachable-code -Werror -Wno-unknown-pragmas -c applied.c -o clean.o
done
