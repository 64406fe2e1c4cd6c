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
from ..decoder import Decoder, DecoderLayer
from ..embedding import Embedding
from ..encoder import Encoder, EncoderLayer
from ..module import Cache, Parameter, Rng
from ..transformer import Transformer
from ..variants.embeddings import BiasedProjection, SinusoidsInHalves, UnscaledEmbedding
from ..variants.layer_options import layer_factory, set_eps
from .config import Config
from .pretrained import Pretrained
from .tables import ROW, SAME, STACKED, Table, linear, norm, with_start
from .vocabularies import MarianVocabulary
from .weights import File

EPS = 1e-5  # of every layer norm
SHARED = "model.shared.weight"
POSITIONS = "embed_positions.weight"  # ending of the names of sinusoids; our layers compute them


class Marian(Pretrained):
    """The folder of an OPUS-MT model or of another MarianMTModel.

    `model` is a Transformer with the V ids of the folder, and the id V, which starts a target.

    start : the start token's id in the folder;  bos : V, the id of the start token in `model`
    never : the ids that decoding never writes
    """

    families = ("marian",)
    only: ClassVar[dict] = {
        "normalize_before": False, "normalize_embedding": False, "add_final_layer_norm": False,
        "static_position_embeddings": True, "extra_pos_embeddings": 0}

    def read_sizes(self, config: Config) -> None:
        self.d_model, V = config.size("d_model", 1024), config.size("vocab_size", 58101)
        self.shared = config.flag("share_encoder_decoder_embeddings", True)
        self.tied = config.flag("tie_word_embeddings", True)
        self.V_src, self.V = V, config.size("decoder_vocab_size", V)
        if self.shared and self.V != V:
            config.refuse("decoder_vocab_size", f"{V}, since the embeddings are shared")
        self.max_len = config.size("max_position_embeddings", 1024)
        self.scaled = config.flag("scale_embedding", False)
        self.activation = config.activation("activation_function", "gelu")
        self.P_drop = config.fraction("dropout", 0.1)
        self.pad = config.token("pad_token_id", min(V, self.V), 58100)
        self.eos = config.token("eos_token_id", self.V, 0)
        self.start = config.token("decoder_start_token_id", self.V, 58100)
        self.bos, self.never = self.V, [self.pad]
        for word in self.settings.get("bad_words_ids") or ():
            if len(word) == 1 and word != [self.eos]:
                self.never += check_ids("bad_words_ids", word, self.V).tolist()
        self.sides = {
            side: (config.size(f"{side}_layers", 12), config.size(f"{side}_ffn_dim", 4096),
                   config.size(f"{side}_attention_heads", 16))
            for side in ("encoder", "decoder")
        }
        self.N = sum(N for N, _, _ in self.sides.values())
        self.d_ff = min(d_ff for _, d_ff, _ in self.sides.values())

    def table(self) -> Table:
        start = with_start(self.start, self.pad)
        one_E = self.shared and self.tied                  # one E for both languages and the logits
        return {
            **({SHARED: ("src_embedding.E", start)} if one_E else {}),
            "model.encoder.embed_tokens.weight": ("src_embedding.E", start if one_E else SAME),
            "model.decoder.embed_tokens.weight": ("tgt_embedding.E", start),
            "lm_head.weight": ("output_projection.E", start if self.tied else STACKED),
            "final_logits_bias": ("output_projection.b", ROW),
            **stack_table("encoder", {"self_attn": "self_attention"}),
            **stack_table("decoder", {"self_attn": "self_attention",
                                      "encoder_attn": "cross_attention"}),
        }

    def ignored(self, name: str) -> bool:
        is_unused = name == SHARED and not (self.shared and self.tied)
        return is_unused or name.endswith(POSITIONS)

    def build(self, rng: Rng) -> Transformer:
        d, P_drop = self.d_model, self.P_drop
        options = dict(bias=True, activation=self.activation)
        layers = {"encoder": layer_factory(EncoderLayer, **options),
                  "decoder": layer_factory(DecoderLayer, **options)}
        made = {side: [layers[side](d, d_ff, h, P_drop=P_drop, rng=rng) for _ in range(N)]
                for side, (N, d_ff, h) in self.sides.items()}
        model = Transformer(
            max(self.V_src, self.V) + 1, N=1, d_model=d, d_ff=1, h=self.sides["decoder"][2],
            P_drop=P_drop, max_len=self.max_len, pad=self.pad, positions=SinusoidsInHalves, rng=rng)
        model.encoder, model.decoder = Encoder(made["encoder"]), Decoder(made["decoder"])
        embedding = Embedding if self.scaled else UnscaledEmbedding
        model.tgt_embedding = embedding(self.V + 1, d, rng=rng)
        model.src_embedding = copy.copy(model.tgt_embedding)
        if not (self.shared and self.tied):
            model.src_embedding = embedding(self.V_src, d, rng=rng)
        E = model.tgt_embedding.E if self.tied else Parameter.normal(d**-0.5, (self.V + 1, d), rng)
        projection: Any = BiasedProjection(E)
        model.output_projection = projection
        return set_eps(model, EPS)

    def read_vocabulary(self, folder: Path) -> MarianVocabulary | None:
        return MarianVocabulary(folder, self) if (folder / "vocab.json").is_file() else None

    def check_constants(self, file: File) -> None:
        want = self.model.positions.table(self.max_len)
        for name in (name for name in file.places if name.endswith(POSITIONS)):
            found = file.read(name)
            if found.shape != want.shape or not np.allclose(found, want, atol=1e-5):
                raise ValueError(f"{name} must be the sinusoids of the config")

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

    def decoding_model(self) -> Transformer:
        """Return a model with the same parameters that gives the ids in `never` logits of -inf."""
        model = copy.copy(self.model)
        projection = model.output_projection = copy.copy(model.output_projection)
        bias = projection.b.value.copy()
        bias[self.never] = -np.inf
        projection.b = Parameter(bias)
        return model


def stack_table(side: str, attentions: dict[str, str]) -> Table:
    """Return the table entries of the layers of a stack; `attentions` is {their name: ours}."""
    theirs, ours = f"model.{side}.layers.*", f"{side}.layers.*"
    table = linear(f"{theirs}.fc1", f"{ours}.feed_forward.linear_1")
    table |= linear(f"{theirs}.fc2", f"{ours}.feed_forward.linear_2")
    for name, attention in attentions.items():
        for short, letter in zip(("q_proj", "k_proj", "v_proj", "out_proj"), "QKVO"):
            table |= linear(f"{theirs}.{name}.{short}", f"{ours}.{attention}.linear_{letter}")
    norms = [f"{name}_layer_norm" for name in attentions] + ["final_layer_norm"]
    for number, name in enumerate(norms, 1):
        table |= norm(f"{theirs}.{name}", f"{ours}.add_norm_{number}.layer_norm")
    return table
