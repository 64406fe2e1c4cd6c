"""Translating: lines come back in their order, whatever batches they went through."""

import numpy as np
import pytest
from sentences import sentences

from aiayn_np import Transformer
from aiayn_np.text import translation
from aiayn_np.text.bleu import bleu
from aiayn_np.text.translation import cut, similar, translate
from aiayn_np.text.vocabulary import BOS, EOS, Vocabulary

PAIRS = sentences(40)
LINES = ["", *(source for source, _ in PAIRS[:9]), "", *(target for _, target in PAIRS[:9])]


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary.train([line for pair in PAIRS for line in pair], 60)


@pytest.fixture
def echo(monkeypatch):
    """Both decoders only give their sources back, as they are, and note how they were called."""
    calls = []

    def decoder(model, src, *, bos, eos, **options):
        assert (bos, eos) == (BOS, EOS)
        calls.append((len(src), options))
        return src

    for name in ("greedy_decode", "beam_search"):
        monkeypatch.setattr(translation, name, decoder)
    monkeypatch.setattr(translation, "ROWS", 4)
    return calls


@pytest.mark.parametrize("options", [{}, dict(beam=3, alpha=0.2)])
def test_lines_come_back_in_their_order_and_empty_ones_empty(vocabulary, echo, options):
    assert translate(None, vocabulary, LINES, **options) == LINES
    sizes, seen = zip(*echo)
    assert max(sizes) == 4
    assert sum(sizes) == len(LINES) - 2
    assert all(call == options | {"max_len": None} for call in seen)
    assert translate(None, vocabulary, []) == []
    assert translate(None, vocabulary, ["", "  "]) == ["", ""]


def test_batches_of_translation_keep_to_their_size(monkeypatch, rng):
    monkeypatch.setattr(translation, "ROWS", 5)
    monkeypatch.setattr(translation, "POSITIONS", 40)
    sources = [np.zeros(n, int) for n in rng.integers(1, 50, 100)]
    batches = list(similar(sources))
    assert sorted(i for rows in batches for i in rows) == [
        i for i, source in enumerate(sources) if len(source) > 1]
    lengths = [[len(sources[i]) for i in rows] for rows in batches]
    assert all(len(row) == 1 or (len(row) <= 5 and len(row) * max(row) <= 40) for row in lengths)
    flat = [length for row in lengths for length in row]
    assert flat == sorted(flat, reverse=True)
    assert len(batches) < 95
    assert list(similar([])) == []


def test_a_line_is_cut_to_what_the_model_has_positions_for(vocabulary, rng):
    model = Transformer(len(vocabulary), N=1, d_model=8, d_ff=8, h=2, max_len=30, rng=rng)
    line = "eins zwei drei vier " * 20
    short, was_cut = cut(model, vocabulary, line)
    assert was_cut
    assert line.startswith(short)
    assert 20 < len(vocabulary.encode([short])[0]) <= 30
    assert len(translate(model, vocabulary, [short])) == 1
    assert cut(model, vocabulary, "eins zwei") == ("eins zwei", False)
    for odd in ("漢a" * 400, "drei½X" * 200, "漢" * 400):                # no token is known
        short, _ = cut(model, vocabulary, odd)
        assert odd.startswith(short)
        assert 15 < len(vocabulary.encode([short])[0]) <= 30 or len(set(odd)) == 1


def test_bleu_is_that_of_sacrebleu():
    import sacrebleu

    references = [target for _, target in PAIRS]
    translations = [line.replace("two", "too") for line in references]
    want = sacrebleu.corpus_bleu(translations, [references])
    found = bleu(iter(translations), references)
    assert found.score == want.score
    assert 0 < found.score < 100
    assert str(found).startswith(f"BLEU {want.score:.2f} (nrefs:1|case:mixed|eff:no|tok:13a|")
    assert bleu(references, references).score == pytest.approx(100)
    with pytest.raises(ValueError, match="as many, got 1 and 40"):
        bleu(["one"], references)
    assert found.note == ""
    with pytest.raises(ValueError, match="at least one translation"):
        bleu([], [])


def test_bleu_of_short_lines_says_that_it_is_zero_whatever_they_are():
    """A score of 0 for what is right would mislead."""
    short = ["seven one ten", "שלום עולם", "안녕"]
    found = bleu(short, short)
    assert found.score == 0
    assert str(found).endswith("); no translation has four words, and without them BLEU is 0")
    assert bleu([*short, "one two three four"], [*short, "one two three five"]).note == ""
