"""What a word was made of: the cache of a forward, read a second time.

`shares` splits a logit into what each token and the biases gave to it. The sum is exact. What it
means is another question: see docs/reading.md. `replaced` answers another one, by an experiment.

Public names, by the file that defines them:

    freezing    frozen
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
