# Models from the command line: collect, train, info, eval, replay, use; choices without measuring; several nests.
. "$(dirname "$0")/lib.sh"
make_gemm gemm.c "sizes(n=40)"
sed 's/gemm/other/g; s/a\[i\]\[k\]/a[k][i]/' gemm.c >other.c
db="--history h.db"

expect 0 "$CTUNE" collect gemm.c --samples 110 --quiet $db -- $flags
out_has "measured"
expect 0 "$CTUNE" collect other.c --samples 12 --sizes n=24 --quiet $db -- $flags
out_has "\[n=24\]"
expect 2 "$CTUNE" collect other.c --sizes n=x --quiet $db -- $flags
err_has "sizes"

expect 2 "$CTUNE" model
expect 3 "$CTUNE" model train nothing.db -o m.model
expect 0 "$CTUNE" model train h.db -o m.model --trees 20
out_has "in 2 tasks"
out_has "20 trees"
cp m.model again.model
expect 0 "$CTUNE" model train h.db -o again.model --trees 20
same m.model again.model
expect 0 "$CTUNE" model train h.db -o without.model --trees 5 --without other --features estimate,knob
expect 0 "$CTUNE" model info without.model
out_has "estimate knob"
out_has "^kernels gemm$"
expect 2 "$CTUNE" model train h.db -o x.model --features nonsense
expect 2 "$CTUNE" model train h.db -o x.model --objective nonsense
expect 0 "$CTUNE" model eval h.db
out_has "^all .*(2 tasks)"
expect 0 "$CTUNE" model eval h.db --model m.model
expect 0 "$CTUNE" model eval h.db --leave-one-out --trees 5
expect 0 "$CTUNE" model replay h.db -o curve.tsv --trees 5
out_has "^gbt+transfer .*1 tasks x 3 seeds"
[ "$(cut -f 2 curve.tsv | sort -u | wc -l)" = 4 ] || fail "curves"

# neural models: trained, looked at, judged, lead a search; without the library a message
expect 2 "$CTUNE" model train h.db -o x.model --kind nonsense
if CTUNE_BLAS= "$CTUNE" model train h.db -o linear.model --kind linear --epochs 2 >"$work/stdout" 2>"$work/stderr"; then
    for kind in treegru tlp mtl-tlp; do
        expect 0 "$CTUNE" model train h.db -o $kind.model --kind $kind --epochs 1 --width 32
        out_has "^$kind.model: $kind"
        expect 0 "$CTUNE" model info $kind.model
        out_has "^kernels gemm other"
        expect 0 "$CTUNE" model eval h.db --model $kind.model
        out_has "^all .*(2 tasks)"
        [ ! -e $kind.model.part ] || fail "the state is left"
    done
    expect 0 "$CTUNE" model train h.db -o lstm.model --kind tlp --backbone lstm --epochs 1 --width 16 --no-position --no-region
    expect 0 "$CTUNE" model eval h.db --kind mlp --folds 2 --epochs 1 --width 32
    out_has "^all .*(2 tasks)"
    expect 2 "$CTUNE" model eval h.db --kind mlp --folds 2 --from no-such-target
    expect 0 "$CTUNE" tune gemm.c --model tlp.model --trials 2 --rounds 3 --lock n.lock --quiet $db -- $flags
    expect 0 "$CTUNE" tune gemm.c --predict --model tlp.model --lock n.lock --quiet -- $flags
    expect 3 env CTUNE_BLAS=/nonexistent/lib.so "$CTUNE" tune gemm.c --model tlp.model --trials 4 --lock n.lock --quiet $db -- $flags
    err_has "BLAS"
    head -c 4000 tlp.model >cut.model
    expect 2 "$CTUNE" model eval h.db --model cut.model
    err_has "cut.model:"
fi
expect 3 env CTUNE_BLAS=/nonexistent/lib.so "$CTUNE" model train h.db -o x.model --kind tlp
err_has "BLAS"

# a model file that is damaged, or of other features
expect 0 "$CTUNE" tune gemm.c --model m.model --trials 4 --lock a.lock --quiet $db -- $flags
sed 's/^\(features\|feature-version\|version\).*/\1 999/' m.model >old.model
head -c 300 m.model >half.model
for bad in old half none; do
    "$CTUNE" tune gemm.c --model $bad.model --trials 4 --lock b.lock --quiet $db -- $flags >"$work/stdout" 2>"$work/stderr"
    code=$?
    [ $code = 2 ] || [ $code = 3 ] || fail "exit code $code with $bad.model"
    err_has "$bad.model"
    [ ! -e b.lock ] || fail "a lock in spite of $bad.model"
done

# without measuring
expect 0 "$CTUNE" tune gemm.c --predict --model m.model --lock p.lock --json --quiet -- $flags
out_has '"status":"predicted"'
has p.lock "time 0.000"
expect 0 "$CTUNE" apply gemm.c --lock p.lock -o tuned.c -- $flags
same_results gemm.c tuned.c $flags
# what was measured is better than what was guessed
cp a.lock before.lock
expect 0 "$CTUNE" tune gemm.c --predict --model m.model --lock a.lock -- $flags
err_has "measured-stays"
same a.lock before.lock

# several nests share the time; each gets an entry
expect 0 "$CTUNE" tune gemm.c other.c --trials 5 --lock s.lock --quiet --history s.db -- $flags
has s.lock "region gemm in gemm.c"
has s.lock "region other in other.c"
expect 0 "$CTUNE" tune gemm.c other.c --trials 12 --strategy genetic --lock s.lock --quiet --history s.db -- $flags
expect 0 "$CTUNE" check gemm.c other.c --lock s.lock --quiet -- $flags
