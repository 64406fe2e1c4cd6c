"""Text to ids as transformers does it, for folders as its `save_pretrained` writes them (slow)."""

import io
import json
import types

import pytest
from marks import TRANSFORMERS
from tokenizer_folders import LINES, bert_folder, gpt2_folder, saved

from aiayn_np.models.vocabularies import MarianVocabulary, tokenizer_vocabulary

pytestmark = [pytest.mark.slow, TRANSFORMERS, pytest.mark.filterwarnings("ignore")]
FOLDERS = {"bert": bert_folder, "gpt2": gpt2_folder}
OPTIONS = [
    *(("bert", options) for options in (
        {}, {"do_lower_case": False}, {"strip_accents": False}, {"strip_accents": True,
        "do_lower_case": False}, {"tokenize_chinese_chars": False})),
    *(("gpt2", options) for options in (
        {}, {"add_prefix_space": True}, {"add_bos_token": True}, {"pad_token": "<|endoftext|>"},
        {"add_bos_token": True, "add_eos_token": True})),
]


def differing(folder):
    """The lines whose ids differ."""
    from transformers import AutoTokenizer

    theirs, ours = AutoTokenizer.from_pretrained(folder), tokenizer_vocabulary(folder, 100_000)
    return [line for line in LINES if theirs(line)["input_ids"] != ours.encode(line).tolist()]


@pytest.mark.parametrize("call", [{}, {"truncation": True, "max_length": 3},
                                  {"padding": "max_length", "max_length": 50}])
@pytest.mark.parametrize(("family", "options"), OPTIONS, ids=str)
def test_ids_are_those_of_transformers(family, options, call, tmp_path):
    if "padding" in call and family == "gpt2":
        options = options | {"pad_token": "<|endoftext|>"}
    tokenizer = FOLDERS[family](tmp_path, **options)
    tokenizer(["the cat", "x"], **call)
    saved(tokenizer, tmp_path, family)
    assert differing(tmp_path) == []


@pytest.mark.parametrize("family", FOLDERS)
def test_ids_of_added_tokens_are_those_of_transformers(family, tmp_path):
    tokenizer = FOLDERS[family](tmp_path)
    tokenizer.add_tokens(["<extra>", "cat"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<s>"]})
    tokenizer.save_pretrained(tmp_path)
    assert differing(tmp_path) == []


def test_ids_of_a_translator_are_those_of_transformers(tmp_path):
    import sentencepiece
    from transformers import MarianTokenizer

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, vocab_size=300, hard_vocab_limit=False,
        character_coverage=1.0, minloglevel=2)
    for side in ("source", "target"):
        (tmp_path / f"{side}.spm").write_bytes(model.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    names = ["</s>", *map(pieces.id_to_piece, range(len(pieces))), ">>de<<", "<pad>"]
    ids = {name: i for i, name in enumerate(dict.fromkeys(names))}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "marian"}))
    theirs = MarianTokenizer.from_pretrained(tmp_path)
    sizes = types.SimpleNamespace(V=len(ids), V_src=len(ids), pad=ids["<pad>"], eos=0, ends=(0,),
                                  bos=len(ids))
    ours = MarianVocabulary(tmp_path, sizes)
    for line in LINES:
        assert theirs(line)["input_ids"] == ours.encode([line])[0].tolist(), line


def test_where_transformers_builds_another_tokenizer_the_file_is_followed(tmp_path):
    """Its class for a GPT-2 cuts no digits apart, as this file wants."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import AutoTokenizer

    tokenizer, level = Tokenizer(models.BPE()), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = level
    tokenizer.train_from_iterator(["the 12 12 cat"] * 5, trainers.BpeTrainer(vocab_size=300))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    ours, want = tokenizer_vocabulary(tmp_path, 300), tokenizer.encode("the 12").ids
    for cls, same in (("PreTrainedTokenizerFast", True), ("GPT2Tokenizer", False)):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": cls}))
        theirs = AutoTokenizer.from_pretrained(tmp_path)
        assert (theirs("the 12")["input_ids"] == want) == same
        assert ours.encode("the 12").tolist() == want
