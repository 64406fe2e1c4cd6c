"""The checks that catch the bugs."""

from . import gradients, values  # noqa: F401, these fill CHECKS
