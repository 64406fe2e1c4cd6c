"""docs/scaling.md and its drawing, from the figures of scaling.py."""

from pathlib import Path

from scaling import CROWDED, NETS, Costs, two_table
from tables import number, table

DOCS = Path(__file__).parents[1] / "docs"
NETWORKS = {"1 Gbit/s": (1, 50e-6), "10 Gbit/s": (10, 20e-6), "100 Gbit/s": (100, 2e-6)}
MACHINES = (2, 4, 8, 16, 32, 64)
UNITS = {"classroom": "sentences of 10 tokens", "translation": "sentences of 16 tokens",
         "base": "sentences of 32 tokens"}


def write(results, folder=DOCS):
    """Write the page and its picture."""
    folder.mkdir(exist_ok=True)
    text = page(results)
    (folder / "scaling.md").write_text(text, encoding="utf-8", newline="\n")
    drawing().savefig(folder / "scaling.png", dpi=100)


def page(results):
    """The text of the page."""
    figures, others = results["scaling"]["figures"], results["scaling"]["others"] or 0
    costs = {net: Costs(figures, net) for net in NETS}
    return TEXT.format(
        others=f"{others:.1f}", noise=CROWDED_WORDS if others >= 0.5 else FREE_WORDS,
        processors=results["scaling"]["machine"]["processors"],
        processor=results["scaling"]["machine"]["processor"],
        two=two_table(figures["two"]), messages=messages(figures, costs["classroom"]),
        costs=costs_table(costs), efficiencies=efficiencies(costs), enough=enough(costs),
        compared=comparison(figures, costs), large=large(figures["large batch"]))


def messages(figures, cost):
    """Times of an Allreduce, and the line through them."""
    sizes = figures["allreduce"]
    head = ["kB", *(number(int(size) / 1e3) for size in sizes)]
    rows = [["measured, µs", *(f"{1e6 * s:,.0f}" for s in sizes.values())],
            ["line, µs", *(f"{1e6 * (2 * cost.latency + int(size) * cost.per_byte):,.0f}"
                           for size in sizes)]]
    return table(head, rows) + (
        f"\n\nThe line is 2 · {1e6 * cost.latency:.1f} µs + bytes / ({1e-9 / cost.per_byte:.2f}"
        " GB/s): its latency and its bandwidth.")


def costs_table(costs):
    """A table of the fitted costs."""
    head = ["", "parameters", "gradients, MB", "B, rows", "fixed, ms", "per row, ms",
            "step of one machine, s"]
    return table(head, [[net, f"{c.bytes // 4:,}", number(c.bytes / 1e6), str(c.B),
                         number(1e3 * c.fixed), number(1e3 * c.row),
                         number(c.fixed + c.row * c.B)] for net, c in costs.items()])


def efficiencies(costs):
    """A table of the efficiency in percent: networks and nets against numbers of machines."""
    rows = [[f"{net}, {name}", *(f"{100 * c.over(*network).efficiency(n):.0f} %" for n in MACHINES)]
            for net, c in costs.items() for name, network in NETWORKS.items()]
    return table(["machines", *map(str, MACHINES)], rows)


def enough(costs):
    """A table of the rows per rank below which other things take longer than the gradient."""
    head = ["rows per rank", *NETWORKS, "rows are"]
    networks = NETWORKS.values()
    return table(head, [[net, *(f"{c.over(*network).enough():.0f}" for network in networks),
                         UNITS[net]] for net, c in costs.items()])


def comparison(figures, costs):
    """A table of predicted and measured steps on this machine, in milliseconds."""
    rows = []
    for net, found in figures["crowded"].items():
        measured = {2: figures["two"][net]["ours, ranks"]["ms"][1] / 1e3}
        measured |= {n: found[str(n)] for n in CROWDED}
        rows += [[f"{net}, {n} ranks", number(1e3 * costs[net].crowded(n)), number(1e3 * seconds),
                  f"{seconds / costs[net].crowded(n):.2f}"] for n, seconds in measured.items()]
    return table(["", "predicted, ms", "measured, ms", "measured / predicted"], rows)


def large(found):
    """A sentence on the batch of 25 000 tokens."""
    return (f"A model with {found['parameters']:,} parameters in float32 and a batch of"
            f" {found['tokens']:,} tokens in {found['accumulate']} shares needed at most"
            f" {found['peak'] / 1e9:.2f} GB, with the five states to average and their average"
            f" ({found['estimated'] / 1e9:.2f} GB were estimated).")


