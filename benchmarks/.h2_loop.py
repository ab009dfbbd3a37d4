import time, sys, importlib
sys.path.insert(0, "benchmarks")
import harness
from throughput import SOLUTION, TEMPLATE
P = (TEMPLATE / "problems/relu/problem.py")
if not P.exists():
    P = next(TEMPLATE.rglob("problem.py"))
S = next(p for p in TEMPLATE.rglob("solution.py")).read_text()
def main():
    with harness.Evaluator(backend="cuda") as e:
        for i in range(4):
            t = time.monotonic()
            r = e.evaluate(P, S + f"\n# {i}\n")
            print("api call", i, round(time.monotonic() - t, 2), r.verdict.value, {k: round(v, 2) for k, v in r.stages_s.items()}, r.failure and r.failure.reason, flush=True)
            time.sleep(5)
main()
