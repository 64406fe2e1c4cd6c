"""Folders that are damaged or that lie: one clear line, and nothing is allocated before it."""

import json
import shutil
import tracemalloc

import numpy as np
import pytest
from hugging_face import GOLDEN
from marks import LINUX
from safetensors.numpy import load_file, save_file

from aiayn_np.files import CheckpointError
from aiayn_np.pretrained import load_bert, load_gpt2, load_marian

LOADERS = {"marian": load_marian, "gpt2": load_gpt2, "bert": load_bert}


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


def change(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def rewrite(folder, edit):
    """Change the dict of tensors, and write it again."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)


def some_matrix(tensors):
    return next(name for name, array in sorted(tensors.items()) if array.ndim == 2)


def test_a_file_that_is_not_there(folder):
    (folder / "model.safetensors").unlink()
    refuses(folder, "model.safetensors is missing")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    refuses(folder, "a pickle, which is not opened: .* --convert")
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError):
        LOADERS[folder.name](folder)


@pytest.mark.parametrize("length", [0, 7, 100, 3000, -1])
def test_a_truncated_file(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    refuses(folder, "is not a safetensors file")


def test_sizes_in_a_header_that_the_file_does_not_have(folder):
    size = 10 * 2**30
    header = {"x": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    path = folder / "model.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(64))
    refuses(folder, "is not a safetensors file")
    path.write_bytes(size.to_bytes(8, "little") + text)
    refuses(folder, "is not a safetensors file")


def test_a_missing_tensor(folder):
    rewrite(folder, lambda tensors: tensors.pop(some_matrix(tensors)))
    refuses(folder, "lacks the tensor")


def test_a_tensor_too_many(folder):
    rewrite(folder, lambda tensors: tensors.update(surprise=np.zeros((2, 3))))
    refuses(folder, "holds surprise, which these layers do not have")


def test_a_wrong_shape(folder):
    def edit(tensors):
        name = some_matrix(tensors)
        tensors[name] = np.ascontiguousarray(tensors[name][:-1])
    rewrite(folder, edit)
    refuses(folder, r"must have shape \(\d+, \d+\), as its config.json says, got")


def test_a_wrong_kind(folder):
    def edit(tensors):
        name = some_matrix(tensors)
        tensors[name] = tensors[name].astype(np.int64)
    rewrite(folder, edit)
    refuses(folder, "must be one of F64, F32, F16, BF16, got I64")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(folder, value):
    def edit(tensors):
        tensors[some_matrix(tensors)][0, 1] = value
    rewrite(folder, edit)
    refuses(folder, "must be finite, it holds nan or inf")


def test_two_copies_of_a_tied_matrix_that_differ(folder, family):
    tied = {"marian": ("model.shared.weight", "lm_head.weight"),
            "gpt2": ("transformer.wte.weight", "lm_head.weight"),
            "bert": ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight")}
    first, second = tied[family]
    rewrite(folder, lambda tensors: tensors.update({second: tensors[first].copy()}))
    LOADERS[family](folder)
    rewrite(folder, lambda tensors: tensors.update({second: tensors[first] + 1}))
    refuses(folder, "must be equal, since the config ties them")


@pytest.mark.parametrize(("values", "message"), [
    ({"model_type": "t5"}, "model_type must be '.*', got t5"),
    ({"auto_map": {"AutoModel": "evil.Model"}}, "auto_map must be None or missing, got"),
    ({"quantization_config": {"bits": 4}}, "quantization_config must be None or missing"),
    ({"is_decoder": True}, "is_decoder must be False or missing, got True"),
    ({"tie_word_embeddings": "yes"}, "tie_word_embeddings must be true or false, got yes"),
    ({"vocab_size": 10**12}, "must have shape|must be an id|since the embeddings"),
    ({"vocab_size": -3}, "vocab_size must be an integer of at least 1, got -3"),
    ({"vocab_size": "../../etc/passwd"}, "vocab_size must be an integer of at least 1"),
])
def test_a_config_that_cannot_be_honoured(folder, values, message):
    change(folder, **values)
    refuses(folder, message)


OWN = {
    "marian": [
        ({"activation_function": "os.system"}, "activation_function must be one of relu, gelu"),
        ({"activation_function": ["gelu"]}, "activation_function must be one of relu, gelu"),
        ({"normalize_before": True}, "normalize_before must be False or missing, got True"),
        ({"encoder_layers": 10**12}, "lacks the tensor model.encoder.layers.3"),
        ({"encoder_attention_heads": 5}, "encoder_attention_heads must be a divisor of the width"),
        ({"d_model": 10**15}, "must be a divisor of the width|must have shape"),
        ({"pad_token_id": 29}, r"pad_token_id must be an id in \[0, 29\), got 29"),
        ({"decoder_vocab_size": 17}, "decoder_vocab_size must be 29, since"),
        ({"dropout": 1.5}, r"dropout must be a number in \[0, 1\), got 1.5"),
    ],
    "gpt2": [
        ({"activation_function": "/bin/sh"}, "activation_function must be one of relu, gelu"),
        ({"scale_attn_by_inverse_layer_idx": True}, "must be False or missing, got True"),
        ({"scale_attn_weights": False}, "scale_attn_weights must be True or missing, got False"),
        ({"add_cross_attention": True}, "add_cross_attention must be False or missing"),
        ({"n_layer": 10**12}, "lacks the tensor transformer.h.3"),
        ({"n_positions": 10**15}, "must have shape"),
    ],
    "bert": [
        ({"position_embedding_type": "relative_key"}, "must be 'absolute' or missing, got rel"),
        ({"hidden_act": "gelu; rm -rf"}, "hidden_act must be one of relu, gelu"),
        ({"num_hidden_layers": 10**12}, "lacks the tensor bert.encoder.layer.3"),
        ({"layer_norm_eps": "1e-5"}, "layer_norm_eps must be a number"),
    ],
}


@pytest.mark.parametrize(("family", "values", "message"), [
    (name, *case) for name, cases in OWN.items() for case in cases], ids=str)
def test_a_config_of_one_family_that_cannot_be_honoured(folder, values, message):
    change(folder, **values)
    refuses(folder, message)


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", '{"vocab_size": NaN}', "[" * 100000,
                                  "\x00\xff"])
def test_a_config_that_is_no_json_object(folder, text):
    (folder / "config.json").write_text(text, encoding="latin-1")
    refuses(folder, "is not JSON|must hold a JSON object")


def test_a_config_of_many_bytes_is_not_read(folder):
    (folder / "config.json").write_bytes(b" " * 50_000_001)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="must have at most 50,000,000 bytes"):
        LOADERS[folder.name](folder)
    tracemalloc.stop()


@LINUX
@pytest.mark.parametrize(("family", "name", "others"), [
    ("marian", "source.spm", ["target.spm", "vocab.json"]), ("gpt2", "tokenizer.json", []),
    ("gpt2", "merges.txt", ["vocab.json"]), ("bert", "vocab.txt", [])])
def test_a_file_of_a_tokenizer_that_is_huge_is_not_read(folder, name, others):
    for file in (name, *others):
        (folder / file).write_text("{}")
    with open(folder / name, "r+b") as file:
        file.truncate(10 * 2**30)                        # sparse: takes no room
    refuses(folder, "must have at most 50,000,000 bytes")


@LINUX
@pytest.mark.parametrize(("family", "key", "name"), [
    ("gpt2", "n_positions", "transformer.wpe.weight"),
    ("bert", "max_position_embeddings", "bert.embeddings.position_embeddings.weight")])
def test_weights_that_are_larger_than_the_memory_are_not_read(folder, key, name):
    rows = 2**36
    change(folder, **{key: rows})
    stretch(folder / "model.safetensors", name, rows)
    refuses(folder, "GB of memory, this machine has")


def stretch(path, name, rows):
    """Give a matrix of a file so many rows, and the file a hole for them."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    begin, end = header[name]["data_offsets"]
    header[name]["shape"][0] = rows
    size = rows * header[name]["shape"][1] * 8
    header[name]["data_offsets"] = [begin, begin + size]
    for other, entry in header.items():
        if other not in (name, "__metadata__") and entry["data_offsets"][0] >= end:
            entry["data_offsets"] = [at + size - (end - begin) for at in entry["data_offsets"]]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    last = max(e["data_offsets"][1] for n, e in header.items() if n != "__metadata__")
    with open(path, "r+b") as file:
        file.truncate(8 + len(text) + last)              # sparse: takes no room
