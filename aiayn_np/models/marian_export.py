"""Write one of our translators as a MarianMTModel, with its tokenizer."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..layer_norm import LayerNorm
from ..module import leaves
from ..transformer import Transformer
from ..variants.pre_norm import PreNormEncoderLayer
from .marian import Marian
from .twin import build, check_same, config_of
from .two_stacks import EPS
from .weights import write_folder


def export_marian(model: Transformer, task: Any, folder: Path) -> list[str]:
    """Write a model and the vocabulary of its task, if it has one; return lines to print.

    Raises ValueError with the reason if Marian cannot compute the same logits.
    """
    theirs = as_marian(model, task)
    write_folder(folder, theirs.config, theirs.state())
    vocabulary = getattr(task, "vocabulary", None)
    if vocabulary is not None:
        write_tokenizer(vocabulary, model.max_len, folder)
    eps, ours = (f"{value:.0e}".replace("e-0", "e-")
                 for value in (EPS, next(leaves(model, LayerNorm))[1].eps))
    return [f"Marian's layer norms have eps {eps} instead of {ours}: logits change a little"]


def as_marian(model: Transformer, task: Any) -> Marian:
    """Return a Marian with copies of a model's values; a bias that our model lacks is zero.

    The positions fix the order of the d_model channels. In our model sines and cosines alternate.
    In Marian all sines come first. So the channels of E, and of each matrix and norm that reads or
    writes them, are put into Marian's order. The model computes the same logits as before.
    """
    theirs = Marian.new(marian_config(model, task), None)
    parameters = dict(theirs.model.named_parameters())
    halves = np.r_[0 : model.d_model : 2, 1 : model.d_model : 2]
    for path, parameter in model.named_parameters():
        parameters[path].value = moved(parameter.value, path, halves)
    E = parameters["src_embedding.E"]
    E.value = np.concatenate([E.value, E.value[theirs.start, None]])
    theirs.model.astype(E.value.dtype)
    return theirs


def marian_config(model, task):
    """Return config.json as a dict; raise ValueError if Marian cannot represent the model."""
    if isinstance(model.encoder.layers[0], PreNormEncoderLayer):
        raise ValueError("a Marian model must be post-norm, got a pre-norm one (--norm pre)")
    sizes = config_of(model) | {"positions": "sinusoidal"}
    check_same(model, build(sizes), "a Marian model")
    config = dict(
        model_type="marian", architectures=["MarianMTModel"], is_encoder_decoder=True,
        d_model=model.d_model, vocab_size=model.vocab_size, decoder_vocab_size=model.vocab_size,
        max_position_embeddings=model.max_len, scale_embedding=True,
        activation_function=sizes.get("activation", "relu"),
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
        static_position_embeddings=True, normalize_before=False, pad_token_id=model.pad,
        bos_token_id=int(task.bos), eos_token_id=int(task.eos),
        decoder_start_token_id=int(task.bos), forced_eos_token_id=None,
        dropout=model.dropout.P_drop, attention_dropout=0.0, activation_dropout=0.0,
        dtype=str(model.src_embedding.E.value.dtype),
    )
    for side in ("encoder", "decoder"):
        config |= {f"{side}_layers": sizes["N"], f"{side}_attention_heads": model.h,
                   f"{side}_ffn_dim": sizes["d_ff"]}
    return config


def moved(value, path, halves):
    """Reorder the d_model channels of the value of a Parameter by the indices `halves`."""
    writes = path.endswith(("O.W", "O.b", "linear_2.W", "linear_2.b", "gamma", "beta", "E"))
    reads = path.endswith(("Q.W", "K.W", "V.W", "linear_1.W"))
    return value[..., halves] if writes else value[halves] if reads else value


def write_tokenizer(vocabulary, max_len, folder):
    """Write the files that MarianTokenizer reads: one SentencePiece model for both languages."""
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(vocabulary.model)
    processor = vocabulary.processor
    pieces = {processor.id_to_piece(i): i for i in range(len(vocabulary))}
    options = dict(tokenizer_class="MarianTokenizer", model_max_length=max_len, unk_token="<unk>",
                   eos_token="</s>", pad_token="<pad>", separate_vocabs=False)
    for name, content in (("vocab.json", pieces), ("tokenizer_config.json", options)):
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
