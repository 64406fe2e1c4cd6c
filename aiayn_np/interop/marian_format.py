"""The format `marian`: one of our translators as a MarianMTModel, with its tokenizer."""

import json

import numpy as np

from ..layer_norm import LayerNorm
from ..models.describe import build, check_same, sizes_of
from ..models.marian import EPS, SHARED, layer_tensors
from ..models.weights import written
from ..module import leaves
from ..transformer import Transformer
from ..variants.pre_norm import PreNormEncoderLayer
from .folder_format import activation_of, copied, read, recognises, write_folder

__all__ = ["read", "recognises", "write"]


def write(run, folder):
    """Write a run as a Marian model; return lines to print."""
    if run.task.name == "marian":
        return copied(run, folder)
    model = run.trained()
    config = config_of(model, run.task)
    write_folder(folder, config, state_of(model))
    vocabulary = getattr(run.task, "vocabulary", None)
    if vocabulary is not None:
        write_tokenizer(vocabulary, model.max_len, folder)
    theirs, ours = (f"{eps:.0e}".replace("e-0", "e-")
                    for eps in (EPS, next(leaves(model, LayerNorm))[1].eps))
    return [f"Marian's layer norms have eps {theirs} instead of {ours}: logits change a little"]


def config_of(model, task):
    """Return config.json as a dict; raise ValueError if Marian cannot represent the model."""
    if type(model) is not Transformer:
        raise ValueError("a Marian model must be a Transformer, with encoder and decoder, got a"
                         f" {type(model).__name__}")
    if isinstance(model.encoder.layers[0], PreNormEncoderLayer):
        raise ValueError("a Marian model must be post-norm, got a pre-norm one (--norm pre)")
    sizes = sizes_of(model) | {"norm": "post", "positions": "sinusoidal"}
    activation, name = activation_of(model.encoder.layers[0])
    check_same(model, build(sizes, activation), "a Marian model")
    config: dict = dict(
        model_type="marian", architectures=["MarianMTModel"], is_encoder_decoder=True,
        d_model=model.d_model, vocab_size=model.vocab_size, decoder_vocab_size=model.vocab_size,
        max_position_embeddings=model.max_len, activation_function=name, scale_embedding=True,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
        static_position_embeddings=True, normalize_before=False, pad_token_id=model.pad,
        bos_token_id=int(task.bos), eos_token_id=int(task.eos),
        decoder_start_token_id=int(task.bos), forced_eos_token_id=None,
        dropout=model.dropout.P_drop, attention_dropout=0.0, activation_dropout=0.0,
        dtype=str(d_type(model)),
    )
    for side in ("encoder", "decoder"):
        config |= {f"{side}_layers": sizes["N"], f"{side}_attention_heads": model.h,
                   f"{side}_ffn_dim": sizes["d_ff"]}
    return config


def state_of(model):
    """Return {name in Marian: array}; a bias that our model lacks is zero.

    Positions decide the order of the d_model channels. In ours, sines and cosines take turns. In
    Marian's, all sines come first. So E, and each matrix and norm that reads or writes the
    channels, gets them in Marian's order. The model computes the same as before.
    """
    d = model.d_model
    halves = np.r_[0:d:2, 1:d:2]
    state = {path: moved(p.value, path, halves) for path, p in model.named_parameters()}
    tensors = [t for side in ("encoder", "decoder")
               for i, layer in enumerate(getattr(model, side).layers)
               for t in layer_tensors(side, i, d, layer.feed_forward.linear_1.d_out)]
    return {SHARED: state["src_embedding.E"][:, halves],
            "final_logits_bias": np.zeros((1, model.vocab_size), d_type(model)),
            **written(tensors, state)}


def d_type(model):
    """Return the dtype of a model."""
    return model.src_embedding.E.value.dtype


def moved(value, path, halves):
    """Reorder the d_model channels in the value of a Parameter, by the indices `halves`."""
    writes = path.endswith(("O.W", "O.b", "linear_2.W", "linear_2.b", "gamma", "beta"))
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
