"""How time and memory of our training step grow with each size, the others held."""

from dataclasses import replace

import numpy as np
from compare import contestants
from steps import Config, batches, ours
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
    """Yield nothing, and then what `measure` says of an axis; the sizes take turns."""
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

    from aiayn_np.plotting import COLORS, MARKERS, STYLE, log_ticks, new_figure

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
    """What was found, as Markdown."""
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
        f"Our step, one thread, float32, one size grown 16 times from V {b.vocab_size}, d_model"
        f" {b.d_model}, h {b.h}, d_ff 4 d_model, N {b.N}, B {b.B}, T {b.T}; time is that of the"
        " fastest of many steps, memory the peak of the arrays of building the model and one step.",
        "![Two panels on logarithmic axes, time and memory of a training step over those at the"
        " smallest size, a line for each of T, d_model, B, N and V](growth.png)",
        table(head, rows),
        "A step has costs that a size does not touch (the calls of NumPy, and what the other sizes"
        " ask for): at small sizes they hide the growth, and the last doubling says more than the"
        " line through all. Work is proportional to B and N, but for the embedding. In T the linear"
        " maps are proportional and the scores quadratic, in d_model it is the other way round: the"
        " exponents go from 1 to 2 as the quadratic part takes over. V is in the logits and in E"
        " alone, so that it is felt last."])
