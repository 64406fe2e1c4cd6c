"""What a word was made of: the cache of a forward, read a second time.

`shares` splits a logit into what each token and the biases gave to it. The sum is exact. What it
means is another question: see docs/reading.md.

Public names, by the file that defines them:

    freezing    frozen
    recording   Recording
    sharing     ByHead, Shares, shares
"""

from .freezing import frozen
from .recording import Recording
from .sharing import ByHead, Shares, shares

__all__ = ["ByHead", "Recording", "Shares", "frozen", "shares"]
