# The history as JSON lines, and back.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=40)'
expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 -- $flags
expect 0 "$CTUNE" export
cp "$work/stdout" a.jsonl
expect 0 "$CTUNE" export gemm.c -o b.jsonl
same a.jsonl b.jsonl
expect 0 "$CTUNE" export .ctune/history.db
python3 - a.jsonl <<'END' || fail "JSON lines"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) >= 8, len(rows)
assert all(row["region"] == "gemm" for row in rows), rows[0]
END
expect 0 "$CTUNE" export --history other.db --import a.jsonl
expect 0 "$CTUNE" export --history other.db
[ "$(wc -l <"$work/stdout")" = "$(wc -l <a.jsonl)" ] || fail "import loses records"
expect 0 sh -c '"$0" export --history third.db --import - <a.jsonl' "$CTUNE"
echo 'nonsense' >bad.jsonl
expect 2 "$CTUNE" export --history other.db --import bad.jsonl
