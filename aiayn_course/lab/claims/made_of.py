"""Claim 18, a further one: shares name the source token that decided a written word."""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aiayn_np.plotting.figures import WIDEST
from aiayn_np.reading.freezing import frozen
from aiayn_np.reading.recording import Recording
from aiayn_np.reading.replacing import replaced
from aiayn_np.training.tasks import BOS, EOS, FIRST_SYMBOL, Task, padded
from aiayn_np.transformer import Transformer

from ...data.chinese_phrases import DIGITS, MONTHS, TENS, UNITS, chinese_phrases, ordinal
from ...data.number_words import number_words
from ..effects import draw_effects
from ..experiment import Experiment, upper
from ..gate import LONGER, Effect, Trained
from ..learning import each, learn, small_model

MARGIN, LOST = 2.0, 90.0  # points: as often is not fewer by more; % of the last word's effect
PLACE = "src_positions"  # path of the vectors of the source tokens
DECISIVE = np.log(2)  # nats: replacing the token at least halves the word's probability
GERMAN = """null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
    fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig
    achtzig neunzig hundert tausend"""
GERMAN_OF = dict(zip([*UNITS, *TENS[2:], "hundred", "thousand"], GERMAN.split()))
VALUE = {word: n for n, word in [*enumerate(UNITS), *enumerate(MONTHS, 1),
                                 *((10 * i, word) for i, word in enumerate(TENS)),
                                 *((n, ordinal(n)) for n in [*range(1, 20), *range(20, 100, 10)])]}


def gradient_times_input(recording, grad, cache=None):
    """Multiply the vector of each source token by the gradient of the logit: (T_src,)."""
    gradients, _ = recording.backward(grad, cache or recording.cache)
    return (recording.outputs[PLACE] * gradients[PLACE]).sum(axis=-1)[0]


def shares(recording, grad):
    """Multiply gradient by input, with the model's scales, weights and gates held constant."""
    return gradient_times_input(recording, grad, frozen(recording.cache))


def last_map(recording, grad):
    """Return the weights of the last cross-attention, averaged over its heads."""
    last = recording.cache.decoder.layers[-1].cross_attention
    return last.attention.weights[0, :, -1].mean(axis=0)


# a Recording of the model's forward, and the gradient of the last row's logits -> (T_src,)
METHODS = {"shares": shares, "last cross map": last_map, "gradient × input": gradient_times_input}


@dataclass
class MadeOf(Trained):
    """The share of words for which each method names the right source token.

    known : (tasks, seeds, 2 times, methods)     asked : number of words, without the last axis
    carried : the cost of replacing the token that shares name, relative to the costliest token,
        for words that one token decides; this and the fields below are (tasks, seeds, 2 times)
    last, held : nats lost by replacing the last written word; held: with fixed attention weights
    """

    tasks: list
    methods: list
    steps: int
    asked: np.ndarray
    known: np.ndarray
    carried: np.ndarray
    last: np.ndarray
    held: np.ndarray
    title = "Shares, and the source token that a word was made of"
    rate_scale, size = (1.0,), (WIDEST, 4.4)

    @property
    def effects(self):
        ours, last_map, _ = np.moveaxis(100 * self.known, -1, 0)
        lost = 100 - 100 * self.held / self.last
        return ({f"{task}, named: shares − (cross map − {MARGIN:g})": points(named)
                 for task, named in zip(self.tasks, ours - last_map + MARGIN)}
                | {f"{task}, last word: effect lost − {LOST:g}": points(more)
                   for task, more in zip(self.tasks, lost - LOST)})

    @property
    def finding(self):
        known = 100 * self.known[:, :, -1].mean(axis=1).T                # (methods, tasks)
        listed = ", ".join(f"{name} for {' and '.join(f'{share:.1f}' for share in shares)} %"
                           for name, shares in zip(self.methods, known))
        carried, kept = self.carried[..., -1].min(), (self.held / self.last)[..., -1].max()
        return (
            f"After {LONGER * self.steps} steps, of the first {self.asked[..., -1].min()} words of"
            f" {' and '.join(self.tasks)} that each of {self.asked[..., -1].size} models wrote"
            f" right, the right token is named by {listed} (means); the token that shares name"
            f" carries on average at least {100 * carried // 1:.0f} % of the largest loss in every"
            f" model (words that one token decides), and with the weights held the last word keeps"
            f" on average at most {upper(100 * kept)} % of its effect in every model."
        )

    def draw(self, left, right):
        runs = 100 * self.known[:, :, -1].transpose(2, 0, 1)           # (methods, tasks, seeds)
        middle = np.median(runs, axis=-1)
        image = left.imshow(middle, cmap="cividis", vmin=0, vmax=100, aspect="auto")
        for (row, column), share in np.ndenumerate(middle):
            low, high = runs[row, column].min(), runs[row, column].max()
            left.text(column, row, f"{share:.0f}\n({low:.0f}–{high:.0f})", ha="center",
                      va="center", color="white" if share < 50 else "black")
        left.set_xticks(range(len(self.tasks)), self.tasks)
        left.set_yticks(range(len(self.methods)), [m.replace(" ", "\n", 1) for m in self.methods])
        left.figure.colorbar(image, ax=left, label="words named (%)")
        left.set_title("median; in brackets the least and the most")
        draw_effects(right, self.effects, "difference (points)")


