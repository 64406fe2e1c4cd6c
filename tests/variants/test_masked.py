"""BERT's model: its parts get what it is given, and its defaults are those of the base model."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aiayn_np import EncoderLayer, not_padding
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.activations import SiLU
from aiayn_np.variants.masked import MaskedLanguageModel
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

SIZES = dict(N=2, d_model=8, d_ff=12, h=2, max_len=9)
IDS = np.array([[3, 1, 4, 1], [5, 2, 6, 0]])


def test_the_defaults_are_those_of_the_base_model():
    """Devlin et al., 2018, Section 3: L = 12, H = 768, A = 12; their code: the rest."""
    defaults = {name: p.default
                for name, p in inspect.signature(MaskedLanguageModel).parameters.items()}
    numbers = {name: d for name, d in defaults.items() if isinstance(d, (int, float))}
    assert numbers == dict(N=12, d_model=768, d_ff=3072, h=12, P_drop=0.1, max_len=512, segments=2,
                         pad=0)


def test_a_factory_gets_the_dropout_and_pre_norm_layers_a_final_norm(rng):
    given = []

    def factory(d_model, d_ff, h, *, P_drop, rng):
        given.append(P_drop)
        return PreNormEncoderLayer(d_model, d_ff, h, P_drop=P_drop, rng=rng)

    model = MaskedLanguageModel(7, **SIZES, P_drop=0.3, layer=factory, activation=SiLU, rng=rng)
    assert given == [0.3, 0.3]
    assert model.encoder.norm is not None
    assert isinstance(model.head.activation, SiLU)
    assert model.layer_norm.eps == model.head.layer_norm.eps == 1e-12
    assert MaskedLanguageModel(7, **SIZES, layer=EncoderLayer, rng=rng).encoder.norm is None


def test_dropout_runs_on_the_embeddings_and_in_the_layers(rng):
    model = MaskedLanguageModel(7, **SIZES, P_drop=0.5, rng=rng)
    plain = model.forward(IDS)[0]
    assert_array_equal(plain, model.forward(IDS)[0])
    model.encoder.forward = lambda x, **options: (x, options)
    generator = np.random.default_rng(0)
    logits, cache = model.forward(IDS, rng=generator)
    assert cache.encoder["rng"] is generator
    assert np.abs(logits - model.forward(IDS)[0]).max() > 1e-3         # by the embeddings' dropout


@pytest.mark.parametrize("pad", [0, 1])
def test_a_token_of_padding_is_read_by_nobody(rng, pad):
    model = MaskedLanguageModel(7, **SIZES, pad=pad, rng=rng)
    randomise(model, rng)
    before = model.forward(IDS)[0]
    model.embedding.E.value[pad] += rng.standard_normal(8)
    changed = np.abs(model.forward(IDS)[0] - before)[..., [i for i in range(7) if i != pad]]
    real = not_padding(IDS, pad)[:, 0, 0]
    assert changed[real].max() < 1e-12
    assert changed[~real].max() > 1e-3


def test_a_segment_adds_its_embedding_to_its_tokens(rng):
    """As a table of positions would, in which the segment's embedding is added to each row."""
    model = MaskedLanguageModel(7, **SIZES, segments=3, rng=rng)
    ids, segments = np.array([[3, 1, 4, 1]]), np.array([[0, 2, 1, 1]])
    logits = model.forward(ids, segments=segments)[0]
    E = model.segments.E.value
    model.positions.E.value[:4] += E[segments[0]] - E[0]
    assert_allclose(logits, model.forward(ids)[0], atol=1e-13)
