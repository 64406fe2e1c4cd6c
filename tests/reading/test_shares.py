"""Shares of a logit: they add up, miss without any one of their parts, and change nothing."""

import copy
import functools
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pages import ROOT, blocks
from rms_layers import RMSDecoderLayer, RMSEncoderLayer

from aiayn_np import (
    Cache,
    DecoderLayer,
    EncoderLayer,
    LearnedPositionalEncoding,
    Module,
    SinusoidalPositionalEncoding,
    Transformer,
)
from aiayn_np.module import leaves
from aiayn_np.reading import frozen, shares
from aiayn_np.reading.freezing import edited
from aiayn_np.reading.recording import Recording
from aiayn_np.reading.sharing import outputs_share
from aiayn_np.variants.activations import GELU, SiLU, TanhGELU
from aiayn_np.variants.embeddings import BiasedProjection, SinusoidsInHalves, UnscaledEmbedding
from aiayn_np.variants.layer_options import layer_factory
from aiayn_np.variants.masked import MaskedLanguageModel
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.models import LanguageModel, llama
from aiayn_np.variants.norms import BatchNorm
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer
from aiayn_np.variants.relative_position import relative_attention
from aiayn_np.variants.rotary import NormedRotaryPositions, RotaryPositions
from aiayn_np.variants.scoring import additive_attention, concat_attention, general_attention

V, MAX_LEN = 11, 9


NORMS = {"post": (EncoderLayer, DecoderLayer), "pre": (PreNormEncoderLayer, PreNormDecoderLayer),
         "RMS": (RMSEncoderLayer, RMSDecoderLayer)}
GATES = {"ReLU": None, "GELU": GELU, "TanhGELU": TanhGELU, "SiLU": SiLU}
POSITIONS = {"sinusoidal": SinusoidalPositionalEncoding, "learned": LearnedPositionalEncoding,
             "halves": SinusoidsInHalves}
SCORES = [None, additive_attention, concat_attention, general_attention, relative_attention]


def random_values(model, rng):
    """Draw all parameters anew, so large that norms, maps, gates and biases all count."""
    for name, p in model.named_parameters():
        scale = 2 / np.sqrt(len(p.value)) if p.value.ndim > 1 else 1
        scale = 0.3 if name.endswith((".b", ".beta")) else scale
        p.value[...] = scale * rng.normal(size=p.value.shape)
    return model


def translator(rng, norm="post", gate="ReLU", positions="sinusoidal", attention=None, biased=False):
    encoder, decoder = (layer_factory(layer, bias=biased, activation=GATES[gate])
                        for layer in NORMS[norm])
    model = Transformer(V, N=2, d_model=8, d_ff=12, h=2, max_len=MAX_LEN, attention=attention,
                        positions=POSITIONS[positions], encoder_layer=encoder,
                        decoder_layer=decoder, rng=rng)
    if biased:                                                         # as OPUS-MT
        model.output_projection = BiasedProjection(model.src_embedding.E)
        model.src_embedding.__class__ = model.tgt_embedding.__class__ = UnscaledEmbedding
    random_values(model, rng)
    if biased:
        model.output_projection.b.value[V - 1] = -np.inf
    return model


def language_model(rng, norm="pre", gate="TanhGELU"):
    layer = layer_factory(NORMS[norm][0], bias=True, activation=GATES[gate])
    return random_values(LanguageModel(
        V, N=2, d_model=8, d_ff=12, h=2, max_len=MAX_LEN, layer=layer, embedding=UnscaledEmbedding,
        positions=LearnedPositionalEncoding, rng=rng), rng)


def llama_model(rng, i):
    """Norms, gates, turned queries and keys, also with norms of their own, and shared keys."""
    rotary = [RotaryPositions, NormedRotaryPositions][i % 2]
    return random_values(llama(V, N=2, d_model=8, d_ff=12, h=4, h_kv=[1, 2, 4][i % 3],
                               max_len=MAX_LEN, pad=0, bias=i % 4 == 0, gate_bias=True,
                               activation=[SiLU, GELU][i % 2], rotary=rotary, rng=rng), rng)


