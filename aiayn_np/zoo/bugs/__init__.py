"""The 32 bugs, by the layers that they live in."""

from . import attention, model, norms, training  # noqa: F401, these fill BUGS
