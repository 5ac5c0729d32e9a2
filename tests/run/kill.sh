# A search that is stopped keeps its history, leaves no files and no processes, and goes on where it was.
. "$(dirname "$0")/lib.sh"

make_gemm gemm.c 'sizes(n=40)'
count() { "$CTUNE" export gemm.c 2>/dev/null | wc -l; }
has_records() { [ "$(count)" -ge "$1" ]; }
session_is_over() { ! pgrep -s $pid >/dev/null; }

for signal in INT TERM KILL; do
    rm -rf .ctune ctune.lock
    setsid "$CTUNE" tune gemm.c --budget 1h --batch 4 -- $flags >"$work/stdout" 2>"$work/stderr" &
    pid=$!
    wait_for 250 has_records 8 || fail "no results"
    # a background job of sh ignores SIGINT: then the tool does, too
    [ $signal != INT ] || signal=HUP
    kill -$signal $pid
    wait $pid
    code=$?
    case $signal in
        HUP) [ $code = 129 ] || fail "exit code $code after SIGHUP" ;;
        TERM) [ $code = 143 ] || fail "exit code $code after SIGTERM" ;;
        KILL) [ $code = 137 ] || fail "exit code $code after SIGKILL" ;;
    esac
    if [ $signal != KILL ]; then
        nothing_left "after SIG$signal"
    fi
    wait_for 100 session_is_over || # a compiler that was at work may finish
        fail "processes are left after SIG$signal: $(pgrep -s $pid -l)"
    rm -rf "${TMPDIR:?}"/*
    has_records 8 || fail "history lost records: $(count)"
    expect 0 "$CTUNE" tune gemm.c --trials 12 --batch 4 --rounds 3 --json -- $flags
    python3 - "$work/stdout" <<'END' || fail "not resumed after SIG$signal"
import json, sys
row = json.loads(open(sys.argv[1]).read())
assert 4 <= row["known"] <= row["trials"] == 12, row
END
done
