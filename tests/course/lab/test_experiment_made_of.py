"""Claim 18: the table, and each of its methods against something that is known."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_course.data.number_words import NumberWords, number_words
from aiayn_course.lab.attributions import (
    METHODS,
    PLACE,
    attn_lrp,
    followed,
    nearness,
    values,
    with_residual,
)
from aiayn_course.lab.claims.made_of import (
    GERMAN_OF,
    Sentences,
    made_of,
    named_by,
    places_in_chinese,
    places_in_german,
    places_in_order,
    shuffled,
)
from aiayn_np import Transformer
from aiayn_np.reading import Recording, shares

SRC, TGT, TOKEN = np.array([3, 4, 5, 2]), np.array([1, 6, 3]), 7


@pytest.fixture
def model(rng):
    return Transformer(9, N=2, d_model=12, d_ff=16, h=3, rng=rng)


def asked(model):
    """What the methods get: model, ids, recording and cotangent."""
    ids = SRC[None], TGT[None]
    recording = Recording(model, *ids)
    grad = np.zeros_like(recording.logits)
    grad[0, -1] = -1 / grad.shape[-1]
    grad[0, -1, TOKEN] += 1
    return model, ids, recording, grad


def value(model, scale, part=None):
    """The logit less the mean of all, when the vectors of the source are scaled, (T_src,)."""
    _, ids, recording, grad = asked(model)
    number = next(n for n, call in enumerate(recording.calls)
                  if call[2] is recording.cache.src_positions)
    x = recording.outputs[PLACE if part is None else part]
    given = {number: recording.outputs[PLACE] + (np.asarray(scale) - 1)[:, None] * x}
    return (Recording(model, *ids, given=given).logits * grad).sum()


def test_shares_are_those_of_the_reading_room(model):
    want = shares(model, SRC, TGT, token=TOKEN).source
    assert_allclose(METHODS["shares"](*asked(model)), want, rtol=0, atol=1e-12)


def test_gradient_times_input_is_the_slope_of_the_logit(model):
    found, one = METHODS["gradient × input"](*asked(model)), np.ones(4)
    for i in range(4):
        step = 1e-5 * np.eye(4)[i]
        slope = (value(model, one + step) - value(model, one - step)) / 2e-5
        assert found[i] == pytest.approx(slope, abs=1e-7)


def test_integrated_gradients_add_up_to_the_change_from_zero(model, monkeypatch):
    monkeypatch.setattr("aiayn_course.lab.attributions.POINTS", 600)
    change = value(model, np.ones(4)) - value(model, np.zeros(4), "src_embedding")
    assert METHODS["integrated gradients"](*asked(model)).sum() == pytest.approx(change, abs=1e-3)


def test_attn_lrp_gives_a_value_half_where_weights_are_constant(rng):
    """With Q = 0 and nothing from self-attention, the source speaks through one product alone."""
    model = Transformer(9, N=1, d_model=12, d_ff=16, h=3, rng=rng)
    model.decoder.layers[0].cross_attention.linear_Q.W.value[...] = 0
    for layer in (model.encoder.layers[0], model.decoder.layers[0]):
        layer.self_attention.linear_V.W.value[...] = 0
    half = shares(model, SRC, TGT, token=TOKEN).source / 2
    assert abs(half).max() > 0.01
    assert_allclose(attn_lrp(*asked(model)), half, rtol=0, atol=1e-12)


def test_maps_are_means_of_the_weights(model):
    _, cache = model.forward(SRC[None], TGT[None])
    last, all_of = (METHODS[name](*asked(model)) for name in ("last cross map",
                                                              "mean of cross maps"))
    maps = [c.cross_attention.attention.weights[0, :, -1] for c in cache.decoder.layers]
    assert_allclose(last, maps[1].mean(axis=0), rtol=0, atol=1e-15)
    assert_allclose(all_of, np.mean(maps, axis=(0, 1)), rtol=0, atol=1e-15)


def test_the_parts_of_alti_add_up_to_the_norm(model):
    """Without gamma and beta, the parts of a position add up to what its norm returns."""
    _, _, recording, _ = asked(model)
    layer, c = model.encoder.layers[0], recording.cache.encoder.layers[0]
    x = recording.outputs[PLACE][0]
    parts = with_residual(values(layer.self_attention, c.self_attention), x.copy())
    attended = recording.outputs["encoder.layers.0.self_attention"][0]
    assert_allclose(parts.sum(axis=1), x + attended, rtol=0, atol=1e-12)
    near = nearness(parts, layer.add_norm_1, c.add_norm_1)
    y = recording.outputs["encoder.layers.0.add_norm_1"][0]
    scale = c.add_norm_1.layer_norm.inv_std[0].ravel()
    rest = [max(abs(y[1]).sum() - abs(y[1] - p).sum(), 0)
            for p in (parts - parts.mean(-1, keepdims=True))[1] * scale[1]]
    assert_allclose(near[1] / near[1].max(), rest / np.max(rest), rtol=0, atol=1e-12)


def test_what_is_followed_through_the_layers_by_hand():
    encoder = [np.array([[0.5, 0.5], [0, 1]])]
    decoder = [(np.eye(1), 0.5, np.array([[0.25, 0.25]])), (np.eye(1), 0.5, np.array([[0.5, 0]]))]
    # layer 1: (.25, .25) @ encoder = (.125, .375); layer 2: half of it, and (.5, 0) @ encoder
    assert_allclose(followed(encoder, decoder), [0.0625 + 0.25, 0.1875 + 0.25])
    for name in ("rollout", "ALTI+"):
        found = METHODS[name](*asked(Transformer(9, N=2, d_model=12, d_ff=16, h=3,
                                                 rng=np.random.default_rng(0))))
        assert found.min() >= 0
        assert 0.2 < found.sum() < 1


def test_a_shuffled_decoder_has_the_same_numbers_elsewhere(model, rng):
    twin = shuffled(model, rng)
    assert (twin.encoder.layers[0].feed_forward.linear_1.W.value
            == model.encoder.layers[0].feed_forward.linear_1.W.value).all()
    W, V = (m.decoder.layers[0].feed_forward.linear_1.W.value for m in (model, twin))
    assert sorted(W.ravel()) == sorted(V.ravel())
    assert (W != V).mean() > 0.9
    assert named_by(model, SRC, TGT, TOKEN) != named_by(twin, SRC, TGT, TOKEN)


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


def test_symbols_are_found_in_their_order():
    reverse = places_in_order(lambda t, n: n - 1 - t)
    assert reverse([5, 3, 5, 4], [4, 5, 3, 5]) == [[3], [], [1], []]


def test_sentences_are_a_task_of_words():
    task = Sentences("two", NumberWords([("a b", "x-y, z")], [], [("b", "z")]), str.split)
    src, tgt_in, tgt_out = task.batch(2, np.random.default_rng(0))
    assert task.vocab_size == 3 + 7
    assert task.names(src[0]) == ["a", "b"]
    assert task.names(tgt_out[1]) == re.findall(r"\w|[,-]", "x-y, z")
    assert (tgt_in[:, 1:] == tgt_out[:, :-1]).all()
    assert task.names(task.test(5)[0][0]) == ["b"]


@pytest.mark.slow
def test_a_new_seed_finds_it_again():
    again = made_of(seeds=(5,))
    assert again.of("shares").min() >= 0.97
    assert again.of("gradient × input").max() < 0.6
