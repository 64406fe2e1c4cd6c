"""A language model on one's own text, used as a user does: in files, out files."""

import json
import math
import os
import sys

import numpy as np
import pytest
from grammar import grammar, write_grammar
from same_run import assert_same_run

from aiayn_course.cli.main import main
from aiayn_np import Softmax
from aiayn_np.cli.options import new_run_of
from aiayn_np.cli.parser import parsed
from aiayn_np.decoding.generation import GrowingText, perplexity, start_generation
from aiayn_np.runs import language
from aiayn_np.runs.language import LanguageTraining
from aiayn_np.runs.run import Run
from aiayn_np.text.language import Characters, Pieces, Windows, read_text
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.variants.models import LlamaLayer
from aiayn_np.variants.optimizers import AdamW

SMALL = ["--N", "1", "--d-model", "16", "--d-ff", "24", "--h", "2", "--max-length", "16",
         "--batch-size", "4"]


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Drawing and writing samples takes most of the time of a short run."""
    without_pictures_and_with_short_samples(monkeypatch)


def without_pictures_and_with_short_samples(patch):
    patch.setattr(Run, "draw", lambda self: [])
    patch.setattr(language, "SAMPLE", 5)


def trained(folder, *options, n=300, text=None):
    """The folder of a small run on some sentences of the grammar."""
    text = text or write_grammar(folder / "text.txt", n)
    argv = ["train", "words", "--text", str(text), *SMALL, *options, "--out", str(folder / "run")]
    assert main(argv) == 0
    return folder / "run"


@pytest.fixture(scope="module", params=[[], ["--vocab-size", "80"]], ids=["characters", "pieces"])
def options(request):
    """The options of the run in `folder`."""
    return ["--steps", "40", "--P-drop", "0.1", *request.param]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, options):
    with pytest.MonkeyPatch.context() as patch:
        without_pictures_and_with_short_samples(patch)
        return trained(tmp_path_factory.mktemp("words"), *options)


@pytest.mark.slow
def test_a_run_learns_sentences_that_it_has_not_seen(tmp_path, capsys):
    """The held-back part has no sentence of the training part, and the model knows its words."""
    folder = trained(tmp_path, "--steps", "250", "--d-model", "32", "--d-ff", "64", n=None)
    text = (tmp_path / "text.txt").read_text()
    cut = len(text) - len(text) // 10
    training, held_back = (set(part.split("\n")[1:-1]) for part in (text[:cut], text[cut:]))
    assert len(training | held_back) > 5000
    assert not training & held_back
    nats = json.loads((folder / "metrics.json").read_text())["nats_per_character"]
    letters = [text[:cut].count(c) / cut for c in sorted(set(text))]
    alone = -sum(p * math.log(p) for p in letters)         # knowing how often each comes
    assert nats < 0.6 * alone
    run = Run.open(folder)
    assert isinstance(run.task, LanguageTraining)
    capsys.readouterr()
    assert main(["generate", str(folder), "the ", "--steps", "60", "--temperature", "0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the ")
    assert len(out) == 4 + 60 + 1                                      # beyond the 16 positions
    words = {word for sentence in grammar() for word in sentence.rstrip(".").split()}
    assert words & set(out[4:].replace(".", " ").split())


def test_metrics_are_those_of_the_held_back_text(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    run = Run.open(folder)
    text = read_text(run.options["files"])
    assert metrics["held_back"] == len(text) // 10 == len(run.task.text(run.task.data.held_out.ids))
    assert run.task.text([*run.task.data.batches.ids, *run.task.data.held_out.ids]) == text
    whole = run.task.data.held_out.ids[: len(run.task.data.held_out.starts) * 16 + 1]
    value, count = perplexity(run.trained(), whole)
    assert count == len(whole) - 1
    nats = math.log(value) * len(run.task.data.held_out.ids) / metrics["held_back"]
    assert metrics["nats_per_character"] == pytest.approx(nats, rel=1e-5)
    assert run.history[-1].validation == pytest.approx(nats, rel=1e-5)


def test_the_progress_has_a_sample_at_every_validation(tmp_path, capsys):
    trained(tmp_path, "--steps", "20")
    err = capsys.readouterr().err
    assert err.count("nats per character") == 10
    assert err.count("it writes: ") == 10


def test_a_sample_goes_on_after_the_first_line_that_is_held_back(folder, monkeypatch):
    run = Run.open(folder)
    text = read_text(run.options["files"])
    line = text[len(text) - len(text) // 10 :].partition("\n")[0] + "\n"
    assert run.task.text(run.task.data.beginning) == line
    seen = []
    monkeypatch.setattr("aiayn_np.runs.loaded.Writer.written",
                        lambda self, ids, **_: seen.append(ids) or iter(ids))
    assert run.task.sample(run.trained(), 3) == line
    assert seen == [run.task.data.beginning]


def test_a_resumed_run_is_the_same_to_the_bit(folder, options, tmp_path, capsys):
    """The run is stopped by a loss that is not finite, which its generator brings about."""
    seen, record_of = [], LanguageTraining.record_of

    def stopped(run, s):
        seen.append(s.step)
        if s.step == 23:
            raise FloatingPointError("stop")
        return record_of(run, s)

    text = folder.parent / "text.txt"
    argv = ["train", "words", "--text", str(text), *SMALL, *options,
            "--out", str(tmp_path / "run")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LanguageTraining, "record_of", stopped)
        assert main(argv) == 1
    assert seen == [*range(1, 24)]
    assert Run.open(tmp_path / "run").optimizer.t == 20
    assert main(["train", "words", "--out", str(tmp_path / "run"), "--resume"]) == 0
    assert_same_run(tmp_path / "run", folder)
    text.write_text(text.read_text() + "more", encoding="utf-8")
    try:
        capsys.readouterr()
        argv = ["train", "words", "--out", str(folder), "--resume", "--steps", "50"]
        assert main(argv) == 2
        assert "the text must be the one that the run began with" in capsys.readouterr().err
    finally:
        write_grammar(text, 300)


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", [[], ["--vocab-size", "40"]])
@pytest.mark.parametrize("line", ["床前明月光，疑是地上霜。\n", "I like 🍎, not 🌶️. 👩‍🚀 flies!\n"])
def test_any_script_is_read_and_written(line, vocabulary, tmp_path, capsys):
    (tmp_path / "my.txt").write_text(line * 80, encoding="utf-8")
    folder = trained(tmp_path, "--steps", "3", "--norm", "pre", *vocabulary,
                     text=tmp_path / "my.txt")
    capsys.readouterr()
    assert main(["generate", str(folder), line[:3], "--steps", "30"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(line[:3])
    assert set(out) <= set(line)


@pytest.mark.slow
def test_the_commands_work_on_the_run(folder, tmp_path, capsys):
    (tmp_path / "line.txt").write_text("the small fox.")
    assert main(["perplexity", str(folder), str(tmp_path / "line.txt")]) == 0
    run = Run.open(folder)
    ids = run.task.source("the small fox.")[0]
    log_p = np.log(Softmax()(run.trained()(ids[None, :-1])[0]))
    nats = -log_p[np.arange(len(ids) - 1), ids[1:]].sum()
    characters = 14 - len(run.task.text(ids[:1]))
    assert capsys.readouterr().out == (
        f"perplexity {math.exp(nats / (len(ids) - 1)):.2f} for each of {len(ids) - 1} tokens,"
        f" {math.exp(nats / characters):.2f} for each of {characters} characters\n")
    assert main(["attend", str(folder), "the small fox", "--out", str(tmp_path / "maps")]) == 0
    assert [path.name for path in (tmp_path / "maps").iterdir()] == [
        "words_the_small_fox_attention_layer_1.png"]
    assert main(["trace", str(folder), "the small fox"]) == 0
    assert "stack" in capsys.readouterr().out


def test_without_a_file_the_text_is_the_help_of_python(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", "words", *SMALL, "--steps", "1", "--out", str(out)]) == 0
    assert "the text is the help of Python 3" in capsys.readouterr().err
    assert json.loads((out / "metrics.json").read_text())["held_back"] > 30_000


@pytest.mark.skipif(os.name != "posix", reason="standard input has a path on POSIX")
def test_a_file_that_is_standard_input_is_found_again(tmp_path):
    path, stdin = write_grammar(tmp_path / "text.txt", 300), os.dup(0)
    with open(path, "rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        for name, text in (("a", "-"), ("b", path)):
            (tmp_path / name).mkdir()
            out = trained(tmp_path / name, "--steps", "1", text=text)
            assert Run.open(out).options["files"] == [os.path.realpath(path)]
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)


@pytest.mark.parametrize(("content", "options", "line"), [
    (b"", [], "at least two different characters besides blanks, got 0"),
    (b"a" * 999, [], "at least two different characters besides blanks, got 1"),
    (b"ab", [], "must be longer than a window of --max-length=64 tokens, got a part of 0"),
    (b"abc " * 99, ["--max-length", "500"], "must be longer than a window of --max-length=500"),
    (b"ab\n\xff\xfe", [], "line 2: text must be UTF-8, got the byte 0xff at 1"),
    (b"abc " * 999, ["--batch-size", "0"], "--batch-size must be"),
    (b"abc " * 999, ["--vocab-size", "0"], "--vocab-size must be at least 1"),
    (b"abc " * 999, ["--steps", "0"], "--steps must be"),
    (b"abc " * 999, ["--accumulate", "0"], "accumulate must be"),
    (b"abc " * 999, ["--vocab-size", "0"], "size must be"),
    (b"abc " * 999, ["--vocab-size", "4"], "lines: it takes at least 6 for their characters\n"),
    ("a b▁ ".encode() * 999, ["--vocab-size", "9"], "must hold no '▁' for a vocabulary of pieces"),
])
def test_a_bad_text_is_refused_in_one_line_and_nothing_is_left(content, options, line, tmp_path,
                                                               capsys):
    (tmp_path / "my.txt").write_bytes(content)
    argv = ["train", "words", "--text", str(tmp_path / "my.txt"), "--out", str(tmp_path / "run")]
    assert main([*argv, *options]) == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["my.txt"]


@pytest.mark.parametrize(("argv", "line"), [
    (["generate", "{run}", "the café"], "only characters of the training text, got 'é' at 8"),
    (["generate", "{run}", "é the ñ"], "got 'é' at 1 and 1 other unknown ones"),
    (["generate", "{run}", ""], "a text must hold at least one token"),
    *((["generate", "{run}", "the", "--temperature", value],
       "--temperature must lie in [0, inf), got") for value in ("inf", "nan", "-1", "1e400")),
    (["generate", "{run}", "the", "--top-k", "0"], "--top-k must be at least 1, got --top-k=0"),
    (["generate", "{run}", "the", "--steps", "0"], "--steps must be at least 1, got --steps=0"),
    (["decode", "{run}", "the"], "must hold a model for decode, got one of words, which is for"),
    (["export", "{run}", "{tmp}/out", "--to", "marian"], "must hold a model for export, got one"),
    (["train", "copy", "--out", "{run}", "--resume"], "is a run of the task words, not copy"),
    (["train", "words", "--out", "{run}", "--resume", "--vocab-size", "90"],
     "--vocab-size is fixed by the run"),
])
def test_what_cannot_be_done_is_said_in_one_line(argv, line, folder, tmp_path, capsys):
    capsys.readouterr()
    assert main([word.format(run=folder, tmp=tmp_path) for word in argv]) == 2
    out, err = capsys.readouterr()
    assert line in err
    assert err.count("\n") == 1
    assert out == ""                                                   # refused before any output
    assert not (tmp_path / "out").exists()


def test_windows_tell_every_token_what_comes_next():
    windows = Windows(np.arange(23), 5, 3)
    batches = [windows.batch(step) for step in range(1, windows.per_epoch + 1)]
    ids, targets = (np.concatenate(side) for side in zip(*batches))
    assert ids.ravel().tolist() == [*range(20)]
    np.testing.assert_array_equal(targets, ids + 1)
    rng = np.random.default_rng(0)
    starts = {int(start) for _ in range(100) for start in windows.draw(rng)[0][:, 0]}
    assert starts == {*range(18)}
    assert Windows(np.arange(23), 5, 3, every=2).starts.tolist() == [0, 10]


def test_characters_are_ids_and_back():
    vocabulary = Characters("aß 漢🍎\na")
    assert len(vocabulary) == 6
    text = "🍎 漢\nß"
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert vocabulary.pieces(vocabulary.encode(" \na")) == ["_", "\\n", "a"]


@pytest.mark.parametrize("text", [
    "\n  if a:\n\n\tb  c \r\n \u3000x\u2028\xa0y,\"z\"\n" * 20,
    "床前明月光，疑是地上霜。\n" * 20,
    "I like 🍎, not 🌶️. 👩‍🚀 flies!\n" * 20,
    "<s> <unk> </s>\n" * 20,
    "one two one two " * 40 + "\tonly here: Ω",
    read_text(None),
], ids=["blanks", "Chinese", "emoji", "marks", "held back", "help"])
def test_pieces_give_every_text_back(text):
    pieces = Pieces.train(text, 200)
    ids = pieces.encode(text)
    assert pieces.decode(ids) == text
    assert len(ids) < 0.95 * len(text)
    assert 0 <= ids.min() <= ids.max() < len(pieces)
    assert pieces.pieces(pieces.encode(text[:1])) == [repr(text[0])[1:-1]]
    with pytest.raises(ValueError, match="only characters of the training text, got 'ж' at 2"):
        pieces.encode(text[0] + "ж")


def test_pieces_are_learned_without_the_held_back_part():
    text = "one two one two " * 50 + "q" * 40
    assert "qq" not in Pieces.train(text, 200).pieces(range(10))


def test_without_sentencepiece_characters_are_left(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    trained(tmp_path, "--steps", "1")
    capsys.readouterr()
    argv = ["train", "words", "--text", str(tmp_path / "text.txt"), "--vocab-size", "80",
            "--out", str(tmp_path / "other")]
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert "sentencepiece is not installed; text needs it: pip install" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["post", "pre"])
def test_fifty_steps_have_the_losses_of_pytorch(form, tmp_path):
    """Same weights, batches and rates, with the default layers: every loss agrees to 1e-9."""
    pytest.importorskip("torch")
    from words_twin import Twin

    argv = ["train", "words", "--text", str(write_grammar(tmp_path / "text.txt", 300)), "--dtype",
            "float64", "--norm", form, "--steps", "50", "--batch-size", "4", "--out", str(tmp_path)]
    args = parsed(argv)
    run, _ = new_run_of(tmp_path, args)
    twin, batches, draw = Twin(run), [], run.task.data.batches.draw
    run.task.data.batches.draw = lambda rng: batches.append(draw(rng)) or batches[-1]
    losses = [(p.loss, twin.step(*batches[-1], p.rate)) for p in run.train()]
    assert len(losses) == 50
    ours, theirs = zip(*losses)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    assert ours[-1] < ours[0] - 0.5


LLAMA = ["--like", "llama", "--h-kv", "1", "--steps", "30", "--warmup-steps", "10"]


def history(run):
    return run.history


@pytest.mark.slow
def test_a_run_like_llama_has_its_parts_and_keeps_its_keys(tmp_path, capsys):
    """Every other command takes it as it takes the paper's layers."""
    folder = trained(tmp_path, *LLAMA)
    run = Run.open(folder)
    layer = run.model.stack.encoder.layers[0]
    assert type(layer) is LlamaLayer
    assert (layer.self_attention.h, layer.self_attention.h_kv) == (2, 1)
    assert type(run.optimizer) is AdamW
    assert {p.value.ndim for p in run.optimizer.decayed} == {2}
    assert type(start_generation(run.trained())) is GrowingText
    rates, peak = [p.rate for p in history(run)], warmup_rate(10, 16, 10, 0.5)
    assert np.argmax(rates) == 9
    np.testing.assert_allclose([rates[4], rates[9], rates[-1]], [peak / 2, peak, peak / 10])
    for command in (["generate", "the ", "--steps", "20"], ["attend", "the "], ["trace", "the "]):
        assert main([command[0], str(folder), *command[1:]]) == 0
        assert capsys.readouterr().out


@pytest.mark.parametrize(("argv", "message"), [
    (["words", "--like", "llama", "--norm", "pre"], "norm must not be given with like=llama"),
    (["words", "--like", "llama", "--positions", "learned"], "positions must not be given with"),
    (["words", "--h-kv", "2"], "--h-kv must not be given without --like=llama"),
    (["words", "--like", "llama", "--h", "4", "--h-kv", "3"], "h must be divisible by h_kv"),
    (["words", "--like", "llama", "--h-kv", "0"], "--h-kv must be at least 1, got --h-kv=0"),
])
def test_options_that_do_not_go_with_llama_are_refused(argv, message, tmp_path, capsys):
    assert main(["train", *argv, "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_text_that_is_too_long_is_counted_without_an_end_mark(folder, capsys):
    text = "the cat sees a dog " * 9
    assert main(["attend", str(folder), text]) == 2
    count = len(Run.open(folder).task.source(text)[0])
    assert f"at most 16 tokens for this run, got {count}\n" in capsys.readouterr().err
