"""Folders as transformers writes them, by relative names: every documented command, their text."""

import json
import re
import shlex
import shutil

import numpy as np
import pytest
from hugging_face import GOLDEN, LOADERS
from pages import ROOT, blocks
from real_models import TOKENIZERS, make_saved
from safetensors.numpy import load_file, save_file

from aiayn_course.cli.main import main
from aiayn_np.files import CheckpointError
from aiayn_np.models import load_gpt2, load_marian
from aiayn_np.runs.open import open_run

WIDE = "note: rows are wider than the terminal; end the command with | less -S\n"

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
    assert len(commands) >= 8
    for command in commands:
        code = main(command)
        out, err = capsys.readouterr()
        assert (code, err.removeprefix(WIDE)) == (0, "")
        assert out.strip()


@every_saved
def test_ids_are_those_that_transformers_gave(family, tmp_path, rng, monkeypatch):
    """The file truncates to three tokens and pads to three; neither is for a plain text."""
    folder = make_saved(family, tmp_path / family, rng)
    lines, ids = json.loads((TOKENIZERS / family / "expected.json").read_text(encoding="utf-8"))
    assert json.loads((folder / "tokenizer.json").read_text())["truncation"]["max_length"] == 3
    monkeypatch.chdir(tmp_path)
    vocabulary = LOADERS[family](family).vocabulary
    for line, want in zip(lines, ids, strict=True):
        assert vocabulary.encode(line).tolist() == want, line


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


def test_a_tokenizer_that_is_damaged_or_lacks_a_part_is_named(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "hf")
    (folder / "source.spm").unlink()
    with pytest.raises(FileNotFoundError, match=r"source\.spm"):
        load_marian(folder)
    (shutil.copytree(GOLDEN / "gpt2", tmp_path / "gpt2") / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is not a tokenizer: "):
        load_gpt2(tmp_path / "gpt2")


def test_words_that_a_folder_never_writes_are_not_written(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "hf")
    asked = dict(num_beams=6, bad_words_ids=[[0], [7], [2], [5, 6]])
    (folder / "generation_config.json").write_text(json.dumps(asked))
    run = open_run(folder)
    logits = run.trained()(np.array([[3, 2]]), np.array([[run.task.bos]]))
    assert np.flatnonzero(logits[0, 0] == -np.inf).tolist() == [0, 7, run.task.bos]


@pytest.mark.parametrize(("rows", "further", "fits"), [
    (31, False, True), (31, True, False), (30, False, False)])
@pytest.mark.parametrize(("kind", "rounding", "step"), [
    ("F64", 0, 0.1), ("F16", 2**-11, 2**-8), ("BF16", 2**-8, 2**-5)])
def test_positions_are_the_sinusoids_as_the_file_rounds_them(
    kind, rounding, step, rows, further, fits, tmp_path
):
    """Half precisions are widened to float32."""
    folder = shutil.copytree(GOLDEN / "marian", tmp_path / "marian")
    path, name = folder / "model.safetensors", "model.encoder.embed_positions.weight"
    tensors, table = load_file(path), load_marian(folder).model.positions.table(31)
    tensors[name] = table[:rows] + step * further
    save_file(tensors, path) if kind == "F64" else save_halves(path, kind, tensors)
    if not fits:
        with pytest.raises(CheckpointError, match=f"{name} must be the sinusoids of the config"):
            load_marian(folder)
        return
    loaded = load_marian(folder)
    np.testing.assert_array_equal(loaded.model.positions.table(31), table)
    E, want = loaded.model.src_embedding.E.value[:-1], tensors["model.shared.weight"]
    assert E.dtype == (np.float32 if rounding else np.float64)
    np.testing.assert_allclose(E, want, rtol=rounding, atol=1e-7 * rounding)
    assert np.array_equal(E, want) == (kind == "F64")


def save_halves(path, kind, tensors):
    """Save tensors, rounded to a half precision; NumPy has no bfloat16."""
    header, data = {}, b""
    for name, array in tensors.items():
        bits = array.astype(np.float32).view(np.uint32)
        nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        rows = array.astype(np.float16) if kind == "F16" else nearest.astype(np.uint16)
        header[name] = dict(dtype=kind, shape=array.shape,
                            data_offsets=[len(data), len(data) + rows.nbytes])
        data += rows.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_the_row_of_padding_has_its_true_derivative(family, tmp_path, rng):
    """Also where its id stands in the text; an embedding of PyTorch gives it none."""
    path = shutil.copytree(GOLDEN / family, tmp_path / family) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pad_token_id": 5}))
    loaded, ids = LOADERS[family](path.parent), np.array([[3, 5, 7, 2, 5]])
    logits, cache = loaded.forward(ids)
    cotangent, direction = rng.normal(size=logits.shape), rng.normal(size=12)
    loaded.model.zero_grad()
    loaded.backward(cotangent, cache)
    name = {"gpt2": "transformer.wte.weight", "llama": "model.embed_tokens.weight",
            "bert": "bert.embeddings.word_embeddings.weight"}[family]
    got = loaded.gradients()[name][5] @ direction
    for p in loaded.model.parameters():
        p.value = p.value.astype(complex)
    (link,) = (link for link in loaded.links if link.names[0] == name)
    link.parameters[0].value[5] += 1e-30j * direction
    want = (cotangent * loaded.logits(ids)).imag.sum() / 1e-30
    assert got == pytest.approx(want, rel=1e-12)


def test_the_end_of_a_text_is_that_of_the_settings_for_writing(tmp_path, rng):
    folder = make_saved("gpt2", tmp_path / "gpt2", rng)
    assert load_gpt2(folder).ends == ()
    (folder / "generation_config.json").write_text(
        '{"eos_token_id": 9, "do_sample": true, "bad_words_ids": [[3]]}')
    assert load_gpt2(folder).ends == (9,)
