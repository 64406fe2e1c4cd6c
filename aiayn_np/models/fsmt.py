"""FSMT: fairseq's translators of WMT 2019, the paper's big model with trained weights (Ng, 2019).

It differs from the paper: it has biases in all projections, eps 1e-5, sinusoids in halves with
fairseq's speeds, and a vocabulary for each language. A target begins with the id that ends one.
"""

from functools import partial

from ..embedding import OutputProjection
from ..module import Rng
from ..transformer import Transformer
from ..variants.embeddings import FairseqSinusoids
from ..variants.layer_options import set_eps
from .config import Config
from .tables import SAME, Table
from .two_stacks import EPS, POSITIONS, TwoStacks, stacks_table


class FSMT(TwoStacks):
    """The folder of an FSMTForConditionalGeneration, by ids: its tokenizer is not read.

    `model` is a Transformer with the ids of the folder.   bos : the id that starts a target
    """

    families = ("fsmt",)

    def read_sizes(self, config: Config) -> None:
        self.V_src = config.size("src_vocab_size", 42024)
        self.V = config.size("tgt_vocab_size", 42024)
        self.activation = config.activation("activation_function", "relu")
        self.scaled = config.flag("scale_embedding", True)
        self.tied = config.flag("tie_word_embeddings", False)
        if self.tied and self.V_src != self.V:
            config.refuse("tgt_vocab_size", f"{self.V_src}, since the embeddings are shared")
        self.read_stacks(config, 1, 2)
        self.bos = config.token("decoder_start_token_id", self.V, 2)
        if self.bos == self.pad:
            config.refuse("decoder_start_token_id", "another id than that of padding")

    def table(self) -> Table:
        return {"model.decoder.embed_tokens.weight": ("tgt_embedding.E", SAME),
                "model.encoder.embed_tokens.weight": ("src_embedding.E", SAME),
                "model.decoder.output_projection.weight": ("output_projection.E", SAME),
                **stacks_table()}

    def ignored(self, name: str) -> bool:
        return name.endswith(POSITIONS)

    def build(self, rng: Rng) -> Transformer:
        positions = partial(FairseqSinusoids, first=self.pad + 1)
        model = self.transformer(positions, self.scaled, self.V, rng)
        model.src_embedding = model.tgt_embedding if self.tied else self.embedding(
            self.V_src, self.d_model, rng=rng)
        model.output_projection = OutputProjection(
            (model.tgt_embedding if self.tied else self.embedding(self.V, self.d_model, rng=rng)).E)
        return set_eps(model, EPS)
