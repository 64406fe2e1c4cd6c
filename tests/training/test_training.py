"""Training: the loop does what it says, learns, and stops before it does harm."""

import copy

import numpy as np
import pytest
from trained import alignment_scores, half_trained, trained

from aiayn_np import (
    Adam,
    CopyTask,
    LabelSmoothedCrossEntropy,
    Transformer,
    exact_match,
    train,
    warmup_rate,
)
from aiayn_np.training.loop import averaged, token_scores
from aiayn_np.training.toys import validate


def small(rng, P_drop=0.1, task=None):
    task = task or CopyTask(symbols=4, max_length=4)
    options = dict(N=1, d_model=8, d_ff=12, h=2, P_drop=P_drop, max_len=60)
    return Transformer(task.vocab_size, **options, rng=rng), task


def test_the_loop_is_forward_loss_backward_rate_step(seed):
    rng = np.random.default_rng(seed)
    model, task = small(rng)
    records = list(train(model, task, steps=3, batch_size=5, rng=rng,
                         schedule=lambda step: warmup_rate(step, 8, 7, 0.3)))

    rng = np.random.default_rng(seed)
    by_hand, _ = small(rng)
    adam, criterion = Adam(by_hand.parameters()), LabelSmoothedCrossEntropy(0.1)
    for step in (1, 2, 3):
        src, tgt_in, tgt_out = task.batch(5, rng)
        by_hand.zero_grad()
        logits, cache = by_hand.forward(src, tgt_in, rng=rng)
        _, loss_cache = criterion.forward(logits, targets=tgt_out)
        by_hand.backward(criterion.backward(1.0, loss_cache), cache)
        adam.step(0.3 * warmup_rate(step, 8, 7))
    assert [r.step for r in records] == [1, 2, 3]
    assert [r.rate for r in records] == [0.3 * warmup_rate(step, 8, 7) for step in (1, 2, 3)]
    for p, q in zip(model.parameters(), by_hand.parameters()):
        np.testing.assert_array_equal(p.value, q.value)


def test_without_a_schedule_the_rate_is_eq_3_for_a_small_model(rng):
    model, task = small(rng)
    records = train(model, task, steps=3, batch_size=2, rng=rng)
    assert [r.rate for r in records] == [0.2 * warmup_rate(step, 8, 100) for step in (1, 2, 3)]


def test_reported_loss_is_unsmoothed_and_over_real_tokens_only():
    p = [[0.1, 0.2, 0.7], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.8, 0.1, 0.1]]
    logits = np.log(np.array([p]))
    targets = np.array([[2, 2, 2, 0]])  # the last is padding, the second is not the best token
    _, cache = LabelSmoothedCrossEntropy(0.1, pad=0).forward(logits, targets=targets)
    loss, accuracy = token_scores(cache)
    assert loss == pytest.approx(-(np.log(0.7) + np.log(0.3) + np.log(0.6)) / 3, rel=1e-12)
    assert accuracy == 2 / 3


def test_the_average_is_the_mean_of_the_states_and_leaves_the_model_alone(rng):
    model, _ = small(rng)
    before = model.state_dict()
    states = [{n: v * factor for n, v in before.items()} for factor in (2.0, 3.0, 7.0)]
    average = averaged(model, states)
    for name, value in average.state_dict().items():
        np.testing.assert_allclose(value, 4 * before[name], rtol=1e-15)
    for model_2 in (model, averaged(model, [])):
        for name, value in model_2.state_dict().items():
            np.testing.assert_array_equal(value, before[name])


def test_the_average_is_what_is_validated_and_kept(rng, monkeypatch):
    """The last five of the states at steps 10, 20, ...; the model takes it when it is perfect."""
    model, task = small(rng)
    validated, states = [], {}

    def perfect_at_70(average, *_, **__):
        validated.append(average.state_dict())
        return 1.0 if len(validated) == 7 else 0.5

    monkeypatch.setattr("aiayn_np.training.toys.validate", perfect_at_70)
    for p in train(model, task, steps=99, batch_size=2, rng=rng, validate_every=10):
        states[p.step] = model.state_dict()
    assert p.step == 70
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, validated[-1][name])
        np.testing.assert_array_equal(validated[0][name], states[10][name])
        mean = np.mean([states[i][name] for i in (20, 30, 40, 50, 60)], axis=0)
        np.testing.assert_allclose(validated[5][name], mean, rtol=1e-13, atol=1e-15)


