"""Live parity with transformers, for all variants of the configs that occur (slow)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hugging_face import LLAMAS, LOADERS, batch, compute, exact, float64_positions, make
from marks import LINUX, TRANSFORMERS

from aiayn_course.data.number_words import write_number_words
from aiayn_np.decoding.generation import generate
from aiayn_np.models import load_llama, load_marian
from aiayn_np.models.gpt2 import GPT2
from aiayn_np.runs.start import start_run

sys.path.append(str(Path(__file__).parents[2] / "docs"))

from measure_real_models import exported, loading

pytestmark = [pytest.mark.slow, TRANSFORMERS, pytest.mark.filterwarnings("ignore")]
UNTIED, APART = {"tie_word_embeddings": False}, {"share_encoder_decoder_embeddings": False,
                                                 "decoder_vocab_size": 31}
VARIANTS = [
    ("marian", {}), ("marian", {"activation_function": "gelu", "scale_embedding": False}),
    ("marian", {"activation_function": "relu", **UNTIED}), ("marian", APART),
    ("marian", {**APART, **UNTIED, "activation_function": "gelu_new"}),
    ("marian", {"decoder_start_token_id": 5}),
    ("marian", {"d_model": 15, "encoder_attention_heads": 5}), ("gpt2", {}),
    ("gpt2", {**UNTIED, "activation_function": "relu"}),
    ("gpt2", {"n_inner": 37, "pad_token_id": 5, "activation_function": "silu"}),
    ("gpt2", {"activation_function": "gelu", "layer_norm_epsilon": 1e-3}),
    ("bert", {}), ("bert", {**UNTIED, "hidden_act": "relu"}),
    ("bert", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3, "pad_token_id": 3}),
]


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


@pytest.mark.parametrize(("family", "options"), VARIANTS)
def test_logits_and_gradients_are_those_of_transformers(family, options, tmp_path, seed):
    model = make(family, tmp_path, seed=seed, **options)
    exact(family, model)
    assert_same(family, model, LOADERS[family](tmp_path), tmp_path, seed, 1e-10)


@pytest.mark.parametrize("family", LOADERS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_other_dtypes_are_read_as_float32(family, dtype, tmp_path, seed):
    model = make(family, tmp_path, seed=seed, dtype=dtype)
    exact(family, model)                                # model.half() has rounded them too
    model = model.float()
    loaded = LOADERS[family](tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    inputs, real = batch(family, config, np.random.default_rng(seed))
    got = loaded.logits(*inputs.values())
    want, _ = compute(family, model, inputs, real, np.zeros(got.shape, np.float32))
    assert got.dtype == np.float32
    assert np.abs(got - want)[real].max() <= 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("beam", [1, 4])
def test_greedy_and_beam_tokens_are_those_of_transformers(beam, tmp_path, seed):
    import torch

    from aiayn_np import beam_search, greedy_decode

    model = make("marian", tmp_path, seed=seed)
    float64_positions(model)
    loaded = load_marian(tmp_path)
    src = np.random.default_rng(seed).integers(1, 28, (5, 6))
    options = dict(num_beams=beam, length_penalty=0.0, early_stopping="never", do_sample=False)
    if beam == 1:
        options = dict(num_beams=1, do_sample=False)
    want = model.generate(torch.tensor(src), max_length=20, bad_words_ids=[[28]],
                          forced_eos_token_id=None, **options).numpy()[:, 1:]
    ends = dict(bos=loaded.bos, eos=0, max_len=19)
    decoding = loaded.decoding_model()
    got = (greedy_decode(decoding, src, **ends) if beam == 1 else
           beam_search(decoding, src, **ends, beam=beam, alpha=0))
    width = max(got.shape[1], want.shape[1])
    got, want = (np.pad(ids, ((0, 0), (0, width - ids.shape[1])), constant_values=28)
                 for ids in (got, want))
    np.testing.assert_array_equal(got, want)


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
    run.folder.mkdir()
    run.save()
    found = exported(tmp_path / "run")
    assert found["same_bits"]
    assert found["logits"] <= 5e-5
    assert found["tokens"] == found["own_text"] == found["captions"] == 500
    assert found["BLEU here"] == found["BLEU there"]


def configurations(n=20):
    """Random configs of Llamas: n kinds with their options, also in the file's dtype."""
    rng = np.random.default_rng(36)
    for i in range(n):
        h_kv, g, half = (int(k) for k in rng.integers(1, 4, 3))
        h, family = g * h_kv, ("llama", "qwen2", "llama", "qwen3")[i % 4]
        options = dict(
            hidden_size=h * int(rng.integers(2, 5)), num_attention_heads=h,
            num_key_value_heads=h_kv, head_dim=2 * half, intermediate_size=int(rng.integers(5, 30)),
            num_hidden_layers=int(rng.integers(1, 4)), tie_word_embeddings=bool(rng.integers(2)),
            rms_norm_eps=float(rng.choice([1e-6, 1e-5, 1e-2])),
            hidden_act=str(rng.choice(["silu", "gelu", "gelu_pytorch_tanh"])),
            rope_parameters={"rope_type": "default",
                             "rope_theta": float(rng.choice([100.0, 1e4, 5e5]))},
            pad_token_id=[None, 5][rng.integers(2)])
        if family == "llama":
            options |= dict(attention_bias=bool(rng.integers(2)), mlp_bias=bool(rng.integers(2)))
        yield family, options, ("float64", "float64", "float32", "bfloat16")[rng.integers(4)]


