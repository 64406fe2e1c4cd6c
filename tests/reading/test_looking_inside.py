"""The logit lens against shorter models; replaced tokens and patched activations, known answers."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_shares import NORMS, V, language_model, masked_model, translator

from aiayn_np.module import leaves
from aiayn_np.reading import logit_lens, patch, replaced
from aiayn_np.softmax import Softmax

SRC, TGT = np.array([[3, 4, 5, 0], [6, 7, 2, 1]]), np.array([[1, 2, 3], [1, 5, 4]])


@pytest.mark.parametrize("norm", NORMS)
def test_the_lens_says_what_a_model_with_fewer_layers_says(norm, rng):
    model = translator(rng, norm)
    logits, cache = model.forward(SRC, TGT)
    said = logit_lens(model, cache)
    assert_allclose([*said.values()][-1], logits, rtol=0, atol=1e-12)
    assert len(said) == 6 + (norm != "post")
    short = copy.deepcopy(model)
    del short.decoder.layers[1:]
    name = "decoder.layers.0.add_norm_3.layer_norm" if norm == "post" else "decoder.layers.1.norm_1"
    assert_allclose(said[name], short(SRC, TGT), rtol=0, atol=1e-12)
    for half in (language_model(rng), masked_model(rng)):
        logits, cache = half.forward(TGT)
        assert_allclose([*logit_lens(half, cache).values()][-1], logits, rtol=0, atol=1e-12)


def test_patching_what_everything_passes_gives_the_other_logits(rng):
    model = translator(rng)
    clean, other = (SRC, TGT), (SRC[::-1], TGT[::-1])
    assert_array_equal(patch(model, clean, other, "decoder"), model(*other))
    swapped = SRC[:, ::-1].copy()
    memory = model.encode(swapped)[0]
    want = model.decode(TGT, memory, memory_allowed=(SRC != 0)[:, None, None, :])[0]
    assert_array_equal(patch(model, clean, (swapped, TGT), "encoder"), want)
    assert_array_equal(patch(model, clean, clean, "encoder"), model(*clean))


def test_patching_what_nobody_reads_changes_nothing(rng):
    model = translator(rng)
    cross = model.decoder.layers[0].cross_attention
    cross.linear_O.W.value[...] = 0
    clean, other = (SRC, TGT), (SRC[::-1], TGT[::-1])
    for where in ("attention", "attention.weights"):
        where = f"decoder.layers.0.cross_attention.{where}"
        assert_array_equal(patch(model, clean, other, where), model(*clean))
    where = "decoder.layers.1.cross_attention.attention.weights"
    assert np.ptp(patch(model, clean, other, where) - model(*clean)) > 0.01


def test_patch_refuses_unknown_places_and_other_shapes(rng):
    model = translator(rng)
    with pytest.raises(ValueError, match="where must be the path in the cache"):
        patch(model, (SRC, TGT), (SRC, TGT), "decoder.layers.7")
    with pytest.raises(ValueError, match="must give encoder one shape"):
        patch(model, (SRC, TGT), (SRC[:, :2], TGT), "encoder")


def test_replaced_is_the_mean_over_replaced_inputs(rng):
    model, src, tgt = translator(rng), [3, 4, 0], [1, 2]
    result = replaced(model, src, tgt, others=[5, 3], k=2, rng=rng)

    def log_p(src):
        logits = model(np.array([src]), np.array([tgt]))[0, -1]
        return logits[result.token] - np.log(np.exp(logits).sum())
    assert_allclose(result.log_p, log_p(src), rtol=0, atol=1e-12)
    assert_allclose(result.source[0], log_p(src) - log_p([5, 4, 0]), rtol=0, atol=1e-12)
    assert result.target.shape == result.target_held.shape == (2,)


def test_with_the_weights_held_only_values_count(rng):
    """Without values, a source token does nothing; and without keys and queries, nothing moves."""
    model = translator(rng)
    for layer in model.decoder.layers:
        layer.cross_attention.linear_V.W.value[...] = 0
    result = replaced(model, [3, 4], [1, 2], rng=rng)
    assert_allclose(result.source, 0, rtol=0, atol=1e-12)
    assert_allclose(result.source_held, 0, rtol=0, atol=1e-12)
    model = language_model(rng)
    for name, p in model.named_parameters():
        if "linear_Q" in name:
            p.value[...] = 0
    result = replaced(model, None, [1, 2, 3], rng=rng)
    assert result.source is None
    assert_allclose(result.target, result.target_held, rtol=0, atol=1e-12)
    assert abs(result.target).max() > 0.01


def test_held_weights_are_those_of_the_first_run(rng):
    model = translator(rng)
    result = replaced(model, [3, 4], [1, 2], others=[7, 3, 4], k=1, rng=np.random.default_rng(0))
    twin, maps = copy.deepcopy(model), []
    _, cache = model.forward(np.array([[3, 4]]), np.array([[1, 2]]))
    maps = {path: a for path, a in leaves(cache, np.ndarray) if path.endswith("softmax.y")}
    for path, layer in leaves(twin, Softmax):
        layer.forward = lambda scores, y=maps[f"{path}.y"]: (y, None)
    draw = np.random.default_rng(0).choice([7, 4])
    logits = twin(np.array([[draw, 4]]), np.array([[1, 2]]))[0, -1]
    want = result.log_p - (logits[result.token] - np.log(np.exp(logits).sum()))
    assert_allclose(result.source_held[0], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("options", "error", "message"), [
    (dict(others=[3]), ValueError, "others must be at least two ids"),
    (dict(others=[3, V]), IndexError, "others must lie in"),
    (dict(k=0), ValueError, "k must be at least 1"),
    (dict(rng=3), TypeError, "rng must be a numpy.random.Generator"),
])
def test_bad_input_is_one_clear_error(options, error, message, rng):
    with pytest.raises(error, match=message):
        replaced(translator(rng), [3], [1], **(dict(rng=rng) | options))
