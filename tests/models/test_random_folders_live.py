"""Folders of every family, drawn at random, against transformers: from save_pretrained to tokens.

FOLDERS is the number of folders; the variable AIAYN_FOLDERS of the environment draws more.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hugging_face import LLAMAS, LOADERS, TWO, batch, exact, make
from marks import TRANSFORMERS
from test_pretrained_live import assert_same

from aiayn_np import attention_maps, beam_search, greedy_decode
from aiayn_np.decoding.generation import generate
from aiayn_np.models import load_llama
from aiayn_np.runs.open import open_run

pytestmark = [pytest.mark.slow, TRANSFORMERS, pytest.mark.filterwarnings("ignore")]
FOLDERS = int(os.environ.get("AIAYN_FOLDERS", "18"))
FAMILIES = ("marian", "fsmt", "gpt2", "bert", "llama", "mistral", "qwen2", "qwen3", "fsmt")
ACTIVATIONS = ("relu", "gelu", "gelu_new", "silu")


def two_stacks(family, rng):
    """A Marian or an FSMT: heads and depths that differ, apart or tied, scaled or not."""
    h, more, tied = rng.integers(1, 4, 2), {}, bool(rng.integers(2))
    if family == "marian" and not tied and rng.integers(2):
        more = dict(share_encoder_decoder_embeddings=False, decoder_vocab_size=31)
    if family == "fsmt":
        more = dict(tgt_vocab_size=29 if tied else 33)
    if family == "marian" and rng.integers(2):
        more["decoder_start_token_id"] = 5
    return dict(d_model=int(6 * rng.integers(1, 4)), encoder_attention_heads=int(h[0]),
                decoder_attention_heads=int(h[1]), encoder_layers=int(rng.integers(1, 4)),
                decoder_layers=int(rng.integers(1, 3)), scale_embedding=bool(rng.integers(2)),
                tie_word_embeddings=tied, activation_function=str(rng.choice(ACTIVATIONS)), **more)


def llama_like(family, rng):
    """A Llama or its kin: groups, bases, biases, and the stretched angles of Llama 3."""
    h_kv, g, half = (int(k) for k in rng.integers(1, 4, 3))
    rope = {"rope_type": "default", "rope_theta": float(rng.choice([100.0, 1e4, 5e5]))}
    if rng.integers(2):
        rope |= dict(rope_type="llama3", factor=float(rng.choice([2.0, 8.0])), low_freq_factor=1.0,
                     high_freq_factor=4.0,
                     original_max_position_embeddings=int(rng.integers(9, 99)))
    options = dict(
        hidden_size=g * h_kv * int(rng.integers(2, 5)), num_attention_heads=g * h_kv,
        num_key_value_heads=h_kv, head_dim=2 * half, intermediate_size=int(rng.integers(5, 30)),
        num_hidden_layers=int(rng.integers(1, 4)), tie_word_embeddings=bool(rng.integers(2)),
        rms_norm_eps=float(rng.choice([1e-6, 1e-2])), rope_parameters=rope,
        hidden_act=str(rng.choice(["silu", "gelu", "gelu_pytorch_tanh"])),
        pad_token_id=[None, 5][rng.integers(2)], max_position_embeddings=40)
    if family == "llama":
        options |= dict(attention_bias=bool(rng.integers(2)), mlp_bias=bool(rng.integers(2)))
    return options | (dict(sliding_window=None) if family == "mistral" else {})


def options_of(family, rng):
    """Options of a config of a family."""
    if family in TWO:
        return two_stacks(family, rng)
    if family in LLAMAS:
        return llama_like(family, rng)
    name = "activation_function" if family == "gpt2" else "hidden_act"
    return {name: str(rng.choice(ACTIVATIONS)), "tie_word_embeddings": bool(rng.integers(2)),
            "pad_token_id": 5} | (dict(n_positions=40) if family == "gpt2" else {})


def save_tokenizer(folder, vocab_size):
    """Save a tokenizer as it stands after a call with truncation and padding; return it."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(vocab_size)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0", unk_token="w0")
    fast(["w1 w2 w3", "w1"], truncation=True, max_length=2, padding=True)
    fast.save_pretrained(folder)
    return fast


def draw_folder(number, seed):
    """Save a random model into the folder NUMBER here; return (family, path, their model, rng)."""
    rng, family = np.random.default_rng([seed, number]), FAMILIES[number % len(FAMILIES)]
    folder = Path(f"folder{number}")
    ends = sorted(int(i) for i in rng.choice(np.arange(6, 20), rng.integers(1, 4), replace=False))
    options = options_of(family, rng) | ({} if family == "bert" else {
        "eos_token_id": ends if rng.integers(2) else ends[0]})
    dtype = ("float64", "float32", "float16", "bfloat16")[rng.integers(4)]
    model = make(family, folder, seed=int(rng.integers(1000)), dtype=dtype, **options)
    if rng.integers(2):
        (folder / "model.safetensors").unlink()
        model.save_pretrained(folder, max_shard_size="9KB")
    generation = folder / "generation_config.json"
    generation.unlink(missing_ok=True)                                 # as in older folders
    if family != "bert" and rng.integers(2):
        model.generation_config.eos_token_id = ends
        generation.write_text(json.dumps({"eos_token_id": ends}))
    return family, folder, model, rng


