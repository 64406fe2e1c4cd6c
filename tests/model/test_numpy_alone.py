"""Layers, training, proofs and assertions need NumPy and nothing else."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import aiayn_np
from aiayn_np import *
from aiayn_np import assert_causal, check_gradients, greedy_decode, train

loaded = {name.split(".")[0] for name, module in sys.modules.items() if module}
assert not loaded & {"matplotlib", "tqdm", "threadpoolctl"}, loaded
rng, task = np.random.default_rng(0), CopyTask()
model = Transformer(task.vocab_size, N=1, d_model=8, d_ff=8, h=2, rng=rng)
for progress in train(model, task, steps=3, batch_size=4, validation_size=10, rng=rng):
    pass
assert check_gradients(model.encoder, rng.normal(size=(2, 3, 8)))
assert_causal(model)
assert greedy_decode(model, task.test(2)[0], bos=task.bos, eos=task.eos).ndim == 2
print("NumPy", np.__version__, "alone")
"""
BLOCKED = """
import sys
for name in ("matplotlib", "tqdm", "threadpoolctl", "sentencepiece", "sacrebleu"):
    sys.modules[name] = None                                           # importing it is an error
"""


ACCUMULATE = """
for progress in train(model, task, steps=2, batch_size=4, accumulate=2, rng=rng):
    pass
try:
    next(train(model, task, steps=2, batch_size=4, threads=2, rng=rng))
except ImportError as error:
    print(error.name)
"""


def test_shares_need_no_other_package_and_a_number_of_threads_needs_one():
    run = subprocess.run([sys.executable, "-c", BLOCKED + PROGRAM + ACCUMULATE],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[1:] == ["threadpoolctl"]


FLAGS = """
import warnings
import aiayn_np.attention, aiayn_np.cli.main, aiayn_course.lab
for name in ("aiayn_np.attention", "aiayn_course.lab.claims.variance", "__main__"):
    for flag in ("divide by zero", "overflow", "invalid value"):
        for what in ("matmul", "exp"):
            warnings.warn_explicit(f"{flag} encountered in {what}", RuntimeWarning, name, 1, name)
"""


def test_flags_of_the_librarys_own_products_are_no_warnings():
    """Emulated: Apple's BLAS raises the three at products that are right. Others are passed on."""
    run = subprocess.run([sys.executable, "-c", FLAGS], capture_output=True, text=True)
    assert "aiayn_np.attention:1: RuntimeWarning: overflow encountered in exp" in run.stderr
    assert run.stderr.count("encountered in exp") == 9
    assert run.stderr.count("encountered in matmul") == 3
    assert run.stderr.count("__main__:1: RuntimeWarning") == 6