def masked_model(rng):
    layer = layer_factory(EncoderLayer, bias=True, activation=GELU)
    return random_values(MaskedLanguageModel(V, N=2, d_model=8, d_ff=12, h=2, max_len=MAX_LEN,
                                             layer=layer, rng=rng), rng)


ALL = list(itertools.product(NORMS, GATES, POSITIONS, (False, True)))


def a_model(i, rng):
    """Model number i, its ids with padding, and a position before the last."""
    tgt = np.append(rng.integers(1, V - 1, 5), 0)
    if i % 10 == 3:
        return llama_model(rng, i // 10), None, tgt, 3
    if i % 5 == 3:
        return language_model(rng, [*NORMS][i % 3], [*GATES][i % 4]), None, tgt, 3
    if i % 5 == 4:
        return masked_model(rng), None, tgt, 3
    src = np.append(rng.integers(1, V - 1, rng.integers(1, 6)), [0, 0])
    norm, gate, positions, biased = ALL[i * 7 % len(ALL)]
    return translator(rng, norm, gate, positions, SCORES[i % 4 and i % len(SCORES)],
                      biased), src, tgt, 3


def total(result):
    return (0 if result.source is None else result.source.sum()) + result.target.sum() + (
        result.biases)


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.slow)
                                      for i in range(1, 6))])
def test_shares_add_up_to_the_logit_of_300_random_models(part, rng):
    for i in range(part, 300, 6):
        model, src, tgt, position = a_model(i, rng)
        against = None if i % 2 else int(rng.integers(1, V - 1))
        token = None if i % 3 else int(rng.integers(1, V - 1))
        result = shares(model, src, tgt, token=token, against=against, position=position)
        inputs = (tgt[None],) if src is None else (src[None], tgt[None])
        logits = model(*inputs)[0, position]
        other = logits[np.isfinite(logits)].mean() if against is None else logits[against]
        assert_allclose(result.value, logits[result.token] - other, rtol=0, atol=1e-12)
        assert token is not None or result.token == logits.argmax()
        bound = 1e-12 * max(1, abs(result.target).sum())
        assert abs(total(result) - result.value) <= bound
        if src is not None:
            assert_array_equal(result.source[src == 0], 0)
        assert_array_equal(result.target[tgt == 0], 0)
        if not isinstance(model, MaskedLanguageModel):
            assert_array_equal(result.target[position + 1 :], 0)
        by_head = result.by_head
        heads = sum(head.sum() for head in by_head.heads.values())
        assert abs(by_head.residual + heads + by_head.biases - result.value) <= bound
        for path, head in by_head.heads.items():
            cells = by_head.cells[f"{path}.attention.weights"]
            assert_allclose(cells.sum(axis=(1, 2)), head, rtol=0, atol=bound)
            assert_array_equal(cells[:, np.arange(cells.shape[1]) != position], 0)
            assert not path.startswith("encoder") or src is None or not cells.any()


def test_cells_of_the_cross_maps_are_what_the_memory_gives(rng):
    """Without biases the source reaches the word through the cells of the cross maps alone."""
    model = translator(rng)
    for name, p in model.named_parameters():
        if name.startswith("encoder") and name.endswith((".b", ".beta")):
            p.value[...] = 0
    src, tgt = rng.integers(1, V, 5), rng.integers(1, V, 4)
    result = shares(model, src, tgt)
    cross = sum(c.sum() for name, c in result.cells.items() if "cross" in name)
    assert_allclose(cross, result.source.sum(), rtol=0, atol=1e-12)
    for name, c in result.cells.items():
        weights = dict(leaves(result.recording.cache, np.ndarray))[name][0]
        assert c.shape == weights.shape
        assert_array_equal(c[weights == 0], 0)


