"""`aiayn-np train text` beside the same training in PyTorch: losses, and seconds per step.

    python benchmarks/on_text.py --source train.de.gz --target train.en.gz
    python benchmarks/on_text.py --source … --target … --preset tiny --steps 100 --threads 1

Both use the vocabulary, the batches and the rate of the package, and start from its values. Model,
loss, gradients and Adam are PyTorch's on its side. They first train without dropout, so that the
losses can be compared. Then the steps are timed again with the dropout of the preset; each draws
its own masks. Blocks of steps take turns (compare.py). It prints Markdown and writes nothing.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from compare import contestants, quartiles, ratio
from tables import compared, number, table, times

NAMES = ["ours", "PyTorch"]
BLOCK, SHOWN, DROPOUT_BLOCKS = 10, (1, 10, 25, 50, 100, 200, 300, 500, 1000), 6


def measure(steps, threads, **options):
    """{name: list of blocks of {"seconds", "loss", "tokens"}}, {name: number of parameters}."""
    with contestants("on_text", NAMES, threads, **options) as team:
        said: dict[str, list] = {name: [] for name in team}
        for _ in range(steps // BLOCK):
            for name, one in team.items():
                said[name].append(one.ask(BLOCK))
        return said, {name: one.about["parameters"] for name, one in team.items()}


def work(what, threads, files, preset, P_drop):
    """Yield the number of parameters, and then seconds, loss and tokens of every step."""
    from aiayn_np.runs.text_start import start

    with tempfile.TemporaryDirectory() as folder:
        changed = {} if P_drop is None else {"P_drop": P_drop}
        run, _ = start(folder, files, preset=preset, **changed)
    yield {"parameters": sum(p.value.size for p in run.model.parameters())}
    for loss, tokens, seconds in (ours if what == "ours" else in_torch)(run, threads):
        yield {"loss": loss, "tokens": tokens, "seconds": seconds}


def ours(run, threads):
    """Steps of the package's own loop: loss, tokens, seconds."""
    run.measure = lambda progress: None                        # validation is not timed
    before = time.perf_counter()
    for p in run.train():
        now = time.perf_counter()
        yield p.loss, p.tokens, now - before
        before = time.perf_counter()


def in_torch(run, threads):
    """The same steps in PyTorch."""
    import torch
    from common import Config
    from in_torch import Model, renamed
    from torch import nn

    from aiayn_np import warmup_rate

    torch.set_num_threads(threads)
    torch.manual_seed(run.config["seed"])
    o, m = run.config["train"], run.config["model"]
    c = Config(run.task.vocab_size, m["d_model"], m["h"], m["d_ff"], m["N"], 0, m["max_len"])
    model = Model(c, run.model.positions.table(c.T).astype(np.float32), run.task.pad, m["P_drop"])
    model.load_state_dict(renamed(run.model.state_dict()))
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    smoothed = nn.CrossEntropyLoss(label_smoothing=o["eps_ls"], ignore_index=run.task.pad)
    plain = nn.CrossEntropyLoss(ignore_index=run.task.pad)
    for step in range(1, run.steps + 1):
        before = time.perf_counter()
        src, tgt_in, tgt_out = (torch.from_numpy(x).long() for x in run.batches.batch(step))
        later = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool).triu(1)
        adam.zero_grad()
        logits = model(src, tgt_in, later).flatten(0, 1)
        smoothed(logits, tgt_out.flatten()).backward()
        adam.param_groups[0]["lr"] = o["rate_scale"] * warmup_rate(step, c.d_model,
                                                                   o["warmup_steps"])
        adam.step()
        with torch.no_grad():
            loss = plain(logits, tgt_out.flatten()).item()
        tokens = int((src != run.task.pad).sum() + (tgt_in != run.task.pad).sum())
        yield loss, tokens, time.perf_counter() - before


def losses(said):
    """The losses of both at some steps, as Markdown."""
    flat = {name: [s["loss"] for block in said[name] for s in block] for name in said}
    shown = [step for step in SHOWN if step <= len(flat["ours"])]
    rows = [[name, *(f"{values[step - 1]:.4f}" for step in shown)] for name, values in flat.items()]
    return table(["loss at step", *map(str, shown)], rows)


def speeds(found):
    """Time per step of both for {heading: said}, as Markdown."""
    rows = []
    for heading, said in found.items():
        tokens, seconds = (
            {name: np.array([np.sum([s[key] for s in block]) for block in said[name]])
             for name in said} for key in ("tokens", "seconds"))
        row = [heading]
        for name, values in seconds.items():
            row += [number(1e3 * quartiles(values)[1] / BLOCK),
                    f"{quartiles(tokens[name] / values)[1]:,.0f}"]
        if "PyTorch" in seconds:
            r = ratio(seconds["ours"], seconds["PyTorch"])
            row += [times(r), compared(r)]
        rows.append(row)
    head = [word for name in seconds for word in (f"{name}: ms of a step", "tokens/s")]
    return table(["", *head, *["ours / PyTorch", "ours is"] * ("PyTorch" in seconds)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("source", "target"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--steps", type=int, default=300, help="without dropout (default: 300)")
    parser.add_argument("--threads", type=int, default=2, choices=[1, 2])
    args = parser.parse_args()
    files = {name: str(getattr(args, name).resolve()) for name in ("source", "target")}
    options = dict(files=files, preset=args.preset)
    plain, parameters = measure(args.steps, args.threads, P_drop=0.0, **options)
    dropped, _ = measure(DROPOUT_BLOCKS * BLOCK, args.threads, P_drop=None, **options)
    print(f"Parameters: {parameters}; {args.threads} threads.\n")
    print(losses(plain), speeds({"no dropout": plain, "with dropout": dropped}), sep="\n\n")


if __name__ == "__main__":
    main()
