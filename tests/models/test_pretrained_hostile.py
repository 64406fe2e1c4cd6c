"""Folders that are damaged or that lie: one clear line, and nothing is allocated before it."""

import json
import math
import shutil
import tracemalloc

import numpy as np
import pytest
from hugging_face import GOLDEN, LOADERS
from safetensors.numpy import load_file, save_file

from aiayn_np.files import CheckpointError

TIED = {"marian": ("model.shared.weight", "lm_head.weight"),
        "gpt2": ("transformer.wte.weight", "lm_head.weight"),
        "fsmt": ("model.decoder.embed_tokens.weight", "model.encoder.embed_tokens.weight"),
        "bert": ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"),
        "llama": ("model.embed_tokens.weight", "lm_head.weight")}


@pytest.fixture(params=LOADERS)
def family(request):
    return request.param


@pytest.fixture
def folder(family, tmp_path):
    shutil.copytree(GOLDEN / family, tmp_path / family)
    return tmp_path / family


def refuses(folder, message):
    """The loader says this in one line, and took less than a few MB on the way."""
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=message) as caught:
        LOADERS[folder.name](folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_file_that_is_not_there(folder):
    (folder / "model.safetensors").unlink()
    refuses(folder, "model.safetensors is missing")
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError):
        LOADERS[folder.name](folder)


@pytest.mark.parametrize("length", [0, 100, -1])
def test_a_truncated_file(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    refuses(folder, "is not a safetensors file")


def test_sizes_in_a_header_that_the_file_does_not_have(folder):
    size = 10 * 2**30
    header = {"x": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    for length in (len(text), size):
        (folder / "model.safetensors").write_bytes(length.to_bytes(8, "little") + text + bytes(64))
        refuses(folder, "is not a safetensors file")


def changed(change):
    """A change of the first matrix of a file."""
    def edit(tensors, family):
        name = next(name for name, array in sorted(tensors.items()) if array.ndim == 2
                    and "embed_positions" not in name)
        tensors[name] = change(tensors[name])
    return edit


@pytest.mark.parametrize(("edit", "message"), [
    (lambda tensors, family: tensors.pop(TIED[family][0]), "every tensor must be there, missing"),
    (lambda tensors, family: tensors.update(surprise=np.zeros((2, 3))),
     "there must be no other tensor, got unknown surprise"),
    (lambda tensors, family: tensors.update({TIED[family][1]: tensors[TIED[family][0]] + 1}),
     "must be equal, since the model has one matrix for both"),
    (changed(lambda x: x[:-1].copy()), r"must have shape \(\d+, \d+\), got \(\d+, \d+\)"),
    (changed(lambda x: x.astype(np.int64)), "must be one of F64, F32, F16, BF16, got I64"),
    (changed(lambda x: x * np.nan), "must be finite, it holds nan or inf"),
])
def test_tensors_that_do_not_fit(folder, family, edit, message):
    tensors = load_file(folder / "model.safetensors")
    edit(tensors, family)
    save_file(tensors, folder / "model.safetensors")
    refuses(folder, message)


def test_a_tied_matrix_may_come_twice(folder, family):
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {TIED[family][1]: tensors[TIED[family][0]].copy()},
              folder / "model.safetensors")
    LOADERS[family](folder)


SCALED = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0}
LLAMA = [
    ({"model_type": "mixtral"}, "model_type must be llama or mistral or qwen2 or qwen3, got mix"),
    ({"model_type": ["llama"]}, "model_type must be llama or"),
    ({"rope_scaling": SCALED}, "rope_scaling must be numbers above 0 for factor, low_freq"),
    ({"rope_parameters": SCALED}, "rope_parameters must be numbers above 0 for factor, low_freq"),
    ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "rope_parameters"),
    ({"rope_parameters": 3}, "rope_parameters must be those"),
    ({"rope_parameters": None, "rope_theta": "1e4"}, "rope_theta must be a number above 0"),
    ({"rope_parameters": {"rope_theta": -1.0}}, "rope_theta must be a number above 0"),
    ({"rope_parameters": {"rope_theta": math.inf}}, "rope_theta must be a number above 0"),
    ({"model_type": "qwen2", "use_sliding_window": True}, "use_sliding_window must be False"),
    ({"model_type": "mistral"}, "sliding_window must be null, got nothing"),
    ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types must be full_att"),
    ({"quantization_config": {"bits": 4}}, "quantization_config must be None or missing"),
    ({"num_local_experts": 8}, "num_local_experts must be None or missing, got 8"),
    ({"pretraining_tp": 2}, "pretraining_tp must be 1 or missing"),
    ({"num_key_value_heads": 4}, "h must be divisible by h_kv, got h=6, h_kv=4"),
    ({"head_dim": 3}, "d_k must be even, for pairs of features, got d_k=3"),
    ({"hidden_act": "relu2"}, "hidden_act must be one of relu, gelu"),
    ({"attention_bias": True}, "must be there, missing model.layers.0.self_attn.q_proj.bias"),
    ({"model_type": "qwen3"}, "must be there, missing model.layers.0.self_attn.q_norm.weight"),
    ({"tie_word_embeddings": False}, "every tensor must be there, missing lm_head.weight"),
    ({"num_hidden_layers": 3}, "must be there, missing model.layers.2.input_layernorm.weight"),
    ({"intermediate_size": 10**12}, "its tensors must have room for 2 layers, 23 ids, d_model=12"),
]


