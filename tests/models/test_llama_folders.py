"""Folders of Llamas: configs old and new, weights in parts, tokenizers, and every command."""

import json
import shutil

import numpy as np
import pytest
from hugging_face import GOLDEN
from safetensors.numpy import load_file, save_file

from aiayn_np.decoding.generation import GrowingText, start_generation
from aiayn_np.files import CheckpointError
from aiayn_np.models import load_llama
from aiayn_np.reading import shares

TEXT = "paris is the capital"
WIDE = "note: rows are wider than the terminal; end the command with | less -S\n"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(GOLDEN / "llama", tmp_path / "llama")


def config(folder, without=(), **values):
    """Change config.json."""
    path = folder / "config.json"
    kept = {k: v for k, v in json.loads(path.read_text()).items() if k not in without}
    path.write_text(json.dumps(kept | values))


def in_parts(folder):
    """Put the tensors into three files."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    for i, name in enumerate(names):
        save_file({t: tensors[t] for t in list(tensors)[i::3]}, folder / name)
    return names


@pytest.mark.parametrize(("without", "values", "base"), [
    ((), {}, 1e4), (("rope_parameters",), {"rope_theta": 5e5}, 5e5),
    (("rope_parameters",), {"rope_theta": 500, "rope_scaling": None}, 500.0),
    (("rope_parameters",), {}, 1e4),
    ((), {"rope_parameters": {"rope_type": "default", "rope_theta": 77.0}, "rope_theta": 5.0}, 77),
])
def test_the_base_is_where_transformers_4_and_5_write_it(without, values, base, folder):
    config(folder, without, **values)
    layers = load_llama(folder).model.stack.encoder.layers
    assert [layer.self_attention.attention.rotary_Q.base for layer in layers] == [base] * 2


def test_values_of_the_config_reach_the_layers(folder):
    config(folder, ["tie_word_embeddings"], rms_norm_eps=0.25, hidden_act="gelu",
           eos_token_id=[1, 2], pad_token_id=-1, tie_word_embeddings=True)
    loaded = load_llama(folder)
    layer = loaded.model.stack.encoder.layers[1]
    norms = [layer.norm_1, layer.norm_2, loaded.model.stack.encoder.norm]
    assert [norm.eps for norm in norms] == [0.25] * 3
    assert type(layer.feed_forward.activation).__name__ == "GELU"
    attention = layer.self_attention
    assert (attention.h, attention.h_kv, attention.d_k) == (6, 2, 4)
    assert (loaded.ends, loaded.model.pad, loaded.max_len) == ((1, 2), None, 17)
    config(folder, ["head_dim", "num_key_value_heads", "tie_word_embeddings"])
    with pytest.raises(CheckpointError, match=r"must be there, missing lm_head\.weight"):
        load_llama(folder)


def test_weights_in_parts_are_read(folder):
    want = load_llama(GOLDEN / "llama").state()
    in_parts(folder)
    for name, array in load_llama(folder).state().items():
        np.testing.assert_array_equal(array, want[name])


def test_parts_that_are_missing_or_damaged_are_refused(folder):
    names = in_parts(folder)
    (folder / names[1]).rename(folder / "gone")
    with pytest.raises(CheckpointError, match="every tensor must be there, missing"):
        load_llama(folder)
    (folder / names[1]).write_bytes(b"short")
    with pytest.raises(CheckpointError, match=rf"{names[1]} is not a safetensors file"):
        load_llama(folder)


def test_a_qwen2_is_a_llama_whose_fourth_bias_is_zero(folder, rng):
    """And a Qwen3 has gammas for its queries and keys; both need all of their tensors."""
    path, ids = folder / "model.safetensors", np.array([[17, 4, 9, 1]])
    tensors, biases = load_file(path), {}
    for i in range(2):
        for name, width in (("q", 24), ("k", 8), ("v", 8), ("o", 12)):
            biases[f"model.layers.{i}.self_attn.{name}_proj.bias"] = rng.standard_normal(width)
            if name == "o":
                biases[f"model.layers.{i}.self_attn.o_proj.bias"][:] = 0
    save_file(tensors | biases, path)
    config(folder, attention_bias=True)
    want = load_llama(folder).logits(ids)
    save_file(tensors | {n: b for n, b in biases.items() if "o_proj" not in n}, path)
    config(folder, model_type="qwen2", architectures=["Qwen2ForCausalLM"])
    qwen = load_llama(folder)
    np.testing.assert_array_equal(qwen.logits(ids), want)
    assert qwen.model.stack.encoder.layers[1].self_attention.linear_O.b is None
    gammas = {f"model.layers.{i}.self_attn.{n}_norm.weight": rng.standard_normal(4)
              for i in range(2) for n in "qk"}
    save_file(tensors | gammas, path)
    config(folder, model_type="qwen3", attention_bias=False, architectures=["Qwen3ForCausalLM"])
    attention = load_llama(folder).model.stack.encoder.layers[1].self_attention.attention
    for rotary, name in ((attention.rotary_Q, "q"), (attention.rotary_K, "k")):
        want = gammas[f"model.layers.1.self_attn.{name}_norm.weight"]
        np.testing.assert_array_equal(rotary.norm.gamma.value, want)


def test_decoding_keeps_keys_and_shares_add_up(folder):
    model = load_llama(folder).model
    assert type(start_generation(model)) is GrowingText
    result = shares(model, None, np.array([17, 4, 9, 1, 4]))
    assert abs(result.target.sum() + result.biases - result.value) <= 1e-12


def test_a_tokenizer_json_is_taken_as_it_is(folder):
    """Whatever class transformers has for it: here one that cuts at spaces, and begins with <s>."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["<s>", "the", "cat", "\u2581and", "<unk>"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=["<s>", "$A"], special_tokens=[("<s>", 0)])
    tokenizer.enable_truncation(2)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')
    vocabulary = load_llama(folder).vocabulary
    assert vocabulary.encode("the cat dog \u2581and").tolist() == [0, 1, 2, 4, 3]
    assert vocabulary.pieces([0, 3]) == ["<s>", "_and"]
    assert load_llama(GOLDEN / "llama").vocabulary is None
