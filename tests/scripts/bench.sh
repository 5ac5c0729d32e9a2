# Smoke runs of scripts/bench: bench.sh ACTION
. "$(dirname "$0")/../run/lib.sh"
bench=$CTUNE_ROOT/scripts/bench

# Three tasks of the shipped data set, seventy measurements each.
make_data() {
    python3 - "$CTUNE_ROOT/costmodel/data/cpu.jsonl.gz" <<'END' || fail "no data"
import gzip, json, sys
facts, rows = {}, {}
with gzip.open(sys.argv[1], "rt") as file:
    for line in file:
        record = json.loads(line)
        if "facts" in record:
            facts[record["target"]] = line
        elif record.get("region") in ("kernel_gemm", "kernel_atax", "kernel_mvt"):
            task = (record["workload"], record["target"], record["sizes"])
            rows.setdefault(record["region"], {}).setdefault(task, []).append((task[1], line))
with gzip.open("data.jsonl.gz", "wt") as out:
    wanted = [max(tasks.values(), key=len)[:70] for tasks in rows.values()]
    for target in sorted({t for lines in wanted for t, _ in lines}):
        out.write(facts[target])
    for lines in wanted:
        out.writelines(line for _, line in lines)
END
}

case $1 in
gemm)
    expect 0 "$bench" gemm --ctune "$CTUNE" --budget 1 --types f32 --json rows.json 48x32x40
    out_has '^f32  *48  *32  *40 .* same '
    out_has 'kernels picked'
    has rows.json '"command": "gemm"'
    ;;
remainders)
    expect 0 "$bench" remainders --ctune "$CTUNE" --budget 1 --count 3 --dims n --json rows.json 24x48x32
    out_has '^   2  *24  *50  *32  *[0-9]'
    out_has '^least against the mean of its neighbours: [0-9.]* at r = [0-2]; below 0.85: [0-3] of 3'
    has rows.json '"ratio"'
    expect 2 "$bench" remainders --ctune "$CTUNE" --dims q
    err_has 'letters of mnk'
    ;;
kernels)
    expect 0 "$bench" kernels --ctune "$CTUNE" --budget 1 --size MINI --runs 1 gemm atax
    out_has '^gemm  *[0-9].* same '
    out_has '^atax '
    out_has 'geometric mean against the better of clang and gcc: .* (2 of 2 kernels)'
    ;;
overrun)
    expect 0 "$bench" overrun --ctune "$CTUNE" --budget 1 --size MINI --json rows.json gemm jacobi-2d
    out_has '^kernel .*overrun .*original .*verify'
    out_has '^gemm  *[0-9]'
    out_has '^largest overrun [0-9.]*, median [0-9.]*, above 1.2: [0-9]* of 2'
    has rows.json '"parts"'
    ;;
operators)
    expect 0 "$bench" operators --ctune "$CTUNE" --budget 1 --size MINI --runs 1 pool-avg rms-norm
    out_has '^pool-avg  *[0-9].* same '
    out_has '^rms-norm '
    out_has 'against clang -ffast-math: .* (2 of 2 operators)'
    expect 0 "$bench" operators --ctune "$CTUNE" --budget 1 --size MINI --runs 1 --reassoc dot
    out_has '^dot .* \(same\|permitted\) '
    ;;
rate)
    expect 0 "$bench" rate --ctune "$CTUNE" --budget 2
    out_has 'nests made and scored a second, one core: [0-9]'
    out_has 'measured candidates a second, gemm 512^3, clang, .*: [0-9]'
    ;;
search)
    make_data
    common="--ctune $CTUNE --data data.jsonl.gz --out out"
    expect 0 "$bench" search topk $common --folds 2
    out_has '^analytic estimate '
    out_has '^by kernel:'
    expect 0 "$bench" search ablate $common --folds 2
    out_has '^rank without store '
    expect 0 "$bench" search replay $common --n-tasks 1
    [ -s out/replay.tsv ] || fail "no replay.tsv"
    expect 0 "$bench" search live $common --tasks gemm --seeds 1 --trials 4 --size MINI --strategies random,gbt+transfer
    out_has '^gbt+transfer '
    expect 0 "$bench" search predict $common --size MINI --budget 1 gemm
    out_has '^gemm  *share '
    ;;
models)
    common="--ctune $CTUNE --out out --kernels 3 --per-task 6"
    expect 0 "$bench" models $common --kinds estimate,gbt --trees 5 --folds 2 --settings "held-out,znver5 for r,all of its"
    out_has '^held-out kernels$'
    out_has '^both, znver5 for rocketlake$'
    out_has '^estimate  *[0-9.]* ([0-9.]*) '
    out_has '^gbt  *[0-9.]* ([0-9.]*) '
    out_has '^clang 19 rocketlake: all of its labels alone$'
    [ "$(wc -l <out/models.tsv)" = 7 ] || fail "models.tsv"
    if "$CTUNE" model info "$CTUNE_ROOT/tests/fuzz/corpus/net/linear" 2>&1 | grep -q BLAS; then
        exit 0
    fi
    expect 0 "$bench" models $common --kinds mlp,tlp-lstm,mtl-tlp --width 16 --epochs 1 --folds 2 --settings held-out
    out_has '^tlp-lstm  *[0-9.]* ([0-9.]*) '
    expect 2 "$bench" models --kinds nonsense
    err_has 'there are: .*treegru'
    ;;
build)
    for compiler in clang-19 gcc; do
        "$CTUNE" flags "${compiler%-19}" >/dev/null 2>&1 || continue
        expect 0 "$bench" build many --ctune "$CTUNE" --compilers $compiler --files 20
        out_has "^$compiler .*same objects 20 of 20; applied in both builds 4 of 4; lock unchanged"
        expect 0 "$bench" build compile --ctune "$CTUNE" --compilers $compiler --rounds 1 --flags=-O1
        out_has "^$compiler .*the nest alone .*ratio"
    done
    ;;
usage)
    expect 2 "$bench"
    expect 2 "$bench" nothing
    expect 2 "$bench" gemm --ctune "$CTUNE" 12y34
    err_has 'no shape'
    expect 2 "$bench" kernels --ctune "$CTUNE" no-such-kernel
    err_has 'there are: .*gemm'
    expect 2 "$bench" operators --ctune "$CTUNE" no-such-operator
    err_has 'there are: .*dot'
    expect 3 "$bench" rate --ctune ./nowhere
    err_has 'is missing'
    for action in gemm remainders kernels operators rate overrun search build models; do
        expect 0 "$bench" $action --help
        out_has 'usage'
    done
    ;;
*) fail "no action $1" ;;
esac
[ -z "$(ls "$TMPDIR")" ] || fail "files are left: $(ls "$TMPDIR")"
