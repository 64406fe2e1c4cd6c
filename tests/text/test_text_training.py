"""The loop of a training on text does what it says, and so does what is told of it."""

from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_np import Adam, LabelSmoothedCrossEntropy, Transformer, warmup_rate
from aiayn_np.cli import progress
from aiayn_np.cli.progress import Reporter
from aiayn_np.runs.options import check_options
from aiayn_np.runs.pairs import PairTraining
from aiayn_np.runs.recipes import Recipe
from aiayn_np.runs.run import Run
from aiayn_np.text.batches import Batches
from aiayn_np.text.measures import PairProgress, loss_on
from aiayn_np.text.vocabulary import EOS


def parts(seed, P_drop=0.1):
    """(model, batches, what train_text needs) for a few pairs of ids."""
    rng = np.random.default_rng(seed)
    pairs = [tuple(np.array([*rng.integers(4, 9, rng.integers(1, 6)), EOS]) for _ in range(2))
             for _ in range(30)]
    model = Transformer(9, N=1, d_model=8, d_ff=12, h=2, P_drop=P_drop, max_len=60, rng=rng)
    return model, Batches(pairs, 40, seed), dict(
        rng=rng, optimizer=Adam(model.parameters()), recent=deque(maxlen=2))


def train_text(model, batches, *, steps, rng, optimizer, recent, accumulate=1):
    """The training on sentence pairs with these parts, which is not measured."""
    task, run = PairTraining.__new__(PairTraining), Run.__new__(Run)
    task.pad, task.data = 0, SimpleNamespace(batches=batches)
    task.validate = lambda run, progress: None
    run.task, run.model, run.history, run.metrics = task, model, [], Path("none")
    run.rng, run.optimizer, run.recent = rng, optimizer, recent
    run.options = task.options = dict(
        epochs=steps / batches.per_epoch, warmup_steps=5, rate_scale=0.5, accumulate=accumulate,
        eps_ls=0.1, d_model=model.d_model)
    run.recipe = Recipe(run.options)
    return run.train()


def test_the_loop_is_forward_loss_backward_rate_step(seed, monkeypatch):
    monkeypatch.setattr(PairTraining, "average_every", 3)
    model, batches, options = parts(seed)
    progress = list(train_text(model, batches, steps=8, **options))
    twin, _, same = parts(seed)
    adam, states = same["optimizer"], []
    criterion, plain = LabelSmoothedCrossEntropy(0.1), LabelSmoothedCrossEntropy(0.0)
    for step in range(1, 9):
        src, tgt_in, tgt_out = batches.batch(step)
        adam.zero_grad()
        logits, cache = twin.forward(src, tgt_in, rng=same["rng"])
        _, loss_cache = criterion.forward(logits, targets=tgt_out)
        twin.backward(criterion.backward(1.0, loss_cache), cache)
        rate = 0.5 * warmup_rate(step, 8, 5)
        adam.step(rate)
        p = progress[step - 1]
        assert (p.step, p.rate) == (step, rate)
        assert p.loss == pytest.approx(plain.forward(logits, targets=tgt_out)[0], rel=1e-12)
        assert p.tokens == np.count_nonzero(src) + np.count_nonzero(tgt_out)
        states += [twin.state_dict()] if step % 3 == 0 else []
    for name, value in twin.state_dict().items():
        np.testing.assert_array_equal(model.state_dict()[name], value)
        for kept, state in zip(options["recent"], states, strict=True):
            np.testing.assert_array_equal(kept[name], state[name])


def test_loss_on_a_set_is_the_mean_over_its_tokens(seed):
    model, batches, _ = parts(seed)
    nats, count = 0.0, 0
    for source, target in batches.pairs:
        tgt_in = np.array([[1, *target[:-1]]])
        logits = model(source[None], tgt_in)[0]
        log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        nats -= log_p[np.arange(len(target)), target].sum()
        count += len(target)
    assert batches.per_epoch > 1
    assert loss_on(model, batches) == pytest.approx(nats / count, rel=1e-12)


@pytest.mark.parametrize(("name", "bad"), [
    ("tokens", 0), ("warmup_steps", 0), ("rate_scale", -1), ("epochs", 0), ("accumulate", 0),
    ("eps_ls", 1),
])
def test_bad_options_are_refused(name, bad):
    options = dict(epochs=1, warmup_steps=5, rate_scale=0.5, tokens=3, accumulate=1, eps_ls=0.1,
                   seed=0)
    check_options(options)
    with pytest.raises(ValueError, match=name):
        check_options(options | {name: bad})


def test_what_is_told_is_the_mean_since_it_was_told_last(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    reporter = Reporter(SimpleNamespace(task=SimpleNamespace(steps=100),
                                        optimizer=SimpleNamespace(t=10)))
    lines = []
    for step in range(11, 16):
        now[0] += 6
        reporter.report(PairProgress(step, step / 10, 3000, 1e-3, now[0]))
        lines.append(capsys.readouterr().err)
    assert [bool(line) for line in lines] == [False, False, True, False, False]
    assert lines[2] == ("step 13 of 100: loss 1.200, perplexity 3.3, 0.167 steps/s,"
                        " 9 min left\n")
    now[0] += 1
    reporter.report(PairProgress(16, 1.6, 3000, 1e-3, now[0], 2.5, 2.25, 30.125))
    line = capsys.readouterr().err
    assert line.startswith("step 16 of 100: loss 1.500, perplexity 4.5, 0.231 steps/s,")
    assert line.endswith("; validation loss 2.500, averaged 2.250, BLEU 30.12\n")


@pytest.mark.parametrize(("seconds", "text"), [(5.4, "5 s"), (600, "10 min"), (9000, "2.5 h")])
def test_time_is_written_in_fitting_units(seconds, text):
    assert progress.clock(seconds) == text
