"""Freed memory is kept for the next step (a matter of glibc; elsewhere nothing is promised)."""

import platform
import subprocess
import sys

import pytest

COUNT = """
import resource
import numpy as np
{first}
def step():
    arrays = [np.ones(100_000) for _ in range(20)]
for _ in range(5): step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5): step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


TRAIN = """
from aiayn_np import CopyTask, Transformer, train
rng = np.random.default_rng(0)
model = Transformer(13, N=1, d_model=8, d_ff=8, h=2, rng=rng)
list(train(model, CopyTask(), steps=1, batch_size=2, validation_size=1, rng=rng))
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc does")
def test_a_step_reuses_the_memory_of_the_last_one():
    def faults(first):
        run = subprocess.run([sys.executable, "-c", COUNT.format(first=first)],
                             capture_output=True, text=True, check=True)
        return int(run.stdout)

    assert faults("") > 1000
    assert faults("import aiayn_np") > 1000                            # importing changes nothing
    assert faults(TRAIN) < 100


RETURN = """
import os, numpy as np, aiayn_np
def resident(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = resident()
arrays = [np.ones(2_000_000) for _ in range(94)]
assert resident() - before > 1.4e9
del arrays
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc does")
def test_a_program_that_only_imports_gives_freed_memory_back():
    """1.5 GB in arrays of 16 MB."""
    run = subprocess.run([sys.executable, "-c", RETURN], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 5e7