def padded(ids, width, pad):
    return np.pad(ids, ((0, 0), (0, width - ids.shape[1])), constant_values=pad)


def assert_same_translations(model, loaded, rng):
    """Greedy and beam, in one batch with padding.

    Where padding is never written, our probabilities of the other ids add up to 1. Those of
    transformers do so with `renormalize_logits`.
    """
    import torch

    src = rng.integers(2, 23, (5, 6))
    src[src == loaded.pad] = 3
    mask = np.ones(src.shape, int)
    src[2, 4:], mask[2, 4:] = loaded.pad, 0
    decoding, ends = loaded.decoding_model(), dict(bos=loaded.bos, eos=loaded.ends, max_len=19)
    for beam in (1, 4):
        more = dict(length_penalty=0.0, early_stopping="never", renormalize_logits=True)
        want = model.generate(
            torch.tensor(src), attention_mask=torch.tensor(mask), max_length=20, num_beams=beam,
            bad_words_ids=[[loaded.pad]], forced_eos_token_id=None, do_sample=False,
            **(more if beam > 1 else {})).numpy()[:, 1:]
        got = (greedy_decode(decoding, src, **ends) if beam == 1 else
               beam_search(decoding, src, **ends, beam=beam, alpha=0))
        width = max(got.shape[1], want.shape[1])
        got, want = padded(got, width, loaded.pad), padded(want, width, loaded.pad)
        np.testing.assert_array_equal(got, want)


def assert_same_texts(model, folder, loaded, rng):
    """The tokens of six prompts, and the text that the folder of the commands writes."""
    import torch

    fast, run = save_tokenizer(folder, loaded.V), None
    for _ in range(6):
        ids = rng.integers(0, loaded.V, (1, rng.integers(2, 9)))
        want = model.generate(torch.tensor(ids), attention_mask=torch.ones(ids.shape),
                              max_new_tokens=16, do_sample=False, num_beams=1)[0, ids.shape[1]:]
        options = dict(steps=16, temperature=0)
        assert list(generate(loaded.model, ids[0], eos=loaded.ends, **options)) == want.tolist()
        run = run or open_run(folder)
        text = fast.decode(ids[0])
        np.testing.assert_array_equal(run.source(text), [fast(text)["input_ids"]])
        if folder_dtype(run) == np.float64:
            assert list(run.written(ids[0], **options)) == want.tolist()


def folder_dtype(run):
    return next(iter(run.model.parameters())).value.dtype


def assert_same_maps(family, model, loaded, folder, rng):
    """Every attention map of `output_attentions`; its softmax is in float32."""
    import torch

    inputs, real = batch(family, json.loads((folder / "config.json").read_text()), rng)
    maps = attention_maps(loaded.forward(*inputs.values())[1])
    model.set_attn_implementation("eager")
    given = {name: torch.tensor(ids) for name, ids in inputs.items()}
    if family in TWO:
        src = given.pop("src")
        given = dict(input_ids=src, attention_mask=(src != loaded.pad).long(),
                     decoder_input_ids=given["tgt"],
                     decoder_attention_mask=torch.tensor(real).long())
    else:
        given["input_ids"], given["attention_mask"] = given.pop("ids"), torch.tensor(real).long()
        if "segments" in given:
            given["token_type_ids"] = given.pop("segments")
    out = model(**given, output_attentions=True, use_cache=False)
    if family in TWO:
        theirs = [*out.encoder_attentions, *(x for pair in zip(
            out.decoder_attentions, out.cross_attentions) for x in pair)]
    else:
        theirs = out.attentions
    assert len(maps) == len(theirs)
    for (name, got), want in zip(maps.items(), theirs):
        want = want.detach().numpy().reshape(got.shape)
        rows = np.ones(got.shape[2], bool) if real.shape[1] != got.shape[2] else real.all(axis=0)
        assert np.abs(got - want)[0][:, rows].max() <= 1e-5, name


@pytest.mark.parametrize("number", range(FOLDERS))
def test_a_random_folder_is_that_of_transformers(number, seed, tmp_path, monkeypatch):
    """Logits, gradients, maps, greedy and beam; the path is relative, from the folder above."""
    monkeypatch.chdir(tmp_path)
    family, folder, model, rng = draw_folder(number, seed)
    loaded = LOADERS.get(family, load_llama)(folder)
    exact(family, model.double())
    loaded.model.astype(np.float64)
    assert_same(family, model, loaded, folder, seed, 1e-9)
    if family in TWO:
        assert_same_translations(model, loaded, rng)
    elif family != "bert":
        assert_same_texts(model, folder, loaded, rng)
    assert_same_maps(family, model, loaded, folder, rng)
