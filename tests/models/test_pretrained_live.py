"""Live parity with transformers, for all variants of the configs that occur (slow)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hugging_face import LOADERS, batch, compute, exact, make
from marks import LINUX, TRANSFORMERS

from aiayn_course.data.number_words import write_number_words
from aiayn_np.decoding.generation import generate
from aiayn_np.models import load_llama
from aiayn_np.models.gpt2 import GPT2
from aiayn_np.runs.start import start_run

sys.path.append(str(Path(__file__).parents[2] / "docs"))

from measure_real_models import exported, loading

pytestmark = [pytest.mark.slow, TRANSFORMERS, pytest.mark.filterwarnings("ignore")]
UNTIED = {"tie_word_embeddings": False}


def assert_same(family, model, loaded, folder, seed, bound):
    """The logits of transformers to 1e-12, and its gradients to the bound."""
    rng, config = np.random.default_rng(seed), json.loads((folder / "config.json").read_text())
    inputs, real = batch(family, config, rng)
    got, cache = loaded.forward(*inputs.values())
    cotangent = rng.standard_normal(got.shape) * real[..., None]
    want, gradients = compute(family, model, inputs, real, cotangent)
    assert np.abs(got - want)[real].max() <= 1e-12 * np.abs(want).max()
    loaded.model.zero_grad()
    loaded.backward(cotangent, cache)
    mine, largest = loaded.gradients(), max(np.abs(g).max() for g in gradients.values())
    assert set(gradients) == set(mine) - {"final_logits_bias"}
    for name, gradient in gradients.items():
        scale = max(np.abs(gradient).max(), 1e-4 * largest)       # the bias of the keys has none
        assert np.abs(mine[name] - gradient).max() <= bound * scale, name


@LINUX
@pytest.mark.parametrize(("family", "options"), [
    ("marian", dict(vocab_size=40001, d_model=512, encoder_layers=6, decoder_layers=6,
                    encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_attention_heads=8,
                    decoder_attention_heads=8, pad_token_id=40000, decoder_start_token_id=40000,
                    max_position_embeddings=512)),
    ("gpt2", dict(vocab_size=30000, n_embd=768, n_head=12, n_layer=6, n_positions=1024)),
    ("bert", dict(vocab_size=30522, hidden_size=768, num_attention_heads=12, num_hidden_layers=6,
                  intermediate_size=3072)),
    ("llama", dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                   num_attention_heads=9, num_key_value_heads=3, head_dim=64)),
])
def test_loading_takes_little_more_memory_than_the_file(family, options, tmp_path):
    _, ratio, mapped, _ = loading(family, **options)
    assert ratio <= 1.3
    assert mapped <= 2.4


@pytest.mark.parametrize("options", [{}, {**UNTIED, "activation_function": "relu"}])
def test_a_new_gpt2_of_here_opens_in_transformers(options, tmp_path, seed):
    import torch
    from transformers import GPT2LMHeadModel

    rng = np.random.default_rng(seed)
    made = GPT2.new(dict(vocab_size=23, n_layer=2, n_embd=12, n_inner=20, n_head=3, n_positions=17,
                         **options), rng)
    made.save(tmp_path / "gpt2")
    theirs = GPT2LMHeadModel.from_pretrained(tmp_path / "gpt2").eval()
    ids = rng.integers(0, 23, (3, 9))
    with torch.inference_mode():
        want = theirs(torch.tensor(ids)).logits.numpy()
        tokens = theirs.generate(torch.tensor(ids[:1]), num_beams=1, do_sample=False,
                                 attention_mask=torch.ones((1, 9)), max_new_tokens=8)[0, 9:]
    assert want.dtype == np.float64
    assert np.abs(made.logits(ids) - want).max() <= 1e-12 * np.abs(want).max()
    assert list(generate(made.model, ids[0], steps=8, temperature=0)) == tokens.tolist()


def test_a_translator_of_here_is_the_same_in_transformers(tmp_path, capsys):
    """Trained on the number words for two epochs: logits, tokens of every translation, text."""
    training, validation, *_ = write_number_words(tmp_path / "numbers")
    run, _ = start_run(tmp_path / "run", "text", dict(pairs=training, validation_pairs=validation),
                   preset="numbers", epochs=2)
    list(run.train())
    run.folder.mkdir(exist_ok=True)
    run.save()
    found = exported(tmp_path / "run")
    assert found["same_bits"]
    assert found["logits"] <= 5e-5
    assert found["tokens"] == found["own_text"] == found["captions"] == 500
    assert found["BLEU here"] == found["BLEU there"]


@pytest.mark.parametrize(("family", "name"), [
    ("llama", "model.embed_tokens.weight"), ("bert", "bert.embeddings.word_embeddings.weight")])
def test_the_row_of_padding_gets_no_gradient_in_transformers(family, name, tmp_path, seed):
    """Ours is the derivative, as test_folders.py measures; all other rows are the same."""
    model = make(family, tmp_path, seed=seed, pad_token_id=5, **UNTIED)
    exact(family, model)
    loaded, ids = LOADERS[family](tmp_path), np.array([[3, 5, 7, 2, 5]])
    logits, cache = loaded.forward(ids)
    cotangent = np.random.default_rng(seed).standard_normal(logits.shape)
    real = ids != 5 if family == "bert" else np.ones(ids.shape, bool)  # what may be looked at
    want, gradients = compute(family, model, {"ids": ids}, real, cotangent)
    loaded.model.zero_grad()
    loaded.backward(cotangent, cache)
    got, theirs = loaded.gradients()[name], gradients[name]
    np.testing.assert_allclose(logits, want, rtol=0, atol=1e-12 * np.abs(want).max())
    assert (theirs[5] == 0).all()
    assert np.abs(got[5]).max() > 0.01 * np.abs(got).max()
    others = np.arange(23) != 5
    np.testing.assert_allclose(got[others], theirs[others], rtol=0, atol=1e-9 * np.abs(got).max())


def test_in_float32_angles_far_away_are_those_of_float64_here_and_not_there(tmp_path, seed):
    """As they come, transformers' norms and angles in float32 cost 1e-7 of the largest logit."""
    model = make("llama", tmp_path, seed=seed)
    loaded, ids = load_llama(tmp_path), np.random.default_rng(seed).integers(0, 23, (2, 17))
    got = loaded.logits(ids)
    want, _ = compute("llama", model, {"ids": ids}, np.ones(ids.shape, bool), np.zeros(got.shape))
    error = np.abs(got - want).max() / np.abs(want).max()
    assert 1e-9 < error < 1e-5
