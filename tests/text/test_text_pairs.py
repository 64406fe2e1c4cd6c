"""Sentence pairs out of files: what is read, what is left out, and what is refused where."""

import gzip

import pytest
from sentences import sentences, write

from aiayn_np.text.corpus import Corpus
from aiayn_np.text.language import read_text
from aiayn_np.text.pairs import hold_out, read_lines, read_table, read_two_files


@pytest.fixture
def two_files(tmp_path):
    """Write two files of bytes; their paths."""
    def make(source, target):
        paths = tmp_path / "a.de", tmp_path / "a.en"
        for path, content in zip(paths, (source, target)):
            path.write_bytes(content)
        return paths
    return make


def test_pairs_are_lines_in_order_and_empty_sides_are_counted(two_files):
    files = two_files(b"eins\n\n zwei \ndrei\n", b"one\ntwo\ntwo\n\n")
    assert read_two_files(*files) == ([("eins", "one"), ("zwei", "two")], 2)


def test_only_a_line_feed_ends_a_line(two_files):
    """str.splitlines would cut at each of these, and the two files would come out of step."""
    source = "a\u2028b\x0bc\x85d\r\ne"
    lines = read_lines(two_files("a \u2028 b\r\n\n c\r".encode(), b"")[0])
    assert lines == ["a \u2028 b", "", " c"]
    pairs, _ = read_two_files(*two_files(b"\xef\xbb\xbf" + source.encode(), b"1\r\n2\r\n"))
    assert pairs == [("a\u2028b\x0bc\x85d", "1"), ("e", "2")]


def test_a_carriage_return_ends_the_lines_of_a_file_without_line_feeds(two_files):
    files = two_files("eins\rfünf\r\rzwei\r".encode(), b"one\rfive\r\rtwo")
    assert read_lines(files[0]) == ["eins", "fünf", "", "zwei"]
    assert read_two_files(*files) == ([("eins", "one"), ("fünf", "five"), ("zwei", "two")], 1)
    assert read_text(files) == "eins\nfünf\n\nzwei\none\nfive\n\ntwo\n"
    with pytest.raises(ValueError, match="line 2: text must be UTF-8"):
        read_lines(two_files("eins\rfünf\r".encode("latin-1"), b"")[0])


def test_gz_is_unpacked_and_a_broken_one_is_refused(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("fünf\nsechs\n".encode()))
    assert read_lines(path) == ["fünf", "sechs"]
    assert read_lines(path.rename(tmp_path / "A.GZ")) == ["fünf", "sechs"]
    (tmp_path / "A.GZ").rename(path)
    for broken in (path.read_bytes()[:-9], b"text", b""):
        path.write_bytes(broken)
        if broken:
            with pytest.raises(ValueError, match=r"a\.gz is not a whole \.gz file"):
                read_lines(path)


def test_a_gz_that_unpacks_to_more_than_the_memory_is_refused_by_its_name(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1000)))
    monkeypatch.setattr("aiayn_np.text.pairs.memory_bytes", lambda: 4 * 999)
    with pytest.raises(MemoryError, match=r"bomb\.gz holds more text than a quarter of it can"):
        read_lines(path)
    monkeypatch.setattr("aiayn_np.text.pairs.memory_bytes", lambda: 4 * 1000)
    assert read_lines(path) == ["\0" * 1000]


def test_a_table_has_a_tab_in_every_line(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("eins\tone\tby someone\n\nzwei \t two\n\tthree\n", encoding="utf-8")
    assert read_table(path) == ([("eins", "one"), ("zwei", "two")], 2)
    path.write_text("eins\tone\nzwei two\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: .* got no tab in 'zwei two'"):
        read_table(path)


def test_what_is_not_utf_8_is_refused_with_its_line(two_files):
    files = two_files("eins\nfünf\n".encode("latin-1"), b"one\nfive\n")
    with pytest.raises(ValueError, match=r"a\.de, line 2: text must be UTF-8, got the byte 0xfc"):
        read_two_files(*files)


@pytest.mark.parametrize(("source", "target", "message"), [
    (b"a\nb\n", b"a\n", r"as many lines, got 2 in .*a\.de and 1 in .*a\.en"),
    (b"", b"", "must be a sentence pair, got 0 lines"),
    (b"a\n\n", b"\nb\n", "must be a sentence pair, got 2 lines"),
])
def test_files_without_pairs_are_refused(two_files, source, target, message):
    with pytest.raises(ValueError, match=message):
        read_two_files(*two_files(source, target))


def test_held_out_pairs_share_no_source_with_those_trained_on(seed):
    pairs = sentences(3000, seed=seed, longest=3)
    training, held, known = hold_out(pairs, seed)
    assert len(held) == 60
    assert known > 0
    assert len(training) + len(held) + known == len(pairs)
    assert {source for source, _ in training}.isdisjoint(source for source, _ in held)
    assert hold_out(pairs, seed) == (training, held, known)
    assert hold_out(pairs, seed + 1)[1] != held
    with pytest.raises(ValueError, match="pairs left to train on"):
        hold_out(pairs[:1] * 9, seed)


def test_a_corpus_names_what_it_left_out_and_knows_its_text_again(tmp_path):
    source, target = write(tmp_path, [*sentences(100), ("", "nothing")])
    files = dict(source=source, target=target)
    corpus = Corpus.read(files, 0)
    assert corpus.notes[0] == f"1 lines of {source} are left out: one side is empty"
    assert "2 pairs, drawn at random, are held out for validation" in corpus.notes
    given = Corpus.read(files | dict(validation_source=source, validation_target=target), 0)
    assert len(given.validation) == len(given.training) == 100
    assert Corpus.read(files, 0).digest == corpus.digest
    (tmp_path / "a").write_text("x\ty\nx\tz\n"), (tmp_path / "b").write_text("y\tx\n")
    (tmp_path / "c").write_text("x\ty\n"), (tmp_path / "d").write_text("x\tz\ny\tx\n")
    moved = [Corpus.read(dict(pairs=tmp_path / one, validation_pairs=tmp_path / two), 0).digest
             for one, two in ("ab", "cd")]
    assert moved[0] != moved[1]                            # a line went from training to validation
    changed = source.read_bytes().replace(b"eins", b"ein", 1)
    source.write_bytes(changed)
    assert Corpus.read(files, 0).digest != corpus.digest


@pytest.mark.parametrize("names", [
    [], ["source"], ["target"], ["pairs", "source"], ["pairs", "source", "target"],
    ["source", "target", "validation_source"],
])
def test_files_are_given_in_one_of_two_ways(tmp_path, names):
    source, target = write(tmp_path, sentences(100))
    files = dict.fromkeys(names, source) | ({"target": target} if "target" in names else {})
    with pytest.raises(ValueError, match=r"must be given by --(validation-)?pairs, or by"):
        Corpus.read(files, 0)
