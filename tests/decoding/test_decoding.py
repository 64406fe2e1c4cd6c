"""Greedy decoding: equal to the obvious loop, one sequence and one token at a time."""

import numpy as np
import pytest
from trained import trained

from aiayn_np import Transformer, exact_match, greedy_decode


@pytest.fixture
def model(rng):
    options = dict(N=2, d_model=12, d_ff=16, h=3, max_len=20)
    return Transformer(9, **options, rng=rng)


def one_by_one(model, src, bos, eos, max_len):
    """Greedy decoding of a single source without padding, from its definition."""
    out = []
    while len(out) < max_len and eos not in out:
        logits = model(src[None], np.array([[bos, *out]]))
        out.append(int(np.argmax(logits[0, -1])))
    return out


def test_a_padded_batch_decodes_as_each_source_alone(model, rng):
    lengths = [7, 3, 5, 1]
    src = np.zeros((4, 7), dtype=int)
    for row, n in zip(src, lengths):
        row[:n] = rng.integers(3, 9, n)
    eos = one_by_one(model, src[1, :3], 1, -1, 2)[-1]  # a token that it does produce
    got = greedy_decode(model, src, bos=1, eos=eos, max_len=9)
    assert got.shape[1] <= 9
    for row, source, n in zip(got, src, lengths):
        want = one_by_one(model, source[:n], 1, eos, 9)
        assert row.tolist() == want + [model.pad] * (got.shape[1] - len(want))


@pytest.mark.slow
def test_it_stops_when_every_sequence_has_ended():
    model, task, _ = trained("copy")
    src, _, tgt_out = task.test(50)
    got = greedy_decode(model, src, bos=task.bos, eos=task.eos)
    assert got.shape == tgt_out.shape
    assert (got == tgt_out).mean() > 0.99


def test_max_len_defaults_to_source_plus_50_or_what_the_model_has(rng, model):
    src = rng.integers(3, 9, (2, 4))
    assert greedy_decode(model, src, bos=1, eos=0).shape[1] <= 20
    with pytest.raises(ValueError, match="max_len must be at most 20, got max_len=21"):
        greedy_decode(model, src, bos=1, eos=2, max_len=21)
    long = Transformer(9, N=1, d_model=4, d_ff=4, h=1, max_len=100, rng=rng)
    long.src_embedding.E.value[:] = 0  # logits all equal: it takes id 0 for ever, never 2
    assert greedy_decode(long, src, bos=1, eos=2).shape == (2, 54)


@pytest.mark.parametrize("chunk", [1, 2, 3, 250])
def test_exact_match_wants_every_token_and_the_end_in_chunks_that_ended_early(
        monkeypatch, model, chunk):
    """The source is what is decoded, cut after the longest row of the chunk."""
    want = np.array([[5, 2, 0, 0], [2, 0, 0, 0], [5, 6, 2, 0], [5, 6, 7, 2], [7, 2, 0, 0],
                     [3, 4, 2, 0], [3, 4, 6, 2]])
    src = want.copy()
    src[3, 1], src[5, 2], src[6, 3] = 5, 4, 0

    def decode(model, src, **options):
        return src[:, : (src != 0).sum(axis=1).max()]

    monkeypatch.setattr("aiayn_np.decoding.greedy.greedy_decode", decode)
    assert exact_match(model, (src, None, want), bos=1, eos=2, chunk=chunk) == 4 / 7


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(src=[[1, 9]]), IndexError, r"id 9 at position \(0, 1\) with vocab_size=9"),
        (dict(src=[[1.0]]), TypeError, "src must be integers"),
        (dict(src=[1, 2]), ValueError, r"2 axes \(B, T\)"),
        (dict(src=[[1], [1, 2]]), ValueError, "pad the shorter ones"),
        (dict(eos=9), IndexError, "bos and eos must lie in .*vocab_size=9"),
        (dict(max_len=0), ValueError, "max_len must be at least 1"),
    ],
)
def test_bad_input(model, options, error, message):
    options = {"src": [[3, 4]], "bos": 1, "eos": 2} | options
    with pytest.raises(error, match=message):
        greedy_decode(model, **options)
