"""The five families against arrays that transformers computed once: logits and gradients."""


import numpy as np
import pytest
from hugging_face import GOLDEN, LOADERS

every_family = pytest.mark.parametrize("family", LOADERS)


def frozen(family):
    """(the model, its inputs, everything that was frozen)."""
    with np.load(GOLDEN / family / "expected.npz") as file:
        found = dict(file)
    inputs = {n.removeprefix("input/"): a for n, a in found.items() if n.startswith("input/")}
    return LOADERS[family](GOLDEN / family), inputs, found


@every_family
def test_logits_are_those_of_transformers(family):
    loaded, inputs, found = frozen(family)
    got = loaded.logits(*inputs.values())
    real, want = found["real"], found["logits"]
    assert np.abs(got - want)[real].max() <= 1e-12 * np.abs(want).max()


@every_family
def test_gradients_are_those_of_transformers(family):
    loaded, inputs, found = frozen(family)
    _, cache = loaded.forward(*inputs.values())
    loaded.model.zero_grad()
    loaded.backward(found["cotangent"], cache)
    want = {n.removeprefix("gradient/"): g for n, g in found.items() if n.startswith("gradient/")}
    got = loaded.gradients()
    assert set(want) == set(got) - {"final_logits_bias"}         # a buffer there, learned here
    largest = max(np.abs(g).max() for g in want.values())
    for name, gradient in want.items():
        # the bias of the keys has the gradient 0, but for rounding
        scale = max(np.abs(gradient).max(), 1e-4 * largest)
        bound = 1e-12 if family == "llama" else 1e-10
        assert np.abs(got[name] - gradient).max() <= bound * scale, name


@every_family
def test_float32_is_close(family):
    loaded, inputs, found = frozen(family)
    loaded.model.astype(np.float32)
    got, want = loaded.logits(*inputs.values()), found["logits"]
    assert got.dtype == np.float32
    assert np.abs(got - want)[found["real"]].max() <= 1e-4 * np.abs(want).max()


@every_family
def test_the_state_goes_back_to_the_bit(family):
    from safetensors.numpy import load_file

    loaded, _, _ = frozen(family)
    file, state = load_file(GOLDEN / family / "model.safetensors"), loaded.state()
    file = {name: x for name, x in file.items() if "embed_positions" not in name}
    assert set(state) == set(file)
    for name, array in file.items():
        np.testing.assert_array_equal(state[name], array)


def test_bert_without_segments_has_segment_0():
    loaded, inputs, _ = frozen("bert")
    ids = inputs["ids"]
    np.testing.assert_array_equal(loaded.logits(ids), loaded.logits(ids, np.zeros_like(ids)))
    np.testing.assert_array_equal(loaded.logits(ids), loaded.logits(ids, segments=0 * ids))


def test_the_start_of_a_target_is_not_masked_though_its_id_is_that_of_padding():
    loaded, inputs, _ = frozen("marian")
    src, tgt = inputs["src"], inputs["tgt"]
    assert loaded.pad == loaded.start == tgt[0, 0] == 28
    _, cache = loaded.forward(src, tgt)
    weights = cache.decoder.layers[0].self_attention.attention.weights
    assert (weights[:, :, 1:3, 0] > 0).all()
    assert (weights[2, :, 3:, 3:] == 0).all()                    # padding at the end is masked
    assert tgt[0, 0] == 28                                       # what was given is not changed


def test_decoding_never_writes_padding():
    loaded, inputs, _ = frozen("marian")
    tgt = np.full((3, 1), loaded.bos)
    logits = loaded.decoding_model()(inputs["src"], tgt)
    assert (logits[..., [28, 29]] == -np.inf).all()
    assert np.isfinite(logits[..., :28]).all()
    assert np.isfinite(loaded.logits(inputs["src"], np.full((3, 1), loaded.start))).all()
