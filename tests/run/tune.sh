# A short search: lock, history, report, JSON, resume, check, stale entries, another target.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=40)'
expect 0 "$CTUNE" tune gemm.c --trials 24 --batch 8 --rounds 3 -- $flags
out_has '^gemm.c:7: gemm \[n=40\]'
out_has 'original'
out_has 'results identical\|it stays'
out_has 'lock *ctune.lock'
[ -s ctune.lock ] || fail "no lock"
[ -s .ctune/history.db ] || fail "no history"
has ctune.lock gemm

# the same search again: the first batch is known; later ones follow what was measured, which may differ
expect 0 "$CTUNE" tune gemm.c --trials 24 --batch 8 --rounds 3 --json --quiet -- $flags
python3 - "$work/stdout" <<'END' || fail "JSON"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) == 1, rows
row = rows[0]
assert row["region"] == "gemm" and row["sizes"] == "n=40" and row["status"] in ("tuned", "original"), row
assert row["original_ns"] > 0 and row["tuned_ns"] > 0 and row["results"] == "identical", row
assert 8 <= row["known"] <= row["trials"] == 24, row
assert abs(row["flops"] - 2 * 40 ** 3) < 1, row
END
[ ! -s "$work/stderr" ] || fail "--quiet is not quiet"

# apply and check
expect 0 "$CTUNE" apply gemm.c -o tuned.c -- $flags
same_results gemm.c tuned.c $flags
expect 0 "$CTUNE" check gemm.c -- $flags
out_has fresh
expect 0 "$CTUNE" check --no-run --json gemm.c -- $flags
python3 -c 'import json,sys; json.loads(open(sys.argv[1]).read())' "$work/stdout" || fail "check --json"

# re-tuning a rewritten file is tuning the original
cp gemm.c keep.c
expect 0 "$CTUNE" apply gemm.c --in-place -- $flags
expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 -- $flags
expect 0 "$CTUNE" check --no-run gemm.c -- $flags
out_has fresh
expect 0 "$CTUNE" apply --undo --in-place gemm.c -- $flags
same gemm.c keep.c

# other flags are another target
expect 0 "$CTUNE" apply gemm.c -o other.c -- clang-19 -O1
err_has 'lock-other-target'
same gemm.c other.c
expect 0 "$CTUNE" apply --any-target gemm.c -o other.c -- clang-19 -O1

# a changed loop makes the entry stale: reported, ignored
sed 's/+= a\[i\]\[k\]/-= a[i][k]/' gemm.c >new.c && mv new.c gemm.c
expect 1 "$CTUNE" apply gemm.c -o stale.c -- $flags
err_has 'lock-stale'
same gemm.c stale.c
expect 1 "$CTUNE" check gemm.c -- $flags
out_has stale

# a broken lock is an error with a place, and stays as it is
echo 'nonsense {' >broken.lock
cp broken.lock keep.lock
expect 2 "$CTUNE" apply gemm.c --lock broken.lock -o x.c -- $flags
err_has 'broken.lock:1'
expect 2 "$CTUNE" tune gemm.c --lock broken.lock --trials 8 -- $flags
same broken.lock keep.lock
nothing_left
