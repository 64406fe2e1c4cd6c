"""Measure what the lessons measure on one model, on eight: figures/populations.json.

    python docs/measure_populations.py              all lessons, a quarter of an hour of a processor
    python docs/measure_populations.py 10 12        these; the file keeps the others
    python docs/measure_populations.py 10 --seeds 1 --out FILE    a look at it

Models, tasks and rates are those of the lessons. Seed 0 is the reader's own model, and other seeds
draw other parameters and other batches. `aiayn_course.lab.populations` reads the file. All arrays
begin with the axis of the seeds. Heads are those of layer 1, then of layer 2. The names:

Lesson 1     right (20): share of 500 sequences that are written backwards, every 50 steps; 1 after
    the end; step: the last one; due (2): share of rows that look at the due digit, in each layer;
    map (6, 6): the last layer's, for 3 1 4 1 5; frozen_right, frozen_due (2): with W^Q and W^K as
    they were drawn, at the end, and in the last layer before and after training; alone_right,
    alone_tokens: share of sequences and of tokens (mean of the last 50 steps) after 500 steps in
    which W^Q and W^K alone learn
Lesson 8     ten (2, 2): share of 10 symbols copied exactly after 600 and 1800 steps of training on
    1 to 8, with positions from 0 in training, and from a random number, the same for both sides
Lesson 10    loss, accuracy (40): means of ten steps; first_loss (2): before step 1, and with logits
    ten times smaller; right_before, right_after: the largest probability of a right token of
    3 1 4 1 5; early (3), at the first tenth step with 85 % of the tokens right: tokens right,
    sequences right if mistakes were spread evenly, sequences right; by_length (6, 3), 3 to 8
    digits: tokens, independent tokens, sequences; states (6): copied exactly at steps 310 to 350,
    and by the mean of these states
Lesson 11    chance: the largest margin of an untrained model; margin (8, 6): heads, jobs; prefix
    (3): weight of the best head on the due place, on that with a wrong prefix, and on the place
    after what was read; muted (8), muted_layer_2, muted_none: copied exactly without a head,
    without all of layer 2, with all; aligned TASK (8): weight of each head on the answer;
    influence TASK: outputs that change with one symbol, of copy, reverse and sort
Lesson 12    scaled dot, dot, general, concat, additive, and two with another start, dot, scores
    start small, and additive, Var(v) = 1 (20): loss, means of ten steps
Lesson 14    loss: means of ten steps; exact: share of 200 numbers after each epoch; chosen: the
    head; inverted, ordered (4, 3), heads, and first right, second right, crossed, also untrained;
    exact_test, muted (4): share of the test numbers, with all heads and without each
Lesson 15    nats (N): of a held-back character, at each validation of the language model; looks,
    without (8): weight of each head on what followed the same symbol, and rows right without it;
    rows: rows right with all heads
"""

import argparse
import copy
import json
import os
import tempfile
from itertools import permutations
from pathlib import Path

if __name__ == "__main__":  # one thread, before a library of matrices is loaded
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

from aiayn_course.data.number_words import number_words, write_number_words
from aiayn_course.lab.claims import induction
from aiayn_course.lab.claims.head_jobs import cross_attention_heads, job_table, solve
from aiayn_course.lab.claims.position_training import of_length
from aiayn_course.lab.learning import at_scale, learn, losses, small_model, smooth
from aiayn_np import (
    Adam,
    CopyTask,
    LabelSmoothedCrossEntropy,
    ReverseTask,
    SinusoidalPositionalEncoding,
    Softmax,
    SortTask,
    Transformer,
    attention_maps,
    exact_match,
    greedy_decode,
    train,
)
from aiayn_np.runs.start import start_run
from aiayn_np.text.batches import arrays
from aiayn_np.text.translation import translate
from aiayn_np.training.loop import averaged, token_scores
from aiayn_np.training.toys import validate
from aiayn_np.variants import scoring

FIGURES = Path(__file__).parents[1] / "figures"
SEEDS, TEN = 8, 10


