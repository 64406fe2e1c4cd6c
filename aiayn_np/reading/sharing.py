"""The share that each token, each head and each cell of a map has in a logit."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_ids, check_integers
from ..module import Module
from ..multi_head import MultiHeadAttention
from ..transformer import Transformer
from ..variants.masked import MaskedLanguageModel
from ..variants.models import LanguageModel
from .freezing import edited, frozen
from .recording import Recording


class ByHead(NamedTuple):
    """The way into the position of the word: residual + all heads + biases = the same value.

    residual : what the token there gives without attention, through sums and feed-forward networks
    heads : {path: (h,)}, what each head brings to this position, from wherever it has it
    cells : {path of a map: (h, T_q, T_k)}, the same by the position that the head looks at
    biases : what the biases at this position give after that
    """
    residual: float
    heads: dict[str, np.ndarray]
    cells: dict[str, np.ndarray]
    biases: float


@dataclass(frozen=True)
class Shares:
    """What a logit is made of: source.sum() + target.sum() + biases = value.

    source (T_src,) or None, target (T_tgt,) : the share of each token with its position
    value : the logit of `token`, less that of `against` or the mean over the vocabulary
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
    gradients: dict[str, np.ndarray] = field(repr=False)

    @cached_property
    def cells(self) -> dict[str, np.ndarray]:
        """{path of a map: (h, T_q, T_k)}: each weight times what its value gives to this word.

        The cells of a head add up to what the head's output gives, on every way that leads on.
        """
        return cells(self.recording, self.gradients)

    @cached_property
    def by_head(self) -> ByHead:
        """The shares by head and layer; another backward, in which no later attention is passed."""
        def stop(_, node):
            is_attention = hasattr(node, "kept") and hasattr(node, "V")
            return {"kept": np.zeros_like(node.kept)} if is_attention else {}
        last = edited(frozen(self.recording.cache), stop)
        gradients, biases = self.recording.backward(self.grad_logits, last)
        place = places(self.recording.model)[1]
        heads = {path: outputs_share(self.recording, gradients, f"{path}.attention").sum(axis=-1)
                 for path in attentions(self.recording)}
        return ByHead(float(outputs_share(self.recording, gradients, place).sum()), heads,
                      cells(self.recording, gradients), biases)


def shares(model: Module, src: Any, tgt: Any, *, token: int | None = None,
           against: int | None = None, position: int | None = None) -> Shares:
    """Return what the logit of a token is made of, with norms, attention weights and gates held.

    model : a Transformer, a LanguageModel (src=None) or a MaskedLanguageModel (src=None)
    src, tgt : ids (T_src,) and (T_tgt,)
    token : the id whose logit is explained; the best one for None
    against : the id to compare with ("why this and not that"); None is the mean over all that can
        be written
    position : which position of tgt writes the token; the last for None. A MaskedLanguageModel
        needs it.

    Nothing of the model is changed. Raises ValueError, TypeError or IndexError for what does not
    fit, and ValueError for a layer that cannot be frozen.
    """
    source_place, target_place = places(model)
    ids = inputs_of(model, src, tgt)
    position = position_of(model, ids[-1], position)
    recording = Recording(model, *ids)
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
    source = None
    if source_place is not None:
        source = outputs_share(recording, gradients, source_place)
    target = outputs_share(recording, gradients, target_place)
    value = float(weights[weights != 0] @ logits[weights != 0])
    result = Shares(source, target, biases, value, token, against, position, recording, grad_logits,
                    gradients)
    check_sum(result)
    return result


def places(model):
    """The paths of the sums of embedding and position, of the source (or None) and the target."""
    for kind, found in ((Transformer, ("src_positions", "tgt_positions")),
                        (LanguageModel, (None, "stack.positions")),
                        (MaskedLanguageModel, (None, "segments"))):
        if isinstance(model, kind):
            return found
    raise TypeError("model must be a Transformer, a LanguageModel or a MaskedLanguageModel, got"
                    f" {type(model).__name__}")


def inputs_of(model, src, tgt):
    """The inputs of the model for one sequence, as batches of one."""
    if places(model)[0] is not None:
        return [row("src", src), row("tgt", tgt)]
    if src is not None:
        raise ValueError(f"src must be None for a {type(model).__name__}")
    return [row("tgt", tgt)]


def position_of(model, tgt, position):
    """The position of tgt (1, T) that writes the token; the last for None."""
    if position is None and isinstance(model, MaskedLanguageModel):
        raise ValueError("position must be that of the masked token")
    T = tgt.shape[1]
    return T - 1 if position is None else int(check_ids("position", position, T, ndim=0))


def row(name, ids):
    """One sequence of ids as a batch (1, T)."""
    ids = check_integers(name, ids)
    if ids.ndim != 1 or not len(ids):
        raise ValueError(f"{name} must be ids (T,) of at least one token, got shape {ids.shape}")
    return ids[None]


def written(name, token, logits):
    """An id that has a finite logit."""
    token = int(check_ids(name, token, len(logits), ndim=0))
    if not np.isfinite(logits[token]):
        raise ValueError(f"{name} must be an id that can be written, the logit of {token} is"
                         f" {logits[token]}")
    return token


def outputs_share(recording, gradients, path):
    """What each row of a layer's output (1, ..., d) gives: its product with its gradient, (...)."""
    return (recording.outputs[path] * gradients[path]).sum(axis=-1)[0]


def attentions(recording):
    """The paths of the multi-head attentions."""
    return [path for path, x in recording.layers.items() if isinstance(x, MultiHeadAttention)]


def cells(recording, gradients):
    """{path of a map: weight times the product of value and gradient, (h, T_q, T_k)}."""
    found = {}
    for path in attentions(recording):
        cache = recording.caches[f"{path}.attention"]
        if hasattr(cache, "weights"):
            given = gradients[f"{path}.attention"] @ cache.V.mT        # (1, h, T_q, T_k)
            found[f"{path}.attention.weights"] = (cache.kept * given)[0]
    return found


def check_sum(result):
    """Refuse shares that do not add up: some layer is not linear though its cache is frozen."""
    sides = [result.target] if result.source is None else [result.source, result.target]
    parts = np.append(np.concatenate(sides), result.biases)
    gap = abs(parts.sum() - result.value)
    if not gap <= np.sqrt(np.finfo(result.target.dtype).eps) * (1 + abs(parts).sum()):
        raise ValueError("every layer must be linear when its cache is frozen; the shares of this"
                         f" model miss the logit {result.value:.4g} by {gap:.2g}")
