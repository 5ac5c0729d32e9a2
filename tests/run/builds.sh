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
