"""Measure the variants: `attention` (memory and time of attention for long sequences) or `train`
(steps and seconds to solve the copy task, for each variant and several seeds).

    python benchmarks/variants.py attention
    python benchmarks/variants.py train --seeds 200 201 202 203 204

Times depend on the machine; look at the ratios and exponents.
"""

import argparse
import contextlib
import io
import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from aiayn_np import ScaledDotProductAttention
from aiayn_np.cli.main import main as command_line
from aiayn_np.experiments.measuring import exponent, peak_bytes, seconds
from aiayn_np.variants.choices import CHOICES
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention


def inputs(n, d_k=64, h=1):
    """Q, K, V and a gradient, (1, h, n, d_k) in float32."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, h, n, d_k), dtype=np.float32) for _ in range(4)]


def step(layer, Q, K, V, grad):
    """One forward and backward."""
    _, cache = layer.forward(Q, K, V)
    layer.backward(grad, cache)


def peak_megabytes(layer, n):
    """The most megabytes that forward and backward allocate, beyond their inputs."""
    arrays = inputs(n)
    return peak_bytes(lambda: step(layer, *arrays)) / 1e6


def median_seconds(layers, n):
    """Median seconds of each layer's step, in turns."""
    arrays = inputs(n)
    return np.median(seconds([partial(step, layer, *arrays) for layer in layers]), axis=1)


def measure_attention():
    plain, efficient, local = (
        ScaledDotProductAttention(), MemoryEfficientAttention(), LocalAttention(32)
    )
    print("peak megabytes of forward and backward, h = 1, d_k = 64, float32")
    for n in (2048, 8192):
        figures = [f"{peak_megabytes(layer, n):8.1f}" for layer in (plain, efficient, local)]
        print(f"  n = {n}: plain {figures[0]}, memory-efficient {figures[1]}, local {figures[2]}")
    a, b = median_seconds((plain, efficient), 2048)
    print(f"time at n = 2048: memory-efficient / plain = {b / a:.2f}")
    lengths = [1024, 2048, 4096, 8192]
    times = [median_seconds([local], n)[0] for n in lengths]
    b = exponent(lengths, times)
    print(f"time of local attention, radius 32, n = 1024 to 8192: grows as n^{b:.2f}")


def measure_training(seeds):
    print("| variant | steps, sorted | seconds | test sequences exact, at least |")
    print("|---|---|---|---|")
    variants = [[]] + [
        [f"--{option}", name] for option, names in CHOICES.items() for name in list(names)[1:]
    ]
    for variant in variants:
        runs = [train(variant, seed) for seed in seeds]
        steps, times, exact = zip(*[(r["steps"], r["seconds"], r["exact_match"]) for r in runs])
        print(f"| `{' '.join(variant) or 'the paper'}` | {', '.join(map(str, sorted(steps)))}"
              f" | {min(times):.0f} to {max(times):.0f} | {100 * min(exact):.2f} % |",
              flush=True)


def train(variant, seed):
    """metrics.json of one training of the copy task."""
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            command_line(["train", "copy", *variant, "--seed", str(seed), "--out", folder])
        return json.loads((Path(folder) / "metrics.json").read_text())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["attention", "train"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[200, 201, 202, 203, 204])
    args = parser.parse_args()
    if args.what == "attention":
        measure_attention()
    else:
        measure_training(args.seeds)
