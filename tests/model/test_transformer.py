"""The whole model: its parts, the shared matrix, the masks, and what it refuses."""

import inspect

import numpy as np
import pytest
from reference import naive_transformer

from aiayn_np import (
    EncoderLayer,
    LearnedPositionalEncoding,
    ScaledDotProductAttention,
    SinusoidalPositionalEncoding,
    Transformer,
    not_padding,
)
from aiayn_np.proofs.probing import randomise

VOCAB, B, T_SRC, T_TGT = 9, 3, 5, 4
SIZES = dict(N=2, d_model=6, d_ff=7, h=2, d_k=4, d_v=5, max_len=8)


def make_model(rng, **options):
    model = Transformer(VOCAB, **(SIZES | options), rng=rng)
    randomise(model, rng)
    return model


@pytest.fixture
def model(rng):
    return make_model(rng)


@pytest.fixture
def src(rng):
    ids = rng.integers(1, VOCAB, (B, T_SRC))
    ids[1, 3:] = ids[2, 4:] = 0
    return ids


@pytest.fixture
def tgt(rng):
    ids = rng.integers(1, VOCAB, (B, T_TGT))
    ids[2, 2:] = 0
    return ids


def test_decode_of_encode_is_forward(model, src, tgt):
    want = model(src, tgt, rng=np.random.default_rng(2))
    generator = np.random.default_rng(2)
    memory, _ = model.encode(src, rng=generator)
    logits, _ = model.decode(tgt, memory, memory_allowed=not_padding(src), rng=generator)
    np.testing.assert_array_equal(logits, want)


def test_cache_repeats_the_names_of_the_module(model, src, tgt):
    _, cache = model.forward(src, tgt)
    weights = cache.decoder.layers[1].cross_attention.attention.weights
    assert weights.shape == (B, 2, T_TGT, T_SRC)
    parts = [name for name in vars(model) if name in vars(cache)]
    assert parts == [
        "src_embedding", "tgt_embedding", "encoder", "decoder", "output_projection"
    ]
    assert {"src_positions", "src_dropout", "tgt_positions", "tgt_dropout"} < set(vars(cache))


def test_one_matrix_embeds_source_and_target_and_projects(model):
    names = [name for name, _ in model.named_parameters()]
    assert [name for name in names if name.endswith("E")] == ["src_embedding.E"]
    E = model.src_embedding.E
    assert model.tgt_embedding.E is model.output_projection.E is E


def test_positions_can_be_a_class_a_factory_or_a_layer(rng):
    assert isinstance(make_model(rng).positions, SinusoidalPositionalEncoding)
    model = make_model(rng, positions=LearnedPositionalEncoding)
    assert isinstance(model.positions, LearnedPositionalEncoding)
    assert model.positions.E.value.shape == (8, 6)
    assert "positions.E" in dict(model.named_parameters())
    own = SinusoidalPositionalEncoding(6, 8)
    assert make_model(rng, positions=own).positions is own
    assert make_model(rng, positions=lambda *sizes, rng: own).positions is own


def test_attention_factory_is_called_once_for_each_of_the_three_places_of_each_layer(rng):
    made = []

    def factory(h, d_k, d_v, rng):
        made.append((h, d_k, d_v))
        return ScaledDotProductAttention(0.1 * len(made))

    model = make_model(rng, attention=factory)
    assert made == [(2, 4, 5)] * 6
    rates = [layer.self_attention.attention.dropout.P_drop for layer in model.encoder.layers]
    assert rates == pytest.approx([0.1, 0.2])


def test_layers_can_come_from_factories(rng, src, tgt):
    seen = []

    def factory(*sizes, **options):
        seen.append((sizes, sorted(options)))
        return EncoderLayer(*sizes, **options)

    model = make_model(rng, encoder_layer=factory)
    assert seen == [((6, 7, 2), ["P_drop", "attention", "d_k", "d_v", "rng"])] * 2
    np.testing.assert_allclose(
        model(src, tgt), naive_transformer(model, src, tgt), rtol=0, atol=1e-12
    )


def test_defaults_are_the_base_model_of_table_3(rng):
    """Sec. 3.1: N=6, d_model=512; Sec. 3.2.2: h=8; Sec. 3.3: d_ff=2048; Sec. 5.4: P_drop=0.1."""
    given = inspect.signature(Transformer).parameters
    defaults = {name: given[name].default for name in ("N", "d_model", "d_ff", "h", "P_drop")}
    assert defaults == dict(N=6, d_model=512, d_ff=2048, h=8, P_drop=0.1)
    assert (given["max_len"].default, given["pad"].default) == (512, 0)


class Recorded(Transformer):
    """Keeps what it was called with: the big model itself needs gigabytes."""

    def __init__(self, *arguments, **options):
        self.called = arguments, options


def test_base_and_big_are_the_rows_of_table_3(rng):
    big = dict(d_model=1024, d_ff=4096, h=16, P_drop=0.3)
    assert Recorded.base(rng=rng).called == ((37000,), {"rng": rng})
    assert Recorded.base(50, N=2, rng=rng).called == ((50,), {"N": 2, "rng": rng})
    assert Recorded.big(rng=rng).called == ((37000,), {"rng": rng, **big})
    assert Recorded.big(50, h=4, rng=rng).called == ((50,), {"rng": rng, **big, "h": 4})


def test_dropout_everywhere_draws_from_the_rng_of_the_call(rng, src, tgt):
    """The sums, both stacks, and the attention inside of them."""
    def attention(h, d_k, d_v, rng):
        return ScaledDotProductAttention(0.3)
    _, cache = make_model(rng, P_drop=0.3, attention=attention).forward(src, tgt, rng=rng)
    for dropout in (cache.src_dropout, cache.tgt_dropout,
                    cache.encoder.layers[1].add_norm_1.dropout,
                    cache.decoder.layers[1].add_norm_3.dropout,
                    cache.encoder.layers[0].self_attention.attention.dropout,
                    cache.decoder.layers[0].cross_attention.attention.dropout):
        assert 0 < dropout.kept.mean() < 1


def test_sizes_are_kept_under_their_names(model):
    assert (model.vocab_size, model.d_model, model.max_len) == (VOCAB, 6, 8)


def test_a_pad_that_is_a_numpy_number_becomes_a_python_number(rng):
    assert type(make_model(rng, pad=np.int64(1)).pad) is int


def test_lists_of_ids_are_fine(model, src, tgt):
    np.testing.assert_array_equal(model(src.tolist(), tgt.tolist()), model(src, tgt))


def test_one_attention_for_all_places_is_refused(rng):
    with pytest.raises(TypeError, match="attention must be a factory, called as attention"):
        Transformer(9, N=1, d_model=4, d_ff=4, h=1, attention=ScaledDotProductAttention(), rng=rng)
