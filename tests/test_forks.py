"""Forked processes whose parents have made tables."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

BEGIN = """
import multiprocessing, os, sys, warnings
import bentpipe as bp
from bentpipe.errors import BentpipeError
warnings.simplefilter("ignore")
S = {"duration": "1 s", "link": {"l": {"from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "25 ms"}},
     "flow": {"f": {"from": "a", "to": "b"}}}
def work(seed):
    return bp.run(S, seed=seed).flows.filter(flow="f").height
def compare(seed):
    return bp.compare(S, cc=["reno", "cubic"], replications=2).runs.height
def load(folder):
    return bp.RunResult.load(folder).flows.height
"""


def python(code, timeout_s=60):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=False, timeout=timeout_s
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pool_that_is_forked_before_the_first_run_works():
    code = """
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, [1, 2]), pool.map(compare, [1]))
"""
    assert python(code) == "[1, 1] [4]\n"


@pytest.mark.parametrize("verb", ["work", "compare"])
def test_a_pool_that_is_forked_after_a_run_is_refused_and_does_not_wait_for_ever(verb):
    code = f"""
work(1)
with multiprocessing.get_context("fork").Pool(2) as pool:
    try:
        pool.map({verb}, [1, 2])
    except BentpipeError as error:
        print(error)
"""
    said = python(code)
    assert said.startswith("this process was forked after bentpipe or Polars had started threads")
    assert 'multiprocessing.get_context("spawn")' in said


def test_a_result_cannot_be_loaded_in_such_a_child_and_its_children_neither(tmp_path):
    code = f"""
bp.run(S).save({str(tmp_path / "run")!r})
print(load({str(tmp_path / "run")!r}), work(1), flush=True)
if os.fork() == 0:
    if os.fork() == 0:
        try:
            load({str(tmp_path / "run")!r})
        except BentpipeError as error:
            print("refused", flush=True)
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()
"""
    assert python(code) == "1 1\nrefused\n"


def test_a_pool_that_is_spawned_works(tmp_path):
    (tmp_path / "spawned.py").write_text(
        BEGIN
        + """
if __name__ == "__main__":
    work(1)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [1, 2]))
"""
    )
    done = subprocess.run([sys.executable, tmp_path / "spawned.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[1, 1]\n"), done.stderr
