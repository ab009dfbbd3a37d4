import time, traceback, torch, threading
import harness.referee.shortage as sh
orig = sh._repeat
def dbg(attempt, workers):
    try:
        orig(attempt, workers)
        print("repeat ok")
    except BaseException:
        traceback.print_exc()
        raise
sh._repeat = dbg
import pytest, sys
sys.exit(pytest.main(["-q", "-s", "-p", "no:cacheprovider", "tests/executors/test_on_gpu.py", "-k", "takes_the_others"]))
