"""Beam search: a wide beam finds what trying everything finds, a beam of 1 is greedy."""

import itertools

import numpy as np
import pytest

from aiayn_np import Transformer, beam_search
from aiayn_np.decoding.beam import highest, length_penalty, log_softmax
from aiayn_np.decoding.kv_cache import RecomputingDecoder
from aiayn_np.proofs.probing import randomise

BOS, EOS = 1, 2


def model_of(rng, V=4, max_len=8, sharp=3.0):
    """A random model with clear preferences."""
    model = randomise(Transformer(V, N=1, d_model=6, d_ff=8, h=2, max_len=max_len, rng=rng), rng)
    model.src_embedding.E.value *= sharp
    return model


class Table:
    """A "model" whose logits are drawn anew for every source and prefix, so that what is probable
    first and what is probable in the end have nothing to do with each other."""

    pad = 0

    def __init__(self, rng, vocab_size, max_len, sharp=1.5):
        self.vocab_size, self.max_len, self.sharp = vocab_size, max_len, sharp
        self.seed = int(rng.integers(2**31))

    def encode(self, src):
        return src[..., None], None

    def decode(self, tgt, memory, *, memory_allowed):
        """Logits of the last position; those of the others are not asked for."""
        logits = np.full((*tgt.shape, self.vocab_size), np.nan)
        for row, source, seen, Y in zip(logits, memory, memory_allowed, tgt, strict=True):
            seed = [self.seed, *source[seen[0, 0], 0], self.vocab_size, *Y]
            row[-1] = np.random.default_rng(seed).normal(0, self.sharp, self.vocab_size)
        return logits, None

    def forward(self, src, tgt):
        seen = (src != self.pad)[:, None, None]
        return np.concatenate([self.decode(tgt[:, : t + 1], src[..., None], memory_allowed=seen)[0]
                               [:, -1:] for t in range(tgt.shape[1])], axis=1), None

    def __call__(self, src, tgt):
        return self.forward(src, tgt)[0]


def models_of(rng, V, max_len):
    """A Transformer, with what it keeps, and tables, whose best sequences have any length."""
    return [model_of(rng, V, max_len), *(Table(rng, V, max_len) for _ in range(2))]


def log_P(model, src, Y):
    """log P(Y | src) of one sequence from one forward, as the definition has it."""
    z = model(src[None], np.array([[BOS, *Y[:-1]]]))[0]
    z = z - z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return sum(log_p[t, token] for t, token in enumerate(Y))


def score(model, src, Y, alpha):
    return log_P(model, src, Y) / ((5 + len(Y)) / 6) ** alpha


def everything(V, max_len):
    """All sequences that end with eos, and those of max_len tokens that do not."""
    others = [v for v in range(V) if v != EOS]
    for n in range(max_len):
        yield from ((*Y, EOS) for Y in itertools.product(others, repeat=n))
    yield from itertools.product(others, repeat=max_len)


def without_padding(row, pad=0):
    """What a row of the result says: up to eos, or all of it."""
    row = row.tolist()
    return tuple(row[: row.index(EOS) + 1]) if EOS in row else tuple(row)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_a_wide_beam_finds_the_best_of_all_sequences(rng, alpha):
    for model in models_of(rng, 4, 8):
        src = np.array([[3, 3, 1], [1, 3, 0]])
        got = beam_search(model, src, bos=BOS, eos=EOS, beam=81, alpha=alpha, max_len=4)
        for row, source in zip(got, src, strict=True):
            source = source[source != 0]
            scores = {Y: score(model, source, Y, alpha) for Y in everything(4, 4)}
            best = max(scores, key=scores.get)
            found = tuple(row[: len(best)].tolist())
            assert found == best, (scores[best], scores.get(found))
            assert (row[len(best):] == 0).all()


def plain(model, src, beam, alpha, max_len):
    """The search of one source in lists, never stopped early: (sequence, score)."""
    live, done = [((), 0.0)], []
    for length in range(1, max_len + 1):
        options = []
        for Y, p in live:
            z = model(src[None], np.array([[BOS, *Y]]))[0, -1]
            log_p = z - z.max() - np.log(np.exp(z - z.max()).sum())
            options += [((*Y, v), p + log_p[v]) for v in range(len(log_p))]
        options.sort(key=lambda o: -o[1])
        done += [(Y, p / ((5 + length) / 6) ** alpha) for Y, p in options[:beam]
                 if Y[-1] == EOS or length == max_len]
        live = [o for o in options if o[0][-1] != EOS][:beam]
    return max(done, key=lambda d: d[1])


