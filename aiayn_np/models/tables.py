"""Tables {their name: (our path, form)}: how another library's tensors become Parameters.

A form turns the tensor into the values of the Parameters, and back.

A `*` in a name and its path is the number of a layer. The path is a tuple of paths if one tensor
becomes several Parameters. An entry is skipped if the model lacks its Parameters, such as a bias.
If two entries lead to one Parameter, the model uses one matrix twice, and one of the two tensors
is enough.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..module import Module, Parameter, leaves


@dataclass
class Form:
    """Two functions that are inverse to each other.

    ours : turns a tensor into a list of values, one for each Parameter
    theirs : turns such a list into the tensor
    gradient : turns a list of gradients into the gradient of the tensor. It is needed if our model
        uses a number twice; otherwise `theirs` does this
    """

    ours: Callable[[Any], list]
    theirs: Callable[[list], Any]
    gradient: Callable[[list], Any] | None = None


def with_start(start: int, pad: int) -> Form:
    """Make the Form of an E with one more row, a copy of the row of the start token.

    PyTorch's embedding gives the row of padding no gradient. So if decoding starts with padding,
    the gradient of the additional row is left out.
    """
    def gradient(gradients):
        rows = gradients[0][:-1].copy()
        if start != pad:
            rows[start] += gradients[0][-1]
        return rows

    return Form(lambda tensor: [np.concatenate([tensor, tensor[start, None]])],
                lambda values: values[0][:-1], gradient)


SAME = Form(lambda tensor: [tensor], lambda values: values[0])
# PyTorch's Linear computes x W^T, ours x W
TRANSPOSED = Form(lambda tensor: [tensor.T], lambda values: values[0].T)
# GPT-2 has W^Q, W^K and W^V (or their biases) side by side in one array
SIDE_BY_SIDE = Form(lambda tensor: [part.copy() for part in np.split(tensor, 3, axis=-1)],
                    lambda values: np.concatenate(values, axis=-1))
# torch.nn.MultiheadAttention has the three one below another, each transposed
BELOW = Form(lambda tensor: [part.T.copy() for part in np.split(tensor, 3)],
             lambda values: np.concatenate([value.T for value in values]))
# a bias (V,), stored as (1, V); the start token is never written, so its bias is -inf
ROW = Form(lambda tensor: [np.append(tensor[0], np.asarray(-np.inf, tensor.dtype))],
           lambda values: values[0][None, :-1])
# E with one more row for the start token, whose logit is -inf for any values of the row
STACKED = Form(lambda tensor: [np.concatenate([tensor, np.zeros_like(tensor[:1])])],
               lambda values: values[0][:-1])

Table = dict[str, tuple[Any, Form]]


@dataclass
class Link:
    """A tensor of the file, and the Parameters that it becomes.

    names : the possible names of the tensor, the usual one first
    """

    names: list[str]
    parameters: list[Parameter]
    form: Form

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the tensor."""
        return self.form.theirs([np.empty(p.value.shape, bool) for p in self.parameters]).shape

    def tensor(self) -> np.ndarray:
        """Return the tensor with the current values of the Parameters."""
        return self.form.theirs([p.value for p in self.parameters])

    def gradient(self) -> np.ndarray:
        """Return the gradient of the tensor, made from the gradients of its Parameters."""
        return (self.form.gradient or self.form.theirs)([p.grad for p in self.parameters])

    def fill(self, tensor: np.ndarray) -> None:
        """Give the Parameters the values of a tensor."""
        for parameter, value in zip(self.parameters, self.form.ours(tensor), strict=True):
            parameter.value = value


def linear(theirs: str, ours: str, form: Form = TRANSPOSED) -> Table:
    """Return the table entries of an affine map; PyTorch computes x W^T + b, our layer x W + b."""
    return {f"{theirs}.weight": (f"{ours}.W", form), f"{theirs}.bias": (f"{ours}.b", SAME)}


