"""Claim 16."""


import numpy as np
import pytest

from aiayn_course.lab.claims.parameter_counts import (
    count_parameters,
    parameter_counts,
)
from aiayn_course.lab.experiment import IN_PART
from aiayn_np import LearnedPositionalEncoding, MultiHeadAttention, Transformer

SIZES = [
    dict(N=1, d_model=8, d_ff=5, h=2),
    dict(N=2, d_model=12, d_ff=20, h=3),
    dict(N=3, d_model=8, d_ff=16, h=1),
    dict(N=2, d_model=12, d_ff=20, h=3, d_k=2),
    dict(N=1, d_model=12, d_ff=7, h=4, d_v=5),
    dict(N=2, d_model=8, d_ff=12, h=2, d_k=7, d_v=3),
]


@pytest.fixture(scope="module")
def measured():
    return parameter_counts()


def built(vocabulary, *, bias=False, **options):
    """Parameters of a Transformer that is built, its attentions with biases where asked for."""
    rng = np.random.default_rng(0)
    model = Transformer(vocabulary, **options, rng=rng)
    for layer in [*model.encoder.layers, *model.decoder.layers] if bias else []:
        for name, old in vars(layer).items():
            if isinstance(old, MultiHeadAttention):
                new = MultiHeadAttention(old.d_model, old.h, d_k=old.d_k, d_v=old.d_v, bias=True,
                                         rng=rng)
                setattr(layer, name, new)
    return sum(p.value.size for p in model.parameters())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_formula_counts_what_is_built(sizes, bias):
    assert count_parameters(11, **sizes, bias=bias) == built(11, **sizes, bias=bias)


def test_learned_positions_count_once_for_both_stacks():
    model = built(11, **SIZES[0], positions=LearnedPositionalEncoding, max_len=9)
    assert model == count_parameters(11, **SIZES[0], learned_positions=9)
    assert model == count_parameters(11, **SIZES[0]) + 9 * 8


def test_a_second_embedding_or_other_widths_of_heads_would_be_seen():
    want = built(11, **SIZES[-1], bias=True)
    assert count_parameters(22, **SIZES[-1], bias=True) != want
    assert count_parameters(11, **SIZES[-1] | dict(d_k=3, d_v=7), bias=True) != want
    assert count_parameters(11, **SIZES[-1]) != want


def test_no_vocabulary_makes_base_and_big_right(measured):
    """About 41 000 tokens give the 65 millions of the base, but take the big one further off."""
    larger = parameter_counts(vocabulary=41_000)
    assert round(larger.counted[0] / 1e6) == 65
    assert larger.verdict == IN_PART
    assert larger.counted[-1] - 213e6 > measured.counted[-1] - 213e6 > 0
