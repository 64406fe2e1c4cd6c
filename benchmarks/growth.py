"""How time and memory of our training step grow with one size, while the others stay."""

from dataclasses import replace

import numpy as np
from common import Config, batches
from compare import contestants
from steps import ours
from tables import number, table

TITLE = "How a step grows"
QUICK = {"repeats": 3}
BASE = Config(vocab_size=256, d_model=32, h=4, d_ff=128, N=1, B=8, T=16)
FACTORS = (1, 2, 4, 8, 16)
AXES = {"T": "length of the sequences", "d_model": "width (d_ff = 4 d_model)",
        "B": "sequences in a batch", "N": "layers in each stack", "vocab_size": "size V of E"}


def grown(axis, factor):
    """BASE with one size larger; d_ff stays four times d_model."""
    c = replace(BASE, **{axis: getattr(BASE, axis) * factor})
    return replace(c, d_ff=4 * c.d_model)


def measure(*, axes=tuple(AXES), repeats=25):
    """{axis: {"sizes", "ms": of the fastest, "mb": peaks of the arrays}}."""
    found = {}
    for axis in axes:
        with contestants("growth", ["ours"], axis=axis, repeats=repeats) as team:
            (found[axis],) = team["ours"].ask()
    return found


def work(what, threads, axis, repeats):
    """Yield {}, and then what `measure` reports of an axis; the sizes take turns."""
    from aiayn_np.experiments.measuring import STEADY, peak_bytes, seconds

    yield {}
    configs = [grown(axis, factor) for factor in FACTORS]
    functions = [runner(c) for c in configs]
    times = 1e3 * seconds(functions, repeats, STEADY).min(axis=1)     # disturbed least
    peaks = [peak_bytes(lambda c=c: runner(c)()) / 1e6 for c in configs]
    yield {"sizes": [getattr(c, axis) for c in configs], "ms": times.tolist(), "mb": peaks}


def runner(c):
    """A step on one batch, as a function without arguments."""
    _, step = ours(c)
    ids = next(batches(c))
    return lambda: step(ids, 0)


def exponents(found, what):
    """(of the power law through all sizes, of the last doubling)."""
    from aiayn_np.experiments.measuring import exponent

    return exponent(found["sizes"], found[what]), exponent(found["sizes"][-2:], found[what][-2:])


def picture(figures):
    """Time and memory over those at the smallest size, on logarithmic axes."""
    from matplotlib import rc_context

    from aiayn_np.plotting.figures import COLORS, MARKERS, STYLE, log_ticks, new_figure

    with rc_context(STYLE):
        fig = new_figure(11, 5.2)
        axes = fig.subplots(1, 2, sharey=True)
        for ax, what, word in zip(axes, ("ms", "mb"), ("time", "memory")):
            for i, (axis, found) in enumerate(figures.items()):
                x, y = (np.array(found[key]) / found[key][0] for key in ("sizes", what))
                ax.loglog(x, y, marker=MARKERS[i], color=COLORS[i], markerfacecolor="none",
                          markersize=11 - 1.5 * i, markeredgewidth=1.8,
                          label=f"{axis.replace('vocab_size', 'V')}: exponent"
                                f" {exponents(found, what)[0]:.2f}")
            ax.loglog(FACTORS, FACTORS, ":", color="0.4", label="proportional")
            ax.set(title=f"{word} of a training step", xlabel="size / smallest size",
                   ylabel=f"{word} / {word} at smallest size")
            log_ticks(ax.xaxis, FACTORS)
            log_ticks(ax.yaxis, (1, 2, 4, 8, 16, 32, 64))
            ax.legend(frameon=False)
        fig.suptitle("How a training step grows with one size, the others held")
    return fig


def section(figures):
    """The findings, as Markdown."""
    head = ["size", "from, to", "ms", "exponent of time", "last doubling", "MB",
            "exponent of memory", "last doubling"]
    rows = []
    for axis, found in figures.items():
        ms, mb = ([number(found[key][i]) for i in (0, -1)] for key in ("ms", "mb"))
        time, memory = ([f"{b:.2f}" for b in exponents(found, key)] for key in ("ms", "mb"))
        rows.append([f"{axis.replace('vocab_size', 'V')}, {AXES[axis]}",
                     "{}, {}".format(*(found["sizes"][i] for i in (0, -1))),
                     ", ".join(ms), *time, ", ".join(mb), *memory])
    b = BASE
    return "\n\n".join([
        "This is our step with one thread in float32. One size grows 16 times, from"
        f" V {b.vocab_size}, d_model {b.d_model}, h {b.h}, d_ff 4 d_model, N {b.N}, B {b.B},"
        f" T {b.T}. Time is that of the fastest of many steps. Memory is the peak of the arrays"
        " while the model is built and takes one step.",
        "![Two panels on logarithmic axes, time and memory of a training step over those at the"
        " smallest size, a line for each of T, d_model, B, N and V](growth.png)",
        table(head, rows),
        "A step has costs that do not depend on the size: the calls of NumPy, and the work of the"
        " other sizes. At small sizes they hide the growth, so the last doubling says more than the"
        " line through all sizes. Except for the embedding, work is proportional to B and N. In T"
        " the linear maps are proportional and the scores quadratic; in d_model it is the other way"
        " round. So the exponents go from 1 to 2 as the quadratic part takes over. V is only in the"
        " logits and in E, so its growth shows last."])
