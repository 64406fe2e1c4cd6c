"""Folders as Hugging Face gives them, with small random models, which need neither PyTorch nor
transformers."""

import json
import shutil

from hugging_face import GOLDEN

from aiayn_np import LearnedPositionalEncoding
from aiayn_np.interop.gpt2_format import save_gpt2
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

LINES = ["eins", "zwei und drei", "drei und eins und zwei", "zwei"]
TOKENIZERS = GOLDEN.with_name("tokenizers")
WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] paris is the capital of france a b c d e f g h i j k l")


def make_gpt2(folder, rng):
    """A folder of a GPT-2 with a tokenizer, without it being one file."""
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(["the cat and the dog and the bird"] * 3, vocab_size=270)
    model = LanguageModel(len(tokenizer.get_vocab()), N=1, d_model=12, d_ff=20, h=3, max_len=30,
                          pad=None, layer=PreNormEncoderLayer,
                          positions=LearnedPositionalEncoding, rng=rng)
    save_gpt2(model, folder)
    tokenizer.save_model(str(folder))
    return folder


def make_bert(folder):
    """A folder of a BERT with a vocabulary of 23 words."""
    shutil.copytree(GOLDEN / "bert", folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS.split()) + "\n")
    return folder


def make_saved(family, folder, rng):
    """A folder of a GPT-2 or a BERT with a tokenizer as `save_pretrained` writes it after calls
    with truncation and padding."""
    if family == "bert":
        shutil.copytree(GOLDEN / "bert", folder)
    else:
        whole = json.loads((TOKENIZERS / family / "tokenizer.json").read_text(encoding="utf-8"))
        save_gpt2(LanguageModel(
            len(whole["model"]["vocab"]), N=1, d_model=12, d_ff=20, h=3, max_len=200, pad=None,
            layer=PreNormEncoderLayer, positions=LearnedPositionalEncoding, rng=rng), folder)
    for path in (TOKENIZERS / family).glob("tokenizer*"):
        shutil.copy(path, folder)
    return folder
