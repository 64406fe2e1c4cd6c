"""Real models on the command line, and out again: vocabularies, runs, export and import."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hugging_face import GOLDEN
from pages import ROOT, blocks
from real_models import LINES, WORDS, make_bert, make_gpt2

from aiayn_course.cli.main import main
from aiayn_np import (
    DecoderLayer,
    EncoderLayer,
    LearnedPositionalEncoding,
    Transformer,
    greedy_decode,
)
from aiayn_np.files import CheckpointError
from aiayn_np.models import load_bert, load_gpt2, load_marian
from aiayn_np.models.gpt2 import GPT2
from aiayn_np.models.marian_export import as_marian
from aiayn_np.runs.open import open_run
from aiayn_np.runs.run import Run
from aiayn_np.text import translation
from aiayn_np.text.extra import install_command
from aiayn_np.training.tasks import CopyTask
from aiayn_np.variants.activations import SiLU
from aiayn_np.variants.layer_options import layer_factory, set_eps
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer
from aiayn_np.variants.relative_position import relative_attention


@pytest.mark.slow
def test_an_exported_run_translates_as_before(trained, exported):
    run, loaded = open_run(trained), load_marian(exported)
    vocabulary = run.task.vocabulary
    for mine, theirs in zip(vocabulary.encode(LINES), loaded.vocabulary.encode(LINES), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    src = run.task.source(LINES[1])
    model = set_eps(Run.open(trained).trained(), 1e-5)
    tgt = np.array([[1, 5, 7, 9]])
    np.testing.assert_allclose(loaded.logits(src, tgt), model(src, tgt), rtol=0, atol=1e-5)
    want = greedy_decode(model, src, bos=1, eos=2)
    got = greedy_decode(loaded.model, src, bos=loaded.bos, eos=2)
    np.testing.assert_array_equal(got, want)
    assert loaded.vocabulary.decode(got[0]) == vocabulary.decode(want[0])


def test_export_tells_of_its_other_eps(trained, tmp_path, capsys):
    assert main(["export", str(trained), str(tmp_path / "hf"), "--to", "marian"]) == 0
    assert "eps 1e-5 instead of 1e-6: logits change a little" in capsys.readouterr().out


def test_a_toy_task_is_exported_too(no_pictures, tmp_path):
    run, out = str(tmp_path / "run"), str(tmp_path / "hf")
    assert main(["train", "copy", "--steps", "2", "--d-model", "8", "--d-ff", "8", "--h", "2",
                 "--N", "1", "--out", run]) == 0
    assert main(["export", run, out, "--to", "marian"]) == 0
    assert load_marian(out).vocabulary is None


def test_the_python_of_the_page_runs(tmp_path, monkeypatch):
    shutil.copytree(GOLDEN / "marian", tmp_path / "opus-mt-de-en")
    expected = np.load(GOLDEN / "marian" / "expected.npz")
    given = dict(src=expected["input/src"], tgt=expected["input/tgt"],
                 grad_logits=expected["cotangent"])
    (code,) = blocks((ROOT / "docs" / "real-models.md").read_text(encoding="utf-8"), "python")
    monkeypatch.chdir(tmp_path)
    names = dict(given)
    exec(code, names)
    np.testing.assert_allclose(names["logits"], expected["logits"], rtol=0, atol=1e-9)
    assert "model.shared.weight" in names["loaded"].gradients()


def test_the_size_of_a_batch_changes_no_translation(exported, monkeypatch):
    run = open_run(exported)
    want = translation.translate(run.trained(), run.task.vocabulary, LINES)
    monkeypatch.setattr(translation, "POSITIONS", 1)
    assert translation.translate(run.trained(), run.task.vocabulary, LINES) == want


REFUSED = [
    (dict(positions=LearnedPositionalEncoding), "has Sinusoidal.* at positions, got Learned"),
    (dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer),
     r"must be post-norm, got a pre-norm one"),
    (dict(d_k=5), r"d_k=4.* at encoder.layers.0.self_attention, got MultiHeadAttention\(d_k=5"),
    (dict(encoder_layer=layer_factory(activation=SiLU)), "decoder.* got PositionwiseFeedForward"),
    (dict(attention=relative_attention), "attention, got RelativeAttention"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_a_model_that_marian_cannot_be_is_refused(options, message, rng):
    model = Transformer(9, N=1, d_model=8, d_ff=12, h=2, rng=rng, **options)
    with pytest.raises(ValueError, match=message):
        as_marian(model, CopyTask())


@pytest.mark.parametrize(("d_model", "options"), [(9, {}), (12, {}), (12, dict(
    encoder_layer=layer_factory(EncoderLayer, bias=True, activation=SiLU),
    decoder_layer=layer_factory(DecoderLayer, bias=True, activation=SiLU)))])
def test_the_order_of_the_channels_changes_no_logit(d_model, options, rng, tmp_path):
    model = Transformer(9, N=2, d_model=d_model, d_ff=7, h=3, max_len=20, rng=rng, **options)
    for parameter in model.parameters():
        parameter.value[...] = 0.4 * rng.standard_normal(parameter.value.shape)
    as_marian(model, CopyTask()).save(tmp_path / "marian")
    loaded = load_marian(tmp_path / "marian")
    set_eps(model, 1e-5)
    src, tgt = rng.integers(3, 9, (2, 5)), rng.integers(3, 9, (2, 4))
    src[1, 3:], tgt[:, 0] = 0, 1
    want = model(src, tgt)
    assert np.abs(loaded.logits(src, tgt) - want).max() <= 1e-12 * np.abs(want).max()


def test_a_new_model_of_a_family_is_saved_and_opened(rng, tmp_path):
    made = GPT2.new(dict(vocab_size=23, n_layer=2, n_embd=12, n_inner=20, n_head=3, n_positions=17,
                         tie_word_embeddings=False), rng)
    made.save(tmp_path / "gpt2")
    state = load_gpt2(tmp_path / "gpt2").state()
    assert set(state) == set(made.state())
    for name, array in made.state().items():
        np.testing.assert_array_equal(state[name], array)


def test_what_is_no_translator_does_not_go_out(trained, exported, gpt2, bert, tmp_path, capsys):
    for folder, reason in ((gpt2, "must hold a model for export, got one of gpt2, which is for"),
                           (exported, "at positions, got SinusoidsInHalves"),
                           (bert, "must hold a model for export, got one of bert")):
        assert main(["export", str(folder), str(tmp_path / "out"), "--to", "marian"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert reason in err
        assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    assert main(["export", str(trained), str(tmp_path / "out"), "--to", "marian"]) == 2
    assert "choose another name" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_missing_package_is_one_line_with_the_command_that_brings_it(
    trained, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    assert main(["export", str(trained), str(tmp_path / "out"), "--to", "marian"]) == 2
    line = f"safetensors is not installed; pretrained needs it: {install_command('pretrained')}"
    assert line in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def gpt2(tmp_path, rng):
    return make_gpt2(tmp_path / "gpt2", rng)


def test_gpt2_generates_and_measures(gpt2, tmp_path, capsys, blank_pictures):
    outputs = []
    for options in (["--seed", "1"], ["--seed", "1"], ["--seed", "2", "--top-k", "9"],
                    ["--temperature", "0"]):
        capsys.readouterr()
        assert main(["generate", str(gpt2), "the cat", "--steps", "8", *options]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    assert all(out.startswith("the cat") for out in outputs)
    (tmp_path / "text").write_text("the bird and the cat\n" * 9)
    assert main(["perplexity", str(gpt2), str(tmp_path / "text")]) == 0
    assert "perplexity" in capsys.readouterr().out
    assert main(["attend", str(gpt2), "the cat"]) == 0
    assert [path.name for path in (gpt2 / "attend").iterdir()] == [
        "gpt2_the_cat_attention_layer_1.png"]
    assert main(["decode", str(gpt2), "the cat"]) == 2


def test_trace_of_a_gpt2_has_every_next_token_as_its_target(gpt2, capsys):
    assert main(["trace", str(gpt2), "the cat and"]) == 0
    out = capsys.readouterr().out
    run = open_run(gpt2)
    src = run.task.source("the cat and")
    logits = run.model(src[:, :-1]).astype(float)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    loss = -np.take_along_axis(log_p, src[:, 1:, None], axis=-1).mean()
    assert float(out.splitlines()[-1].split()[-2]) == pytest.approx(loss, rel=1e-3)
    assert "stack.encoder" in out
    assert main(["trace", str(gpt2), "the"]) == 2
    assert "at least two tokens" in capsys.readouterr().err


@pytest.fixture
def bert(tmp_path):
    return make_bert(tmp_path / "bert")


def test_bert_fills_masks(bert, capsys, blank_pictures):
    text = "Paris is the [MASK] of [MASK]"
    assert main(["generate", str(bert), text, "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    loaded = load_bert(bert)
    ids = loaded.vocabulary.encode(text)
    assert ids.tolist() == [2, 5, 6, 7, 4, 9, 4, 3]
    best = WORDS.split()[int(loaded.logits(ids[None])[0, 4].argmax())]
    assert lines[0].split()[1] == best
    assert main(["generate", str(bert), "Paris is the capital"]) == 2
    assert "at least one [MASK]" in capsys.readouterr().err
    for command in ("attend", "trace"):
        assert main([command, str(bert), text]) == 0


def test_trace_of_a_bert_asks_for_the_masks_alone(bert):
    run = open_run(bert)
    src, _, targets = run.example(run.task.source("Paris is the [MASK] of [MASK]"))
    masks = src == 4
    logits = run.pretrained.logits(src)
    logits[..., 4] = -np.inf
    np.testing.assert_array_equal(targets[masks], logits.argmax(axis=-1)[masks])
    assert (targets[~masks] == run.loss.pad).all()
    src, _, targets = run.example(run.task.source("Paris is"))
    np.testing.assert_array_equal(src, targets)


def test_half_a_character_is_refused_by_every_vocabulary(trained, exported, gpt2, bert, capsys):
    """What Python makes of bytes on the command line that are no UTF-8."""
    for argv in (["decode", trained], ["decode", exported], ["generate", gpt2], ["generate", bert],
                 ["attend", exported], ["trace", trained]):
        assert main([argv[0], str(argv[1]), "a [MASK] \udcff"]) == 2
        assert "text must be UTF-8, got '\\udcff' at 10" in capsys.readouterr().err


def test_the_commands_want_a_tokenizer(capsys):
    assert main(["generate", str(GOLDEN / "gpt2"), "3 7"]) == 2
    assert "must have the files of its tokenizer, such as" in capsys.readouterr().err
    assert load_gpt2(GOLDEN / "gpt2").logits(np.array([[3, 7]])).shape[:2] == (1, 2)


@pytest.mark.parametrize(("config", "said"), [
    ({"model_type": "t5"}, "model_type must be one of marian, gpt2, bert, llama, mistral, qwen2,"
     " qwen3, got t5"),
    ({"model_type": "distilbert"}, "model_type must be one of marian, gpt2, bert, llama, mistral,"
     " qwen2, qwen3, got distilbert"),
    ({"model_type": "fsmt"}, "model_type fsmt has no tokenizer here; load_fsmt in aiayn_np.models"
     " opens it, by ids"),
    ({"model_type": "gpt2", "auto_map": {"x": "y"}}, "auto_map must be None or missing, got {'x'"),
    ({}, "model_type must be one of marian, gpt2, bert, llama, mistral, qwen2, qwen3, got None"),
])
def test_every_command_refuses_a_folder_with_the_same_line(config, said, tmp_path, capsys):
    folder, out = str(tmp_path / "folder"), str(tmp_path / "out")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").write_text(json.dumps(config))
    new = ["--from", folder, "--out", out]
    lines = set()
    for command, *more in (
            ["decode", folder, "a"], ["generate", folder, "a"], ["perplexity", folder, folder],
            ["attend", folder, "a"], ["why", folder, "a"], ["trace", folder, "a"],
            ["export", folder, out, "--to", "marian"], ["explore", folder, "a"],
            ["train", "words", *new], ["train", "text", "--pairs", folder, *new]):
        assert main([command, *more]) == 2
        lines.add(capsys.readouterr().err)
    (line,) = lines
    assert f"{Path(folder, 'config.json')}: {said}" in line
    assert line.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "config.json"]


VOCABULARY = {
    "a vocabulary with ids that the model lacks": {"<unk>": 10**9},
    "no <unk>": {"a": 1},
    "no integer": {"<unk>": "x"},
}


@pytest.mark.parametrize("why", VOCABULARY)
def test_a_hostile_vocabulary_is_refused(why, exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "hf")
    (folder / "vocab.json").write_text(json.dumps(VOCABULARY[why]))
    with pytest.raises(CheckpointError, match="must"):
        load_marian(folder)
    (folder / "vocab.json").write_text((exported / "vocab.json").read_text())
    (folder / "source.spm").write_bytes(b"no model")
    with pytest.raises(CheckpointError, match="is not a SentencePiece model"):
        load_marian(folder)
