"""Folders as transformers writes them, by relative names: every documented command, their text."""

import json
import re
import shlex
import shutil

import numpy as np
import pytest
from hugging_face import GOLDEN
from pages import ROOT, blocks
from real_models import TOKENIZERS, make_saved
from safetensors.numpy import load_file, save_file
from tokenizer_folders import older

from aiayn_course.cli.main import main
from aiayn_np.files import CheckpointError
from aiayn_np.models import load_bert, load_gpt2, load_marian
from aiayn_np.runs.open import open_run

LOADERS = {"marian": load_marian, "gpt2": load_gpt2, "bert": load_bert}
every_saved = pytest.mark.parametrize("family", ["gpt2", "bert"])


def commands_of(page):
    """Commands of aiayn-np in the blocks and in the lines of a page, as lists of words."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"^aiayn-np .*|`(aiayn-np [^`]+)`", text, re.MULTILINE)
    lines = [line for block in blocks(text, "bash") for line in block.splitlines()]
    found = [*(line for line in lines if line.startswith("aiayn-np ")), *filter(None, found)]
    return [shlex.split(command)[1:] for command in found]


@pytest.mark.slow
def test_every_command_of_the_page_runs_as_the_page_writes_it(
    tmp_path, trained, exported, rng, monkeypatch, capsys, blank_pictures
):
    make_saved("gpt2", tmp_path / "gpt2", rng)
    make_saved("bert", tmp_path / "bert-base-uncased", rng)
    shutil.copytree(exported, tmp_path / "opus-mt-de-en")
    shutil.copytree(trained, tmp_path / "runs" / "text")
    (tmp_path / "lines.de").write_text("zwei und drei\n", encoding="utf-8")
    (tmp_path / "story.txt").write_text("the cat and the dog\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    commands = commands_of("real-models.md")
    assert len(commands) >= 10
    for command in commands:
        if command[0] == "import":                                     # the page imports it twice
            shutil.rmtree("runs/opus", ignore_errors=True)
        code = main(command)
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        assert out.strip()


@every_saved
@pytest.mark.parametrize("is_old", [False, True])
def test_ids_are_those_that_transformers_gave(family, is_old, tmp_path, rng, monkeypatch):
    """The file truncates to three tokens and pads to three; neither is for a plain text."""
    folder = make_saved(family, tmp_path / family, rng)
    lines, ids = json.loads((TOKENIZERS / family / "expected.json").read_text(encoding="utf-8"))
    assert json.loads((folder / "tokenizer.json").read_text())["truncation"]["max_length"] == 3
    if is_old:
        older(folder, family)
    monkeypatch.chdir(tmp_path)
    vocabulary = LOADERS[family](family).vocabulary
    for line, want in zip(lines, ids, strict=True):
        assert vocabulary.encode(line).tolist() == want, line


def settings(folder, **values):
    """Change tokenizer_config.json."""
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values))


@pytest.mark.parametrize(("family", "values", "line", "pieces"), [
    ("bert", {}, "PARIS \u00e9\u0061", ["[CLS]", "paris", "[UNK]", "[SEP]"]),
    ("bert", {}, "\u00e1 b", ["[CLS]", "a", "b", "[SEP]"]),
    ("bert", {"strip_accents": False}, "\u00e1 b", ["[CLS]", "[UNK]", "b", "[SEP]"]),
    ("bert", {"do_lower_case": False}, "A b", ["[CLS]", "[UNK]", "b", "[SEP]"]),
    ("bert", {}, "\u4e2da", ["[CLS]", "[UNK]", "a", "[SEP]"]),
    ("bert", {"tokenize_chinese_chars": False}, "\u4e2d\u56fd", ["[CLS]", "[UNK]", "[SEP]"]),
    ("gpt2", {}, "x<|endoftext|>y", ["x", "<|endoftext|>", "y"]),
    ("gpt2", {"add_prefix_space": True}, "x", ["_x"]),
])
@pytest.mark.parametrize("is_old", [False, True])
def test_settings_of_the_tokenizer_count(family, values, line, pieces, is_old, tmp_path, rng):
    folder = make_saved(family, tmp_path / family, rng)
    settings(folder, **values)
    if is_old:
        older(folder, family)
    vocabulary = LOADERS[family](folder).vocabulary
    assert vocabulary.pieces(vocabulary.encode(line)) == pieces


@pytest.mark.parametrize(("kind", "pieces"), [
    ("whole", ["x"]), ("whole, ends left open", ["<|endoftext|>", "x"]),
    ("old", ["<|endoftext|>", "x"]),
])
def test_tokenizer_json_decides_which_tokens_stand_around_a_text(kind, pieces, tmp_path, rng):
    """As in transformers, whatever `add_bos_token` says."""
    folder = make_saved("gpt2", tmp_path / "gpt2", rng)
    settings(folder, add_bos_token=True)
    path = folder / "tokenizer.json"
    if kind == "old":
        older(folder, "gpt2")
    elif "open" in kind:
        whole = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(whole | {"post_processor": None}), encoding="utf-8")
    vocabulary = load_gpt2(folder).vocabulary
    assert vocabulary.pieces(vocabulary.encode("x")) == pieces


@pytest.mark.parametrize(("family", "values", "message"), [
    ("bert", {"tokenizer_class": "BertJapaneseTokenizer"},
     "tokenizer_class must be BertTokenizer, got BertJapaneseTokenizer"),
    ("bert", {"do_lower_case": "no"}, "has no readable tokenizer"),
    ("gpt2", {"split_special_tokens": True}, "split_special_tokens must be false or missing"),
    ("gpt2", {"added_tokens_decoder": {"7": {"content": "<new>"}}}, "<new> must have the id 7"),
])
def test_settings_that_are_not_followed_are_refused(family, values, message, tmp_path, rng):
    folder = make_saved(family, tmp_path / family, rng)
    settings(folder, **values)
    with pytest.raises(CheckpointError, match=message):
        LOADERS[family](folder)


@pytest.mark.parametrize("pad", [None, "eos_token_id", 5])
def test_a_gpt2_masks_nothing_by_its_id(pad, tmp_path, rng):
    """Fine-tuned folders often have pad_token_id == eos_token_id, and texts hold <|endoftext|>."""
    folder = make_saved("gpt2", tmp_path / "gpt2", rng)
    ids = rng.integers(0, 200, (2, 7))
    want = load_gpt2(folder).logits(ids)
    path = folder / "config.json"
    config = json.loads(path.read_text()) | {"eos_token_id": int(ids[0, 1])}
    config["pad_token_id"] = config.get(pad, pad)
    path.write_text(json.dumps(config))
    np.testing.assert_array_equal(load_gpt2(folder).logits(ids), want)


def test_the_made_up_start_of_a_translator_is_no_id_of_its_folder():
    loaded = load_marian(GOLDEN / "marian")
    src, tgt = np.array([[1, 2]]), np.array([[loaded.start, 3]])
    assert loaded.logits(src, tgt).shape == (1, 2, loaded.V)
    for given, name in (((src + loaded.V - 1, tgt), "src"), ((src, tgt + loaded.V - 28), "tgt")):
        with pytest.raises(IndexError, match=rf"{name} must lie in \[0, vocab_size\), got id 29"):
            loaded.logits(*given)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"


@pytest.mark.parametrize(("family", "name"), [
    ("marian", "model.safetensors"), ("bert", "tokenizer.json"), ("gpt2", "config.json")])
def test_a_pointer_of_git_lfs_is_told(family, name, tmp_path, capsys):
    folder = shutil.copytree(GOLDEN / family, tmp_path / family)
    (folder / name).write_bytes(POINTER)
    with pytest.raises(CheckpointError, match=f"{name} is a pointer of Git LFS"):
        LOADERS[family](folder)


def test_a_part_of_a_tokenizer_that_is_missing_is_named(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "hf")
    (folder / "source.spm").unlink()
    with pytest.raises(CheckpointError, match=r"lacks source\.spm, which belongs to target"):
        load_marian(folder)
    shutil.copytree(GOLDEN / "gpt2", tmp_path / "gpt2")
    (tmp_path / "gpt2" / "vocab.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"lacks merges\.txt, which belongs to vocab\.json"):
        load_gpt2(tmp_path / "gpt2")


def test_a_missing_config_is_named(tmp_path, capsys):
    folder = shutil.copytree(GOLDEN / "bert", tmp_path / "bert")
    (folder / "config.json").unlink()
    for command in (["fill", str(folder), "a [MASK]"], ["attend", str(folder), "a"],
                    ["import", str(folder), "--out", str(tmp_path / "run")]):
        assert main(command) == 2
        assert "config.json" in capsys.readouterr().err


@pytest.mark.parametrize(("family", "other", "prefixes"), [
    ("bert", "BertForSequenceClassification", ("cls.",)), ("marian", "MarianModel", ("model.",))])
def test_a_model_without_its_head_is_told(family, other, prefixes, tmp_path):
    folder = shutil.copytree(GOLDEN / family, tmp_path / family)
    config = json.loads((folder / "config.json").read_text()) | {"architectures": [other]}
    (folder / "config.json").write_text(json.dumps(config))
    LOADERS[family](folder)                                            # the tensors decide
    tensors = load_file(folder / "model.safetensors")
    save_file({name: array for name, array in tensors.items() if not name.startswith(prefixes)},
              folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=f"lacks the tensor .* says {other}, and this is for"):
        LOADERS[family](folder)


def test_settings_for_writing_are_followed_or_told(exported, tmp_path, capsys):
    folder = shutil.copytree(exported, tmp_path / "hf")
    asked = dict(num_beams=6, length_penalty=1.2, max_length=512, forced_eos_token_id=2,
                 renormalize_logits=True, bad_words_ids=[[0], [7], [2], [5, 6]])
    (folder / "generation_config.json").write_text(json.dumps(asked))
    run = open_run(folder)
    logits = run.trained()(np.array([[3, 2]]), np.array([[run.task.bos]]))
    assert np.flatnonzero(logits[0, 0] == -np.inf).tolist() == [0, 7, run.task.bos]
    assert main(["decode", str(folder), "zwei"]) == 0
    assert capsys.readouterr().err == (
        f"{folder} asks for num_beams=6, length_penalty=1.2, bad_words_ids=[[5, 6]]; the options of"
        " translate decide instead\n")


def test_the_end_of_a_text_is_that_of_the_settings_for_writing(tmp_path, rng):
    folder = make_saved("gpt2", tmp_path / "gpt2", rng)
    assert load_gpt2(folder).eos is None
    (folder / "generation_config.json").write_text(
        '{"eos_token_id": 9, "do_sample": true, "bad_words_ids": [[3]]}')
    loaded = load_gpt2(folder)
    assert (loaded.eos, loaded.not_used) == (9, {"do_sample": True, "bad_words_ids": [[3]]})
