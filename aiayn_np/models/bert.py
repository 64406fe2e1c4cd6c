"""BERT: the encoder half of the paper's model, trained to guess masked tokens (Devlin, 2018).

It differs from the paper: it has no decoder, but learned positions, segments, a norm on the sum of
the embeddings, GELU, biases, eps 1e-12, and a head with its own layer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..encoder import EncoderLayer
from ..module import Cache, Parameter
from ..variants.layer_options import layer_factory, set_eps
from ..variants.masked import MaskedLanguageModel
from .config import Config
from .loaded import Pretrained
from .tokenizer_files import bert_vocabulary
from .vocabularies import TokenizerVocabulary
from .weights import Tensor, linear_tensors, norm_tensors

WORDS = "bert.embeddings.word_embeddings.weight"
HEAD = "cls.predictions.decoder.weight"
BIAS, HEAD_BIAS = "cls.predictions.bias", "cls.predictions.decoder.bias"


def load_bert(folder: str | Path) -> "Bert":
    """Open the folder of a BERT with its masked-token head (BertForMaskedLM, BertForPreTraining).

    Returns a Bert. Raises FileNotFoundError, and CheckpointError with the reason.
    """
    return Bert(folder)


class Bert(Pretrained):
    """`model` is a MaskedLanguageModel; its ids and segments are the folder's."""

    family, heads = "bert", ("BertForMaskedLM", "BertForPreTraining")
    only: ClassVar[dict] = {"position_embedding_type": "absolute"}

    def read_sizes(self, config: Config) -> None:
        self.V, self.d_model = config.size("vocab_size", 30522), config.size("hidden_size", 768)
        self.N = config.size("num_hidden_layers", 12)
        self.h = config.heads("num_attention_heads", 12, self.d_model)
        self.d_ff = config.size("intermediate_size", 3072)
        self.max_len = config.size("max_position_embeddings", 512)
        self.segments = config.size("type_vocab_size", 2)
        self.activation = config.activation("hidden_act", "gelu")
        self.eps = config.fraction("layer_norm_eps", 1e-12)
        self.P_drop = config.fraction("hidden_dropout_prob", 0.1)
        self.tied = config.flag("tie_word_embeddings", True)
        self.pad = config.token("pad_token_id", self.V, 0, optional=True)

    def wanted(self) -> Iterator[Tensor]:
        d, V, embeddings = self.d_model, self.V, "bert.embeddings"
        yield Tensor((WORDS, *((HEAD,) if self.tied else ())), (V, d), ("embedding.E",))
        for name, rows, path in (("position", self.max_len, "positions.E"),
                                 ("token_type", self.segments, "segments.E")):
            yield Tensor((f"{embeddings}.{name}_embeddings.weight",), (rows, d), (path,))
        yield from norm_tensors(f"{embeddings}.LayerNorm", "layer_norm", d)
        for i in range(self.N):
            yield from layer_tensors(i, d, self.d_ff)
        head = "cls.predictions.transform"
        yield from linear_tensors(f"{head}.dense", "head.linear", d, d)
        yield from norm_tensors(f"{head}.LayerNorm", "head.layer_norm", d)
        bias = (BIAS, HEAD_BIAS) if self.tied else (HEAD_BIAS,)
        yield Tensor(bias, (V,), ("head.projection.b",))
        if not self.tied:
            yield Tensor((HEAD,), (V, d), ("head.projection.E",))

    def ignored(self, name: str) -> bool:
        """Ignore the head that decided whether two sentences follow each other, and its input."""
        unused = name.startswith(("bert.pooler.", "cls.seq_relationship."))
        return unused or name.endswith(".position_ids") or name == BIAS

    def build(self, rng: np.random.Generator) -> MaskedLanguageModel:
        layer = layer_factory(EncoderLayer, bias=True, activation=self.activation)
        model = MaskedLanguageModel(
            self.V, N=self.N, d_model=self.d_model, d_ff=self.d_ff, h=self.h, P_drop=self.P_drop,
            max_len=self.max_len, segments=self.segments, pad=self.pad, layer=layer,
            activation=self.activation, rng=rng)
        if not self.tied:
            model.head.projection.E = Parameter(rng.normal(size=(self.V, self.d_model)))
        return set_eps(model, self.eps)

    def read_vocabulary(self, folder: str | Path) -> TokenizerVocabulary | None:
        return bert_vocabulary(folder, self)

    def forward(self, *ids: np.ndarray, segments: np.ndarray | None = None,
                **options: Any) -> tuple[np.ndarray, Cache]:
        """Return (logits (B, T, V), cache) for ids (B, T) and segments (B, T), all 0 for None."""
        tokens, segments = ids if len(ids) == 2 else (ids[0], segments)
        return super().forward(tokens, segments=segments, **options)


def layer_tensors(i, d, d_ff):
    """Yield the Tensors of layer i."""
    theirs, ours = f"bert.encoder.layer.{i}", f"encoder.layers.{i}"
    for name, linear in (("query", "Q"), ("key", "K"), ("value", "V")):
        yield from linear_tensors(f"{theirs}.attention.self.{name}",
                                  f"{ours}.self_attention.linear_{linear}", d, d)
    output = f"{theirs}.attention.output"
    yield from linear_tensors(f"{output}.dense", f"{ours}.self_attention.linear_O", d, d)
    yield from norm_tensors(f"{output}.LayerNorm", f"{ours}.add_norm_1.layer_norm", d)
    yield from linear_tensors(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.linear_1",
                              d, d_ff)
    yield from linear_tensors(f"{theirs}.output.dense", f"{ours}.feed_forward.linear_2", d_ff, d)
    yield from norm_tensors(f"{theirs}.output.LayerNorm", f"{ours}.add_norm_2.layer_norm", d)
