"""`why`: the shares of what a run writes, with the experiment beside them, and a picture."""

import errno
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from grammar import write_grammar
from real_models import make_bert, make_gpt2, make_llama
from same_run import TINY, without_pictures

from aiayn_course.cli.main import main
from aiayn_np.cli.why import MOST, id_of, sentence, table
from aiayn_np.reading import shares
from aiayn_np.runs.open import open_run
from aiayn_np.runs.run import Run
from aiayn_np.text.columns import width


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "a"
    small = [*TINY, "--symbols", "4", "--max-length", "3"]  # an answer that ends soon
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        assert main(["train", "reverse", *small, "--steps", "60", "--out", str(folder)]) == 0
    return folder


def test_it_prints_the_shares_and_draws_them(folder, capsys):
    capsys.readouterr()
    assert main(["why", str(folder), "3 1 2"]) == 0
    short = capsys.readouterr().out.splitlines()
    assert main(["why", str(folder), "3 1 2", "--all"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == str(folder / "why.png")
    assert (folder / "why.png").read_bytes().startswith(b"\x89PNG")
    run = Run.open(folder)
    src = run.task.source("3 1 2")
    made_of = shares(run.trained(), src[0], [run.task.bos])
    assert out.startswith("share ")
    found = tables(out)
    rows = found[0]
    want = {f"{word} source {i}": share for i, (word, share) in enumerate(
        zip(["3", "1", "2", "<eos>"], made_of.source), 1)}
    want |= {"<bos> written 0": made_of.target[0], "biases": made_of.biases}
    assert dict(rows) == {name: round(float(share), 2) for name, share in want.items()}
    sizes = [abs(share) for _, share in rows[:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert rows[-1][0] == "biases"
    assert max(map(len, out.splitlines()[:-1])) <= 80
    count = len(found)
    assert count == len(run.loaded().decode(src)[0])
    assert short[0].startswith("1. ")                                  # its sentence comes first
    assert [line for line in short if line in out.splitlines()] == short
    assert count + 1 <= len(short) <= 2 * count + 1                    # without any table


def tables(out):
    """[(word and place, share), ...] of each table that `why` printed, in its order."""
    found = []
    for line in out.splitlines():
        if line.split() == ["word", "place", "share", "replaced", "held"]:
            found.append([])
        elif row := re.match(r"   +(.*?) +([+-][0-9.]+)(?: |$)", line):
            found[-1].append((" ".join(row[1].split()), float(row[2])))
    return found


def model_of(kind, tmp_path, rng):
    if kind == "words":
        text = write_grammar(tmp_path / "text", 100)
        assert main(["train", "words", "--text", str(text), *TINY, "--steps", "2", "--max-length",
                     "9", "--out", str(tmp_path / "run")]) == 0
        return tmp_path / "run"
    if kind == "gpt2":
        (tmp_path / kind).mkdir()
        return make_gpt2(tmp_path / kind, rng)
    return dict(llama=make_llama, bert=make_bert)[kind](tmp_path / kind)


@pytest.mark.parametrize(("kind", "text", "count"), [
    ("words", "the", 7), ("gpt2", "the cat", MOST), ("llama", "the fox", MOST),
    ("bert", "Paris is the [MASK] of [MASK]", 2)])
def test_a_model_of_one_text_tells_the_shares_of_what_it_writes(
    kind, text, count, tmp_path, rng, no_pictures, capsys
):
    """The best next token again and again, while there is room; of a BERT the best one of each
    mask. Every token of the text and every written one has its share."""
    folder = model_of(kind, tmp_path, rng)
    capsys.readouterr()
    assert main(["why", str(folder), text, "--all"]) == 0
    out = capsys.readouterr().out
    loaded = open_run(folder)
    task, ids = loaded.task, [*loaded.source(text)[0]]
    start, found = len(ids), tables(out)
    places = [i for i in range(start) if ids[i] == task.pad] if kind == "bert" else []
    assert len(found) == count
    for n, rows in enumerate(found):
        place = places[n] if places else len(ids) - 1
        logits = loaded.trained()(np.array([ids]))[0, place]
        token = int(logits.argmax())
        want = shares(loaded.trained(), None, ids, token=token, position=place)
        names = [f"{word} {'text' if i < start else 'written'} {i + 1 - start * (i >= start)}"
                 for i, word in enumerate(task.tokens(ids))]
        assert dict(rows) == pytest.approx(
            {**dict(zip(names, want.target)), "biases": want.biases}, abs=0.0051)
        assert f"\n{n + 1}. {task.tokens([token])[0]!r}: " in out
        ids += [] if places else [token]


def test_a_mask_is_asked_for(tmp_path, capsys):
    assert main(["why", str(make_bert(tmp_path / "bert")), "Paris is"]) == 2
    assert "a text must hold at least one [MASK], got none" in capsys.readouterr().err


def test_the_columns_are_the_share_and_what_replacing_changes():
    """The largest by size comes first, though it is negative; replacing shows a loss as minus."""
    lines = table([("written 1", "hundert", 4.0, 3.0, -2.0), ("source 1", "a", -5.5, 0.25, 0.125)],
                  0.75).splitlines()
    assert [line.split() for line in lines] == [
        ["word", "place", "share", "replaced", "held"],
        ["a", "source", "1", "-5.50", "-0.25", "-0.12"],
        ["hundert", "written", "1", "+4.00", "-3.00", "+2.00"],
        ["biases", "+0.75"]]
    assert lines[1].index("-5.50") == lines[2].index("+4.00") == lines[3].index("+0.75")


@pytest.fixture
def read_only(folder, monkeypatch):
    """The run as in a folder of a teacher, which students may only read; for root too."""
    def refuse(dir):
        if Path(dir).is_relative_to(folder):
            raise PermissionError(errno.EACCES, "Permission denied")
        return temporary(dir=dir)

    temporary = tempfile.TemporaryFile
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    (folder / "why.png").unlink(missing_ok=True)
    return folder


@pytest.mark.parametrize("command", ["attend", "explore", "why"])
def test_a_run_that_cannot_be_written_to_is_told_about_out(command, read_only, capsys):
    assert main([command, str(read_only), "3 1 2"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"aiayn-np: error: {read_only}")
    assert err.endswith(": Permission denied; --out writes elsewhere\n")
    assert err.count("\n") == 1
    shared = str(read_only / f"{command}-2.{'html' if command == 'explore' else 'png'}")
    assert main([command, str(read_only), "3 1 2", "--out", shared]) == 2
    assert capsys.readouterr().err.endswith(": Permission denied\n")


@pytest.mark.slow
def test_of_an_answer_without_end_the_first_words_are_told(no_pictures, tmp_path, capsys):
    """An untrained model often writes until it has no position left."""
    folder = str(tmp_path / "r")
    assert main(["train", "copy", *TINY, "--steps", "1", "--out", folder]) == 0
    run = Run.open(folder)
    n = run.loaded().answered(run.task.source("3 1 4"))[2].shape[1]
    assert n > MOST
    capsys.readouterr()
    assert main(["why", folder, "3 1 4"]) == 0
    out, err = capsys.readouterr()
    assert err == f"note: of {n} words the first {MOST} are told; --word tells another one\n"
    assert re.findall(r"(?m)^(\d+)\. ", out) == [str(i) for i in range(1, MOST + 1)]
    assert main(["why", folder, "3 1 4", "--word", str(n)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.findall(r"(?m)^(\d+)\. ", out) == [str(n)]


def test_one_word_against_another(folder, tmp_path, capsys):
    picture = tmp_path / "new.png"
    assert main(["why", str(folder), "3", "3", "--word", "1", "--against", "2", "--out",
                 str(picture), "--all"]) == 0
    out = capsys.readouterr().out
    assert ", not '2': most came from '3' in the source, place " in out
    assert out.count("Its logit is") == 1
    assert "above 2:\n" in out
    assert picture.is_file()


@pytest.mark.parametrize(("options", "message"), [
    (["--word", "0"], "--word must be 1 to"),
    (["--word", "99"], "--word must be 1 to"),
    (["--against", "x"], "--against must be one token of the vocabulary, got 'x'"),
    (["--out", "notes.txt"], "--out must be a .png, got notes.txt"),
])
def test_wrong_requests_are_one_line(folder, options, message, capsys):
    capsys.readouterr()
    assert main(["why", str(folder), "3 1", *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_word_is_meant_before_a_piece_inside_one():
    task = SimpleNamespace(vocab_size=4, tokens=lambda ids: [["two", "_two", "x", "3"][i]
                                                             for i in ids])
    assert [id_of(task, word) for word in ("two", "_two", "x", "3")] == [1, 1, 2, 3]


@pytest.mark.parametrize(("command", "most"), [("why", "one sequence"), ("trace", "one sequence"),
                                               ("attend", "one or two sequences")])
def test_several_sequences_are_refused(folder, command, most, capsys):
    many = ["1 2", "2 3", "3"][: 3 if command == "attend" else 2]
    assert main([command, str(folder), *many]) == 2
    assert capsys.readouterr().err == (
        f"aiayn-np: error: {most} must be given, got {len(many)}\n")


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_two_sequences_are_drawn_side_by_side_in_the_form_that_the_ending_names(
        folder, tmp_path, kind, start, capsys):
    widths = []
    for sequences in (["1 2 3"], ["1 2 3", "3 1"]):
        out = tmp_path / f"{len(sequences)}.{kind}"
        assert main(["attend", str(folder), *sequences, "--out", str(out)]) == 0
        paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
        assert paths == [out.with_stem(f"{out.stem}_{name}")
                         for name in ("encoder_self", "decoder_self", "cross")]
        assert all(path.read_bytes().startswith(start) for path in paths)
        size = re.search(rb'width="([0-9.]+)pt|MediaBox \[ 0 0 ([0-9.]+)', paths[2].read_bytes())
        widths.append(float(size[1] or size[2]))
    assert widths[1] > 1.2 * widths[0]


def test_the_sentence_names_what_gave_most():
    spoke = [("'sieben' in the source", 1.5), ("'<eos>' in the source", -2.0),
             ("'hundred', written before", 5.84)]
    assert sentence(spoke) == (
        "most came from 'hundred', written before (+5.8),"
        " then from 'sieben' in the source (+1.5).")
    assert sentence([("'x' in the source", 3.0), ("'y' in the source", 0.1)]) == (
        "most came from 'x' in the source (+3.0).")
    assert sentence([("'x' in the source", -1.0)]) == "no token speaks for it."


def test_chinese_words_take_two_columns_each():
    lines = table([("source 1", "二百", 1.0, 0.5, 0.1), ("source 2", "ab", 0.5, 0.2, 0.1)], 0.1)
    _, chinese, latin, _ = lines.splitlines()
    assert width(chinese) == width(latin)
    assert width(chinese[: chinese.index("source")]) == latin.index("source")