def points(difference):
    """Return the Effect of a difference in points."""
    return Effect(difference, 0.1, unit="points")


class Sentences(Task):
    """Pairs of lines, cut into words or Chinese characters, as a task with a known answer."""

    def __init__(self, name, words, cut):
        self.name = name
        self.lists = [[(cut(source), re.findall(r"\w+|[^\w\s]", target))
                       for source, target in pairs] for pairs in (words.training, words.test)]
        known = sorted({word for pair in self.lists[0] for side in pair for word in side})
        self.ids = {word: i for i, word in enumerate(known, FIRST_SYMBOL)}
        self.vocab_size = FIRST_SYMBOL + len(known)

    def batch(self, n, rng):
        return self.examples(self.lists[0][i] for i in rng.integers(len(self.lists[0]), size=n))

    def test(self, n):
        return self.examples(self.lists[1][:n])

    validation = test

    def examples(self, pairs):
        src, tgt = zip(*[[[self.ids[word] for word in side] for side in pair] for pair in pairs])
        return (padded([[*s, EOS] for s in src]), padded([[BOS, *t] for t in tgt]),
                padded([[*t, EOS] for t in tgt]))

    def names(self, ids):
        """Return the words of ids, without the special tokens."""
        words = list(self.ids)
        return [words[i - FIRST_SYMBOL] for i in ids if i >= FIRST_SYMBOL]


def places_in_german(source, target):
    """Return for each English word the place of its German word; none for a repeated word."""
    source = ["eins" if word == "ein" else word for word in source]
    return [at if len(at := places(source, GERMAN_OF.get(word))) == 1 else [] for word in target]


