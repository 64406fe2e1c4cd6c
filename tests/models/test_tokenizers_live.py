"""Text to ids as transformers does it, for folders as it writes them, and older ones (slow)."""

import io
import json
import types

import pytest
from marks import TRANSFORMERS
from tokenizer_folders import LINES, bert_folder, gpt2_folder, older, saved

from aiayn_np.files import CheckpointError
from aiayn_np.models.tokenizer_files import bert_vocabulary, gpt2_vocabulary
from aiayn_np.models.vocabularies import MarianVocabulary

pytestmark = [pytest.mark.slow, TRANSFORMERS, pytest.mark.filterwarnings("ignore")]
SIZES = types.SimpleNamespace(V=100_000, tokenizer_class=None)


FOLDERS = {"bert": bert_folder, "gpt2": gpt2_folder}
VOCABULARIES = {"bert": bert_vocabulary, "gpt2": gpt2_vocabulary}
OPTIONS = [
    *(("bert", options) for options in (
        {}, {"do_lower_case": False}, {"strip_accents": False}, {"strip_accents": True,
        "do_lower_case": False}, {"tokenize_chinese_chars": False})),
    *(("gpt2", options) for options in (
        {}, {"add_prefix_space": True}, {"add_bos_token": True}, {"pad_token": "<|endoftext|>"},
        {"add_bos_token": True, "add_eos_token": True})),
]


def differing(folder, family):
    """The lines whose ids differ."""
    from transformers import AutoTokenizer

    theirs, ours = AutoTokenizer.from_pretrained(folder), VOCABULARIES[family](folder, SIZES)
    return [line for line in LINES if theirs(line)["input_ids"] != ours.encode(line).tolist()]


@pytest.mark.parametrize("call", [{}, {"truncation": True, "max_length": 3},
                                  {"padding": "max_length", "max_length": 50}])
@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize(("family", "options"), OPTIONS, ids=str)
def test_ids_are_those_of_transformers(family, options, is_old, call, tmp_path):
    if "padding" in call and family == "gpt2":
        options = options | {"pad_token": "<|endoftext|>"}
    tokenizer = FOLDERS[family](tmp_path, **options)
    tokenizer(["the cat", "x"], **call)
    saved(tokenizer, tmp_path, family)
    if is_old:
        older(tmp_path, family)
    assert differing(tmp_path, family) == []


def without_settings(folder, tokenizer):
    (folder / "tokenizer_config.json").unlink()


def other_settings(folder, tokenizer):
    change(folder, do_lower_case=False, add_prefix_space=True)


def other_ends(folder, tokenizer):
    change(folder, add_bos_token=True)


def as_it_is(folder, tokenizer):
    change(folder, tokenizer_class="PreTrainedTokenizerFast")


def change(folder, **values):
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def more_tokens(folder, tokenizer):
    tokenizer.add_tokens(["<extra>", "cat"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<s>"]})
    tokenizer.save_pretrained(folder)


def more_tokens_of_old(folder, tokenizer):
    tokenizer.add_tokens(["<extra>", "caf"])
    (folder / "added_tokens.json").write_text(json.dumps(tokenizer.get_added_vocab()))


def a_map_of_old(folder, tokenizer):
    (folder / "special_tokens_map.json").write_text(json.dumps(
        {"unk_token": {"content": str(tokenizer.unk_token), "lstrip": True, "normalized": True,
                       "rstrip": False, "single_word": False}, "mask_token": "the"}))


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("edit", [without_settings, other_settings, other_ends, as_it_is,
                                  more_tokens, more_tokens_of_old, a_map_of_old])
@pytest.mark.parametrize("family", FOLDERS)
def test_ids_of_edited_folders_are_those_of_transformers(family, edit, is_old, tmp_path):
    tokenizer = FOLDERS[family](tmp_path)
    edit(tmp_path, tokenizer)
    if is_old:
        older(tmp_path, family)
        if edit is as_it_is:
            with pytest.raises(CheckpointError, match=r"must be \w+Tokenizer, got PreTrained"):
                VOCABULARIES[family](tmp_path, SIZES)
            return
    assert differing(tmp_path, family) == []


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
    sizes = types.SimpleNamespace(V=len(ids), V_src=len(ids), pad=ids["<pad>"], eos=0, bos=len(ids))
    ours = MarianVocabulary(tmp_path, sizes)
    for line in LINES:
        assert theirs(line)["input_ids"] == ours.encode([line])[0].tolist(), line
