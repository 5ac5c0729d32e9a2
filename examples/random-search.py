#!/usr/bin/env python3
"""Random search over tiles of a matrix product, with ctune as the judge.

  examples/random-search.py [CTUNE [TRIALS [SEED]]]      default: ctune 30 1
"""
import json, os, random, subprocess, sys

ctune, trials, seed = (sys.argv[1:] + ["ctune", "30", "1"][len(sys.argv) - 1:])[:3]
random.seed(int(seed))
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gemm", "gemm.c")
judge = subprocess.Popen([ctune, "try", source, "--sizes", "n=256", "--schedules", "-", "--quiet"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print("original: %.2f ms" % (json.loads(judge.stdout.readline())["original_ns"] / 1e6))
best = (0, "")
for _ in range(int(trials)):
    i, j, k = random.choice([2, 4, 6, 8]), random.choice([16, 32, 48, 64]), random.choice([32, 64, 128])
    schedule = (f"split i {i} -> i0 i1; split j {j} -> j0 j1; split k {k} -> k0 k1; reorder k0 j0 i0 k1 i1 j1; "
                "cache_write S0 at i0 register; unroll i1; vectorize j1")
    print(schedule, file=judge.stdin, flush=True)
    answer = json.loads(judge.stdout.readline())
    best = max(best, (answer.get("ratio", 0), schedule))
print("best: %.1f x with %s" % best)