# what is left out -> the models that have it, and the names of their cached arrays
PARTS = {
    "weights": (lambda rng: translator(rng), "softmax"),
    "layer norm": (lambda rng: translator(rng), "layer_norm"),
    "pre-norm": (lambda rng: translator(rng, "pre"), "norm"),
    "RMSNorm": (lambda rng: translator(rng, "RMS"), "norm"),
    "GELU": (lambda rng: translator(rng, gate="GELU"), "activation"),
    "TanhGELU": (lambda rng: translator(rng, gate="TanhGELU"), "activation"),
    "SiLU": (lambda rng: translator(rng, gate="SiLU"), "activation"),
    "biases": (lambda rng: translator(rng, biased=True), None),
}


def of_the_forward(name, nodes, path, _):
    """The arrays of the forward for the parts of that name, nothing for others."""
    here = name is not None and path.split(".")[-1].startswith(name)
    return {k: v for k, v in vars(nodes[path]).items() if isinstance(v, np.ndarray)} if here else {}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_without_any_one_of_the_parts_the_sum_misses(part, rng):
    """The sum is exact for every model: one that misses is enough, and most do."""
    make, name = PARTS[part]
    gaps = []
    for _ in range(10):
        model = make(rng)
        src, tgt = rng.integers(1, V - 1, 4), rng.integers(1, V - 1, 4)
        result = shares(model, src, tgt)
        record = Recording(model, src[None], tgt[None])
        thaw = functools.partial(of_the_forward, name, dict(leaves(record.cache, Cache)))
        cache = edited(frozen(record.cache), thaw)
        gradients, biases = record.backward(result.grad_logits, cache)
        found = sum(outputs_share(record, gradients, f"{side}_positions").sum()
                    for side in ("src", "tgt")) + (0 if name is None else biases)
        gaps.append(abs(found - result.value) / abs(result.value))
    assert max(gaps) >= 0.1, gaps


def test_with_frozen_scales_a_step_changes_the_logit_by_its_gradient(rng):
    """The linear model itself: forward with the weights, scales and gates of the first run."""
    model = language_model(rng, "post", "SiLU")
    ids = rng.integers(1, V, (1, 5))
    logits, cache = model.forward(ids)
    result = shares(model, None, ids[0], token=3, against=2)
    twin, step = copy.deepcopy(model), rng.normal(size=(5, 8))
    step *= 10 / np.linalg.norm(step)
    nodes = dict(leaves(cache, Cache))
    hold(twin, nodes)
    before = twin(ids)[0, -1]
    assert_allclose(before, logits[0, -1], rtol=0, atol=1e-12)
    positions = twin.stack.positions.forward
    twin.stack.positions.forward = lambda x: (positions(x)[0] + step, None)
    after = twin(ids)[0, -1]
    expected = (result.gradients["stack.positions"][0] * step).sum()
    assert_allclose((after - before)[3] - (after - before)[2], expected, rtol=1e-12, atol=1e-12)


def hold(model, nodes):
    """Put the scales of caches {path: cache} in the place of those that a forward would compute."""
    for path, layer in list(leaves(model, Module)):
        if path not in nodes:
            continue
        c = nodes[path]
        if hasattr(c, "normalised"):
            layer.forward = lambda x, c=c, y=layer: (
                y.gamma.value * (x - x.mean(-1, keepdims=True)) * c.inv_std + y.beta.value, c)
        elif path.endswith("activation"):
            layer.forward = lambda x, c=c: (x * c.s, c)
        elif path.endswith("softmax"):
            layer.forward = lambda scores, c=c: (c.y, c)


def test_float32_closes_to_its_own_precision(rng):
    model = translator(rng).astype(np.float32)
    result = shares(model, [3, 4, 5], [1, 2])
    assert result.source.dtype == np.float32
    assert abs(total(result) - result.value) <= 1e-5 * (1 + abs(result.value))


