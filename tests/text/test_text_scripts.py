"""Text in any script: no character is changed, and a right translation counts as one."""

import json

import pytest
from scripts import SCRIPTS, pairs_of
from sentences import SMALL, write

from aiayn_course.cli.main import main
from aiayn_np.runs.checkpoint import read_checkpoint
from aiayn_np.text import bleu as scoring
from aiayn_np.text.bleu import bleu, chrf, tokenizer_for
from aiayn_np.text.vocabulary import UNK, Vocabulary

CHOSEN = {"english": "13a", "russian": "13a", "chinese": "zh", "japanese": "char", "thai": "char",
          "emoji": "char", "arabic": "intl", "hindi": "intl", "hebrew": "intl", "korean": "intl"}
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
def test_a_right_translation_has_100_and_a_nearly_right_one_nearly(script, monkeypatch):
    monkeypatch.setattr(scoring, "MECAB", ("no_such_package",))
    references = [target for _, target in pairs_of("english", script, 300)]
    assert tokenizer_for(references) == CHOSEN[script]
    found = bleu(references, references)
    assert found.score == pytest.approx(100)
    assert f"tok:{CHOSEN[script]}|" in found.signature
    others = references[:294] + references[:6]
    assert 94 < bleu(others, references).score < 100
    assert 94 < chrf(others, references).score < 100


@pytest.mark.slow
def test_the_wrong_tokenizer_reports_a_right_chinese_translation_as_poor():
    """What a fixed tokenizer did: it is still there to be asked for, and its signature tells."""
    references = [target for _, target in pairs_of("english", "chinese", 300)]
    others = [line + "。" for line in references]
    assert bleu(others, references, tokenize="13a").score < 1
    assert bleu(others, references).score > 70
    assert "tok:13a|" in bleu(others, references, tokenize="13a").signature


@pytest.mark.slow
def test_japanese_is_split_into_words_where_that_is_installed(monkeypatch):
    monkeypatch.setattr(scoring, "MECAB", ("json",))
    references = [target for _, target in pairs_of("english", "japanese", 20)]
    assert tokenizer_for(references) == "ja-mecab"
    assert tokenizer_for(["漢字"]) == "zh"


@pytest.mark.slow
def test_unknown_and_missing_tokenizers_are_refused(monkeypatch):
    monkeypatch.setattr(scoring, "MECAB", ("no_such_package",))
    with pytest.raises(ValueError, match="bleu_tokenize must be one of 13a, intl"):
        bleu(["a"], ["a"], tokenize="flores200")                       # it would need a network
    with pytest.raises(ImportError, match=r"pip install 'sacrebleu\[ja\]'"):
        bleu(["a"], ["a"], tokenize="ja-mecab")


@pytest.mark.slow
def test_character_coverage_leaves_out_the_rarest_characters():
    lines = ["a b c d e f g"] * 100 + ["中"]
    for coverage, known in ((1.0, True), (0.99, False)):
        vocabulary = Vocabulary.train(lines, 100, character_coverage=coverage)
        assert (UNK not in vocabulary.encode(["中"])[0]) is known
    for wrong in (0.5, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"learned from .*character_coverage\(\) >= 0\.98"):
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
    monkeypatch.setattr("aiayn_np.runs.text_run.TextRun.draw", lambda self: [])
    source, target = write(tmp_path, pairs_of("english", "chinese", 150))
    out = str(tmp_path / "run")
    argv = ["train", "text", "--source", str(source), "--target", str(target), *SMALL, "--epochs",
            "1", "--normalization", "nfkc", "--character-coverage", "0.99", "--out", out]
    assert main(argv) == 0
    assert "BLEU and chrF of 3 validation pairs" in capsys.readouterr().out
    kept = read_checkpoint(tmp_path / "run" / "model.npz")[0]["config"]["train"]
    assert (kept["normalization"], kept["character_coverage"], kept["bleu_tokenize"]) == (
        "nfkc", 0.99, "zh")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert "tok:zh|" in metrics["signature"]
    assert metrics["chrf_signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|")
    assert set(metrics["chrf"]) == set(metrics["bleu"])
    translate = ["translate", out, str(source), "--reference", str(target)]
    assert main(translate) == 0
    err = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in err] == ["BLEU", "chrF"]
    assert "tok:zh|" in err[0]
    assert main([*translate, "--bleu-tokenize", "char"]) == 0
    assert "tok:char|" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("script", ["chinese", "japanese", "arabic", "hindi", "emoji", "hebrew"])
def test_a_model_learns_to_write_every_script_and_bleu_says_so(tmp_path, script, monkeypatch):
    monkeypatch.setattr("aiayn_np.runs.text_run.TextRun.draw", lambda self: [])
    source, target = write(tmp_path, pairs_of("english", script, 5000))
    out = tmp_path / "run"
    argv = ["train", "text", "--source", str(source), "--target", str(target), "--preset",
            "numbers", "--tokens", "500", "--epochs", "15", "--P-drop", "0", "--out", str(out)]
    assert main(argv) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["bleu"]["average, greedy"] > 90
    assert metrics["chrf"]["average, greedy"] > 90
