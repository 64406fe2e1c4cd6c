"""Checks of the arguments of layers. A message says what must hold, then what was given.

A forward or a constructor calls the checks in its first lines. Some checks return the argument in
the form that the layer needs: a size with its default, ids as an array.
"""

import functools
import math
import os

import numpy as np

FLOATS = "fdD"  # float32, float64, and complex128 for the gradient check
DTYPES = frozenset(map(np.dtype, FLOATS))
PLAIN: set[type] = {np.ndarray}  # accepted types; not np.matrix: its `*` is the matrix product
LARGEST = np.iinfo(np.intp).max  # the largest size that NumPy can count


def one_line(error):
    """Return the message of an error without line breaks."""
    return " ".join(str(error).split())


def is_integer(value):
    """Tell whether a value is an int or a NumPy integer, and not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_layer(value):
    """Tell whether a value has forward and backward, and is not the class of a layer."""
    return not isinstance(value, type) and all(hasattr(value, n) for n in ("forward", "backward"))


def check_sizes(least=1, **sizes):
    """Check that each size is an integer from `least` to LARGEST."""
    for name, value in sizes.items():
        if type(value) is not int and not is_integer(value):
            raise TypeError(f"{name} must be an integer, got {name}={value!r}")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {name}={value}")
        if value > LARGEST:
            raise ValueError(f"{name} must be at most {LARGEST}, got {name}={value}")


def check_number(name, value, low, high, *, open_low=False):
    """Check that a value is a real number in [low, high), or in (low, high) with `open_low`."""
    interval = f"{'(' if open_low else '['}{low}, {high})"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number in {interval}, got {name}={value!r}")
    if not (low <= value < high) or (open_low and value == low):
        raise ValueError(f"{name} must lie in {interval}, got {name}={value}")


def check_rng(rng, *, or_none=False):
    """Raise TypeError unless rng is a numpy Generator: randomness is an argument, never global.

        or_none: allow None, with which a layer leaves its parameters empty
    """
    if not (isinstance(rng, np.random.Generator) or (or_none and rng is None)):
        raise TypeError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")


def check_heads(d_model, h, d_k, d_v):
    """Return (d_k, d_v). A None becomes d_model / h, as in the paper.

    Where h does not divide d_model, d_k must be given, and a None for d_v becomes d_k.
    """
    check_sizes(d_model=d_model, h=h)
    divisible = d_model % h == 0
    if d_k is None and not divisible:
        raise ValueError(f"d_model must be divisible by h, got d_model={d_model}, h={h}")
    d_k = d_model // h if d_k is None else d_k
    d_v = (d_model // h if divisible else d_k) if d_v is None else d_v
    check_sizes(d_k=d_k, d_v=d_v)
    return d_k, d_v


def check_layer_options(d_model, d_ff, h, d_k, d_v, P_drop, rng):
    """Refuse bad options of an encoder or decoder layer before `rng` draws anything."""
    check_sizes(d_model=d_model, d_ff=d_ff)
    check_heads(d_model, h, d_k, d_v)
    check_number("P_drop", P_drop, 0, 1)
    check_rng(rng, or_none=True)


def check_array(name, x, *, last=None, parameter=None, min_ndim=1):
    """Check for a float array; `last=("d_in", 8)` fixes its last axis, `parameter` its dtype."""
    if type(x) not in PLAIN:
        raise TypeError(f"{name} must be a numpy array of floats, got {type(x).__name__}")
    if x.dtype.char not in FLOATS:
        raise TypeError(f"{name} must be float32 or float64, got {x.dtype}")
    if x.ndim < min_ndim:
        raise ValueError(f"{name} must have at least {min_ndim} axes, got shape {x.shape}")
    if x.ndim and x.shape[-1] == 0:
        raise ValueError(f"{name} must have a last axis of at least 1, got shape {x.shape}")
    if last is not None and x.shape[-1] != last[1]:
        raise ValueError(f"{name} must have {last[0]}={last[1]} on its last axis, got shape"
                         f" {x.shape}")
    if parameter is not None and x.dtype != parameter.value.dtype:
        check_same_dtype(**{name: x, "the parameters": parameter.value})


def check_same_dtype(**arrays):
    """Refuse arrays of two real dtypes, and a complex array beside real parameters."""
    (first, a), *others = arrays.items()
    for name, b in others:
        real = a.dtype.kind == "f" or name == "the parameters"
        if a.dtype != b.dtype and real and b.dtype.kind == "f":
            raise TypeError(f"{first} and {name} must have one dtype, got {a.dtype} and {b.dtype}"
                            " (cast the array, or the model with .astype)")


def check_gradient(grad, y_shape, y_dtype, name="grad_y"):
    """Check that a backward's gradient has exactly the shape and dtype of the forward's result."""
    if type(grad) not in PLAIN or grad.dtype.char not in FLOATS:
        got = grad.dtype if type(grad) in PLAIN else type(grad).__name__
        raise TypeError(f"{name} must be a numpy array of floats, got {got}")
    if grad.shape != y_shape:
        raise ValueError(f"{name} must have the shape of y, {y_shape}, got {grad.shape}")
    if grad.dtype != y_dtype and grad.dtype.kind == y_dtype.kind == "f":
        raise TypeError(f"{name} must have the dtype of y, {y_dtype}, got {grad.dtype}")


def check_same_shape(x, y, names):
    """Check that two arrays have the same shape: in a sum, broadcasting would hide a mistake."""
    for name, array in zip(names, (x, y)):
        if type(array) not in PLAIN or array.dtype not in DTYPES:
            check_array(name, array)
    if x.shape != y.shape:
        raise ValueError(f"{names[0]} and {names[1]} must have one shape, got {x.shape}, {y.shape}")
    if x.dtype != y.dtype:
        check_same_dtype(**{names[0]: x, names[1]: y})


def check_factory(name, factory, call):
    """Refuse a layer in place of a factory: each place in a model needs a layer of its own."""
    if factory is not None and (is_layer(factory) or not callable(factory)):
        raise TypeError(f"{name} must be a factory, called as {call} for each place, got"
                        f" {type(factory).__name__}")


def check_layer(name, layer, call):
    """Check that a value is a layer; `call` shows how a factory is called, for the message."""
    if not is_layer(layer):
        raise TypeError(f"{name} must be a layer, or a factory {call} that returns one, got"
                        f" {type(layer).__name__}")


def check_integers(name, ids, *, ndim=None):
    """Return token ids, an array or nested lists, as an integer array."""
    if isinstance(ids, np.ndarray) and type(ids) not in PLAIN:
        raise TypeError(f"{name} must be a numpy array of integers, got {type(ids).__name__}")
    try:
        ids = np.asarray(ids)
    except ValueError:
        raise ValueError(f"{name} must be rows of one length: pad the shorter ones") from None
    if ids.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got {ids.dtype}")
    if ndim is not None and ids.ndim != ndim:
        axes = {0: "no axes", 2: "2 axes (B, T)"}[ndim]
        raise ValueError(f"{name} must have {axes}, got shape {ids.shape}")
    if ids.ndim > 1 and ids.shape[-1] == 0:
        raise ValueError(f"{name} must have a length of at least 1, got shape {ids.shape}")
    return ids


def check_ids(name, ids, vocab_size, *, ndim=None):
    """Return token ids as an array of np.intp; check that all of them lie in [0, vocab_size)."""
    ids = check_integers(name, ids, ndim=ndim)
    if ids.size and (ids.min() < 0 or ids.max() >= vocab_size):
        at = tuple(int(i) for i in np.argwhere((ids < 0) | (ids >= vocab_size))[0])
        raise IndexError(f"{name} must lie in [0, vocab_size), got id {ids[at]} at position {at}"
                         f" with vocab_size={vocab_size}")
    return ids.astype(np.intp, copy=False)


def check_positions(T, start, max_len):
    """Check that a positional encoding has rows for the positions start .. start + T."""
    check_sizes(T=T)
    if (type(start) is not int and not is_integer(start)) or start < 0:
        raise ValueError(f"start must be an integer of at least 0, got start={start!r}")
    if start + T > max_len:
        at = f" from start={start}" if start else ""
        raise ValueError(f"length must be at most max_len={max_len}, got length {T}{at}")


def check_attention_shapes(Q, K, V, names=("Q", "K", "V"), *, last=None, parameter=None):
    """Check Q (..., T_q, d_k), K (..., T_k, d_k) and V (..., T_k, d_v), see `check_array`."""
    dtypes = DTYPES if parameter is None else {parameter.value.dtype}
    for name, x in zip(names, (Q, K, V)):
        plain = type(x) in PLAIN and x.dtype in dtypes and x.ndim > 1 and x.shape[-1]
        if not plain or (last is not None and x.shape[-1] != last[1]):     # check_array says why
            check_array(name, x, last=last, parameter=parameter, min_ndim=2)
    if not Q.dtype == K.dtype == V.dtype:
        check_same_dtype(**dict(zip(names, (Q, K, V))))
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(f"{names[0]} and {names[1]} must have one d_k, got shapes {Q.shape} and"
                         f" {K.shape}")
    if not Q.shape[:-2] == K.shape[:-2] == V.shape[:-2]:
        raise ValueError(f"{', '.join(names)} must have the same leading axes, got {Q.shape},"
                         f" {K.shape} and {V.shape}")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(f"{names[1]} and {names[2]} must have one length, got {K.shape} and"
                         f" {V.shape}")
    if Q.shape[-2] == 0 or K.shape[-2] == 0:
        raise ValueError(f"lengths must be at least 1, got {Q.shape} and {K.shape}")


def check_mask(allowed, scores_shape):
    """Check that a mask is boolean and cannot be broadcast to the wrong axes of the scores."""
    if allowed is None:
        return
    if type(allowed) not in PLAIN or allowed.dtype != bool:
        got = allowed.dtype if type(allowed) in PLAIN else type(allowed).__name__
        raise TypeError(f"allowed must be a boolean array, True = may attend, got {got}")
    if allowed.shape == scores_shape[-2:]:
        return
    fits = allowed.ndim == len(scores_shape)
    for a, n in zip(allowed.shape, scores_shape):
        fits = fits and a in (1, n)
    if not fits:
        like = (*scores_shape[:-3], 1, 1, scores_shape[-1])[-len(scores_shape):]
        raise ValueError(f"allowed must have shape {scores_shape[-2:]} = (T_q, T_k), or as many"
                         f" axes as the scores {scores_shape}, each 1 or equal, such as {like};"
                         f" got {allowed.shape}")


@functools.cache
def memory_bytes():
    """Return the physical memory of this machine, or infinity if the system does not tell it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf


def check_memory(shape, dtype):
    """Refuse an array that would not fit into the machine, before it is allocated."""
    needed = math.prod(shape) * dtype.itemsize
    if needed > memory_bytes():
        raise MemoryError(f"scores of shape {shape} need {needed:,} bytes, this machine has"
                          f" {memory_bytes():,}")
