"""Decide whether decoding may keep keys and values: only known attentions may mix positions."""

from typing import Any

from ..checks import is_layer
from ..module import children, leaves

SOURCE = ("src_embedding", "encoder")  # the parts of a Transformer that decoding runs once


def may_keep(model: Any, keep: bool | None) -> bool:
    """Tell whether decoding keeps keys and values: as `keep` says; for None, if it is right.

    Raises ValueError if keep=True would be wrong, and TypeError for a `keep` of another type.
    """
    if keep is not None and not isinstance(keep, bool):
        raise TypeError(f"keep must be None, True or False, got keep={keep!r}")
    if keep is False:
        return False
    unknown = not_position_wise(model)
    if keep and unknown:
        raise ValueError("keep=True needs layers that say position_wise = True in their class, and"
                         f" no forward that was assigned on one, got {', '.join(unknown)}")
    return not unknown


def not_position_wise(model: Any) -> list[str]:
    """Return the names of classes whose layers may mix or count positions; [] for none.

    A class whose layers do neither has `position_wise = True` in its own body. A class whose keys
    decoding can keep has a tuple `kept_at` there: the endings of the paths for which it can. A
    subclass inherits neither attribute. A `forward` that was assigned on a layer counts as unknown.
    Replaced methods of classes are not noticed.
    """
    side = {name: part for name, part in children(model) if name not in SOURCE}
    layers = [("", model), *((p, layer) for p, layer in leaves(side, object) if is_layer(layer))]
    return list(dict.fromkeys(type(layer).__name__ for path, layer in layers
                              if not known(path, layer)))


def known(path, layer):
    """Tell whether the KV cache may run a layer on one position at a time."""
    if "forward" in getattr(layer, "__dict__", ()):
        return False
    own = vars(type(layer))
    if "kept_at" in own:
        return path.endswith(own["kept_at"])
    if path.endswith("positions") and not hasattr(layer, "table"):     # it cannot start later
        return False
    return own.get("position_wise", False)
