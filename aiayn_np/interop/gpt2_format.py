"""The format `gpt2`: one of our language models as a GPT2LMHeadModel."""

from pathlib import Path

import numpy as np

from ..embedding import Embedding, OutputProjection
from ..files import new_folder
from ..layer_norm import LayerNorm
from ..models.describe import check_same
from ..models.gpt2 import tensors_of
from ..models.weights import Undrawn, written
from ..module import Parameter, leaves
from ..positional_encoding import LearnedPositionalEncoding
from ..variants.embeddings import UnscaledEmbedding
from ..variants.layer_options import layer_factory, set_eps
from ..variants.models import LanguageModel
from ..variants.pre_norm import PreNormEncoderLayer
from .folder_format import activation_of, copied, read, recognises, write_folder

__all__ = ["read", "recognises", "save_gpt2", "write"]


def write(run, folder):
    """Write the files of a GPT-2 that was imported, or the model of a run of `train words`.

    Returns lines to print. Raises ValueError for any other run, and for a model that is no GPT-2.
    """
    if run.task.name == "words":
        save_gpt2(run.trained(), folder)
        return ["the tokens are those of the run; GPT-2 has no tokenizer for them"]
    if run.task.name != "gpt2":
        raise ValueError("the run must be a GPT-2, or one of `train words`, got a run of the task"
                         f" {run.task.name}")
    return copied(run, folder)


def save_gpt2(model: LanguageModel, folder: Path) -> None:
    """Write a LanguageModel to a folder that GPT2LMHeadModel.from_pretrained opens.

    Our model does not look at padding if it has `pad`. transformers needs an attention_mask for
    that.

    Raises ValueError with the reason if a GPT-2 cannot compute the same, and FileExistsError if
    the folder is not empty.
    """
    config, folder = config_of(model), Path(folder)
    d, d_ff = config["n_embd"], config["n_inner"]
    tensors = tensors_of(config["vocab_size"], d, d_ff, config["n_positions"], config["n_layer"],
                         tied=config["tie_word_embeddings"])
    state = written(tensors, {name: p.value for name, p in model.named_parameters()})
    if type(model.stack.embedding) is Embedding:
        state["transformer.wte.weight"] = state["transformer.wte.weight"] * d**0.5
        state["lm_head.weight"] = model.output_projection.E.value
        config["tie_word_embeddings"] = False
    with new_folder(folder) as made:
        write_folder(made, config, state)


def config_of(model):
    """Return config.json as a dict; raise ValueError if GPT-2 cannot represent the model."""
    if type(model) is not LanguageModel:
        raise ValueError("a GPT-2 must be a LanguageModel, without a source, got a"
                         f" {type(model).__name__}")
    stack, layer = model.stack, model.stack.encoder.layers[0]
    activation, name = activation_of(layer)
    attention, norm = layer.self_attention, next((n for _, n in leaves(model, LayerNorm)), None)
    if norm is None:
        raise ValueError(f"a GPT-2 has LayerNorm, got {type(stack.encoder.norm).__name__}")
    N, d_ff = len(stack.encoder.layers), layer.feed_forward.linear_1.d_out
    P_drop = stack.dropout.P_drop
    built = LanguageModel(
        stack.vocab_size, N=N, d_model=stack.d_model, d_ff=d_ff, h=attention.h, P_drop=P_drop,
        max_len=stack.max_len, pad=model.pad, positions=LearnedPositionalEncoding,
        embedding=Embedding if type(stack.embedding) is Embedding else UnscaledEmbedding,
        layer=layer_factory(PreNormEncoderLayer, bias=attention.linear_Q.b is not None,
                            activation=activation), rng=Undrawn(np.float64))
    if not (tied := model.output_projection.E is stack.embedding.E):
        built.output_projection = OutputProjection(Parameter(built.stack.embedding.E.value))
    check_same(model, set_eps(built, norm.eps), "a GPT-2")
    return dict(
        model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=stack.vocab_size,
        n_positions=stack.max_len, n_embd=stack.d_model, n_layer=N, n_head=attention.h,
        n_inner=d_ff, activation_function=name, layer_norm_epsilon=norm.eps,
        scale_attn_weights=True, resid_pdrop=P_drop, embd_pdrop=P_drop, attn_pdrop=0.0,
        pad_token_id=model.pad, bos_token_id=None, eos_token_id=None, tie_word_embeddings=tied,
        dtype=str(stack.embedding.E.value.dtype),
    )
