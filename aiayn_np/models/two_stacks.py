"""What Marian and FSMT share: an encoder and a decoder of the paper, with biases (Figure 1)."""

import copy
from typing import Any

import numpy as np

from ..decoder import Decoder, DecoderLayer
from ..embedding import Embedding
from ..encoder import Encoder, EncoderLayer
from ..module import Rng
from ..transformer import Transformer
from ..variants.embeddings import BiasedProjection, UnscaledEmbedding
from ..variants.layer_options import layer_factory
from .config import Config
from .pretrained import Pretrained
from .tables import Table, linear, norm
from .weights import File

EPS = 1e-5  # of every layer norm
POSITIONS = "embed_positions.weight"  # ending of the names of sinusoids; our layers compute them
ROUNDED = {"F16": 2**-11, "BF16": 2**-8}  # how far half precisions may move a sinusoid


class TwoStacks(Pretrained):
    """The folder of a model with an encoder and a decoder; `model` is a Transformer.

    pad : the id of padding;  never : the ids that decoding never writes
    eos : the id that ends a source;  ends : the ids that end a target
    """

    V_src: int  # how many ids a source may have
    activation: Any  # its class

    def read_stacks(self, config: Config, pad: int, eos: int) -> None:
        """Read what both stacks need, and the ids of padding and end, with these defaults."""
        self.d_model = config.size("d_model", 1024)
        self.max_len = config.size("max_position_embeddings", 1024)
        self.P_drop = config.fraction("dropout", 0.1)
        self.sides = {
            side: (config.size(f"{side}_layers", 12), config.size(f"{side}_ffn_dim", 4096),
                   config.size(f"{side}_attention_heads", 16))
            for side in ("encoder", "decoder")
        }
        self.N = sum(N for N, _, _ in self.sides.values())
        self.d_ff = min(d_ff for _, d_ff, _ in self.sides.values())
        self.pad = config.token("pad_token_id", min(self.V_src, self.V), pad)
        self.eos = config.token("eos_token_id", self.V, eos)
        self.ends, self.never = self.end_ids() or (self.eos,), [self.pad]
        if self.pad in self.ends:
            config.refuse("pad_token_id", "no id that ends a text, since padding is never written")

    def transformer(self, positions: Any, scaled: bool, tgt_ids: int, rng: Rng) -> Any:
        """Return a Transformer; the caller sets `src_embedding` and `output_projection`."""
        options = dict(bias=True, activation=self.activation)
        layers = {"encoder": layer_factory(EncoderLayer, **options),
                  "decoder": layer_factory(DecoderLayer, **options)}
        made = {side: [layers[side](self.d_model, d_ff, h, P_drop=self.P_drop, rng=rng)
                       for _ in range(N)] for side, (N, d_ff, h) in self.sides.items()}
        model = Transformer(
            max(self.V_src, tgt_ids), N=1, d_model=self.d_model, d_ff=1,
            h=self.sides["decoder"][2], P_drop=self.P_drop, max_len=self.max_len, pad=self.pad,
            positions=positions, rng=rng)
        model.encoder, model.decoder = Encoder(made["encoder"]), Decoder(made["decoder"])
        self.embedding = Embedding if scaled else UnscaledEmbedding
        model.tgt_embedding = self.embedding(tgt_ids, self.d_model, rng=rng)
        return model

    def check_constants(self, file: File) -> None:
        want, first = self.model.positions.table(self.max_len), self.model.positions.first
        for name in (name for name in file.places if name.endswith(POSITIONS)):
            found, atol = file.read(name)[first:], ROUNDED.get(file.kinds[name], 1e-5)
            if found.shape != want.shape or not np.allclose(found, want, atol=atol):
                raise ValueError(f"{name} must be the sinusoids of the config")

    def decoding_model(self) -> Transformer:
        """Return a model with the same parameters that gives the ids in `never` logits of -inf."""
        model: Any = copy.copy(self.model)
        old = model.output_projection
        model.output_projection = BiasedProjection(old.E)
        bias = model.output_projection.b.value
        bias += old.b.value if hasattr(old, "b") else 0
        bias[self.never] = -np.inf
        return model


def stacks_table() -> Table:
    """Return the table entries of the layers of both stacks."""
    table: Table = {}
    attentions = {"self_attn": "self_attention"}
    for side, more in (("encoder", {}), ("decoder", {"encoder_attn": "cross_attention"})):
        theirs, ours = f"model.{side}.layers.*", f"{side}.layers.*"
        attentions |= more
        table |= linear(f"{theirs}.fc1", f"{ours}.feed_forward.linear_1")
        table |= linear(f"{theirs}.fc2", f"{ours}.feed_forward.linear_2")
        for name, attention in attentions.items():
            for short, letter in zip(("q_proj", "k_proj", "v_proj", "out_proj"), "QKVO"):
                table |= linear(f"{theirs}.{name}.{short}", f"{ours}.{attention}.linear_{letter}")
        norms = [f"{name}_layer_norm" for name in attentions] + ["final_layer_norm"]
        for number, name in enumerate(norms, 1):
            table |= norm(f"{theirs}.{name}", f"{ours}.add_norm_{number}.layer_norm")
    return table
