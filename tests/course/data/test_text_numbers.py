"""Numbers in words: each line says its number, the lists share none, and a model learns them."""

import gzip
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from aiayn_course.data.number_words import DATA, number_words, write_number_words
from aiayn_np.runs.start import start_run
from aiayn_np.text.pairs import read_lines, read_table, read_two_files
from aiayn_np.text.presets import PRESETS
from aiayn_np.text.translation import translate
from aiayn_np.text.vocabulary import Vocabulary

sys.path.append(str(Path(__file__).parents[3] / "docs"))
import make_number_words as make

ROWS = [line.split("\t") for line in read_lines(DATA)]
TENS = range(20, 100, 10)


def numbered(words, numbers):
    return dict(zip(words.split(), numbers, strict=True))


GERMAN = numbered("null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn"
                  " vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", range(20))
GERMAN |= numbered("eins", [1])
GERMAN |= numbered("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", TENS)
ENGLISH = numbered("zero one two three four five six seven eight nine ten eleven twelve thirteen"
                   " fourteen fifteen sixteen seventeen eighteen nineteen", range(20))
ENGLISH |= numbered("twenty thirty forty fifty sixty seventy eighty ninety", TENS)


def value(words, numbers, hundred, thousand):
    """The number that words say: what stands before a hundred or a thousand is so many of them."""
    total, now = 0, 0
    for word in words:
        if word == thousand:
            total, now = 1000 * now, 0
        elif word == hundred:
            now *= 100
        else:
            now += numbers[word]
    return total + now


def german_value(text):
    assert "eins tausend" not in text
    return value([w for w in text.split() if w != "und"], GERMAN, "hundert", "tausend")


def english_value(text):
    words = re.findall("[a-z]+", text)
    return value([w for w in words if w != "and"], ENGLISH, "hundred", "thousand")


def shape(digits):
    return re.sub("[1-9]", "1", digits)


def test_each_line_says_its_number_in_both_languages():
    for german, english, digits in ROWS:
        assert german_value(german) == english_value(english) == int(digits)


def test_the_lists_share_no_number_and_hold_all_lines():
    lists = [{german_value(german) for german, _ in pairs} for pairs in number_words()]
    assert [len(numbers) for numbers in lists] == [7149, 500, 500]
    assert len(set.union(*lists)) == len(ROWS) == 8149


def test_each_word_is_seen_in_training():
    def words(pairs):
        return {word for pair in pairs for side in pair for word in re.findall(r"\w+", side)}

    training, validation, test = number_words()
    assert words(validation) | words(test) <= words(training)


def test_round_numbers_are_as_frequent_as_others():
    of_file = Counter(shape(digits) for *_, digits in ROWS if int(digits) > 999)
    assert of_file == {key: min(make.PER_SHAPE, 9 ** key.count("1")) for key in of_file}
    assert len(of_file) == 8 + 16 + 32
    of_training = {shape(str(german_value(german))) for german, _ in number_words().training}
    assert set(of_file) <= of_training


def test_with_the_presets_vocabulary_a_german_word_is_a_token():
    training, _, test = number_words()
    lines = [line for pair in training for line in pair]
    vocabulary = Vocabulary.train(lines, PRESETS["numbers"]["vocab_size"])
    for (german, _), ids in zip(test, vocabulary.encode([german for german, _ in test])):
        assert vocabulary.pieces(ids[:-1]) == ["_" + word for word in german.split()]


def test_the_files_that_are_written_hold_the_lists(tmp_path):
    words, paths = number_words(), write_number_words(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["training.tsv", "validation.tsv", "test.de", "test.en"]
    assert read_table(paths[0]) == (words.training, 0)
    assert read_table(paths[1]) == (words.validation, 0)
    assert read_two_files(*paths[2:]) == (words.test, 0)


def test_a_word_is_cut_into_its_parts_or_refused():
    assert make.apart("siebzehn") == "siebzehn"
    assert make.apart("neunhunderteinundsiebzigtausendeins") == (
        "neun hundert ein und siebzig tausend eins")
    with pytest.raises(ValueError, match=r"parts of German numbers, got 'dreissig'"):
        make.apart("dreissig")


def test_without_num2words_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", None)
    with pytest.raises(ImportError, match=r"num2words is not installed; .*pip install num2words"):
        make.spelled(7)


@pytest.mark.slow
def test_the_numbers_of_the_file_are_drawn_again():
    assert make.chosen() == [int(digits) for *_, digits in ROWS]


@pytest.mark.slow
def test_the_words_of_the_file_are_spelled_again():
    """The same text; how it is packed depends on the version of zlib."""
    pytest.importorskip("num2words")
    for german, english, digits in ROWS:
        assert make.spelled(int(digits)) == (german, english)


def trained(folder, **options):
    """A run on the files in a folder."""
    files = dict(pairs=folder / "training.tsv", validation_pairs=folder / "validation.tsv")
    run, _ = start_run(folder / "run", "text", files, preset="numbers", **options)
    list(run.train())
    return run


def share_right(run, pairs):
    sources, references = zip(*pairs)
    out = translate(run.trained(), run.task.vocabulary, sources)
    return sum(a == b for a, b in zip(out, references)) / len(pairs)


@pytest.mark.slow
def test_a_model_learns_numbers_that_it_has_not_seen(tmp_path, seed):
    """With seeds 0, 1 and 2 it has 499 or 500 of 500 right, by the processor."""
    write_number_words(tmp_path)
    assert share_right(trained(tmp_path, seed=seed), number_words().test) >= 0.99


@pytest.mark.slow
def test_what_is_in_no_training_pair_is_not_learned(tmp_path):
    """Numbers like 200 428; a model has the others right without them, and none of these."""
    def is_like_it(pair):
        return re.fullmatch(r"[1-9]00\d{3}", str(german_value(pair[0]))) is not None

    table, *_ = write_number_words(tmp_path)
    words = number_words()
    kept = [pair for pair in words.training if not is_like_it(pair)]
    table.write_text("".join("\t".join(pair) + "\n" for pair in kept), encoding="utf-8")
    left_out = [pair for pairs in words for pair in pairs if is_like_it(pair)]
    assert (len(words.training) - len(kept), len(left_out)) == (745, 852)
    run = trained(tmp_path, seed=0, epochs=5)
    assert share_right(run, left_out) < 0.05
    assert share_right(run, [pair for pair in words.test if not is_like_it(pair)]) > 0.8


def test_the_script_writes_what_it_spells(tmp_path, monkeypatch):
    monkeypatch.setattr(make, "content", lambda: "eins\tone\t1\n")
    make.main([str(tmp_path / "new.tsv.gz")])
    assert gzip.decompress((tmp_path / "new.tsv.gz").read_bytes()) == b"eins\tone\t1\n"
