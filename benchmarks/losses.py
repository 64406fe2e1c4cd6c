"""The losses of the same training steps. They are equal until rounding errors have grown."""

import numpy as np
from common import CONFIGS
from compare import contestants
from tables import table

TITLE = "The same work: losses"
NAMES = ["ours", "PyTorch", "JAX"]
SHOWN = (1, 10, 20)  # steps
LATER, LAST = 500, 100  # the later loss is the mean over the last 100 of 500 steps
QUICK = {"configs": ("classroom",), "seeds": 2}


def measure(*, configs=tuple(CONFIGS), seeds=6):
    """{"first": {config: {"ours": losses, peer: difference}}, "later": {name: losses}}.

    In "first", ours are the losses at SHOWN, and a peer has its largest relative difference from
    ours in the steps up to the last of SHOWN. In "later" there is a later loss for each seed.
    """
    first = {}
    for config in configs:
        others = {name: np.array(losses) for name, losses in trained(config, SHOWN[-1]).items()}
        ours = others.pop("ours")
        first[config] = {"ours": [float(ours[step - 1]) for step in SHOWN]} | {
            name: float((np.abs(theirs - ours) / ours).max()) for name, theirs in others.items()}
    runs = [trained(configs[0], LATER, seed) for seed in range(seeds)]
    return {"first": first, "later": {
        name: [float(np.mean(run[name][-LAST:])) for run in runs] for name in runs[0]}}


def trained(config, steps, seed=0):
    """{name: its losses in `steps` steps}, on batches drawn with a seed."""
    with contestants("steps", NAMES, config=config, seed=seed) as team:
        return {name: [answer["loss"] for answer in one.ask(steps)] for name, one in team.items()}


def section(figures):
    """The findings, as Markdown."""
    first, later = figures["first"], figures["later"]
    others = [name for name in next(iter(first.values())) if name != "ours"]
    head = ["", *(f"ours, step {step}" for step in SHOWN), *(f"{name} differs" for name in others)]
    rows = [[config, *(f"{loss:.4f}" for loss in f["ours"]),
             *(f"{f[name]:.0e}" for name in others)]
            for config, f in first.items()]
    seeds = range(len(later["ours"]))
    after = [[name, *(f"{loss:.4f}" for loss in losses), f"{np.median(losses):.4f}"]
             for name, losses in later.items()]
    why = WHY.format(config=next(iter(first)), steps=f"{LATER - LAST + 1} to {LATER}")
    agree = ", ".join(f"{max(f[name] for name in others):.0e} at {config}"
                      for config, f in first.items())
    return "\n\n".join([
        INTRODUCTION, table(head, rows), f"All agree to {agree}.", why,
        table(["", *(f"seed {seed}" for seed in seeds), "median"], after)])


INTRODUCTION = f"""Every contestant takes the steps of the first section, with one thread. *Differs*
is the largest difference of a loss from ours in steps 1 to {SHOWN[-1]}, relative to ours:"""
WHY = """Later losses cannot show that the work is the same. Each library adds up the same numbers
in another order, so the last digits of float32 differ. Training is chaotic: such a difference grows
with every step, faster in larger models, until two runs differ as much as runs with other batches.
So only the range of later losses can be compared. These are the mean losses of {config} over steps
{steps}, with other batches for every seed; a single column says nothing:"""
