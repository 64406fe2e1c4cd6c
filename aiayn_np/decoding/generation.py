"""Text from a language model, one token after another, with kept keys and values.

A language model has no source. Its prompt is computed in one forward, and every later token needs
only the keys and values of the tokens before it (see kv_cache.py).
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..checks import check_ids, check_integers, check_number, check_positions, check_sizes
from ..masking import not_padding
from ..reductions import log_softmax
from ..variants.models import LanguageModel
from .conditions import may_keep
from .kv_cache import GrowingAttention


def generate(model: LanguageModel, ids: np.ndarray, *, steps: int, temperature: float = 1.0,
             top_k: int | None = None, eos: int | Sequence[int] | None = None,
             rng: np.random.Generator | None = None, keep: bool | None = None) -> Iterator[int]:
    """Yield the tokens that a language model writes after a prompt.

    Parameters
    ----------
    model : LanguageModel
    ids : the prompt, (T,) ids, at least one
    steps : the most tokens to write; writing ends earlier after `eos`, or when no position is left
    temperature : logits are divided by it; 0 takes the most probable token
    top_k : draw only from the top_k most probable tokens; None draws from all
    eos : the id that ends a text, or several ids; None if there is none
    rng : the generator that draws; needed for a temperature above 0
    keep : True keeps keys and values, False computes the whole prefix for every token. None keeps
        them if that is right for the layers

    Raises ValueError, TypeError and IndexError for bad arguments.
    """
    ids = check_ids("ids", np.asarray(ids)[None], model.stack.vocab_size, ndim=2)
    check_positions(ids.shape[1], 0, model.stack.max_len)
    check_sizes(steps=steps, **({} if top_k is None else {"top_k": top_k}))
    ends = [] if eos is None else check_ids("eos", np.atleast_1d(eos), model.stack.vocab_size)
    check_number("temperature", temperature, 0, math.inf)
    if temperature and not isinstance(rng, np.random.Generator):
        raise TypeError("rng must be a numpy.random.Generator for a temperature above 0")
    decoder = start_generation(model, keep)
    for _ in range(min(steps, model.stack.max_len - ids.shape[1] + 1)):
        token = chosen(decoder.next_logits(ids)[0], temperature, top_k, rng)
        yield token
        if token in ends:
            return
        ids = np.array([[token]])


def chosen(logits, temperature, top_k, rng):
    """Choose the next token by its logits (V,)."""
    if not temperature:
        return int(logits.argmax())
    logits = logits.astype(float)
    if top_k is not None and top_k < len(logits):
        least = np.partition(logits, -top_k)[-top_k]
        logits = np.where(logits >= least, logits, -math.inf)
    share = np.exp((logits - logits.max()) / temperature)
    return int(rng.choice(len(logits), p=share / share.sum()))


def start_generation(model: LanguageModel, keep: bool | None = None) -> "WholeText":
    """Return a GrowingText or a WholeText for the model; `keep` as in `generate`."""
    return (GrowingText if may_keep(model, keep) else WholeText)(model)


class WholeText:
    """A growing text. Its logits are computed from the whole prefix each time."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.ids = np.empty((1, 0), dtype=int)                         # (B, T)

    def next_logits(self, ids: np.ndarray) -> np.ndarray:
        """Add these tokens (B, n) to the text; return the logits (B, V) after the last one."""
        self.ids = np.concatenate([self.ids, ids], axis=1)
        return self.model(self.ids)[:, -1]


class GrowingText(WholeText):
    """A growing text with kept keys and values. Each call computes only the new positions."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.encoder = copy.copy(model.stack.encoder)
        self.encoder.layers = [copy.copy(layer) for layer in model.stack.encoder.layers]
        for layer in self.encoder.layers:
            layer.self_attention = GrowingAttention(layer.self_attention)

    def next_logits(self, ids: np.ndarray) -> np.ndarray:
        start, stack = self.ids.shape[1], self.model.stack
        self.ids = np.concatenate([self.ids, ids], axis=1)
        T = self.ids.shape[1]
        x, _ = stack.embedding.forward(ids)                            # (B, n, d_model)
        x, _ = stack.positions.forward(x, start=start)
        mask = np.tri(T - start, T, start, dtype=bool)                 # (n, T)
        if self.model.pad is not None:
            mask = mask & not_padding(self.ids, self.model.pad)        # (B, 1, n, T)
        x, _ = self.encoder.forward(x, allowed=None if mask.all() else mask)
        logits, _ = self.model.output_projection.forward(x[:, -1:])    # (B, 1, V)
        return logits[:, 0]


def perplexity(model: LanguageModel, ids: np.ndarray, *, longest: int = 1024,
               watch: Callable = iter) -> tuple[float, int]:
    """Return the perplexity of a text, ids (T,), and the number of its tokens.

    The first token is not counted, because nothing predicts it. A text with more tokens than
    `longest` or than the model has positions is cut into pieces. Each piece begins with the last
    token of the piece before. `watch`, such as tqdm, takes the pieces and yields them.
    """
    ids = check_integers("ids", ids)
    if len(ids) < 2:
        raise ValueError(f"ids must hold at least two tokens, got {len(ids)}")
    nats, window = 0.0, min(model.stack.max_len, longest)
    for begin in watch(range(0, len(ids) - 1, window)):
        given, after = ids[begin : begin + window], ids[begin + 1 : begin + 1 + window]
        logits = model(given[None])[0]                                 # (n, V)
        for row, token in zip(logits, after):
            nats -= float(log_softmax(row.astype(float))[token])
    return math.exp(min(nats / (len(ids) - 1), 700)), len(ids) - 1