@pytest.mark.parametrize(("beam", "alpha"), [
    (1, 3.0), (2, 0.0), (4, 1.5), *(pytest.param(*slow, marks=pytest.mark.slow)
                                    for slow in ((2, 3.0), (9, 2.0)))])
def test_a_padded_batch_equals_the_plain_search_of_each_source(rng, beam, alpha):
    for model in models_of(rng, 7, 12):
        src = rng.integers(3, 7, (4, 5))
        src[1, 3:], src[2, 1:] = 0, 0
        got = beam_search(model, src, bos=BOS, eos=EOS, beam=beam, alpha=alpha, max_len=9)
        for row, source in zip(got, src, strict=True):
            want, _ = plain(model, source[source != 0], beam, alpha, 9)
            assert tuple(row[: len(want)].tolist()) == want
            assert (row[len(want):] == 0).all()


def test_a_source_that_is_done_leaves_the_batch(monkeypatch, rng):
    model, src = Table(rng, 5, 12), rng.integers(3, 5, (40, 5))
    sizes, step = [], RecomputingDecoder.next_logits

    def watched(self, tokens):
        sizes.append(len(tokens))
        return step(self, tokens)

    monkeypatch.setattr(RecomputingDecoder, "next_logits", watched)
    beam_search(model, src, bos=BOS, eos=EOS, beam=2)
    assert sizes[0] == 40
    assert 40 < sizes[1] <= 80
    assert sizes == sizes[:1] + sorted(sizes[1:], reverse=True)
    assert sizes[-1] < 40


def test_equal_scores_give_the_first_token(rng):
    model = model_of(rng)
    model.src_embedding.E.value[...] = 0                     # all tokens equally probable
    out = beam_search(model, np.array([[3, 3]]), bos=BOS, eos=EOS, beam=3, alpha=0, max_len=5)
    assert without_padding(out[0]) == (EOS,)                 # the shortest: 1/V and not 1/V^2


def test_an_empty_batch_and_float32(rng):
    model = model_of(rng)
    assert len(beam_search(model, np.zeros((0, 3), int), bos=BOS, eos=EOS)) == 0
    src = np.array([[3, 1], [1, 0]])
    double = beam_search(model, src, bos=BOS, eos=EOS)
    np.testing.assert_array_equal(
        beam_search(model.astype(np.float32), src, bos=BOS, eos=EOS), double
    )


def test_of_equals_the_first_whatever_is_dead(rng):
    """40 equal numbers, which a partition takes in any order; and -inf is found once, too."""
    assert highest(np.zeros((1, 40)), 3).tolist() == [[0, 1, 2]]
    assert highest(np.array([[-np.inf, 2.0, -np.inf]]), 3).tolist() == [[1, 0, 2]]


def test_the_length_penalty_and_the_log_softmax_by_hand():
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 0.5) == pytest.approx(2**0.5)
    assert length_penalty(7, 0) == 1
    np.testing.assert_allclose(log_softmax(np.log([[1.0, 3.0], [1e300, 1e-300]])),
                               [[np.log(0.25), np.log(0.75)], [0, -600 * np.log(10)]], atol=1e-12)


@pytest.mark.parametrize(("options", "error", "message"), [
    (dict(beam=0), ValueError, "beam must be at least 1"),
    (dict(beam=2.0), TypeError, "beam must be an integer"),
    (dict(alpha=-0.1), ValueError, "alpha must"),
    (dict(alpha="1"), TypeError, "alpha must"),
    (dict(max_len=9), ValueError, "max_len must be at most 8, got max_len=9"),
    (dict(src=[[1, 9]]), IndexError, "vocab_size=4"),
    (dict(eos=4), IndexError, "vocab_size=4"),
])
def test_bad_input(rng, options, error, message):
    options = {"src": [[3, 1]], "bos": BOS, "eos": EOS} | options
    with pytest.raises(error, match=message):
        beam_search(model_of(rng), options.pop("src"), **options)
