"""OPUS-MT: Marian's Transformer, the paper's Figure 1 with trained weights (Tiedemann, 2020).

It differs from the paper: it has biases in all projections, SiLU in most models, eps 1e-5, a bias
on the logits, and sinusoids in halves. Decoding starts with the id of padding. This start token
must not be masked, so our model gives it an id of its own and the last row of E.
"""

import copy
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..checks import check_ids
from ..module import Cache, Rng
from ..transformer import Transformer
from ..variants.embeddings import BiasedProjection, SinusoidsInHalves
from ..variants.layer_options import set_eps
from .config import Config
from .tables import ROW, SAME, STACKED, Table, with_start
from .two_stacks import EPS, POSITIONS, TwoStacks, stacks_table
from .vocabularies import MarianVocabulary

SHARED = "model.shared.weight"


class Marian(TwoStacks):
    """The folder of an OPUS-MT model or of another MarianMTModel.

    `model` is a Transformer with the V ids of the folder, and the id V, which starts a target.

    start : the start token's id in the folder;  bos : V, the id of the start token in `model`
    """

    families = ("marian",)
    only: ClassVar[dict] = {
        "normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False,
        "static_position_embeddings": True, "extra_pos_embeddings": 0}

    def read_sizes(self, config: Config) -> None:
        V = config.size("vocab_size", 58101)
        self.shared = config.flag("share_encoder_decoder_embeddings", True)
        self.tied = config.flag("tie_word_embeddings", True)
        self.V_src, self.V = V, config.size("decoder_vocab_size", V)
        if self.shared and self.V != V:
            config.refuse("decoder_vocab_size", f"{V}, since the embeddings are shared")
        self.scaled = config.flag("scale_embedding", False)
        self.activation = config.activation("activation_function", "gelu")
        self.read_stacks(config, 58100, 0)
        self.start = config.token("decoder_start_token_id", self.V, 58100)
        self.bos = self.V
        for word in self.settings.get("bad_words_ids") or ():
            if len(word) == 1 and word[0] not in self.ends:
                self.never += check_ids("bad_words_ids", word, self.V).tolist()

    def table(self) -> Table:
        start = with_start(self.start, self.pad)
        one_E = self.shared and self.tied                  # one E for both languages and the logits
        return {
            **({SHARED: ("src_embedding.E", start)} if one_E else {}),
            "model.encoder.embed_tokens.weight": ("src_embedding.E", start if one_E else SAME),
            "model.decoder.embed_tokens.weight": ("tgt_embedding.E", start),
            "lm_head.weight": ("output_projection.E", start if self.tied else STACKED),
            "final_logits_bias": ("output_projection.b", ROW),
            **stacks_table(),
        }

    def ignored(self, name: str) -> bool:
        is_unused = name == SHARED and not (self.shared and self.tied)
        return is_unused or name.endswith(POSITIONS)

    def build(self, rng: Rng) -> Transformer:
        model = self.transformer(SinusoidsInHalves, self.scaled, self.V + 1, rng)
        model.src_embedding = copy.copy(model.tgt_embedding)
        if not (self.shared and self.tied):
            model.src_embedding = self.embedding(self.V_src, self.d_model, rng=rng)
        E = model.tgt_embedding if self.tied else self.embedding(self.V + 1, self.d_model, rng=rng)
        model.output_projection = BiasedProjection(E.E)
        return set_eps(model, EPS)

    def read_vocabulary(self, folder: Path) -> MarianVocabulary | None:
        return MarianVocabulary(folder, self) if (folder / "vocab.json").is_file() else None

    def forward(self, *ids: np.ndarray, **options: Any) -> tuple[np.ndarray, Cache]:
        """Return (logits (B, T_tgt, V), cache) for ids (src, tgt); tgt begins with `start`."""
        src = check_ids("src", ids[0], self.V_src, ndim=2)
        tgt = check_ids("tgt", ids[1], self.V, ndim=2).copy()
        tgt[:, 0] = np.where(tgt[:, 0] == self.start, self.bos, tgt[:, 0])
        logits, cache = self.model.forward(src, tgt, **options)
        return logits[..., : self.V], cache

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> None:
        """Add the gradients of all parameters; the start token has no logit."""
        self.model.backward(np.pad(grad_logits, ((0, 0), (0, 0), (0, 1))), cache)
