"""One file for each exercise, with its text, its cases and its known mistakes."""

from . import softmax  # noqa: F401  isort: skip  # in this order they fill EXERCISES
from . import layer_norm  # noqa: F401  isort: skip
from . import linear  # noqa: F401  isort: skip
from . import attention  # noqa: F401  isort: skip
from . import masks  # noqa: F401  isort: skip
from . import multi_head  # noqa: F401  isort: skip
from . import feed_forward  # noqa: F401  isort: skip
from . import embedding  # noqa: F401  isort: skip
from . import sinusoids  # noqa: F401  isort: skip
from . import loss  # noqa: F401  isort: skip
from . import optimizer  # noqa: F401  isort: skip
from . import encoder_layer  # noqa: F401  isort: skip
from . import decoding  # noqa: F401  isort: skip
