"""Make models with a hidden bug, and judge guesses at the bug.

See notebooks/exercises/find_the_bug.ipynb.

    >>> from aiayn_course.exercises.mystery import guess, mystery
    >>> kit = mystery(1)
    >>> kit
    mystery(1): model, loss, Adam, warmup_rate
    >>> print(guess(1, "V"))                   # a letter of STATEMENTS
    No: something is wrong with it.

Number 0 is the worked example. Of the models 1 to 13 twelve have one bug each, and one is healthy.
The bugs come from the zoo (`aiayn_course.lab.zoo`). Reading this file or the zoo spoils the hunt.
"""

import collections
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.checks import check_integers
from aiayn_np.training import optimizer
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import Adam
from aiayn_np.training.tasks import CopyTask
from aiayn_np.transformer import Transformer

from ...lab.zoo import BUGS
from ..language import say, speaking
from ..verdict import Verdict
from .spoiled import spoil, spoiled, spoiled_class

TASK = CopyTask(symbols=6, max_length=5)  # the task for which the models are made
SIZES = dict(N=2, d_model=12, d_ff=20, h=3, max_len=16)
P_DROP = 0.1  # on sublayers, and on attention weights too

EXAMPLE, HEALTHY = 11, 0
TOOLS = {  # by number in the zoo: the tool that shows the bug, and how to use it
    HEALTHY: "All tools of the table: what passes says as much as what fails",
    3: "check_gradients on single layers, after randomise",
    8: "check_gradients on the whole model, then on its halves",
    11: "check_gradients on the whole model, then on smaller and smaller parts",
    13: "assert_padding_invariant and assert_heads_equal_loop show it; assert_causal does not",
    14: "check_gradients on the whole model, then on smaller and smaller parts",
    15: "assert_heads_equal_loop",
    17: "assert_causal",
    18: "assert_padding_invariant",
    20: "numbers by hand: a layer used twice, once with an rng and once without",
    25: "check_gradients on the whole model, then on its halves",
    26: "numbers by hand: four numbers of a table",
    29: "numbers by hand: what the very first step must be, for every parameter",
    32: "check_gradients on the loss; read the place of the worst entry",
}
DECOYS = 1, 5, 7, 10, 16, 22, 24, 30  # wrong answers: bugs of the zoo, but of no model here


class Statements(collections.UserDict):
    """A dict {letter: a possible fault} in the user's language; `data` has the English texts."""

    def __getitem__(self, letter):
        return say(self.data[letter])


STATEMENTS = Statements({
    chr(ord("A") + i): BUGS[number].name if number else "nothing: it is healthy"
    for i, number in enumerate([*sorted({*TOOLS, *DECOYS} - {HEALTHY}), HEALTHY])
})
# A fixed order that cannot be guessed; 20 puts easy bugs first.
ORDER = [EXAMPLE, *sorted(
    TOOLS.keys() - {EXAMPLE}, key=lambda n: hashlib.sha256(f"20 {n}".encode()).digest()
)]


@dataclass(frozen=True, repr=False)
class Mystery:
    """The parts of a training; one of them may be wrong.

    model : a Transformer, initialised as usual, in float64
    loss : a LabelSmoothedCrossEntropy
    Adam : the class of the optimizer: ``kit.Adam(kit.model)``
    warmup_rate : the function of Eq. (3)
    """

    number: int
    model: Transformer
    loss: LabelSmoothedCrossEntropy
    Adam: type
    warmup_rate: Callable[[int, int, int], float]

    def __repr__(self):
        return f"mystery({self.number}): model, loss, Adam, warmup_rate"


