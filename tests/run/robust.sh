# What a search must know before it begins, what it must not lose, and files that are not what they seem: a message each.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=40)'
refused() { # CODE PATTERN WORDS...: a message, no search
    want_words=$2
    code=$1
    shift 2
    expect "$code" timeout 60 "$@"
    err_has "$want_words"
    [ ! -s "$work/stdout" ] || fail "output: $*"
    [ ! -e .ctune ] || fail "a search: $*"
}

# ---- a lock that cannot be written, or read, is found before the search ----
mkfifo fifo.lock
mkdir folder.lock
echo 'ctune-lock 7' >new.lock
refused 3 'the lock cannot be written: missing/a.lock' "$CTUNE" tune gemm.c --lock missing/a.lock -- $flags
refused 3 'folder.lock: not a regular file' "$CTUNE" tune gemm.c --lock folder.lock -- $flags
refused 3 'fifo.lock: not a regular file' "$CTUNE" tune gemm.c --lock fifo.lock -- $flags
refused 3 '/dev/zero: not a regular file' "$CTUNE" apply gemm.c --lock /dev/zero -- $flags
refused 3 'fifo.lock: not a regular file' "$CTUNE" apply gemm.c --lock fifo.lock -- $flags
refused 3 'fifo.lock: not a regular file' "$CTUNE" check gemm.c --lock fifo.lock -- $flags
refused 2 "new.lock:1:.*version '7'" "$CTUNE" tune gemm.c --lock new.lock -- $flags
expect 0 "$CTUNE" apply gemm.c --lock /dev/null -- $flags
rm -rf .ctune
newline='a
b.c'
cp gemm.c "$newline"
cp gemm.c ' blank.c'
refused 2 'no room for a file name' "$CTUNE" tune "$newline" -- $flags
refused 2 'no room for a file name' "$CTUNE" tune ' blank.c' -- $flags
rm -f "$newline" ' blank.c'

# ---- a lock that becomes unwritable during the search: what was found is printed ----
mkdir away
"$CTUNE" tune gemm.c --trials 48 --batch 4 --rounds 3 --lock away/a.lock --history h.db -- $flags \
    >"$work/stdout" 2>"$work/stderr" &
pid=$!
wait_for 250 test -s h.db || fail "no search"
rm -r away
kill -0 $pid 2>/dev/null || fail "the search was over before its lock was gone"
wait $pid
[ $? = 3 ] || fail "exit code after a lost lock"
out_has 'lock  *not written'
err_has 'this belongs into away/a.lock'
sed -n '/^ctune-lock 1/,/^end/p' "$work/stderr" >found.lock
expect 0 "$CTUNE" apply gemm.c --lock found.lock -- $flags
out_has 'ctune:begin'

# ---- a history that is none: a warning, and the search goes on ----
mkfifo fifo.db
expect 0 timeout 100 "$CTUNE" tune gemm.c --trials 2 --rounds 3 --history fifo.db -- $flags
err_has 'fifo.db: warning: .*no-history'

# ---- what unpacks without end ----
head -c 100000000 /dev/zero | tr '\0' a | gzip -9 >letters.gz
head -c 100000000 /dev/zero | gzip -9 >zeros.gz
refused_import() {
    (ulimit -v 1500000 && timeout 60 "$CTUNE" import "$1" --history other.db) >"$work/stdout" 2>"$work/stderr"
    [ $? = 2 ] || fail "exit code of import $1"
    err_has "$2"
}
refused_import letters.gz 'unpacks to more than .* times its size'
refused_import zeros.gz 'neither a history nor JSON lines'

# ---- kill -9 leaves a folder behind, which the next run removes; nobody else's ----
mkdir "$TMPDIR/ctune-abcdef" "$TMPDIR/ctune-other"
has_folder() { ls "$TMPDIR"/ctune-*/.ctune-working >/dev/null 2>&1; }
for i in 1 2; do
    setsid "$CTUNE" tune gemm.c --budget 1h --batch 4 -- $flags >"$work/stdout" 2>"$work/stderr" &
    pid=$!
    wait_for 250 has_folder || fail "no search"
    kill -KILL $pid
    wait $pid
done
[ "$(ls "$TMPDIR" | wc -l)" = 3 ] || fail "not one folder of two killed runs: $(ls "$TMPDIR")"
CTUNE_KEEP=1
export CTUNE_KEEP
expect 0 "$CTUNE" tune gemm.c --trials 2 --rounds 3 -- $flags
unset CTUNE_KEEP
err_has 'kept '
expect 0 "$CTUNE" tune gemm.c --trials 2 --rounds 3 -- $flags
[ "$(ls "$TMPDIR" | wc -l)" = 3 ] || fail "a dead run's folder stays, or a living one's goes: $(ls "$TMPDIR")"
[ -d "$TMPDIR/ctune-abcdef" ] && [ -d "$TMPDIR/ctune-other" ] || fail "folders that are not ctune's are gone"

# ---- compile_commands.json: an unknown compiler is no clang; other plugins are not for us ----
database() {
    printf '[{"directory": "%s", "file": "gemm.c", "command": "%s -c gemm.c"}]' "$PWD" "$1" >compile_commands.json
}
for words in zcc 'ccache zcc' /opt/none/xlc 'env A=b ./mycc'; do
    database "$words -O2"
    expect 2 "$CTUNE" show te -p . gemm.c
    err_has "is no C compiler that ctune knows"
done
printf '#!/bin/sh\nexec clang-19 "$@"\n' >mycc
chmod +x mycc
for words in ./mycc 'env A=b ccache clang-19' 'clang-19 -Xclang -load -Xclang none.so -Xclang -add-plugin -Xclang x -Xclang -plugin-arg-x -Xclang y'; do
    database "$words -O2"
    expect 0 "$CTUNE" show te -p . gemm.c
done
