"""The registry of the checks that catch every bug of the zoo, and their common helpers.

A check returns, or raises CheckFailed with the reason. These are ordinary checks; none is made for
a single bug. They follow four rules. Gradients of outputs are random and signed. gamma, beta and
biases are random. Batches have more than one sequence. No two sizes are equal, unless equal sizes
are needed. The checks are in gradients.py and values.py.
"""

from collections.abc import Callable

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.multi_head import MultiHeadAttention
from aiayn_np.proofs.gradient_check import Proof
from aiayn_np.proofs.probing import randomise
from aiayn_np.proofs.report import ALL
from aiayn_np.proofs.slopes import COMPLEX_TOLERANCE
from aiayn_np.transformer import Transformer
from aiayn_np.variants.models import llama

SEED = 1706
B, T_SRC, T_TGT, D_MODEL, D_FF, H, D_K, D_V, VOCAB = 2, 5, 4, 6, 7, 2, 3, 8, 9
SRC = np.array([[3, 4, 5, 4, 2], [6, 3, 2, 0, 0]])  # padded with 0; ids occur more than once
TGT = np.array([[1, 4, 8, 4], [1, 3, 0, 0]])
TARGETS = np.array([[4, 8, 4, 2], [3, 2, 0, 0]])
HEADS = dict(d_k=D_K, d_v=D_V)

CHECKS: dict[str, Callable[[], None]] = {}  # by name, in the order in which they run


class CheckFailed(AssertionError):
    """The error of a failed check; the message says what is wrong."""


def check(name):
    """Put the decorated function into CHECKS."""
    def register(function):
        CHECKS[name] = function
        return function
    return register


def must_equal(what, got, want, tolerance=1e-12):
    """Raise CheckFailed unless `got` equals `want`, relative to the largest entry or 1."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise CheckFailed(f"{what}: shape {got.shape}, must be {want.shape}")
    error = np.abs(got - want)
    if not np.all(error <= tolerance * max(np.abs(want).max(initial=1), 1)):
        at = np.unravel_index(np.argmax(error), error.shape)
        place = f" at {[int(i) for i in at]}" if at else ""
        numbers = f"{got[at]:.6g}, must be {want[at]:.6g}, error {error[at]:.0e}"
        raise CheckFailed(f"{what}{place}: {numbers}")


def prove(layer, *inputs, **options):
    """Check the gradients of all tensors together; if one is wrong, name it."""
    proof = Proof(layer, inputs, options, SEED)
    gradients, problems = proof.gradients()
    if problems:
        more = f", and {len(problems) - 1} more" if problems[1:] else ""
        raise CheckFailed(f"{problems[0].tensor}: {problems[0].verdict}{more}")
    directions = proof.directions()
    if proof.row(ALL, gradients, directions).ok:
        return
    sides = {n: (float(np.sum(gradients[n] * v)), proof.complex_step({n: v}))
             for n, v in directions.items()}
    wrong = [n for n, (a, b) in sides.items() if abs(a - b) > COMPLEX_TOLERANCE * max(abs(b), 1)]
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    raise CheckFailed(f"wrong: {', '.join(wrong[:3])}{more}")


def fresh():
    """Return a new generator, always with the same seed."""
    return np.random.default_rng(SEED)


def small_model(rng, P_drop=0.3, **options):
    """Return a whole model with random biases, and with dropout on the attention weights too."""
    def attention(h, d_k, d_v, rng):
        return ScaledDotProductAttention(P_drop)
    sizes = dict(N=2, d_model=D_MODEL, d_ff=D_FF, h=H, max_len=9, attention=attention, **HEADS)
    return randomise(Transformer(VOCAB, P_drop=P_drop, rng=rng, **sizes), rng)


def small_llama(rng):
    """Return a language model of later parts: four heads of queries share two heads of keys."""
    return randomise(llama(VOCAB, N=2, d_model=8, d_ff=D_FF, h=4, h_kv=2, d_k=6, max_len=9,
                           bias=True, base=100.0, rng=rng), rng)


def attention_inputs(rng):
    """Return Q, K, V and a mask that forbids one query all keys."""
    Q, K, V = (rng.standard_normal(s) for s in ((B, H, T_TGT, D_K), (B, H, T_SRC, D_K),
                                                (B, H, T_SRC, D_V)))
    allowed = rng.random((B, 1, T_TGT, T_SRC)) < 0.7
    allowed[0, 0, 1] = False
    return Q, K, V, allowed


def multi_head_inputs(rng):
    """Return a layer with biases, three inputs with two lengths, and a mask."""
    layer = randomise(MultiHeadAttention(D_MODEL, H, **HEADS, bias=True, rng=rng), rng)
    arrays = [rng.standard_normal((B, T, D_MODEL)) for T in (T_TGT, T_SRC, T_SRC)]
    return layer, arrays, rng.random((B, 1, T_TGT, T_SRC)) < 0.7