def norm(theirs: str, ours: str) -> Table:
    """Return the table entries of a layer norm or an RMS norm."""
    return {f"{theirs}.weight": (f"{ours}.gamma", SAME), f"{theirs}.bias": (f"{ours}.beta", SAME)}


def links(model: Module, table: Table) -> list[Link]:
    """Return the Links of all Parameters of a model."""
    known = dict(leaves(model, Parameter))
    found: dict[tuple, Link] = {}
    for name, parameters, form in entries(table, known):
        key = tuple(map(id, parameters))
        found.setdefault(key, Link([], parameters, form)).names.append(name)
    linked = {number for key in found for number in key}
    assert not (missing := [path for path, p in known.items() if id(p) not in linked]), missing
    return list(found.values())


def entries(table: Table, known: dict[str, Parameter]) -> Iterator[tuple[str, list, Form]]:
    """Yield (name, Parameters, form) for each entry of a table; a * stands for every layer."""
    for name, (path, form) in table.items():
        paths = (path,) if isinstance(path, str) else path
        for i in itertools.count() if "*" in name else [0]:
            found = [known.get(each.replace("*", str(i))) for each in paths]
            if None in found:
                break
            yield name.replace("*", str(i)), found, form


def check_room(shapes: Mapping[str, tuple], N: int, V: int, d_model: int, d_ff: int) -> None:
    """Raise ValueError if the tensors {name: shape} are too small for the model of a config.

    This check comes before the model is built, because a config may contain any size.
    """
    if len(shapes) < N or sum(map(math.prod, shapes.values())) < (V + d_ff) * d_model:
        raise ValueError(f"its tensors must have room for {N} layers, {V} ids, d_model={d_model}"
                         f" and d_ff={d_ff}")


def load(model: Module, table: Table, shapes: Mapping[str, tuple],
         read: Callable[[str], np.ndarray], dtype: Any) -> list[Link]:
    """Fill a model with tensors, the largest first, and its gradients with zeros.

    shapes : {name: shape} of all tensors in the file;  dtype : the dtype of the tensors
    read : returns the tensor with a name

    Returns the Links. Raises KeyError for a missing or unknown tensor. Raises ValueError for a
    tensor of another shape, and for two tensors of one matrix that differ.
    """
    wanted = links(model, table)
    check_tensors(wanted, shapes)
    parameters = [parameter for link in wanted for parameter in link.parameters]
    zeros = [np.zeros(p.value.shape, dtype) for p in parameters]  # np.zeros takes memory only when
    for parameter, grad in zip(parameters, zeros):                # a page is written to
        parameter.grad = grad
    for link in sorted(wanted, key=lambda link: -math.prod(link.shape)):
        link.fill(one_of([name for name in link.names if name in shapes], read))
    return wanted


def one_of(names: list[str], read: Callable[[str], np.ndarray]) -> np.ndarray:
    """Read the first of several tensors that must be equal."""
    tensor = read(names[0])
    for other in names[1:]:
        if not np.array_equal(read(other), tensor):
            raise ValueError(f"{names[0]} and {other} must be equal, since the model has one matrix"
                             " for both")
    return tensor


def check_tensors(wanted: Iterable[Link], shapes: Mapping[str, tuple]) -> None:
    """Check that all tensors exist with the right shapes, and that there are no others."""
    known = set()
    for link in wanted:
        here = [name for name in link.names if name in shapes]
        if not here:
            raise KeyError(f"every tensor must be there, missing {link.names[0]}")
        for name in here:
            if tuple(shapes[name]) != link.shape:
                raise ValueError(f"{name} must have shape {link.shape}, got {tuple(shapes[name])}")
        known |= set(here)
    if unknown := [name for name in shapes if name not in known]:
        raise KeyError(f"there must be no other tensor, got unknown {', '.join(unknown)[:200]}")


def state_of(wanted: Iterable[Link]) -> dict[str, np.ndarray]:
    """Return {name in the file: tensor} with the current values of a model."""
    return {link.names[0]: link.tensor() for link in wanted}
