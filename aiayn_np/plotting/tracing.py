"""A trace: a table of all components of a model, in one forward and one backward.

The trace works on a copy of the model. Functions wrap the `forward` and `backward` of each layer in
the copy and note shapes and norms. The layers need no code for it.
"""

import copy
import difflib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..module import Module, leaves
from ..training.loss import LabelSmoothedCrossEntropy

HEADINGS = ("component", "layer", "computes", "input", "output", "parameters", "|output|",
            "|gradient|")
NUMBERS = 5  # the first column of numbers; they are aligned on the right
WIDEST = 52  # characters of a formula in a text table


@dataclass
class Component:
    """One call of one layer.

    activation : the norm of the output
    gradient : the norm of the gradient of the loss with respect to the output
    depth : the number of layers around this layer
    parameters : the number of entries in its parameters; a shared parameter counts once
    """

    path: str
    depth: int
    layer: str
    formula: str
    inputs: tuple
    output: tuple = ()
    parameters: int = 0
    activation: float = float("nan")
    gradient: float = float("nan")

    def cells(self):
        """Return the cells of the component's row in the table, as text."""
        times = Counter(map(str, self.inputs))
        shapes = ", ".join(f"{n} × {shape}" if n > 1 else shape for shape, n in times.items())
        numbers = [f"{x:.4g}" if np.isfinite(x) else "-" for x in (self.activation, self.gradient)]
        formula = " ".join(self.formula.split())
        return [self.path or "(all)", self.layer, formula, shapes, str(self.output),
                f"{self.parameters:,}", *numbers]


class Trace:
    """The components in the order of their forward calls; a layer that is used twice comes twice.

    `print(trace)` shows the outer components, `trace.table(depth)` shows more of them, and
    `trace["decoder.layers.0"]` is the trace of the layers at or below a path.
    """

    def __init__(self, components: list[Component]) -> None:
        self.components = components

    def __getitem__(self, path):
        inside = [c for c in self.components if c.path == path or c.path.startswith(f"{path}.")]
        if not inside:
            near = difflib.get_close_matches(path, [c.path for c in self.components], 1)
            known = near or dict.fromkeys(c.path for c in self.components if c.depth == 1)
            raise KeyError(f"no component {path!r}; {'near to it' if near else 'the outer ones'}:"
                           f" {', '.join(known)}")
        outer = min(c.depth for c in inside)
        return Trace([replace(c, depth=c.depth - outer) for c in inside])

    def table(self, depth: int = 2) -> str:
        """Return the components down to a depth, as aligned text, with long formulas cut."""
        rows = [list(HEADINGS)] + [c.cells() for c in self.components if c.depth <= depth]
        for row in rows:
            row[2] = row[2] if len(row[2]) <= WIDEST else row[2][: WIDEST - 1] + "…"
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
        aligned = [[cell.ljust(width) for cell, width in zip(row[:NUMBERS], widths)]
                   + [cell.rjust(width) for cell, width in zip(row[NUMBERS:], widths[NUMBERS:])]
                   for row in rows]
        return "\n".join("  ".join(row).rstrip() for row in aligned)

    def __repr__(self):
        return self.table()


def trace(model: Any, src: np.ndarray, tgt: np.ndarray, targets: np.ndarray, *,
          loss: Module | None = None) -> Trace:
    """Run one forward and backward on a copy of a model, and list the work of every component.

    Parameters
    ----------
    model : a Transformer, or any Module called with (src, tgt) that has a `pad`
    src, tgt : ids (B, T_src), (B, T_tgt); tgt is None for a model that is called with (src) alone
    targets : ids of the shape of tgt; if tgt is None, of the shape of src
    loss : a layer called with (logits, targets=...); None: LabelSmoothedCrossEntropy()

    Returns a Trace. Neither the model nor its gradients are changed.
    """
    model = copied(model)
    loss = copy.deepcopy(loss) if loss else LabelSmoothedCrossEntropy(pad=model.pad)
    recorder = Recorder()
    recorder.watch(model, "")
    recorder.watch(loss, "loss")
    logits, cache = model.forward(src) if tgt is None else model.forward(src, tgt)
    recorder.depth = 1
    _, loss_cache = loss.forward(logits, targets=targets)
    model.backward(loss.backward(1.0, loss_cache), cache)
    return Trace(recorder.components)


def copied(model):
    """Return a copy with gradients of 0. It shares the parameters' values, which are only read."""
    memo: dict[int, np.ndarray] = {}
    for p in model.parameters():
        memo |= {id(p.value): p.value, id(p.grad): np.zeros(p.grad.shape, p.grad.dtype)}
    return copy.deepcopy(model, memo)


class Recorder:
    """A wrapper of layers that notes a Component for each call."""

    def __init__(self):
        self.components, self.depth, self.noted = [], 0, {}

    def watch(self, model, path):
        """Wrap a layer and every layer inside it."""
        for name, layer in list(leaves(model, Module, path)):
            layer.forward = self.forward_of(layer, name, layer.forward)
            layer.backward = self.backward_of(layer, layer.backward)

    def forward_of(self, layer, path, forward):
        """Return a forward that notes the call and then calls the layer's forward."""

        def noted_forward(*arrays, **options):
            shapes = tuple(np.shape(x) for x in arrays)
            component = Component(path, self.depth, type(layer).__name__, layer.formula, shapes)
            self.components.append(component)
            self.depth += 1
            y, cache = forward(*arrays, **options)
            self.depth -= 1
            component.parameters = sum(p.value.size for p in layer.parameters())
            component.output, component.activation = np.shape(y), norm(y)
            self.noted[id(layer), id(cache)] = component, cache  # keeps the cache, and so its id
            return y, cache

        return noted_forward

    def backward_of(self, layer, backward):
        """Return a backward that notes the gradient in the Component of its forward."""

        def noted_backward(grad_y, cache):
            self.noted[id(layer), id(cache)][0].gradient = norm(grad_y)
            return backward(grad_y, cache)

        return noted_backward


def norm(array):
    """Return the norm of the finite numbers. Masked scores are not finite."""
    array = np.asarray(array, dtype=np.float64)
    return float(np.linalg.norm(array[np.isfinite(array)]))
