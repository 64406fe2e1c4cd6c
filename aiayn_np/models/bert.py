"""BERT: the encoder half of the paper's model, trained to guess masked tokens (Devlin, 2018).

It differs from the paper. It has no decoder. It has learned positions, segments, a norm on the sum
of the embeddings, GELU, biases, eps 1e-12, and a head with its own layer.
"""

from typing import Any, ClassVar

import numpy as np

from ..encoder import EncoderLayer
from ..module import Cache, Parameter, Rng
from ..reductions import log_softmax
from ..variants.layer_options import layer_factory, set_eps
from ..variants.masked import MaskedLanguageModel
from .config import Config
from .pretrained import Pretrained
from .tables import SAME, Table, linear, norm

BIAS = "cls.predictions.bias"
MASK = "[MASK]"
LAYER, OURS = "bert.encoder.layer.*", "encoder.layers.*"


class Bert(Pretrained):
    """The folder of a BERT with its masked-token head (BertForMaskedLM, BertForPreTraining).

    `model` is a MaskedLanguageModel; its ids and segments are those of the folder.
    """

    families = ("bert",)
    only: ClassVar[dict] = {"position_embedding_type": "absolute"}

    def read_sizes(self, config: Config) -> None:
        self.V, self.d_model = config.size("vocab_size", 30522), config.size("hidden_size", 768)
        self.N = config.size("num_hidden_layers", 12)
        self.h = config.size("num_attention_heads", 12)
        self.d_ff = config.size("intermediate_size", 3072)
        self.max_len = config.size("max_position_embeddings", 512)
        self.segments = config.size("type_vocab_size", 2)
        self.activation = config.activation("hidden_act", "gelu")
        self.eps = config.fraction("layer_norm_eps", 1e-12)
        self.P_drop = config.fraction("hidden_dropout_prob", 0.1)
        self.tied = config.flag("tie_word_embeddings", True)
        self.pad = config.values.get("pad_token_id", 0)                # null: nothing is padding
        if self.pad is not None:
            self.pad = config.token("pad_token_id", self.V, 0)

    def table(self) -> Table:
        embeddings, head = "bert.embeddings", "cls.predictions"
        attention, feed_forward = f"{OURS}.self_attention", f"{OURS}.feed_forward"
        return {
            f"{embeddings}.word_embeddings.weight": ("embedding.E", SAME),
            f"{head}.decoder.weight": ("head.projection.E", SAME),
            f"{embeddings}.position_embeddings.weight": ("positions.E", SAME),
            f"{embeddings}.token_type_embeddings.weight": ("segments.E", SAME),
            **norm(f"{embeddings}.LayerNorm", "layer_norm"),
            **linear(f"{LAYER}.attention.self.query", f"{attention}.linear_Q"),
            **linear(f"{LAYER}.attention.self.key", f"{attention}.linear_K"),
            **linear(f"{LAYER}.attention.self.value", f"{attention}.linear_V"),
            **linear(f"{LAYER}.attention.output.dense", f"{attention}.linear_O"),
            **norm(f"{LAYER}.attention.output.LayerNorm", f"{OURS}.add_norm_1.layer_norm"),
            **linear(f"{LAYER}.intermediate.dense", f"{feed_forward}.linear_1"),
            **linear(f"{LAYER}.output.dense", f"{feed_forward}.linear_2"),
            **norm(f"{LAYER}.output.LayerNorm", f"{OURS}.add_norm_2.layer_norm"),
            **linear(f"{head}.transform.dense", "head.linear"),
            **norm(f"{head}.transform.LayerNorm", "head.layer_norm"),
            **({BIAS: ("head.projection.b", SAME)} if self.tied else {}),
            f"{head}.decoder.bias": ("head.projection.b", SAME),
        }

    def usual(self, name: str) -> str:
        """Turn an older file's names for the vectors of a norm into the newer names."""
        return name.replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias")

    def ignored(self, name: str) -> bool:
        """Tell whether a tensor is unused: sentence-pair head, position ids, a doubled bias."""
        unused = name.startswith(("bert.pooler.", "cls.seq_relationship."))
        return unused or name.endswith(".position_ids") or (name == BIAS and not self.tied)

    def build(self, rng: Rng) -> MaskedLanguageModel:
        layer = layer_factory(EncoderLayer, bias=True, activation=self.activation)
        model = MaskedLanguageModel(
            self.V, N=self.N, d_model=self.d_model, d_ff=self.d_ff, h=self.h, P_drop=self.P_drop,
            max_len=self.max_len, segments=self.segments, pad=self.pad, layer=layer,
            activation=self.activation, rng=rng)
        if not self.tied:
            E = Parameter.normal(self.d_model**-0.5, (self.V, self.d_model), rng)
            model.head.projection.E = E
        return set_eps(model, self.eps)

    def forward(self, *ids: np.ndarray, segments: np.ndarray | None = None,
                **options: Any) -> tuple[np.ndarray, Cache]:
        """Return (logits (B, T, V), cache) for ids (B, T) and segments (B, T); None: all 0."""
        tokens, segments = ids if len(ids) == 2 else (ids[0], segments)
        return super().forward(tokens, segments=segments, **options)

    def fill(self, text: str, top: int = 5) -> list[list[tuple[float, str, str]]]:
        """Return the `top` likeliest tokens for each [MASK] of a text: (share, piece, text) each.

        Each returned text has one mask filled, and keeps the others. Raises ValueError for a text
        without a mask, or with more tokens than the model has positions.
        """
        vocabulary = self.vocabulary
        if vocabulary is None or vocabulary.id(MASK) is None:
            raise ValueError(f"this folder must have a tokenizer with {MASK} to fill masks")
        ids = vocabulary.encode(text)
        places = np.flatnonzero(ids == vocabulary.id(MASK))
        if not len(places):
            raise ValueError(f"a text must hold at least one {MASK}, got {text!r}")
        logits, found = self.logits(ids[None])[0, places].astype(float), []
        for place, share in zip(places, np.exp(log_softmax(logits))):
            best = np.argsort(-share, kind="stable")[:top]
            found.append([(float(share[i]), vocabulary.pieces([i])[0],
                           vocabulary.decode(np.where(np.arange(len(ids)) == place, i, ids)))
                          for i in best])
        return found
