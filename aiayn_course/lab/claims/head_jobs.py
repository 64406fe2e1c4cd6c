"""Claim 10: different heads learn different jobs (end of Sec. 4, appendix figures)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, WIDEST
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.training.tasks import FIRST_SYMBOL, CopyTask, ReverseTask, Task
from aiayn_np.training.toys import Progress, train
from aiayn_np.transformer import Transformer

from ..effects import BELOW, draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Effect, Trained
from ..learning import at_scale, each, learn, small_model

LEAST = 0.1  # of the weight: the least difference of trained and untrained heads that counts
NEAR = 0.005  # heads nearer the best untrained one than this are told
# the source position of the answer to output t of n symbols
ANSWER = {"copy": lambda t, n: t, "reverse": lambda t, n: n - 1 - t}
# the position of each job, for the answer at a; <eos> is at n
JOBS = {
    "the answer": lambda a, n: a, "one before it": lambda a, n: a - 1,
    "one after it": lambda a, n: a + 1, "first symbol": lambda a, n: 0 * a,
    "last symbol": lambda a, n: 0 * a + n - 1, "<eos>": lambda a, n: 0 * a + n,
}
MIRRORED = {"as far from the end": lambda a, n: n - 1 - a}
NEEDS = ("copy", "pair")  # tasks of which an output needs one place of the source, and two
KINDS = "two jobs in a model", "two jobs in a layer"


class PairTask(Task):
    """Copy, but every symbol turns into the next one if the symbol as far from the end is large."""

    name = "pair"

    def target(self, sequence):
        kept, other = sequence - FIRST_SYMBOL, sequence[::-1] - FIRST_SYMBOL
        return (kept + (other >= self.symbols // 2)) % self.symbols + FIRST_SYMBOL


@dataclass
class HeadJobs(Trained):
    """Weight of each head on the position of each job, and on shuffled positions.

    margin : (tasks, seeds, heads, jobs), the first less the second, for cross-attention, when the
        validation is perfect
    untrained : the largest margin before training; a trained head has a job if its own is larger
    needs : names of the tasks of other models, which train for 1 x and 3 x the steps
    found : (needs, seeds, 3, kinds), weights by KINDS, before training and at both times
    """

    tasks: list
    jobs: list
    margin: np.ndarray
    untrained: float
    needs: list
    rate_scale: np.ndarray
    steps: int
    found: np.ndarray
    title = "Do heads learn different jobs?"
    size = (WIDEST, 5.4)

    @property
    def best(self):
        """Return the best job of each head, or -1 for a head without a job."""
        return np.where(self.margin.max(-1) > self.untrained, self.margin.argmax(-1), -1)

    @property
    def effects(self):
        return self.gained(1)

    @property
    def controls(self):
        return self.gained(0)

    def gained(self, kind):
        """Return by how much the weights of a kind exceed those before training."""
        return {f"{task}: {KINDS[kind]}": Effect(found[:, 1:, kind] - found[:, :1, kind], LEAST,
                                                 unit="of the weight")
                for task, found in zip(self.needs, self.found)}

    @property
    def finding(self):
        layer = ", ".join(f"{w.min():.2f} to {w.max():.2f} ({task})"
                          for task, w in zip(self.needs, self.found[:, :, -1, 1]))
        near = np.abs(self.margin.max(-1) - self.untrained) < NEAR
        return (
            f"Two heads of a layer differ in their jobs by a weight of {layer}; an output of `pair`"
            f" needs two places of the source. Of {self.best.size} heads of models that"
            f" {' or '.join(self.tasks)} without a mistake, {(self.best == 0).sum()} look at the"
            f" answer, {(self.best > 0).sum()} elsewhere, {(self.best < 0).sum()} nowhere more than"
            f" the best untrained head does. ({near.sum()} heads lie within {NEAR} of that bound: a"
            f" training with other rounding can count them otherwise.)"
        )

    def draw(self, left, right):
        rows = np.arange(len(self.jobs))[::-1]
        for i, task in enumerate(self.tasks):
            heads = self.margin[i].reshape(-1, len(rows))
            left.plot(heads, np.broadcast_to(rows + 0.16 - 0.32 * i, heads.shape), MARKERS[i],
                      color=COLORS[i], markersize=4, alpha=0.6, label=[task] + ["_"] * rows[0])
        left.axvline(self.untrained, color="0.4", linestyle=":", label="best untrained head")
        left.set(yticks=rows, yticklabels=self.jobs, xlabel="share of the weight, minus shuffled",
                 title="each head of models without a mistake")
        left.legend(**BELOW)
        draw_effects(right, self.controls | self.effects, "weight, minus untrained",
                     [color for color in COLORS[1:4] for _ in self.needs])


def job_scores(heads: np.ndarray, lengths: np.ndarray, answer: Callable, rng: np.random.Generator,
               job: Callable = JOBS["the answer"]) -> tuple[np.ndarray, ...]:
    """Return (score, baseline), each (heads,): mean weight on a position, real or shuffled.

    heads : weights (n, heads, T_q, T_k)          lengths : symbols of each sequence, without <eos>
    answer : (t, length) -> source positions of the answers to outputs t, an array
    job : one of JOBS; outputs do not count if the job's position lies outside the source
    The baseline permutes the length + 1 positions of each source.
    """
    right, shuffled = [], []
    for weights, length in zip(heads, lengths):
        t = np.arange(length)
        place = job(answer(t, length), length)
        inside = (place >= 0) & (place <= length)
        right.append(weights[:, t[inside], place[inside]])
        shuffled.append(weights[:, t[inside], rng.permutation(length + 1)[place[inside]]])
    return tuple(np.concatenate(w, axis=1).mean(axis=1) for w in (right, shuffled))


def cross_attention_heads(model: Transformer, examples: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """Return (weights, lengths): the maps of all heads, layer by layer, (n, N h, T_q, T_k), and the
    number of symbols of each sequence.
    """
    src, tgt_in, _ = examples
    maps = attention_maps(model.forward(src, tgt_in)[1])
    heads = [w for name, w in maps.items() if "cross_attention" in name]
    return np.concatenate(heads, axis=1), (src >= FIRST_SYMBOL).sum(axis=1)


def job_table(model: Transformer, task: Task, n: int, seed: int) -> np.ndarray:
    """Return (score, baseline), each (heads, jobs), on n test sequences of a task."""
    rng = np.random.default_rng([seed, 2])
    heads, lengths = cross_attention_heads(model, task.test(n))
    answer = ANSWER[task.name]
    columns = [job_scores(heads, lengths, answer, rng, job) for job in JOBS.values()]
    return np.stack(columns, axis=-1)


def apart(margins: np.ndarray) -> float:
    """Return the weight by which two heads differ in their jobs, at most: margins (heads, jobs).

    One head prefers a job to another one by so much, and the other head the other way round.
    """
    m = np.maximum(margins, 0)
    most = (m[:, :, None] - m[:, None]).max(axis=0)                    # (jobs, jobs)
    return float(np.minimum(most, most.T).max())


def kinds_of(model: Transformer, examples: Sequence, answer: Callable, seed: int) -> np.ndarray:
    """Return the weights by KINDS, (2,), of cross-attention and the encoder's self-attention."""
    src, tgt_in, _ = examples
    maps = attention_maps(model.forward(src, tgt_in)[1])
    names = [name for name in maps if "cross" in name or "encoder" in name]
    lengths, rng = (src >= FIRST_SYMBOL).sum(axis=1), np.random.default_rng([seed, 2])
    columns = [np.subtract(*job_scores(np.concatenate([maps[name] for name in names], axis=1),
                                       lengths, answer, rng, job))
               for job in (JOBS | MIRRORED).values()]
    layers = np.array(np.split(np.stack(columns, axis=-1), len(names)))   # (layers, heads, jobs)
    return np.array([apart(layers.reshape(-1, len(columns))), max(map(apart, layers))])


