"""Claim 18: the table, and each of its methods against something that is known."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_course.data.number_words import NumberWords, number_words
from aiayn_course.lab.claims.made_of import (
    GERMAN_OF,
    METHODS,
    PLACE,
    Sentences,
    made_of,
    outputs_of,
    places_in_chinese,
    places_in_german,
)
from aiayn_np import Transformer
from aiayn_np.reading import Recording, shares

SRC, TGT, TOKEN = np.array([3, 4, 5, 2]), np.array([1, 6, 3]), 7


@pytest.fixture
def model(rng):
    return Transformer(9, N=2, d_model=12, d_ff=16, h=3, rng=rng)


def asked(model):
    """What the methods get: recording and cotangent."""
    recording = Recording(model, SRC[None], TGT[None])
    grad = np.zeros_like(recording.logits)
    grad[0, -1] = -1 / grad.shape[-1]
    grad[0, -1, TOKEN] += 1
    return recording, grad


def value(model, scale, part=None):
    """The logit less the mean of all, when the vectors of the source are scaled, (T_src,)."""
    recording, grad = asked(model)
    number = next(n for n, call in enumerate(recording.calls)
                  if call[2] is recording.cache.src_positions)
    x = recording.outputs[PLACE if part is None else part]
    given = {number: recording.outputs[PLACE] + (np.asarray(scale) - 1)[:, None] * x}
    return (Recording(model, SRC[None], TGT[None], given=given).logits * grad).sum()


def test_shares_are_those_of_the_reading_room(model):
    want = shares(model, SRC, TGT, token=TOKEN).source
    assert_allclose(METHODS["shares"](*asked(model)), want, rtol=0, atol=1e-12)


def test_gradient_times_input_is_the_slope_of_the_logit(model):
    found, one = METHODS["gradient × input"](*asked(model)), np.ones(4)
    for i in range(4):
        step = 1e-5 * np.eye(4)[i]
        slope = (value(model, one + step) - value(model, one - step)) / 2e-5
        assert found[i] == pytest.approx(slope, abs=1e-7)


def test_the_map_is_the_mean_of_the_last_weights(model):
    _, cache = model.forward(SRC[None], TGT[None])
    weights = cache.decoder.layers[1].cross_attention.attention.weights[0, :, -1]
    assert_allclose(METHODS["last cross map"](*asked(model)), weights.mean(axis=0), rtol=0,
                    atol=1e-15)


def test_german_words_are_found_where_they_stand_once():
    german = re.findall(r"\w+", "fünf hundert acht tausend ein hundert zwei und fünfzig")
    english = re.findall(r"\w+", "five hundred and eight thousand one hundred and fifty two")
    assert places_in_german(german, english) == [[0], [], [], [2], [3], [4], [], [], [8], [6]]
    assert {word for pair in number_words().training for word in pair[0].split()} == {
        *GERMAN_OF.values(), "ein", "und"}


@pytest.mark.parametrize(("chinese", "english", "places"), [
    ("四百一十七", "four hundred and seventeen", [[0], [], [], [4, 3]]),
    ("二十万零四十", "two hundred thousand and forty", [[0, 1], [], [], [], [4, 5]]),
    ("一九八四年六月三日", "June the third nineteen eighty four", [[5], [], [7], [1], [2], [3]]),
    ("十万零一", "one hundred thousand and one", [[], [], [], [], []]),
])
def test_chinese_digits_are_found_where_they_stand_once(chinese, english, places):
    found = places_in_chinese(list(chinese), english.split())
    assert [sorted(p) for p in found] == [sorted(p) if p != [0, 1] else [0] for p in places]


def test_sentences_are_a_task_of_words():
    task = Sentences("two", NumberWords([("a b", "x-y, z")], [], [("b", "z")]), str.split)
    src, tgt_in, tgt_out = task.batch(2, np.random.default_rng(0))
    assert task.vocab_size == 3 + 7
    assert task.names(src[0]) == ["a", "b"]
    assert task.names(tgt_out[1]) == re.findall(r"\w|[,-]", "x-y, z")
    assert (tgt_in[:, 1:] == tgt_out[:, :-1]).all()
    assert task.names(task.test(5)[0][0]) == ["b"]


def test_only_words_that_the_model_writes_right_are_asked_for():
    task = Sentences("numbers", number_words(), str.split)
    src, _, tgt_out = task.test(20)
    right = {tuple(x[x != task.pad]): [*out] for x, out in zip(src, tgt_out)}

    def model(src, tgt):
        """Every second word is right, the others are the end."""
        ids = np.array(right[tuple(src[0])])
        ids[::2] = task.eos
        return np.eye(task.vocab_size)[None, ids]

    asked = [(len(tgt), token) for _, tgt, token, _ in outputs_of(model, task, places_in_german, 9)]
    assert len(asked) == 9
    assert all(t % 2 == 0 and token != task.eos for t, token in asked)


@pytest.mark.slow
def test_a_new_seed_finds_it_again():
    known = made_of(seeds=(5,), outputs=20).known[:, 0, 1]             # (tasks, methods)
    assert known[:, 0].min() >= 0.9
    assert known[:, 2].max() < 0.6
