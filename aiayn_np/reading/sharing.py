"""Split a logit into the shares of each token, each head and each cell of an attention map."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_ids, check_integers
from ..module import Cache, Module, leaves
from ..transformer import Transformer
from ..variants.masked import MaskedLanguageModel
from ..variants.models import LanguageModel
from .freezing import edited, frozen
from .recording import Noted, Recording

NOTED = ("positions", "segments", "attention")  # the layers whose outputs have shares


class ByHead(NamedTuple):
    """The parts at the position of the word: residual + all heads + biases = Shares.value.

    residual : the share of the token at this position, through residual sums and feed-forward only
    heads : {path: (h,)}, the share that each head adds to this position, from all positions
    cells : {path of a map: (h, T_q, T_k)}, the shares of the heads, split by the attended position
    biases : the share of the biases at this position, without biases inside the heads
    """
    residual: float
    heads: dict[str, np.ndarray]
    cells: dict[str, np.ndarray]
    biases: float


@dataclass(frozen=True)
class Shares:
    """The parts of a logit: source.sum() + target.sum() + biases = value.

    source (T_src,) or None, target (T_tgt,) : the share of each token with its position
    value : the logit of `token`, minus the logit of `against` or the mean over the vocabulary
    """
    source: Any
    target: np.ndarray
    biases: float
    value: float
    token: int
    against: int | None
    position: int
    recording: Recording = field(repr=False)
    grad_logits: np.ndarray = field(repr=False)
    gradients: Noted = field(repr=False)

    @cached_property
    def cells(self) -> dict[str, np.ndarray]:
        """Return {path of a map: (h, T_q, T_k)}: each weight times the share of its value.

        The cells of a head add up to the share of its output, over all paths to the logit.
        """
        return cells(self.recording, self.gradients)

    @cached_property
    def by_head(self) -> ByHead:
        """Return the shares by head and layer, from a backward that stops at each attention."""
        def stop(_, node):
            return {"kept": np.zeros_like(node.kept)} if is_attention(node) else {}
        last = edited(frozen(self.recording.cache), stop)
        gradients, biases = self.recording.backward(self.grad_logits, last)
        place = paths_of(self.recording.model)[1]
        by_cell = cells(self.recording, gradients)
        heads = {path.removesuffix(".attention.weights"): cell.sum(axis=(1, 2))
                 for path, cell in by_cell.items()}
        return ByHead(float(outputs_share(self.recording, gradients, place).sum()), heads,
                      by_cell, biases)


def shares(model: Module, src: Any, tgt: Any, *, token: int | None = None,
           against: int | None = None, position: int | None = None) -> Shares:
    """Split the logit of a token into the shares of the input's tokens and of the biases.

    The scales of norms, the attention weights and the gates are held fixed.

    model : a Transformer, a LanguageModel (src=None) or a MaskedLanguageModel (src=None)
    src, tgt : ids (T_src,) and (T_tgt,)
    token : the id whose logit is split; None: the most probable one
    against : the id to compare with ("why this and not that"); None: the mean over all ids with a
        finite logit
    position : the position of tgt that predicts the token; None: the last one. A
        MaskedLanguageModel needs a position.

    The model is not changed. Raises ValueError, TypeError or IndexError for inputs that do not fit
    the model, and ValueError for a layer that cannot be frozen.
    """
    ids = inputs_of(model, src, tgt)
    position = position_of(model, ids[-1], position)
    recording = Recording(model, *ids, noted=NOTED)
    logits = recording.logits[0, position]
    token = int(logits.argmax()) if token is None else written("token", token, logits)
    weights = np.zeros_like(logits)
    weights[token] = 1
    if against is None:
        weights[np.isfinite(logits)] -= 1 / np.isfinite(logits).sum()
    else:
        weights[written("against", against, logits)] -= 1
    grad_logits = np.zeros_like(recording.logits)
    grad_logits[0, position] = weights
    gradients, biases = recording.backward(grad_logits, frozen(recording.cache))
    source, target = (path and outputs_share(recording, gradients, path)
                      for path in paths_of(model)[:2])
    value = float(weights[weights != 0] @ logits[weights != 0])
    result = Shares(source, target, biases, value, token, against, position, recording, grad_logits,
                    gradients)
    check_sum(result)
    return result


def paths_of(model):
    """Return the paths of the embedded source (or None) and target, the last stack and its head."""
    for kind, found in (
            (Transformer, ("src_positions", "tgt_positions", "decoder", "output_projection")),
            (LanguageModel, (None, "stack.positions", "stack.encoder", "output_projection")),
            (MaskedLanguageModel, (None, "segments", "encoder", "head"))):
        if isinstance(model, kind):
            return found
    raise TypeError("model must be a Transformer, a LanguageModel or a MaskedLanguageModel, got"
                    f" {type(model).__name__}")


def inputs_of(model, src, tgt):
    """Return the inputs of the model for one sequence, as batches of one sequence."""
    if paths_of(model)[0] is not None:
        return [row("src", src), row("tgt", tgt)]
    if src is not None:
        raise ValueError(f"src must be None for a {type(model).__name__}")
    return [row("tgt", tgt)]


def position_of(model, tgt, position):
    """Return the position of tgt (1, T) that predicts the token; for None, the last one."""
    if position is None and isinstance(model, MaskedLanguageModel):
        raise ValueError("position must be that of the masked token")
    T = tgt.shape[1]
    return T - 1 if position is None else int(check_ids("position", position, T, ndim=0))


def row(name, ids):
    """Return one sequence of ids as a batch (1, T)."""
    ids = check_integers(name, ids)
    if ids.ndim != 1 or not len(ids):
        raise ValueError(f"{name} must be ids (T,) of at least one token, got shape {ids.shape}")
    return ids[None]


def written(name, token, logits):
    """Return an id as an int; raise an error unless its logit is finite."""
    token = int(check_ids(name, token, len(logits), ndim=0))
    if not np.isfinite(logits[token]):
        raise ValueError(f"{name} must be an id that can be written, the logit of {token} is"
                         f" {logits[token]}")
    return token


def outputs_share(recording, gradients, path):
    """Return (...): the product of each row of a layer's output (1, ..., d) with its gradient."""
    return (recording.outputs[path] * gradients[path]).sum(axis=-1)[0]


def is_attention(part):
    """Return whether a part of a cache belongs to an attention with a map."""
    return hasattr(part, "kept") and hasattr(part, "V")


def cells(recording, gradients):
    """Return {path of a map: weight times the product of value and gradient, (h, T_q, T_k)}."""
    return {f"{path}.weights": (c.kept * (gradients[path] @ c.V.mT))[0]
            for path, c in leaves(recording.cache, Cache) if is_attention(c)}


def check_sum(result):
    """Refuse shares that do not add up: a layer is not linear although its cache is frozen."""
    sides = [result.target] if result.source is None else [result.source, result.target]
    parts = np.append(np.concatenate(sides), result.biases)
    gap = abs(parts.sum() - result.value)
    if not gap <= np.sqrt(np.finfo(result.target.dtype).eps) * (1 + abs(parts).sum()):
        raise ValueError("every layer must be linear when its cache is frozen; the shares of this"
                         f" model miss the logit {result.value:.4g} by {gap:.2g}")
