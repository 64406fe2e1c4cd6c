"""Make parts of a model compute with a bug of the zoo; the package stays right.

The class of each layer is replaced by a subclass of the same name. A method of the subclass plants
the bug, calls the method of the right class, and removes the bug. All layers get subclasses, so
the type of a layer does not show the bug's place.
"""

import contextlib
import functools
import inspect

from aiayn_np.module import Module, leaves

PLANTED: set[int] = set()  # numbers of the bugs that are planted now


@contextlib.contextmanager
def plant(bug):
    """Plant a bug in a `with` block. It is planted only once when layers call layers."""
    if bug is None or bug.number in PLANTED:
        yield
        return
    PLANTED.add(bug.number)
    try:
        with bug.plant():
            yield
    finally:
        PLANTED.remove(bug.number)


def spoiled(place, name, bug):
    """Wrap a function of a class or module: the wrapper plants the bug and calls the function.

    The wrapper shows the documentation, the signature and the source of the right function.
    """
    @functools.wraps(getattr(place, name))
    def method(*arguments, **options):
        with plant(bug):
            return getattr(place, name)(*arguments, **options)
    return method


def spoiled_class(right, bug):
    """Return a subclass that looks like the class `right` and computes with the bug."""
    methods = {name: spoiled(right, name, bug) for name, method in vars(right).items()
               if inspect.isfunction(method)}
    same = {name: getattr(right, name) for name in ("__doc__", "__module__", "__qualname__")}
    return type(right.__name__, (right,), methods | same)


def spoil(model, bug):
    """Plant a bug in every layer of a model, and return the same model. The bug stays there.

    Parameters
    ----------
    model : Module; its layers get other classes
    bug : a Bug of the zoo; None: the new classes compute as the right classes do
    """
    layers = [layer for _, layer in leaves(model, Module)]
    classes = {kind: spoiled_class(kind, bug) for kind in set(map(type, layers))}
    for layer in layers:
        layer.__class__ = classes[type(layer)]
    return model
