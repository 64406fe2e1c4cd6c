"""What each claim trains, and on what it judges: every training is recorded, and left out."""

import copy

import numpy as np
import pytest

from aiayn_course.lab import EXPERIMENTS, learning
from aiayn_course.lab.claims import overfitting, position_training
from aiayn_np import DecoderLayer, LearnedPositionalEncoding, SinusoidalPositionalEncoding
from aiayn_np.dropout import Dropout
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.training.tasks import FIRST_SYMBOL, TEST, bucket
from aiayn_np.training.toys import Progress
from aiayn_np.variants.pre_norm import PreNormDecoderLayer
from aiayn_np.variants.scoring import AdditiveScore, DotScore


class Trainings(list):
    """The trainings of a claim; its losses are the numbers, from 1, of the models that have them.

    scored : the source sequences on which models were judged
    """

    def __init__(self):
        super().__init__()
        self.scored = []

    def train(self, model, task, *, rng, steps, schedule, eps_ls=0.1, **_):
        self.append(dict(model=copy.deepcopy(model), draw=rng.random(), eps_ls=eps_ls,
                         rates=[schedule(1), schedule(100)]))
        for step in range(1, steps + 1):
            yield Progress(step, len(self), 0.5, 0.0, 0.0)

    def score(self, model, examples, **_):
        self.scored += [row[row >= FIRST_SYMBOL] for row in examples[0]]
        return len(self), 1 - len(self) / 1000

    def of(self, losses):
        """The trainings whose numbers these losses are."""
        return [self[round(number) - 1] for number in np.ravel(losses)]


@pytest.fixture
def trainings(monkeypatch):
    found = Trainings()
    monkeypatch.setattr(learning, "train", found.train)
    for module in (learning, overfitting, position_training):
        monkeypatch.setattr(module, "scores", found.score)
    monkeypatch.setattr(position_training, "exact_match", lambda *a, **_: found.score(*a)[1])
    return found


def run(name, **options):
    rates = dict(peak=(0.01,)) if name == "warm_up" else dict(rate_scale=(0.2,))
    return EXPERIMENTS[name].run(**dict(seeds=(0,), steps=50) | rates | options)


def attention(training):
    return training["model"].encoder.layers[0].self_attention


@pytest.mark.parametrize("name", ["head_count", "key_width", "label_smoothing", "additive",
                                  "embedding_training", "learned_positions", "scale_training"])
def test_a_seed_has_its_batches_a_rate_is_that_of_eq_3_and_no_judge_was_trained_on(name, trainings):
    run(name, rate_scale=(0.1, 0.2), seeds=(0, 1))
    assert len({t["draw"] for t in trainings}) == 2
    for t in trainings:
        t["scale"] = t["rates"][1] / warmup_rate(100, t["model"].d_model, 100)
    assert {round(t["scale"], 6) for t in trainings} == {0.1, 0.2}
    assert max(map(bucket, trainings.scored), default=0) <= TEST


def test_heads_differ_in_h_and_the_control_in_d_k_alone(trainings):
    found = run("head_count")
    assert [attention(t).h for t in trainings.of(found.loss[0, :, 0, 0, 0])] == [1, 8, 32]
    wider, = trainings.of(found.wider[0, 0, 0])
    assert (attention(wider).h, attention(wider).d_k, attention(wider).d_v) == (32, 4, 1)
    assert {t["eps_ls"] for t in trainings} == {0}


def test_scores_are_the_named_ones(trainings):
    found = run("additive")
    scores = {name: getattr(attention(trainings.of(losses[0, 0, 0, 0])[0]).attention, "score", None)
              for name, losses in found.losses.items()}
    assert [type(scores[name]) for name in ("additive", "dot")] == [AdditiveScore, DotScore]
    assert scores["scaled"] is None


def test_the_third_model_without_the_scale_starts_with_the_scores_of_the_first(trainings):
    found = run("scale_training", d_k=(4, 16))
    for i, d_k in enumerate((4, 16)):
        kinds = [attention(t) for t in trainings.of(found.curves[:, i, 0, 0, 0])]
        _, start, small = (kind.linear_Q.W.value for kind in kinds)
        np.testing.assert_allclose(small, start * d_k**-0.5, rtol=1e-6)
        assert [hasattr(kind.attention, "score") for kind in kinds] == [False, True, True]


def test_warm_up_is_where_it_is_named_and_in_both_kinds_of_norm(trainings):
    found = run("warm_up")
    first = [t["rates"][0] for t in trainings.of(found.curves[:, 0, 0, 0])]
    assert first == pytest.approx([0.01 / 60, 0.01, 0.01 / 60, 0.01])
    norms = [type(t["model"].decoder.layers[0]) for t in trainings]
    assert norms == [DecoderLayer] * 2 + [PreNormDecoderLayer] * 2


def test_smoothing_differs_in_eps_alone_and_dropout_in_p_alone(trainings):
    smoothed = trainings.of(run("label_smoothing").loss[:, 0, 0, 0])
    assert [t["eps_ls"] for t in smoothed] == [0, 0.1]
    assert len({t["model"].dropout.P_drop for t in smoothed}) == 1
    dropped = trainings.of(run("dropout").held_out[:, 0, 0, 0])
    assert [t["model"].dropout.P_drop for t in dropped] == [0, 0.1]
    assert {t["eps_ls"] for t in dropped} == {0}


def test_dropout_is_judged_on_its_training_set_and_on_other_sequences(monkeypatch, trainings):
    judged = []
    monkeypatch.setattr(overfitting, "scores", lambda model, examples: judged.append(
        {bucket(row[row >= FIRST_SYMBOL]) <= TEST for row in examples[0]}) or (1.0, 0.5))
    run("dropout")
    assert judged == [{False}, {True}] * (len(judged) // 2)


def test_positions_are_the_named_ones(trainings):
    found = run("learned_positions")
    kinds = [type(t["model"].positions) for t in trainings.of(found.nats[:, 0, 0, 0])]
    assert kinds == [SinusoidalPositionalEncoding, LearnedPositionalEncoding, Dropout]
