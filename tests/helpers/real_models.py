"""Folders as Hugging Face gives them, with small random models, which need neither PyTorch nor
transformers."""

import json
import shutil

from hugging_face import GOLDEN

from aiayn_np.models.gpt2 import GPT2

LINES = ["eins", "zwei und drei", "drei und eins und zwei", "zwei"]
TOKENIZERS = GOLDEN.with_name("tokenizers")
WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] paris is the capital of france a b c d e f g h i j k l")


def make_gpt2(folder, rng):
    """A folder of a GPT-2 with a tokenizer."""
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(["the cat and the dog and the bird"] * 3, vocab_size=270)
    save_gpt2(folder, rng, len(tokenizer.get_vocab()), 30)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def save_gpt2(folder, rng, vocab_size, max_len):
    """A folder of a GPT-2 of random numbers."""
    GPT2.new(dict(vocab_size=vocab_size, n_layer=1, n_embd=12, n_inner=20, n_head=3,
                  n_positions=max_len), rng).save(folder)


def make_llama(folder):
    """A folder of a Llama whose tokens are characters; what it does not know becomes <unk>."""
    from tokenizers import Tokenizer, models, processors

    shutil.copytree(GOLDEN / "llama", folder)
    ids = {token: i for i, token in enumerate(["<s>", "<unk>", *"\n abdefghjmnoprtuvxz"])}
    tokenizer = Tokenizer(models.BPE(ids, [], unk_token="<unk>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=["<s>", "$A"], special_tokens=[("<s>", 0)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def make_bert(folder):
    """A folder of a BERT with a vocabulary of 23 words."""
    shutil.copytree(GOLDEN / "bert", folder)
    shutil.copy(TOKENIZERS / "bert" / "tokenizer.json", folder)
    return folder


def make_saved(family, folder, rng):
    """A folder of a GPT-2 or a BERT with a tokenizer as `save_pretrained` writes it after calls
    with truncation and padding."""
    if family == "bert":
        shutil.copytree(GOLDEN / "bert", folder)
    else:
        whole = json.loads((TOKENIZERS / family / "tokenizer.json").read_text(encoding="utf-8"))
        save_gpt2(folder, rng, len(whole["model"]["vocab"]), 200)
    for path in (TOKENIZERS / family).glob("tokenizer*"):
        shutil.copy(path, folder)
    return folder
