"""The vocabulary: one for both languages, the same every time, and it gives back what it read."""

import sys
from importlib.metadata import PackageNotFoundError

import pytest
from sentences import sentences

from aiayn_np import CheckpointError
from aiayn_np.text.extra import extra, install_command
from aiayn_np.text.task import PairTask, encoded
from aiayn_np.text.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

LINES = [line for pair in sentences(100) for line in pair]


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary.train(LINES, 60)


def test_what_was_encoded_comes_back(vocabulary):
    assert len(vocabulary) == 60
    ids = vocabulary.encode(LINES)
    assert [vocabulary.decode(row) for row in ids] == LINES
    for row in ids:
        assert row[-1] == EOS
        assert not {PAD, BOS, EOS, UNK} & set(row[:-1].tolist())


def test_the_same_lines_give_the_same_vocabulary(vocabulary):
    assert Vocabulary.train(iter(LINES), 60).model == vocabulary.model


def test_it_is_saved_and_loaded(vocabulary, tmp_path):
    path = tmp_path / "v.model"
    path.write_bytes(vocabulary.model)
    assert Vocabulary.load(path).encode(["fünf one"])[0].tolist() == vocabulary.encode(
        ["fünf one"])[0].tolist()
    path.write_bytes(b"text")
    with pytest.raises(CheckpointError, match=r"v\.model is not a SentencePiece model"):
        Vocabulary.load(path)


def test_an_unknown_character_has_an_id_and_an_empty_line_only_an_end(vocabulary):
    row, empty = vocabulary.encode(["eins 漢", ""])
    assert UNK in row
    assert empty.tolist() == [EOS]


def test_nothing_is_read_after_the_end(vocabulary):
    (ids,) = vocabulary.encode(["eins zwei"])
    assert vocabulary.decode([*ids, *ids, PAD]) == "eins zwei"
    assert vocabulary.decode([EOS, *ids]) == ""


def test_a_small_text_gives_fewer_pieces_than_it_may():
    pieces = [len(Vocabulary.train(["ab ab abc"], size)) for size in (2000, 3000)]
    assert pieces[0] == pieces[1] < 20


def test_more_characters_than_pieces_are_refused():
    with pytest.raises(ValueError, match="no vocabulary of 10 pieces could be learned from 200"):
        Vocabulary.train(LINES, 10)
    with pytest.raises(ValueError, match="size"):
        Vocabulary.train(LINES, 0)


def test_labels_are_pieces_with_a_mark_where_a_word_begins(vocabulary):
    task = PairTask(vocabulary, 20)
    src = task.source("zwei one")
    labels = task.tokens([BOS, *src[0], PAD])
    assert labels[0] == "<bos>"
    assert labels[-2:] == ["<eos>", "<pad>"]
    assert "".join(labels[1:-2]) == "_zwei_one"
    assert task.text(src[0]) == "zwei one"
    with pytest.raises(ValueError, match="at least one word, got ' '"):
        task.source(" ")


def test_pairs_that_are_too_long_are_left_out_with_their_lines(vocabulary):
    pairs = [("eins", "one"), ("zwei " * 9, "two"), ("drei", "three " * 9), ("vier", "four")]
    ids, lines = encoded(2 * [vocabulary.encode], pairs, 10)
    assert lines == [pairs[0], pairs[3]]
    assert [vocabulary.decode(source) for source, _ in ids] == ["eins", "vier"]


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ImportError, match=r"sentencepiece is not installed; text needs it: pip"):
        Vocabulary.train(LINES, 60)
    with pytest.raises(ImportError, match=r"nowhere_to_be_found is not installed"):
        extra("nowhere_to_be_found")


def test_the_command_that_brings_an_extra_names_its_packages(monkeypatch):
    needs = ["numpy>=2", 'sacrebleu>=2; extra == "text"', "torch>=2; extra == 'torch'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: needs)
    assert install_command("text") == "pip install 'sacrebleu>=2'"
    assert install_command("torch") == "pip install 'torch>=2'"


def test_a_copy_of_the_repository_that_is_not_installed_is_installed_with_the_extra(monkeypatch):
    def requires(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", requires)
    monkeypatch.setattr("aiayn_np.text.extra.REPOSITORY", "a folder")
    assert install_command("text") == "pip install -e 'a folder[text]'"