def lesson_1(seed):
    """Train a model to reverse, one whose W^Q and W^K stay as drawn, one that learns only these."""
    task, size = ReverseTask(symbols=10, max_length=8), dict(
        N=2, d_model=32, d_ff=64, h=1, P_drop=0.0, max_len=16)
    source = task.source("3 1 4 1 5")
    answer = np.append(source[0, :-1][::-1], task.eos)

    def due(model):                                                    # of rows, for each layer
        _, cache = model.forward(source, np.array([[task.bos, *answer[:-1]]]))
        maps = [layer.cross_attention.attention.weights[0, 0] for layer in cache.decoder.layers]
        return [np.mean(m[:-1].argmax(axis=1) == range(5)[::-1]) for m in maps], maps[-1]

    def trained(steps, every, learns=lambda QK: True):
        rng = np.random.default_rng(seed)
        model = Transformer(task.vocab_size, **size, rng=rng).astype(np.float32)
        free = [p for name, p in model.named_parameters()
                if learns("linear_Q" in name or "linear_K" in name)]
        before, right, tokens = due(model)[0][-1], np.ones(steps // every), []
        for progress in train(model, task, steps=steps, batch_size=64, rng=rng,
                              optimizer=Adam(free), validation_size=500, validate_every=every):
            tokens.append(progress.accuracy)
            if progress.measured:
                right[progress.step // every - 1] = progress.validation
        return before, right, progress.step, np.mean(tokens[-50:]), *due(model)

    _, right, step, _, looks, last = trained(1000, 50)
    before, frozen_right, _, _, frozen_looks, _ = trained(1500, 100, lambda QK: not QK)
    _, alone_right, _, alone_tokens, *_ = trained(500, 500, lambda QK: QK)
    return dict(right=right, step=step, due=looks, map=last, frozen_right=frozen_right[-1],
                frozen_due=[before, frozen_looks[-1]], alone_right=alone_right[-1],
                alone_tokens=alone_tokens)


def lesson_8(seed):
    """Train models to copy, with positions that start at 0 or anywhere; copy longer sequences."""
    ten, shares = of_length(CopyTask(max_length=16).test(2000), 10), []
    for furthest in (0, 40):
        positions = Shifted(32, 64)
        task, draws = CopyTask(max_length=8), np.random.default_rng([seed, 2])
        model = small_model(task, seed, positions=positions)
        for progress in learn(model, task, seed, steps=1800, schedule=at_scale(model, 0.2)):
            if progress.step in (600, 1800):
                positions.first = 0
                shares.append(exact_match(model, ten, bos=task.bos, eos=task.eos))
            positions.first = draws.integers(furthest + 1)
    return dict(ten=np.reshape(shares, (2, 2)))


class Shifted(SinusoidalPositionalEncoding):
    """Sinusoids that begin at position `first`."""

    first = 0

    def forward(self, x, *, start=0):
        return super().forward(x, start=start + self.first)


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


def lesson_11(seed):
    """Train models to copy, reverse and sort; look at their heads, mute them, change the input."""
    orders, found = np.array([*permutations(range(6))]), {}
    places = {"copy": np.sort(orders), "reverse": np.sort(orders)[:, ::-1],
              "sort": orders.argsort()}
    for Task in (CopyTask, ReverseTask, SortTask):
        task = Task(symbols=6, max_length=6)
        model = small_model(task, seed, N=2, h=4)
        if task.name == "copy":
            found["chance"] = np.subtract(*job_table(model, task, 300, seed)).max()
        solve(model, task, seed, steps=1000)
        examples = task.examples_of(orders + task.source("0")[0, 0])
        weights = cross_attention_heads(model, examples)[0][:, :, :6]
        on_answer = np.take_along_axis(weights, places[task.name][:, None, :, None], axis=3)
        found[f"aligned {task.name}"] = on_answer.mean(axis=(0, 2, 3))
        found[f"influence {task.name}"] = influence(model, task)
        if task.name == "copy":
            found |= of_a_copier(model, task, examples, seed)
    return found


def influence(model, task):
    """Return the mean number of outputs that change with one symbol of 4 0 2 5 1 3."""
    src = task.source("4 0 2 5 1 3")
    many = np.repeat(src, 30, axis=0)
    for j in range(6):
        for k in range(5):
            many[5 * j + k, j] = 3 + (src[0, j] - 3 + k + 1) % 6
    own, other = (greedy_decode(model, ids, bos=task.bos, eos=task.eos, max_len=7)
                  for ids in (src, many))
    return (other != own)[:, :6].sum() / 30


def of_a_copier(model, task, examples, seed):
    """Give it a wrong prefix, and mute its heads."""
    src, tgt_in, _ = examples
    wrong = np.c_[tgt_in[:, :1], np.random.default_rng(0).permuted(tgt_in[:, 1:], axis=1)]
    at = (src[:, None] == wrong[:, 1:6, None]).argmax(axis=-1)
    i, j = np.nonzero(at != range(5))
    right, shuffled = (cross_attention_heads(model, (src, prefix, None))[0]
                       for prefix in (tgt_in, wrong))
    on = np.array([w[i, :, j + 1, place].mean(axis=0) for w, place in (
        (right, j + 1), (shuffled, j + 1), (shuffled, at[i, j] + 1))])
    score, baseline = job_table(model, task, 300, seed)

    def exact_without(layer, heads):
        muted = copy.deepcopy(model)
        for head in heads:
            muted.decoder.layers[layer].cross_attention.linear_O.W.value[8 * head:8 * head + 8] = 0
        return validate(muted, task, task.test(300))

    return dict(margin=score - baseline, prefix=on[:, on[0].argmax()],
                muted=[exact_without(i // 4, [i % 4]) for i in range(8)],
                muted_layer_2=exact_without(1, range(4)), muted_none=exact_without(1, ()))


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


def lesson_14(seed):
    """Train a translator of number words, find the head that crosses, and mute each head."""
    numbers = number_words()
    with tempfile.TemporaryDirectory() as folder:
        training, validation, *_ = write_number_words(folder)
        files = dict(pairs=training, validation_pairs=validation)
        run, _ = start_run(Path(folder) / "run", "text", files, preset="numbers", seed=seed)
        untrained, epochs, curve = copy.deepcopy(run.model), [], []
        for progress in run.train():
            curve.append(progress.loss)
            if progress.step % run.task.data.batches.per_epoch == 0:
                epochs.append(translated(run.model, run, numbers.validation[:200]))
    model = run.trained()
    chosen = crossing(model, run, numbers.validation)["inverted"][:, :2].min(axis=1).argmax()
    after, before = (crossing(m, run, numbers.test) for m in (model, untrained))
    muted = []
    for head in range(4):
        other = copy.deepcopy(model)
        other.decoder.layers[0].cross_attention.linear_O.W.value[16 * head:16 * head + 16] = 0
        muted.append(translated(other, run, numbers.test))
    return dict(loss=smooth(np.array(curve), TEN), exact=epochs, chosen=chosen, muted=muted,
                exact_test=translated(model, run, numbers.test),
                **{kind: after[kind] for kind in after},
                **{f"{kind}, untrained": before[kind] for kind in before})


def translated(model, run, pairs):
    """Return the share of pairs that are translated without a mistake."""
    sources, references = zip(*pairs)
    out = translate(model, run.task.vocabulary, sources)
    return np.mean([a == b for a, b in zip(out, references)])


def crossing(model, run, pairs):
    """Return (heads, 3) for two kinds of words: first right, second right, crossed."""
    vocabulary = run.task.vocabulary
    id_of = {piece: i for i, piece in enumerate(vocabulary.pieces(range(len(vocabulary))))}
    words = {"inverted": ("_und", (1, -1), "-", (-1, 1)),
             "ordered": ("_tausend", (-1, 0), "_thousand", (-1, 0))}
    src, tgt_in, tgt_out = arrays(list(zip(*(vocabulary.encode(side) for side in zip(*pairs)))))
    _, cache = model.forward(src, tgt_in)
    (weights,) = (w for name, w in attention_maps(cache).items() if "cross" in name)
    peak, found = weights.argmax(axis=-1), {}
    for kind, (german, read, english, written) in words.items():
        (row, i), (_, j) = np.nonzero(src == id_of[german]), np.nonzero(tgt_out == id_of[english])
        row, i, j = np.array([row, i, j])[:, src[row, i - 2] != id_of["_und"]]
        first, second = (peak[row, :, j + step].T for step in written)
        found[kind] = np.mean([first == i + read[0], second == i + read[1], first > second],
                              axis=-1).T
    return found


def lesson_15(seed):
    """Train a language model on the help of Python; mute the heads of one that repeats blocks."""
    with tempfile.TemporaryDirectory() as folder:
        run, _ = start_run(
            Path(folder) / "run", "words", seed=seed + 1, vocab_size=500, norm="pre",
            positions="learned", N=2, d_model=64, d_ff=256, h=4, P_drop=0.0, max_length=48,
            steps=600, batch_size=16, warmup_steps=100, rate_scale=2.0, eps_ls=0.0)
        nats = [progress.validation for progress in run.train() if progress.measured]
    model = induction.trained(2, seed)
    ids, targets, period = induction.repeated(500, np.random.default_rng(1))
    return dict(nats=nats, looks=induction.prefix_scores(model, ids, period),
                without=induction.exact_without(model, ids, targets),
                rows=induction.copied(model, ids, targets)[1])


LESSONS = {1: lesson_1, 8: lesson_8, 10: lesson_10, 11: lesson_11, 12: lesson_12, 14: lesson_14,
           15: lesson_15}


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
