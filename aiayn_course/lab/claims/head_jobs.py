"""Claim 10: different heads learn different jobs (end of Sec. 4, appendix figures)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, draw_map
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.training.tasks import FIRST_SYMBOL, TASKS, Task
from aiayn_np.training.toys import Progress, train
from aiayn_np.transformer import Transformer

from ..experiment import AGREES, DISAGREES, NOT_SETTLED, Experiment, Result
from ..learning import each, small_model

ALIGNED = 0.3  # least difference of the best head's weight on the answer and its baseline
# the source position of the answer to output t of n symbols
ANSWER = {"copy": lambda t, n: t, "reverse": lambda t, n: n - 1 - t}
# the position of each job, for the answer at a; <eos> is at n
JOBS = {
    "the answer": lambda a, n: a, "one before it": lambda a, n: a - 1,
    "one after it": lambda a, n: a + 1, "first symbol": lambda a, n: 0 * a,
    "last symbol": lambda a, n: 0 * a + n - 1, "<eos>": lambda a, n: 0 * a + n,
}


@dataclass
class HeadJobs(Result):
    """Weight of each cross-attention head on the position of each job, and on shuffled positions.

    score, baseline : (tasks, seeds, heads, jobs)
    untrained : the largest difference of score and baseline before training; a trained head has a
        job if its difference is larger
    solved : whether the validation of each model was perfect, (tasks, seeds)
    shown : for each task the name of the drawn head, the best aligned head of the first seed
    maps : the drawn head's weights on one test sequence, (tasks, T, T)
    source, output : tokens of that sequence, (tasks, T)
    """

    tasks: list
    jobs: list
    score: np.ndarray
    baseline: np.ndarray
    untrained: float
    solved: np.ndarray
    shown: list
    maps: np.ndarray
    source: list
    output: list
    title = "What each cross-attention head looks at: the answer, or something else?"
    panels = (2, 2)
    size = (8.6, 8.4)
    layout: ClassVar = dict(gridspec_kw=dict(width_ratios=[1.55, 1]))

    @property
    def margin(self):
        """Return the score minus the baseline: (tasks, seeds, heads, jobs)."""
        return self.score - self.baseline

    @property
    def aligned(self):
        """Return, for each model, the best head's margin on the answer: (tasks, seeds)."""
        return self.margin[..., 0].max(axis=-1)

    @property
    def best(self):
        """Return the best job of each head, or -1 for a head without a job."""
        return np.where(self.margin.max(-1) > self.untrained, self.margin.argmax(-1), -1)

    @property
    def different(self):
        """Return the number of different jobs among the heads of each model: (tasks, seeds)."""
        return np.array([[len(set(m[m >= 0])) for m in task] for task in self.best])

    @property
    def finding(self):
        answer = self.score[..., 0].max(axis=-1).min()
        several, models = int((self.different >= 2).sum()), self.different.size
        on_answer, on_other = int((self.best == 0).sum()), int((self.best > 0).sum())
        return (
            f"In each of {models} models that {' or '.join(self.tasks)} the best head puts at least"
            f" {answer:.2f} of its weight on the answer (shuffled:"
            f" {self.baseline[..., 0].mean():.2f}); of {self.best.size} heads {on_answer} look"
            f" there, {on_other} elsewhere, {(self.best < 0).sum()} nowhere more than the best"
            f" untrained head does; {several} of {models} models have heads with different jobs."
        )

    @property
    def verdict(self):
        """Return AGREES if every model has an aligned head, and heads with at least two jobs.

        Each task has one job to do. So heads with a single job refute nothing: NOT_SETTLED.
        """
        if not (self.aligned >= ALIGNED).all():
            return DISAGREES
        return AGREES if (self.different >= 2).all() else NOT_SETTLED

    def draw(self, *axes):
        for i, (points, ax) in enumerate(zip(axes[::2], axes[1::2])):
            self.draw_scores(points, i)
            image = draw_map(ax, self.maps[i], np.array(True), self.shown[i])
            ticks = range(len(self.source[i]))
            ax.set_xticks(ticks, self.source[i], rotation=90)
            ax.set_yticks(ticks, self.output[i])
            ax.set(xlabel="source token (key)", ylabel="token written (query)")
            ax.figure.colorbar(image, ax=ax, shrink=0.8, label="attention weight")
        axes[0].legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.19), frameon=False)

    def draw_scores(self, ax, i):
        """Draw each head of a task as a point at the weight of its best job, and the baselines."""
        seeds, heads = self.score.shape[1:3]
        x = np.arange(seeds)[:, None] + np.linspace(-0.3, 0.3, heads)
        best = self.margin[i].argmax(-1)[..., None]
        score, base = (np.take_along_axis(a[i], best, -1)[..., 0]
                       for a in (self.score, self.baseline))
        for j, job in enumerate(self.jobs):
            mine = self.best[i] == j
            label = job if (self.best == j).any() else None
            ax.plot(x[mine], score[mine], MARKERS[j], color=COLORS[j], label=label)
        none = self.best[i] < 0
        ax.plot(x[none], score[none], "o", color="0.5", markerfacecolor="none",
                label="no job: best weight")
        ax.plot(x.ravel(), base.ravel(), "_", color="0.5", label="places shuffled")
        ax.axhline(base.mean() + self.untrained, color="0.5", linestyle=":",
                   label="best untrained head")
        ax.set(xticks=range(seeds), xlabel="seed (left to right: heads of layer 1, then 2)",
               ylim=(0, 1), ylabel="weight on the place", title=f"{self.tasks[i]}: all heads")


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


