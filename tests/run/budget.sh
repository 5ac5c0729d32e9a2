# What a search does when there is little time or memory: every nest is measured, a time loop by its first iterations, large
# data at smaller sizes; what was asked for stays what the lock says. Nothing here looks at a clock.
. "$(dirname "$0")/lib.sh"

# two slow nests, next to no time: each gets candidates and an entry
cat >two.c <<'END'
void first(int n, float A[n][n], float B[n][n], float C[n][n]) {
#pragma tune sizes(n=300)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
void second(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma tune sizes(n=300)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
END
expect 0 "$CTUNE" tune two.c --budget 10ms --json --quiet -- $flags
python3 - "$work/stdout" <<'END' || fail "two nests"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert sorted(r["region"] for r in rows) == ["first", "second"], rows
parts = ["original", "space", "model", "code", "compile", "run", "final", "verify"]
for r in rows:
    assert r["trials"] >= 1 and r["sizes"] == "n=300" and r["budget"] == 0.01, r
    assert list(r["time"]) == parts and sum(r["time"].values()) <= r["seconds"] + 0.1, r
    if r["status"] == "tuned": # some case was compared, however little time there was
        assert "identical to" in r["verified"] and "n=" in r["verified"], r
END
has ctune.lock first
has ctune.lock second
expect 0 "$CTUNE" check --no-run two.c -- $flags

# a time loop: a prefix is measured, the lock has what was asked for
cat >time.c <<'END'
void stencil(int steps, int n, double a[n], double b[n]) {
#pragma tune sizes(steps=2000000, n=400)
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]);
    }
}
END
rm -f ctune.lock
expect 0 "$CTUNE" tune time.c --budget 2s --json --quiet -- $flags
python3 - "$work/stdout" <<'END' || fail "time loop"
import json, re, sys
row = json.loads(open(sys.argv[1]).read())
assert row["sizes"] == "steps=2000000 n=400", row
measured = re.fullmatch(r"steps=(\d+) n=400", row["measured"])
assert measured and 8 <= int(measured.group(1)) < 2000000, row
assert row["extrapolated"] in (True, False)
assert row["original_ns"] / 2000000 > 10, row # of all steps, not those of the prefix
END
has ctune.lock 'steps=2000000'
expect 0 "$CTUNE" tune time.c --budget 2s -- $flags
out_has 'measured *at steps=[0-9]* n=400 (the first iterations of the outermost loop)'
out_has '^  time  *original'

# memory: sizes shrink to it, with a note; without a parameter there is nothing to shrink
rm -f ctune.lock
expect 0 "$CTUNE" tune two.c --region first --trials 4 --rounds 3 --memory 200K -- $flags
out_has 'first \[n=300\]'
out_has 'measured *at n=[0-9]* (smaller sizes: the data would take too much memory); times are extrapolated'
has ctune.lock 'n=300'
cat >fixed.c <<'END'
float a[1000][1000], b[1000][1000];
void fixed(void) {
#pragma tune
    for (int i = 0; i < 1000; i++)
        for (int j = 0; j < 1000; j++)
            a[i][j] += b[j][i];
}
END
expect 1 "$CTUNE" tune fixed.c --trials 4 --memory 1M -- $flags
err_has '--memory'
for bad in 0 -1G 4X G nan; do
    expect 2 "$CTUNE" tune fixed.c --memory $bad -- $flags
    err_has 'memory'
done
nothing_left
