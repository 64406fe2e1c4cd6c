"""Declare the shape of JSON data, and check data against the declaration.

    object                       any value
    int, float, str              a value of this type; true is no integer, and infinity no number
    None                         null
    {"a", "b"}                   one of these texts
    [shape]                      a list of such values
    {str: shape}                 a dict of such values
    {"a": shape, "b?": shape}    a dict that has a, may have b, and may have more
    (shape, shape)               either
"""

import math
from typing import Any

from ..files import CheckpointError

WORDS: dict[Any, str] = {int: "an integer", float: "a number", str: "a text", None: "null",
                         list: "a list", dict: "a dict"}


def check_shape(name: str, value: Any, shape: Any) -> None:
    """Raise CheckpointError if a value, or a part of it, does not fit the declared shape.

    name : the file and the place of the value in it, for the message
    """
    if isinstance(shape, tuple):
        shape = next((one for one in shape if fits(value, one)), shape[0])
    if not fits(value, shape):
        got = WORDS[type(value)] if isinstance(value, (list, dict)) else repr(value)[:60]
        raise CheckpointError(f"{name} must be {words_of(shape)}, got {got}")
    if isinstance(shape, list):
        for i, part in enumerate(value):
            check_shape(f"{name}[{i}]", part, shape[0])
    if isinstance(shape, dict):
        if str in shape:
            shape = dict.fromkeys(value, shape[str])
        elif missing := [key for key in shape if not key.endswith("?") and key not in value]:
            raise CheckpointError(f"{name} must have {', '.join(missing)}")
        for key, inner in shape.items():
            if (key := key.removesuffix("?")) in value:
                check_shape(f"{name}.{key}", value[key], inner)


def fits(value, shape):
    """Tell whether a value fits a shape; the elements of a list or a dict are not looked at."""
    if isinstance(shape, (list, dict)):
        return isinstance(value, type(shape))
    if isinstance(shape, set):
        return isinstance(value, str) and value in shape
    if shape in (None, object):
        return shape is object or value is None
    if shape is float and isinstance(value, float):
        return math.isfinite(value)
    kinds = (int, float) if shape is float else shape
    return isinstance(value, kinds) and not isinstance(value, bool)


def words_of(shape):
    """Return the name of a shape, such as "a list", without the shapes of its elements."""
    if isinstance(shape, set):
        return f"one of {', '.join(sorted(shape))}"
    return WORDS[type(shape) if isinstance(shape, (list, dict)) else shape]