def mystery(n: int, *, seed: int = 0) -> Mystery:
    """Make a new copy of a model. Changes to the copy do not affect later copies.

    Parameters
    ----------
    n : 0 for the worked example, 1 to 13
    seed : for the initial parameters

    Returns
    -------
    Mystery. The package and all other models stay right.

    Raises
    ------
    ValueError if there is no such number, TypeError if `n` is not an integer
    """
    bug, rng = bug_of(n), np.random.default_rng(seed)

    def attention(h, d_k, d_v, rng):
        return ScaledDotProductAttention(P_DROP)
    model: Any = Transformer(TASK.vocab_size, P_drop=P_DROP, attention=attention, rng=rng, **SIZES)
    loss: Any = LabelSmoothedCrossEntropy(pad=TASK.pad)
    parts = spoil(model, bug), spoil(loss, bug), spoiled_class(Adam, bug)
    return Mystery(n, *parts, spoiled(optimizer, "warmup_rate", bug))


def bug_of(n):
    """Return the Bug of model n, or None for the healthy model."""
    n = check_integers("n", n, ndim=0)
    if not 0 <= n < len(ORDER):
        raise ValueError(say("n must be one of 0 to {last}, got {n}", last=len(ORDER) - 1, n=n))
    return BUGS.get(ORDER[int(n)])


def guess(n: int, letter: str, *, language: str | None = None) -> Verdict:
    """Check a guess at the fault of model n: a letter of STATEMENTS, upper or lower case.

    Returns
    -------
    Verdict, true if the guess is right; otherwise it says how near the guess is.

    Raises
    ------
    ValueError for a number, a letter or a language that does not exist
    """
    with speaking(language):
        bug, letter = bug_of(n), letter.upper() if isinstance(letter, str) else letter
        if not isinstance(letter, str) or letter not in STATEMENTS:
            raise ValueError(say("letter must be one of {letters}, got {letter}",
                                 letters=", ".join(STATEMENTS), letter=repr(letter)))
        said = {b.name: b for b in BUGS.values()}.get(STATEMENTS.data[letter])
        if said is bug:
            return Verdict(True, say("Right: {statement}. Now read reveal({n}).", n=n,
                                     statement=STATEMENTS[letter]))
        return Verdict(False, how_near(said, bug))


def how_near(said, bug):
    """Return a sentence about a wrong guess; None stands for no bug."""
    if said is None:
        return say("No: something is wrong with it.")
    if bug is not None and said.layer is bug.layer:
        return say("No, but you are at the right place: another fault of the same part.")
    if bug is not None and all(b.caught_by.startswith("gradient") for b in (said, bug)):
        return say("No. It is a gradient that is wrong, but that of another part.")
    return say("No, it has no such fault.")


def hint(n: int, stage: int = 1, *, language: str | None = None) -> str:
    """Return a hint: stage 1 is a tool that shows the bug, 2 the part, 3 the effect."""
    with speaking(language):
        bug, stages = bug_of(n), (1, 2, 3)
        if stage not in stages:
            raise ValueError(say("stage must be 1, 2 or 3, got {stage}", stage=repr(stage)))
        if stage == 1:
            return say("{tool}.", tool=say(TOOLS[bug.number if bug else HEALTHY]))
        if bug is None:
            return say("Every part is right.") if stage == 2 else reveal(n)
        part = bug.where.split(".")[0]
        return say("Look at {part}.", part=part) if stage == 2 else say(bug.what)


def reveal(n: int, *, language: str | None = None) -> str:
    """Return the whole story of a model: the fault, the right version, and who had this bug."""
    with speaking(language):
        bug = bug_of(n)
        if bug is None:
            return say("This one is healthy: every tool passes, and that is the right answer.")
        common = bug.seen == "common"
        seen = (say("a mistake that many make") if common
                else say("seen in {project}", project=bug.seen))
        return say("{where}: {name}\n\n{what}\n\n{formula}\n\nBug {number} of the zoo, caught there"
                   " by \"{check}\"; {seen}.", where=bug.where, name=say(bug.name),
                   what=say(bug.what), formula=say(bug.formula), number=bug.number,
                   check=say(bug.caught_by), seen=seen)
