"""Measure what the lessons measure on one model, on eight: figures/populations.json.

    python docs/measure_populations.py              all lessons of LESSONS
    python docs/measure_populations.py 10           this one; the file keeps the others
    python docs/measure_populations.py 10 --seeds 1 --out FILE    a look at it

Models, tasks and rates are those of the lessons. Seed 0 is the reader's own model, and other seeds
draw other parameters and other batches. `aiayn_course.lab.populations` reads the file, and names
what it holds.
"""

import argparse
import copy
import json
import os
from pathlib import Path

if __name__ == "__main__":  # one thread, before a library of matrices is loaded
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

from aiayn_course.lab.learning import losses, small_model, smooth
from aiayn_np import (
    CopyTask,
    LabelSmoothedCrossEntropy,
    Softmax,
    Transformer,
    exact_match,
    greedy_decode,
    train,
)
from aiayn_np.training.loop import averaged, token_scores
from aiayn_np.variants import scoring

FIGURES = Path(__file__).parents[1] / "figures"
SEEDS, TEN = 8, 10


def lesson_10(seed):
    """Train a model to copy, for 400 steps."""
    task = CopyTask(symbols=10, max_length=8)
    size = dict(N=2, d_model=32, d_ff=64, h=4, P_drop=0.0, max_len=64)
    model = Transformer(task.vocab_size, **size, rng=np.random.default_rng(seed)).astype(np.float32)
    source, validation = task.source("3 1 4 1 5"), task.validation(500)
    untrained, history, states, exact = copy.deepcopy(model), [], {}, []

    def of_right(model):                                               # the largest probability
        written = greedy_decode(model, source, bos=task.bos, eos=task.eos, max_len=6)[0]
        p = Softmax()(model(source, np.array([[task.bos, *written[:5]]])))[0]
        return p[range(6), source[0]].max()

    def copied(model):
        return exact_match(model, validation, bos=task.bos, eos=task.eos)

    src, tgt_in, tgt_out = task.batch(64, np.random.default_rng(seed + 1))
    first = []
    for times in (1, 0.1):
        _, cache = LabelSmoothedCrossEntropy(0.1, pad=task.pad).forward(
            times * untrained(src, tgt_in), targets=tgt_out)
        first.append(token_scores(cache)[0])
    early = None
    for progress in train(model, task, steps=400, rng=np.random.default_rng(seed + 1),
                          validate_every=None):
        history.append([progress.loss, progress.accuracy])
        if progress.step in (310, 320, 330, 340, 350):
            states[progress.step] = copy.deepcopy(model.state_dict())
            exact.append(copied(model))
        if progress.step % TEN == 0 and progress.accuracy > 0.85 and early is None:
            early = copy.deepcopy(model)
    mean = averaged(copy.deepcopy(model), list(states.values()))
    src, tgt_in, tgt_out = validation
    real = tgt_out != task.pad
    right = ((early or model)(src, tgt_in).argmax(axis=-1) == tgt_out) | ~real
    lengths = real.sum(axis=1)
    share = right[real].mean()
    rows = [lengths == n + 1 for n in range(3, 9)]
    tokens = [right[at][real[at]].mean() for at in rows]
    by_length = [[p, p ** (n + 1), right[at].all(axis=1).mean()]
                 for n, (p, at) in enumerate(zip(tokens, rows), 3)]
    loss, accuracy = smooth(np.transpose(history), TEN)
    return dict(loss=loss, accuracy=accuracy, first_loss=first,
                right_before=of_right(untrained), right_after=of_right(model),
                early=[share, (share**lengths).mean(), right.all(axis=1).mean()],
                by_length=by_length, states=[*exact, copied(mean)])


SCORES = {  # name: (factory, ends of parameters' names, the factor of their start)
    "scaled dot": (None, (), 1), "dot": (scoring.dot_attention, (), 1),
    "general": (scoring.general_attention, (), 1), "concat": (scoring.concat_attention, (), 1),
    "additive": (scoring.additive_attention, (), 1),
    "dot, scores start small": (scoring.dot_attention, ("linear_Q.W", "linear_K.W"), 64**-0.25),
    "additive, Var(v) = 1": (scoring.additive_attention, ("score.v",), 64**0.5),
}


def lesson_12(seed):
    """Train models with different scores to copy, for 200 steps."""
    task, curves = CopyTask(symbols=6, max_length=5), {}
    for name, (factory, parts, times) in SCORES.items():
        model = small_model(task, seed, h=2, d_k=64, attention=factory)
        for parameter_name, parameter in model.named_parameters():
            if parameter_name.endswith(parts or ("no such name",)):
                parameter.value *= np.float32(times)
        curves[name] = smooth(losses(model, task, seed, steps=200, batch_size=16), TEN)
    return curves


LESSONS = {10: lesson_10, 12: lesson_12}


def measured(lesson, seeds):
    """Return {name: list with an entry for each seed}."""
    found = []
    for seed in range(seeds):
        found.append(LESSONS[lesson](seed))
        print(f"lesson {lesson}, seed {seed}", flush=True)
    return {name: [np.round(f[name], 4).tolist() for f in found] for name in found[0]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lessons", nargs="*", type=int, default=[])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=FIGURES / "populations.json")
    args = parser.parse_args()
    for lesson in args.lessons or LESSONS:
        result = measured(lesson, args.seeds)
        kept = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        kept |= {str(lesson): result}
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(kept[key])}"
                           for key in sorted(kept, key=int))
        args.out.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
