"""Whether a model is, to its last part, the model that a description says."""

from typing import Any

import numpy as np

from ..checks import one_line
from ..module import Module, Parameter, children


def check_same(part: Any, built: Any, path: str, seen: dict | None = None) -> None:
    """Refuse a part of a model that is not as in the model that was built: ValueError names it.

    Both must have the same classes, with the methods that their classes define, the same
    attributes, and Parameters of the same shapes, which are shared at the same places.
    seen : {id of a Parameter: (its twin in the other model, the path of its first place)}
    """
    seen = {} if seen is None else seen
    if not isinstance(built, (Module, Parameter, list)):
        if not np.array_equal(part, built):
            refuse(path, repr(built), repr(part))
        return
    if type(part) is not type(built):
        refuse(path, f"of the class {type(built).__name__}", type(part).__name__)
    if isinstance(built, Parameter):
        check_parameter(part, built, path, seen)
        return
    if isinstance(part, Module) and "forward" in vars(part):
        refuse(f"{path}.forward", "the method that its class defines", "a replaced one")
    mine, wanted = dict(children(part)), dict(children(built))
    for name in mine.keys() ^ wanted.keys():
        refuse(f"{path}.{name}", *(("missing", "one") if name in mine else ("there", "none")))
    for name, child in wanted.items():
        check_same(mine[name], child, f"{path}.{name}", seen)


def check_parameter(part, built, path, seen):
    """Refuse a Parameter of another shape, or one that is shared where the other is not."""
    twin, place = seen.setdefault(id(built), (part, path))
    if twin is not part:
        refuse(path, f"the Parameter at {place}", "another one")
    twin, place = seen.setdefault(id(part), (built, path))
    if twin is not built:
        refuse(path, "a Parameter of its own", f"the one at {place}")
    if part.value.shape != built.value.shape:
        refuse(path, f"of shape {built.value.shape}", part.value.shape)


def refuse(path, must, got):
    """Raise the ValueError for a part."""
    raise ValueError(f"{path} must be {must}, because torch.nn.Transformer has no other,"
                     f" got {one_line(got)}"[:300])
