"""The 38 bugs, by the layers that have them."""

from . import attention, model, norms, since_2017, training  # noqa: F401, these fill BUGS
