"""The checks that catch them."""

from . import gradients, values  # noqa: F401, these fill CHECKS