@pytest.mark.parametrize(("family", "values", "message"), [
    ("marian", {"model_type": "t5"}, "model_type must be marian, got t5"),
    ("gpt2", {"auto_map": {"AutoModel": "evil.Model"}}, "auto_map must be None or missing, got"),
    ("bert", {"is_decoder": True}, "is_decoder must be False or missing, got True"),
    ("bert", {"tie_word_embeddings": "yes"}, "tie_word_embeddings must be true or false, got yes"),
    ("gpt2", {"vocab_size": 10**12}, "its tensors must have room for 3 layers, 10{12} ids"),
    ("gpt2", {"vocab_size": "../../etc"}, "vocab_size must be an integer of at least 1, got"),
    ("bert", {"vocab_size": math.nan}, "vocab_size must be an integer of at least 1, got nan"),
    ("marian", {"activation_function": ["gelu"]}, "activation_function must be one of relu, gelu"),
    ("marian", {"normalize_before": True}, "normalize_before must be False or missing, got True"),
    ("marian", {"encoder_layers": 10**12}, "its tensors must have room for 10{11}1 layers"),
    ("marian", {"encoder_attention_heads": 5}, "must be divisible by h, got d_model=18, h=5"),
    ("marian", {"pad_token_id": 29}, r"pad_token_id must be an id in \[0, 29\), got 29"),
    ("marian", {"pad_token_id": 0}, "pad_token_id must be no id that ends a text, since"),
    ("fsmt", {"decoder_start_token_id": 1}, "decoder_start_token_id must be another id than"),
    ("marian", {"decoder_vocab_size": 17}, "decoder_vocab_size must be 29, since"),
    ("marian", {"dropout": 1.5}, r"dropout must be a number in \[0, 1\), got 1.5"),
    ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights must be True or missing"),
    ("bert", {"position_embedding_type": "relative_key"}, "must be 'absolute' or missing, got rel"),
    *(("llama", values, message) for values, message in LLAMA),
], ids=str)
def test_a_config_that_cannot_be_honoured(folder, values, message):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    refuses(folder, message)


@pytest.mark.parametrize("text", ["", "[1, 2]", "[" * 100000, "\x00\xff"])
def test_a_config_that_is_no_json_object(folder, text):
    (folder / "config.json").write_text(text, encoding="latin-1")
    refuses(folder, "is not JSON|must hold a JSON object")