def places_in_chinese(source, target):
    """Return for each word of a number, day or month the places of its digit and of the digit's 十.

    There are none for 十 alone, nor for a digit that occurs twice in one of the texts.
    """
    numbers = [VALUE.get(word, 0) for word in target]
    digits = [DIGITS[n % 10 or n // 10] if n not in (0, 10) else "" for n in numbers]
    found = []
    for n, digit in zip(numbers, digits):
        at = places(source, digit)
        tens = [at[0] + (1 if n >= 20 else -1)] if at and n > 10 else []
        sure = len(at) == digits.count(digit) == 1
        found.append(at + [i for i in tens if source[i : i + 1] == ["十"]] if sure else [])
    return found


def places(words, word):
    """Return the places of a word in a list."""
    return [i for i, other in enumerate(words) if other == word]


SENTENCES: dict[str, Any] = {"numbers": (number_words, str.split, places_in_german),
                             "phrases": (chinese_phrases, list, places_in_chinese)}


def training(name: str, seed: int, *steps: int) -> Iterator[tuple[Transformer, Task, Callable]]:
    """Train one model; yield (model, task, places_of) after each step in `steps`."""
    words, cut, places_of = SENTENCES[name]
    task = Sentences(name, words(), cut)
    model = small_model(task, seed, N=2, d_model=64, d_ff=128)
    for progress in learn(model, task, seed, steps=max(steps), batch_size=32):
        if progress.step in steps:
            yield copy.deepcopy(model).astype(np.float64), task, places_of


def trained(name: str, seed: int, steps: int) -> tuple[Transformer, Task, Callable]:
    """Return the model of `training` after these steps, its task, and the places."""
    return next(training(name, seed, steps))


def outputs_of(model, task, places_of, n):
    """Yield (src (T_src,), tgt (t,), the next token, its places) of at most n right outputs."""
    for src, tgt, out in zip(*task.test(n)):
        src = src[src != task.pad]
        best = model(src[None], tgt[None])[0].argmax(axis=-1)
        for t, right in enumerate(places_of(task.names(src), task.names(out))):
            if n and right and best[t] == out[t]:
                n -= 1
                yield src, tgt[: t + 1], out[t], right


def named_by(model, src, tgt, token, methods=METHODS):
    """Return the source place that each method names for a token."""
    ids = src[None], tgt[None]
    recording = Recording(model, *ids)
    grad = np.zeros_like(recording.logits)
    grad[0, -1] = -1 / grad.shape[-1]
    grad[0, -1, token] += 1
    return [int(f(recording, grad).argmax()) for f in methods.values()]


def made_of(*, seeds=(0, 1, 2, 3, 4), steps=600, outputs=100):
    """Train models to translate, and let three methods explain their words.

    A method names the source token with the largest attribution. It is right if this token means
    the word: the same digit or German word. Words that the source has twice are left out.

    outputs : number of right words to explain, for each model and time
    """
    def measure(name, seed):
        found = [explained(*model, seed) for model in training(name, seed, steps, LONGER * steps)]
        return {key: np.array([one[key] for one in found]) for key in found[0]}

    def explained(model, task, places_of, seed):
        rng, rows = np.random.default_rng([seed, 2]), []
        for src, tgt, token, right in outputs_of(model, task, places_of, outputs):
            found = named_by(model, src, tgt, token)
            lost = replaced(model, src, tgt, token=token, rng=rng,
                            others=range(FIRST_SYMBOL, task.vocab_size))
            later = len(tgt) > 1                                   # before word 1 there is only bos
            rows.append(dict(
                right=[at in right for at in found], most=lost.source.max(),
                carried=lost.source[found[0]] / lost.source.max(),
                last=later * lost.target[-1], held=later * lost.target_held[-1]))
        all_of = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        return dict(
            asked=len(rows), known=all_of["right"].mean(axis=0),
            carried=all_of["carried"][all_of["most"] > DECISIVE].mean(),
            last=all_of["last"].mean(), held=all_of["held"].mean())

    return MadeOf(list(SENTENCES), list(METHODS), steps,
                  **each(SENTENCES, seeds=seeds, measure=measure))


MADE_OF = Experiment(
    "made_of", claim=18, section="after Ali et al., 2022",
    says="The shares of a logit, with scales, gates and attention weights held, name the source"
    " token that a word was made of, at least as often as the last cross map does; the last written"
    " word says where to look, and not what is written. (Tasks and bounds are ours, 2 points and"
    " 90 %; in all tasks a word is made of one or two tokens.)",
    alt="Left, a map of the share of words for which each of three methods names the token"
    " that says the word, for two tasks. Right, for each seed by how much shares name more"
    " words than the cross map, and how much of the last word's effect is lost when the"
    " weights are held.",
    dropped="copying and reversing, where one symbol makes each symbol: shares named all of them;"
    " three seeds, 1200 steps",
    run=made_of, result=MadeOf, trains=True,
)
