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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc does")
def test_a_step_reuses_the_memory_of_the_last_one():
    def faults(first):
        run = subprocess.run([sys.executable, "-c", COUNT.format(first=first)],
                             capture_output=True, text=True, check=True)
        return int(run.stdout)

    assert faults("") > 1000
    assert faults("import aiayn_np") < 100
