# The history as JSON lines. import.sh reads them back.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=40)'
expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 -- $flags
expect 0 "$CTUNE" export
cp "$work/stdout" a.jsonl
expect 0 "$CTUNE" export gemm.c -o b.jsonl
same a.jsonl b.jsonl
expect 0 "$CTUNE" export .ctune/history.db
same a.jsonl "$work/stdout"
python3 - a.jsonl <<'EOF' || fail "JSON lines"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
rows = [line for line in lines if "facts" not in line]
assert len(rows) >= 8, len(rows)
assert all(row["region"] == "gemm" for row in rows), rows[0]
assert ["te" in row for row in rows] == [True] + [False] * (len(rows) - 1), "the dump once"
EOF
expect 0 "$CTUNE" export -o a.jsonl.gz
gzip -dc a.jsonl.gz | cmp - a.jsonl || fail "compressed lines"
cp a.jsonl.gz first.gz
expect 0 "$CTUNE" export -o a.jsonl.gz
same first.gz a.jsonl.gz

# only read: not made, not moved, not changed
expect 3 "$CTUNE" export missing.db
[ ! -e missing.db ] || fail "export makes a history"
echo nonsense >not.db
expect 3 "$CTUNE" export not.db
has not.db '^nonsense$'
expect 2 "$CTUNE" export a b
expect 2 "$CTUNE" export --import a.jsonl