def drawing():
    """Ranks, their shares of a batch, and the exchange of the gradients, as a matplotlib Figure."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    fig = Figure(figsize=(10, 5.2), layout="constrained")
    ax = fig.subplots()
    ax.set(xlim=(0, 100), ylim=(0, 56))
    ax.axis("off")

    def box(x, y, width, height, text, color):
        ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.4", fc=color,
                                    ec="black", lw=1))
        ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=10)

    def arrow(start, end):
        ax.annotate("", end, start, arrowprops=dict(arrowstyle="->", lw=1.2))

    for rank in range(4):
        x, color = 2 + 25 * rank, ("#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc")[rank]
        ax.text(x + 10, 53.5, f"rank {rank}", ha="center", fontsize=12, weight="bold")
        for part in range(4):
            own = part == rank
            ax.add_patch(FancyBboxPatch((x, 47.5 - 2.2 * part), 20, 1.6, boxstyle="round,pad=0.1",
                                        fc=color if own else "white", ec="black" if own else "gray",
                                        lw=1 if own else 0.5))
        ax.text(x + 10, 37.6, f"same batch; its share: {own_words(rank)}", ha="center", fontsize=9)
        arrow((x + 10, 36.8), (x + 10, 33.6))
        box(x, 26, 20, 7, f"forward, loss,\nbackward · $n_{rank}/n$", color)
        arrow((x + 10, 25.4), (x + 10, 21.6))
        arrow((x + 10, 15.3), (x + 10, 11.5))
        box(x, 4, 20, 7, "Adam step:\nthe same model", color)
    box(2, 16, 95, 5, r"Allreduce:  every rank gets  $\sum_i (n_i/n)\, \mathrm{grad}_i$"
        "  — the gradient of the mean loss over all n target tokens", "#eeeeee")
    ax.text(50, 0.4, "only rank 0 writes files and prints", ha="center", style="italic")
    return fig


def own_words(rank):
    return f"part {rank + 1} of 4"


FREE_WORDS = "The speed of a shared machine changes: compare ratios, not milliseconds."
CROWDED_WORDS = """So the table of two processors and the last column of the comparison say more
about those programs than about this one. Threads inside a product wait for each other at every
product, and lose most. The fitted costs are seconds of the processor, and the least of several
rounds, so other programs change them little. Measure again on a free machine."""
TEXT = """# Beyond one machine

This page says what data-parallel training is, how to start it, what it costs, and when more
machines do not pay. These commands measure and write its numbers:

```bash
pip install -e '.[mpi]'
python benchmarks/run.py scaling
```

They were measured on {processors} processors ({processor}). Other programs took {others} of them
at the beginning. {noise}

## What data-parallel training is

![Four ranks with one batch: each computes the gradient of its share, Allreduce sums the gradients,
and each takes the same step](scaling.png)

Several processes train one model together. MPI calls them *ranks*. Each rank holds the whole model
and draws the same batch. Each computes the gradient of its own share of the rows. A share with n_i
of the n target tokens counts n_i / n, because the loss is a mean over tokens. One exchange of
messages, `Allreduce`, gives every rank the sum. Then every rank takes the same Adam step, and so
the models stay equal. The code: [ranks.py](../aiayn_np/training/ranks.py).

## How to start it

```bash
mpiexec -n 4 aiayn-np train text --source train.de --target train.en
mpiexec -n 8 --hostfile hosts aiayn-np train text --source train.de --target train.en
```

Any `train` can be started in this way, and `--resume` too, with any number of ranks: one rank can
go on with a run that four ranks began, and the other way round. Rank 0 reads the files, gives the
run to the others, writes and prints. The other machines need the package, but no file. Validation
and BLEU are shared too. Each rank has one thread of BLAS; `--threads` gives it more. In Python
every rank calls `train(model, task, ..., workers=MPI.COMM_WORLD)` with the same
model and generator; ranks that begin with different ones are refused.

If a rank fails, all ranks end within seconds, and the last checkpoint is whole. If a rank raises an
error, a message names the rank and the error. If a rank was killed, `mpiexec` says so; every rank
prints its machine and process at the start. Ctrl-C lets the step end and saves.

## Two processors

The table has milliseconds of a training step, and the time of two ranks over each of the others:
below 1, two ranks are faster. A ratio is the median over rounds, with the first and third quartile:

{two}

## What an exchange costs

This is the time of an `Allreduce` between two ranks on one machine, the least of several rounds:

{messages}

## What to expect of more machines

A step of n machines with a batch of B rows takes about

    T(n) = fixed + row · B / n + 2 ⌈log₂ n⌉ · latency + 2 (n − 1) / n · bytes / bandwidth

and n machines have the efficiency T(1) / (n T(n)). *Fixed* is the work that every rank does for any
share: Adam, clearing gradients, the calls themselves. `fixed` and `row` are a line fitted to steps
of one rank with fewer rows, in seconds of its processor. `bytes` is the size of the gradients. The
formula assumes the exchange that sends the least: every number travels twice, once to be summed and
once to be distributed.

{costs}

For the network, latency is taken as 50, 20 and 2 µs at 1, 10 and 100 Gbit/s. No network counts as
faster than the exchange through memory that was measured above. So where 10 and 100 Gbit/s have the
same figures, memory is the limit. The batch is that of the table; one machine is one rank with one
processor.

{efficiencies}

With a larger share per rank all efficiencies are better, and with a smaller one worse. The smallest
share that pays is the one for which the gradient takes as long as everything else:

    rows = (fixed + 2 · bytes / bandwidth) / row.

Below it, more than half of every machine is lost.

{enough}

Prediction and measurement can be compared for two ranks on two processors, and for four and eight
ranks that share them. A rank that waits for others keeps its processor busy. The formula does not
know this, so a crowded machine is slower than predicted.

{compared}

**Past this point, use a GPU.** More machines would only wait for one another. PyTorch is the engine
for a GPU. `aiayn-np export RUN OUT --to torch` writes a run with its training state for PyTorch,
`python -m aiayn_np.interop.train_torch RUN` goes on with its training there, and
`aiayn-np import PATH --out RUN` brings it back. [The page on PyTorch](pytorch.md) says how.

## Large batches on few processors

`--accumulate k` cuts each rank's part of the batch into k shares, computes them one after the
other, and sums their gradients before the step. The step is that of the whole batch, but only one
share at a time needs memory. {large}
`python benchmarks/large_batch.py` measures it.
"""