def solve(model: Transformer, task: Task, seed: int, steps: int) -> Progress:
    """Train until the validation is perfect; return the last Progress."""
    rng = np.random.default_rng([seed, 1])
    return [*train(model, task, steps=steps, rng=rng, validation_size=500)][-1]


def head_jobs(*, rate=0.4, seeds=(0, 1, 2, 3, 4), steps=250, most=1000, n=300):
    """Train models to copy, to reverse, and to do what needs two places; see where heads look.

    rate, steps : the models of the effects train at this factor of Eq. (3), for three times as many
    most : the most steps of the models that end when their validation is perfect, as `train` does
    n : number of test sequences
    """
    toys = {task.name: task(symbols=6, max_length=6) for task in (CopyTask, ReverseTask, PairTask)}

    def solved(name, seed):
        model = small_model(toys[name], seed, N=2)
        before = np.subtract(*job_table(model, toys[name], n, seed)).max()
        solve(model, toys[name], seed, most)
        return dict(margin=np.subtract(*job_table(model, toys[name], n, seed)), untrained=before)

    def measure(name, seed):
        task, model = toys[name], small_model(toys[name], seed, N=2)
        looks = partial(kinds_of, model, task.test(n), ANSWER["copy"], seed)    # as `pair` has them
        found = [looks()]
        for p in learn(model, task, seed, steps=LONGER * steps, schedule=at_scale(model, rate)):
            if p.step in (steps, LONGER * steps):
                found.append(looks())
        return dict(found=found)

    ended = each(ANSWER, seeds=seeds, measure=solved)
    return HeadJobs(
        list(ANSWER), list(JOBS), ended["margin"], ended["untrained"].max(),
        list(NEEDS), np.array([rate]), steps, **each(NEEDS, seeds=seeds, measure=measure))


HEAD_JOBS = Experiment(
    "head_jobs", claim=10, section="4, appendix",
    says="Different attention heads clearly learn different jobs, and many seem tied to the"
    " structure of the sentence. (Which jobs and tasks are looked at is ours. Two heads have"
    " different jobs by a weight w if one prefers a place to another by w or more, and the other"
    " head of its layer prefers the other place.)",
    alt="Left, each head's weight on the place of each job, above that on shuffled places: only at"
    " the answer do many lie far beyond the best untrained head. Right, for each task and seed by"
    " how much more than before training two heads differ in their jobs, in a model and a layer.",
    settings="against the same model before training; measured anew on another processor, the first"
    " weights were 0.08 to 0.49 and 0.18 to 0.83, and the verdict was the same",
    dropped="a rule by which heads with one job could not disagree; tasks that need one place only;"
    " the larger one of two symbols as the task that needs two: with two seeds every head of layer"
    " 2 looked at both places alike; five rates, 0.1 to 1.6 times Eq. (3), each task at its best:"
    " most end at the least loss that smoothing allows; two jobs in a layer were undecided at each",
    run=head_jobs, result=HeadJobs, trains=True,
)
