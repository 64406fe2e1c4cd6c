"""Count the jumps of the loss on the toy tasks, with two values of Adam's beta_2: docs/jumps.json.

    python docs/measure_jumps.py --seeds 20    train, about an hour on one core
    python docs/measure_jumps.py --table       the table of docs/commands.md, from docs/jumps.json

All else is equal: the model, its start, the order of the seeds and the rates of `train`. A jump
begins where the loss rises by more than 0.1 above the lowest of the ten steps before. Jumps are
counted after the first step with a loss below 0.15. A training has at most 1500 steps.
"""

import argparse
import json
import os
from pathlib import Path
from statistics import median

if __name__ == "__main__":  # one thread, before a library of matrices is loaded
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

from aiayn_np import Adam, CopyTask, ReverseTask, SortTask, Transformer, train
from aiayn_np.runs.symbols import JUMP, LEARNED

RESULT = Path(__file__).parent / "jumps.json"
TASKS = dict(copy=CopyTask, reverse=ReverseTask, sort=SortTask)
PAPER, LONGER = 0.98, 0.999  # beta_2 of the paper, and the value that most libraries begin with
MOST, BEFORE = 1500, 10  # steps


def trained(name, seed, beta_2):
    """Train a model; return a dict of its steps, jumps and the largest rise of the loss."""
    task, rng = TASKS[name](), np.random.default_rng(seed)
    model = Transformer(task.vocab_size, N=2, d_model=64, d_ff=256, h=4, P_drop=0.0, max_len=62,
                        rng=rng).astype(np.float32)
    optimizer = Adam(model, beta_2=beta_2)
    records = list(train(model, task, steps=MOST, rng=rng, optimizer=optimizer))
    rises, largest = jumps([record.loss for record in records])
    return dict(task=name, seed=seed, beta_2=beta_2, steps=len(records), jumps=rises,
                largest=round(largest, 4))


def jumps(losses):
    """Return (the number of jumps, the largest rise above an earlier loss) of a training.

    >>> jumps([0.5, 0.1, 0.3, 0.3, 0.1, 0.1, 0.12])
    (1, 0.2)
    """
    first = next((i for i, loss in enumerate(losses) if loss < LEARNED), len(losses))
    rest, count, largest, is_up = losses[first:], 0, 0.0, False
    for i in range(1, len(rest)):
        was_up, is_up = is_up, rest[i] - min(rest[max(0, i - BEFORE) : i]) > JUMP
        count += is_up and not was_up
        largest = max(largest, rest[i] - min(rest[:i]))
    return count, round(largest, 4)


def table(rows):
    """Return the Markdown table of all trainings, a row for each task and beta_2."""
    lines = ["| task | β₂ | seeds | median steps | most steps | jumps, all seeds | largest rise |",
             "|---|---|---|---|---|---|---|"]
    for task in TASKS:
        for beta_2 in (PAPER, LONGER):
            these = [r for r in rows if (r["task"], r["beta_2"]) == (task, beta_2)]
            steps = [r["steps"] for r in these]
            lines.append(f"| {task} | {beta_2} | {len(these)} | {median(steps):g} | {max(steps)} |"
                         f" {sum(r['jumps'] for r in these)} |"
                         f" {max(r['largest'] for r in these):.2f} |")
    return "\n".join(lines)


def main():
    """Train and write the result, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        rows = [trained(task, seed, beta_2) for seed in range(args.seeds) for task in TASKS
                for beta_2 in (PAPER, LONGER)]
        RESULT.write_text("[\n " + ",\n ".join(map(json.dumps, rows)) + "\n]\n")
    print(table(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