@pytest.mark.slow
def test_one_teacher_forced_pass_tells_what_greedy_decoding_would():
    model, task = half_trained("copy")  # some right, some wrong
    batch = task.validation(100)
    share = validate(model, task, batch)
    assert 0 < share < 1
    assert share == exact_match(model, batch, bos=task.bos, eos=task.eos)
    assert validate(model, task, batch, chunk=10) <= 1


@pytest.mark.parametrize("name", ["copy", pytest.param("reverse", marks=pytest.mark.slow)])
def test_it_learns_the_task_and_stops_when_validation_is_perfect(name):
    model, task, records = trained(name)
    assert records[-1].validation == 1.0
    assert records[-1].step < 1500
    assert all(r.validation != 1.0 for r in records[:-1])
    assert exact_match(model, task.test(500), bos=task.bos, eos=task.eos) >= 0.995


@pytest.mark.parametrize(
    ("name", "aligned"),
    [("copy", lambda t, n: t),
     pytest.param("reverse", lambda t, n: n - 1 - t, marks=pytest.mark.slow)],
)
def test_a_cross_attention_head_looks_where_the_answer_stands(name, aligned, rng):
    """Bound 0.6 against a shuffled baseline that stays below 0.35."""
    model, task, _ = trained(name)
    best, baseline = alignment_scores(model, task, aligned, rng)
    assert best > 0.6
    assert baseline < 0.35


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy", "reverse", "sort"])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_task_is_solved_on_other_seeds(name, seed):
    model, task, records = trained(name, seed)
    assert records[-1].validation == 1.0
    assert exact_match(model, task.test(500), bos=task.bos, eos=task.eos) >= 0.99


def test_with_an_optimizer_that_has_run_it_goes_on_with_the_next_step(rng):
    model, task = small(rng)
    adam = Adam(model.parameters())
    assert [p.step for p in train(model, task, steps=2, batch_size=3, rng=rng, optimizer=adam)]
    more = train(model, task, steps=4, batch_size=3, rng=rng, optimizer=adam)
    assert [p.step for p in more] == [3, 4]


def test_an_optimizer_of_another_model_or_of_a_copy_is_refused(rng):
    """It would train nothing, or the other model, without a word."""
    model, task = small(rng)
    for other in (copy.deepcopy(model), small(rng)[0]):
        with pytest.raises(ValueError, match="optimizer must hold parameters of the model that is"):
            train(other, task, steps=1, batch_size=2, rng=rng, optimizer=Adam(model))
    some = Adam(model.encoder.parameters())
    assert [p.step for p in train(model, task, steps=1, batch_size=2, rng=rng, optimizer=some)]


def test_a_gradient_that_is_not_finite_stops_too(rng, monkeypatch):
    model, task = small(rng)
    backward = Transformer.backward

    def broken(self, grad, cache):
        backward(self, grad, cache)
        self.encoder.layers[0].add_norm_2.layer_norm.gamma.grad[2] = np.inf

    monkeypatch.setattr(Transformer, "backward", broken)
    before = model.state_dict()
    with pytest.raises(FloatingPointError, match=r"encoder\.layers\.0\.add_norm_2.*gamma\.grad"):
        list(train(model, task, steps=5, batch_size=3, rng=rng))
    np.testing.assert_array_equal(model.state_dict()["src_embedding.E"], before["src_embedding.E"])


@pytest.mark.parametrize(("option", "error", "said"), [
    ({"optimizer": 5}, TypeError, "optimizer must be an Adam"),
    ({"threads": 2**70}, ValueError, "threads must be at most"),
    ({"batch_size": 2**70}, ValueError, "batch_size must be at most"),
])
def test_an_option_that_would_fail_in_a_step_is_refused_before_it(rng, option, error, said):
    model, task = small(rng)
    with pytest.raises(error, match=said):
        train(model, task, **{"steps": 1, "rng": rng, "batch_size": 2} | option)