@pytest.mark.parametrize(("family", "options", "dtype"), list(configurations()), ids=str)
def test_a_llama_of_any_config_is_that_of_transformers(family, options, dtype, tmp_path, seed):
    """In float64 to 1e-12, gradients too; float32 and bfloat16 are widened."""
    model = make(family, tmp_path, seed=seed, dtype=dtype, **options)
    loaded = load_llama(tmp_path)
    exact(family, model.double())
    loaded.model.astype(np.float64)
    assert_same(family, model, loaded, tmp_path, seed, 1e-12)


@pytest.mark.parametrize("family", LLAMAS)
def test_a_llama_in_parts_is_that_in_one_file(family, tmp_path, seed):
    model = make(family, tmp_path / "whole", seed=seed)
    model.save_pretrained(tmp_path / "parts", max_shard_size="3KB")
    assert len(list((tmp_path / "parts").glob("model-*.safetensors"))) > 2
    whole, parts = (load_llama(tmp_path / name) for name in ("whole", "parts"))
    for name, array in whole.state().items():
        np.testing.assert_array_equal(parts.state()[name], array)


def test_greedy_tokens_of_200_prompts_are_those_of_transformers(tmp_path, seed):
    import torch

    model = make("llama", tmp_path, seed=seed, num_key_value_heads=3, max_position_embeddings=40)
    exact("llama", model)
    loaded, rng = load_llama(tmp_path), np.random.default_rng(seed)
    for _ in range(200):
        ids = rng.integers(3, 23, (1, rng.integers(1, 9)))
        want = model.generate(torch.tensor(ids), attention_mask=torch.ones(ids.shape),
                              max_new_tokens=20, do_sample=False, num_beams=1)[0, ids.shape[1] :]
        got = generate(loaded.model, ids[0], steps=20, temperature=0, eos=loaded.eos, keep=True)
        assert list(got) == want.tolist()


def test_in_float32_angles_far_away_are_those_of_float64_here_and_not_there(tmp_path, seed):
    """As they come, transformers' norms and angles in float32 cost 1e-7 of the largest logit."""
    model = make("llama", tmp_path, seed=seed)
    loaded, ids = load_llama(tmp_path), np.random.default_rng(seed).integers(0, 23, (2, 17))
    got = loaded.logits(ids)
    want, _ = compute("llama", model, {"ids": ids}, np.ones(ids.shape, bool), np.zeros(got.shape))
    error = np.abs(got - want).max() / np.abs(want).max()
    assert 1e-9 < error < 1e-5
