# Records from elsewhere: JSON lines, compressed ones, other histories.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=40)'
expect 0 "$CTUNE" tune gemm.c --trials 8 --batch 8 --rounds 3 -- $flags
expect 0 "$CTUNE" export -o a.jsonl
expect 0 "$CTUNE" export -o a.jsonl.gz
n=$(grep -c '"workload"' a.jsonl)

# round trips of each kind of file
for file in a.jsonl a.jsonl.gz .ctune/history.db; do
    rm -f other.db*
    expect 0 "$CTUNE" import "$file" --history other.db
    out_has "$file: $n records: $n imported, 0 there already"
    expect 0 "$CTUNE" export other.db
    same a.jsonl "$work/stdout"
    expect 0 "$CTUNE" import a.jsonl "$file" --history other.db
    [ "$(grep -c "0 imported, $n there already" "$work/stdout")" = 2 ] || fail "records twice"
done
expect 0 sh -c '"$0" import - --history third.db <a.jsonl.gz' "$CTUNE"
out_has "standard input: $n records: $n imported"
(cd "$TMPDIR" && "$CTUNE" import "$work/it's here/a.jsonl") >"$work/stdout" || fail "default history"
[ -e "$TMPDIR/.ctune/history.db" ] || fail "no default history"
rm -r "$TMPDIR/.ctune"

# what is malformed is said, the rest goes in
{ echo nonsense; cat a.jsonl; echo '{"trial":1}'; } >bad.jsonl
expect 2 "$CTUNE" import bad.jsonl --history fourth.db
out_has "$n records: $n imported, 0 there already; 2 malformed lines left out"
err_has '^bad.jsonl:1:1: warning'
err_has "^bad.jsonl:$(wc -l <bad.jsonl):1: warning: 'workload'"
expect 0 "$CTUNE" export fourth.db
same a.jsonl "$work/stdout"

# lines of older exports have the dump in each, and no facts
python3 - a.jsonl <<'EOF' >old.jsonl || fail "python"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
rows = [row for row in rows if "facts" not in row]
for row in rows:
    print(json.dumps(dict(row, te=rows[0]["te"])))
EOF
expect 0 "$CTUNE" import old.jsonl --history fifth.db
out_has "$n imported"
expect 0 "$CTUNE" export fifth.db
grep '"workload"' a.jsonl | cmp - "$work/stdout" || fail "old lines"
expect 0 "$CTUNE" import --here --history fifth.db
out_has 'facts of this machine'
expect 0 "$CTUNE" import --here --history fifth.db
[ ! -s "$work/stdout" ] || fail "facts twice"
expect 0 "$CTUNE" export fifth.db
out_has '"facts":{"compiler":"clang 19"'

# files that are not there, and no files
expect 3 "$CTUNE" import missing.jsonl --history other.db
err_has missing.jsonl
expect 2 "$CTUNE" import --history other.db
head -c 100 a.jsonl.gz >cut.gz
expect 3 "$CTUNE" import cut.gz --history other.db
