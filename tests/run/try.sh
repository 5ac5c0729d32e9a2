# Schedules from elsewhere: legality with reasons, results, times; a pipe is answered line by line.
. "$(dirname "$0")/lib.sh"
cp "$CTUNE_ROOT/examples/gemm/gemm.c" gemm.c

cat >schedules.txt <<'LINES'
# tiles
split j 32 -> j0 j1; vectorize j1

{"schedule": "split i 4 -> a b", "id": {"mine": 7}}
vectorize i
split i
LINES
expect 1 "$CTUNE" try gemm.c --schedules schedules.txt --sizes n=48 --verify -- $flags
cp "$work/stdout" out.jsonl
python3 - out.jsonl <<'PY' || fail "answers"
import json, sys
head, *rows = [json.loads(line) for line in open(sys.argv[1])]
assert head["region"] == "gemm" and head["original_ns"] > 0 and head["flops"] == 2 * 48 ** 3, head
assert [r["n"] for r in rows] == [0, 1, 2, 3], rows
assert [r["outcome"] for r in rows] == ["ok", "ok", "illegal", "illegal"], rows
assert [r["legal"] for r in rows] == [True, True, False, False], rows
assert rows[0]["ratio"] > 0 and rows[0]["results"] == "identical" and "n=48" in rows[0]["at"], rows[0]
assert rows[1]["id"] == {"mine": 7}
assert "only the inner loop of a split" in rows[2]["reason"], rows[2]
assert "number is expected" in rows[3]["reason"], rows[3]
PY
nothing_left

# its own answers are proposals; legality alone needs no run
grep '"legal":true' out.jsonl | sed 's/"id":[^}]*},//' >again.jsonl
expect 0 "$CTUNE" try gemm.c --schedules again.jsonl --no-run -- $flags
[ "$(grep -c '"legal":true' "$work/stdout")" = 2 ] || fail "answers are proposals"

# a pipe is answered line by line: the second line is written after the first answer is read
expect 0 python3 "$CTUNE_ROOT/examples/random-search.py" "$CTUNE" 2
out_has '^best: '

echo '{"schedules": 1}' >bad.txt
expect 2 "$CTUNE" try gemm.c --schedules bad.txt --no-run -- $flags
err_has 'line 1'
expect 2 "$CTUNE" try gemm.c -- $flags
expect 3 "$CTUNE" try gemm.c --schedules missing.txt -- $flags
{ sed 's/gemm(/first(/' gemm.c; sed 's/gemm(/second(/' gemm.c; } >two.c
expect 2 "$CTUNE" try two.c --schedules schedules.txt --no-run -- $flags
err_has 'several tunable nests'
expect 1 "$CTUNE" try two.c --region second --schedules schedules.txt --no-run -- $flags
out_has '"region":"second"'
expect 1 "$CTUNE" try two.c --region third --schedules schedules.txt --no-run -- $flags
: >none.txt
expect 0 "$CTUNE" try gemm.c --schedules none.txt --no-run -- $flags