def test_nothing_is_changed(rng):
    model, src, tgt = translator(rng, biased=True), np.array([3, 4, 5]), np.array([1, 2])
    for p in model.parameters():
        p.grad[...] = 7
    state, before = model.state_dict(), set(vars(model))
    _, cache = model.forward(src[None], tgt[None])
    arrays = {path: a.copy() for path, a in leaves(cache, np.ndarray)}
    result = shares(model, src, tgt)
    assert result.by_head.heads
    assert result.cells
    frozen(cache)
    for path, array in leaves(cache, np.ndarray):
        assert_array_equal(array, arrays[path])
    assert set(vars(model)) == before
    assert all((p.grad == 7).all() for p in model.parameters())
    assert all((model.state_dict()[name] == value).all() for name, value in state.items())
    assert not any("forward" in vars(layer) for _, layer in leaves(model, Module))
    assert_array_equal(src, [3, 4, 5])


class Square(Module):
    """A gate that does not say how it can be frozen."""

    def forward(self, x):
        return x * x, Cache(x=x)

    def backward(self, grad_y, cache):
        return 2 * grad_y * cache.x


def test_a_layer_that_is_not_linear_is_noticed(rng):
    model = random_values(LanguageModel(
        V, N=1, d_model=8, d_ff=12, h=2, layer=layer_factory(activation=Square), rng=rng), rng)
    with pytest.raises(ValueError, match="every layer must be linear when its cache is frozen"):
        shares(model, None, [1, 2])


def test_what_cannot_be_frozen_is_refused_by_name(rng):
    model = LanguageModel(V, N=1, d_model=8, d_ff=12, h=2, rng=rng)
    model.stack.encoder.layers[0].add_norm_1.layer_norm = BatchNorm(8)
    with pytest.raises(ValueError, match=r"can be frozen, got .*layers.0.add_norm_1.layer_norm"):
        shares(model, None, [1, 2])
    model = translator(rng, attention=lambda *_: MemoryEfficientAttention())
    with pytest.raises(ValueError, match=r"can be frozen, got .*layers.0.self_attention.attention"):
        shares(model, [3, 4], [1, 2])
    _, cache = translator(rng).forward(np.array([[3, 4]]), np.array([[1, 2]]), rng=rng)
    with pytest.raises(ValueError, match="can be frozen, got src_dropout"):
        frozen(cache)


@pytest.mark.parametrize(("src", "tgt", "options", "error", "message"), [
    ([3], [], {}, TypeError, "tgt must be integers"),
    (np.zeros(0, int), [1], {}, ValueError, r"src must be ids \(T,\) of at least one token"),
    ([[3]], [1], {}, ValueError, r"src must be ids \(T,\)"),
    (None, [1], {}, TypeError, "src must be integers"),
    ([3], [99], {}, IndexError, "tgt must lie in"),
    ([99], [1], {}, IndexError, "src must lie in"),
    ([3], [1], dict(token=V), IndexError, "token must lie in"),
    ([3], [1], dict(against=-1), IndexError, "against must lie in"),
    ([3], [1], dict(token=V - 1), ValueError, "token must be an id that can be written"),
    ([3], [1], dict(position=1), IndexError, "position must lie in"),
    ([3], [1] * 10, {}, ValueError, "length must be at most max_len=9"),
])
def test_bad_input_is_one_clear_error(src, tgt, options, error, message, rng):
    with pytest.raises(error, match=message):
        shares(translator(rng, biased=True), src, tgt, **options)


def test_other_models_are_refused(rng):
    with pytest.raises(TypeError, match="model must be a Transformer"):
        shares(language_model(rng).stack, None, [1])
    with pytest.raises(ValueError, match="src must be None for a LanguageModel"):
        shares(language_model(rng), [1], [1])
    with pytest.raises(ValueError, match="position must be that of the masked token"):
        shares(masked_model(rng), None, [1, 2])


def test_the_program_of_the_page_prints_what_the_page_says(capsys):
    page = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    (code,), (printed,) = blocks(page, "python"), blocks(page, "text")
    exec(code, {})
    assert capsys.readouterr().out == printed
