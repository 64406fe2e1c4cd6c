"""The contributions of the input's parts to a word, read from the cache of a forward.

`shares` splits a logit into the shares of the tokens and of the biases. The sum is exact.
docs/reading.md says what the shares mean and what they do not mean. `replaced` measures by an
experiment how a word's probability changes when a token of the input is replaced.

Public names, by the file that defines them:

    freezing    edited, frozen
    lens        logit_lens
    recording   Recording
    replacing   Replaced, patch, replaced
    sharing     ByHead, Shares, shares
"""

from .freezing import frozen
from .lens import logit_lens
from .recording import Recording
from .replacing import Replaced, patch, replaced
from .sharing import ByHead, Shares, shares

__all__ = ["ByHead", "Recording", "Replaced", "Shares", "frozen", "logit_lens", "patch", "replaced",
           "shares"]
