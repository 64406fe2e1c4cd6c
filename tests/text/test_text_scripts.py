"""Text in any script: no character is changed, and a right translation counts as one."""

import json

import pytest
from same_run import read_checkpoint
from scripts import SCRIPTS, pairs_of
from sentences import SMALL, write

from aiayn_course.cli.main import main
from aiayn_np.text.bleu import bleu
from aiayn_np.text.vocabulary import UNK, Vocabulary

CHOSEN = {"english": "13a", "russian": "13a", "chinese": "zh", "japanese": "char", "thai": "char",
          "emoji": "char", "arabic": "13a", "hindi": "13a", "hebrew": "13a", "korean": "13a"}
NORMAL = "，？…½™ﬁ①ｱ"


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_character_comes_back(script):
    pairs = pairs_of("english", script, 200) + [(NORMAL, NORMAL)]
    lines = [line for pair in pairs for line in pair]
    vocabulary = Vocabulary.train(lines, 200)
    assert [vocabulary.decode(ids) for ids in vocabulary.encode(lines)] == lines


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_right_translation_has_100_and_a_nearly_right_one_nearly(script):
    references = [target for _, target in pairs_of("english", script, 300)]
    others = references[:294] + references[:6]
    tokenize = CHOSEN[script]
    found = bleu(references, references, tokenize=tokenize)
    assert found.score == pytest.approx(100)
    assert f"tok:{tokenize}|" in found.signature
    assert 94 < bleu(others, references, tokenize=tokenize).score < 100


@pytest.mark.slow
def test_the_wrong_tokenizer_reports_a_right_chinese_translation_as_poor():
    """The signature tells which one it was."""
    references = [target for _, target in pairs_of("english", "chinese", 300)]
    others = [line + "。" for line in references]
    assert bleu(others, references).score < 1
    assert bleu(others, references, tokenize="zh").score > 70
    assert "tok:13a|" in bleu(others, references).signature


@pytest.mark.slow
def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(ValueError, match="tokenize must be one of 13a, zh, char"):
        bleu(["a"], ["a"], tokenize="flores200")                       # it would need a network


@pytest.mark.slow
def test_character_coverage_leaves_out_the_rarest_characters():
    lines = ["a b c d e f g"] * 100 + ["中"]
    for coverage, known in ((1.0, True), (0.99, False)):
        vocabulary = Vocabulary.train(lines, 100, character_coverage=coverage)
        assert (UNK not in vocabulary.encode(["中"])[0]) is known
    for wrong in (0.5, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"character_coverage must lie in \[0\.98, 1\], got"):
            Vocabulary.train(lines, 100, character_coverage=wrong)
    with pytest.raises(ValueError, match="Invalid charsmap name NFKC"):
        Vocabulary.train(lines, 100, normalization="NFKC")


@pytest.mark.slow
def test_characters_of_a_long_line_are_known_too():
    vocabulary = Vocabulary.train(["ab " * 3000 + "中", "ab"], 100)
    assert UNK not in vocabulary.encode(["中"])[0]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["a", "ab c", "abc defgh"])
def test_a_corpus_may_have_short_lines_only(line):
    vocabulary = Vocabulary.train([line] * 3, 30)
    assert vocabulary.decode(vocabulary.encode([line])[0]) == line


@pytest.mark.slow
def test_a_run_keeps_what_it_was_asked_for_and_its_numbers_tell(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("aiayn_np.runs.run.Run.draw", lambda self: [])
    source, target = write(tmp_path, pairs_of("english", "chinese", 150))
    out = str(tmp_path / "run")
    argv = ["train", "text", "--source", str(source), "--target", str(target), *SMALL, "--epochs",
            "1", "--normalization", "nfkc", "--character-coverage", "0.99", "--tokenize", "zh",
            "--out", out]
    assert main(argv) == 0
    assert "BLEU of 3 validation pairs" in capsys.readouterr().out
    kept = read_checkpoint(tmp_path / "run" / "model.npz")[0]["config"]
    assert (kept["normalization"], kept["character_coverage"], kept["tokenize"]) == (
        "nfkc", 0.99, "zh")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert "tok:zh|" in metrics["signature"]
    translate = ["decode", out, "--file", str(source), "--reference", str(target)]
    assert main(translate) == 0
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("BLEU ")
    assert "tok:zh|" in err


@pytest.mark.slow
@pytest.mark.parametrize("script", ["chinese", "arabic"])
def test_a_model_learns_to_write_another_script_and_bleu_says_so(tmp_path, script, monkeypatch):
    monkeypatch.setattr("aiayn_np.runs.run.Run.draw", lambda self: [])
    source, target = write(tmp_path, pairs_of("english", script, 5000))
    out = tmp_path / "run"
    argv = ["train", "text", "--source", str(source), "--target", str(target), "--preset",
            "numbers", "--tokens", "500", "--epochs", "15", "--P-drop", "0", "--tokenize",
            CHOSEN[script], "--out", str(out)]
    assert main(argv) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["bleu"]["average, greedy"] > 90