def example(model, task, score):
    """Return (name of the head with the best score on the answer, its weights, source and output).

    The example is the longest test sequence with the most different symbols.
    """
    src, tgt_in, tgt_out = task.test(500)
    i = max(range(len(src)), key=lambda i: ((src[i] != task.pad).sum(), len(set(src[i]))))
    heads, _ = cross_attention_heads(model, (src[[i]], tgt_in[[i]], None))
    head, h = int(score[:, 0].argmax()), heads.shape[1] // len(model.decoder.layers)
    name = f"{task.name}: head {head % h + 1} of layer {head // h + 1}"
    return name, heads[0, head], task.tokens(src[i]), task.tokens(tgt_out[i])


def solve(model: Transformer, task: Task, seed: int, steps: int) -> Progress:
    """Train until the validation is perfect; return the last Progress."""
    rng = np.random.default_rng([seed, 1])
    return [*train(model, task, steps=steps, rng=rng, validation_size=500)][-1]


def head_jobs(*, seeds=(0, 1, 2, 3, 4), steps=1000, n=300):
    """Train models to copy and to reverse, and measure where each cross-attention head looks.

    Parameters
    ----------
    steps : the most steps; training ends when the validation is perfect
    n : number of test sequences
    """
    def measure(name, seed):
        task = TASKS[name](symbols=6, max_length=6)
        model = small_model(task, seed, N=2)
        score, baseline = job_table(model, task, n, seed)
        untrained, end = (score - baseline).max(), solve(model, task, seed, steps)
        score, baseline = job_table(model, task, n, seed)
        shown, weights, source, output = example(model, task, score)
        return dict(score=score, baseline=baseline, untrained=untrained,
                    solved=end.validation == 1, shown=shown, maps=weights, source=source,
                    output=output)

    found: dict = each(ANSWER, seeds=seeds, measure=measure)
    found |= {name: found[name][:, 0].tolist() for name in ("shown", "source", "output")}
    found |= dict(maps=found["maps"][:, 0], untrained=found["untrained"].max())
    return HeadJobs(tasks=list(ANSWER), jobs=list(JOBS), **found)


HEAD_JOBS = Experiment(
    "head_jobs", claim=10, section="4, appendix",
    says="Different attention heads clearly learn different jobs, many of them tied to the"
    " structure of the sentence.",
    alt="Left, for copy and reverse, a point for every head of five models at the weight on the"
    " place it looks at best: most heads of layer 2 look at the answer, a few heads at <eos>,"
    " many of layer 1 lie below the dotted line of the best untrained head, and shuffled places"
    " lie lower still. Right, one head of each task as a heat-map: bright"
    " along the diagonal for copy, along the anti-diagonal for reverse.",
    run=head_jobs, result=HeadJobs, trains=True,
)
