"""An array that counts the multiply-adds of any layer.

`count` passes such arrays to a function. NumPy calls their method `__array_ufunc__` for every
operation. The method computes with plain arrays, and counts the multiply-adds of matrix products.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from aiayn_np.checks import PLAIN


class Counting(np.ndarray):
    """An array that adds the multiply-adds of its matrix products to `total`.

    A product of (..., a, b) and (..., b, c) takes a b c multiply-adds for each matrix of the batch.
    A product with a vector of ones is a sum, and does not count. `chain` is the number of products
    that had to be computed one after another for this array.
    """
    total = 0

    def __array_finalize__(self, source):
        self.chain = getattr(source, "chain", 0)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if "out" in options:                                           # y += b
            options["out"] = tuple(map(np.asarray, options["out"]))
        y = np.asarray(getattr(ufunc, method)(*map(np.asarray, inputs), **options))
        is_sum = any(np.ndim(x) == 1 and np.all(np.asarray(x) == 1) for x in inputs)
        product = int(ufunc is np.matmul and not is_sum)
        Counting.total += product * y.size * inputs[0].shape[-1]
        return follow(y, inputs, product)

    def __array_function__(self, func, types, args, options):
        y = super().__array_function__(func, types, args, options)
        return follow(y, args[0] if isinstance(args[0], list) else args, 0)


PLAIN.add(Counting)  # the layers accept it; it computes as a plain array does


def follow(y, sources, product):
    """Return the result as a counting array; a product makes its chain one longer."""
    if isinstance(y, np.ndarray):
        y = y.view(Counting)
        y.chain = max(getattr(source, "chain", 0) for source in sources) + product
    return y


def count(f: Callable, *arrays: ArrayLike) -> tuple[int, int]:
    """Return (longest chain of matrix products, number of multiply-adds) of f(*arrays)."""
    Counting.total = 0
    y = f(*[np.asarray(a).view(Counting) for a in arrays])
    return y.chain, Counting.total
