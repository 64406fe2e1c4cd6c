"""Layers that are wrong and look right: a bug of the zoo in classes of their own.

`Bug.plant` makes the whole package wrong for a while. Here the package stays as it is: each layer
of one model gets a subclass that has the name, the documentation and the methods of its class, and
one of them is wrong. All layers get one, so that no type says where the bug is. The methods are
copies without a source file. Who takes them apart finds the bug; who only looks does not.
"""

import inspect
from types import FunctionType, ModuleType

from ...module import Module, leaves

HIDDEN = "<hidden>"  # in the place of a source file
IN_TRACEBACKS = "co_name", "co_qualname", "co_firstlineno"  # co_qualname from Python 3.11 on


def disguised(function, right, names=None):
    """A copy of a function that says of itself what `right` would say.

    Parameters
    ----------
    function : the function to copy; it may be `right`
    right : the function that it seems to be
    names : {name: object} to be used in the place of globals of that name, in the copy only
    """
    scope = {**function.__globals__, **names} if names else function.__globals__
    facts = {n: getattr(right.__code__, n) for n in IN_TRACEBACKS if hasattr(right.__code__, n)}
    code = function.__code__.replace(co_filename=HIDDEN, **facts)
    copy = FunctionType(code, scope, right.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__qualname__ = right.__module__, right.__qualname__
    copy.__doc__ = right.__doc__
    vars(copy)["__signature__"] = inspect.signature(right)
    return copy


def wrong_functions(bug):
    """{name: a copy of the wrong one} if the bug is in functions of a module, otherwise {}."""
    if bug is None or not isinstance(bug.layer, ModuleType):
        return {}
    return {n: disguised(wrong, vars(bug.layer)[n]) for n, wrong in bug.methods.items()}


def look_alike(right, bug):
    """A subclass of the class `right` that looks like it, with the bug if it belongs there."""
    wrong = bug.methods if bug is not None and bug.layer is right else {}
    names = wrong_functions(bug)
    members = {
        name: disguised(wrong.get(name, method), method, names)
        for name, method in vars(right).items() if inspect.isfunction(method)
    }
    same = {name: vars(right)[name] for name in ("__doc__", "__module__")}
    return type(right.__name__, (right,), members | same | {"__qualname__": right.__qualname__})


def disguise(model, bug):
    """Give every layer of a model its look-alike class, one for each class, and return the model.

    Parameters
    ----------
    model : a Module that nobody else uses      bug : a Bug of the zoo, or None for no bug
    """
    classes: dict[type, type] = {}
    for _, layer in list(leaves(model, Module)):
        right = type(layer)
        if right not in classes:
            classes[right] = look_alike(right, bug)
        layer.__class__ = classes[right]
    return model
