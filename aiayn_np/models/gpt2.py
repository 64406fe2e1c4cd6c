"""GPT-2: the decoder half of the paper's model, pre-norm (Radford et al., 2019).

It differs from the paper. It has no encoder. It has a norm before each sublayer and one at the end,
the tanh form of GELU, biases, learned positions, and an embedding that is not scaled.
"""

from typing import ClassVar

from ..module import Rng
from ..positional_encoding import LearnedPositionalEncoding
from ..variants.embeddings import UnscaledEmbedding
from ..variants.layer_options import layer_factory, set_eps
from ..variants.models import LanguageModel
from ..variants.pre_norm import PreNormEncoderLayer
from .config import Config
from .pretrained import Pretrained
from .tables import SAME, SIDE_BY_SIDE, Table, linear, norm

LAYER, OURS = "transformer.h.*", "stack.encoder.layers.*"


class GPT2(Pretrained):
    """The folder of a GPT-2 or of another GPT2LMHeadModel.

    `model` is a LanguageModel; `ends` are the ids that end a text.

    No id is masked, not even the id of padding: often this is the id of <|endoftext|>, which occurs
    in texts. Padding at the end changes no earlier logit.
    """

    families = ("gpt2",)
    only: ClassVar[dict] = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}

    def read_sizes(self, config: Config) -> None:
        self.V, self.d_model = config.size("vocab_size", 50257), config.size("n_embd", 768)
        self.max_len, self.N = config.size("n_positions", 1024), config.size("n_layer", 12)
        self.h = config.size("n_head", 12)
        self.d_ff = config.size("n_inner", 4 * self.d_model)
        self.activation = config.activation("activation_function", "gelu_new")
        self.eps = config.fraction("layer_norm_epsilon", 1e-5)
        self.tied = config.flag("tie_word_embeddings", True)
        self.P_drop = config.fraction("resid_pdrop", 0.1)
        self.ends = self.end_ids()

    def table(self) -> Table:
        attention, feed_forward = f"{OURS}.self_attention", f"{OURS}.feed_forward"
        return {
            "transformer.wte.weight": ("stack.embedding.E", SAME),
            "lm_head.weight": ("output_projection.E", SAME),
            "transformer.wpe.weight": ("stack.positions.E", SAME),
            **norm("transformer.ln_f", "stack.encoder.norm"),
            **norm(f"{LAYER}.ln_1", f"{OURS}.norm_1"),
            **norm(f"{LAYER}.ln_2", f"{OURS}.norm_2"),
            f"{LAYER}.attn.c_attn.weight": (
                tuple(f"{attention}.linear_{name}.W" for name in "QKV"), SIDE_BY_SIDE),
            f"{LAYER}.attn.c_attn.bias": (
                tuple(f"{attention}.linear_{name}.b" for name in "QKV"), SIDE_BY_SIDE),
            **linear(f"{LAYER}.attn.c_proj", f"{attention}.linear_O", SAME),
            **linear(f"{LAYER}.mlp.c_fc", f"{feed_forward}.linear_1", SAME),
            **linear(f"{LAYER}.mlp.c_proj", f"{feed_forward}.linear_2", SAME),
        }

    def usual(self, name: str) -> str:
        """Put "transformer." before a name that lacks it, as in the folders of OpenAI."""
        lacks_it = name.startswith(("wte.", "wpe.", "h.", "ln_f."))
        return f"transformer.{name}" if lacks_it else name

    def ignored(self, name: str) -> bool:
        return name.endswith((".attn.bias", ".attn.masked_bias"))      # the causal mask

    def build(self, rng: Rng) -> LanguageModel:
        layer = layer_factory(PreNormEncoderLayer, bias=True, activation=self.activation)
        model = LanguageModel(
            self.V, N=self.N, d_model=self.d_model, d_ff=self.d_ff, h=self.h, P_drop=self.P_drop,
            max_len=self.max_len, pad=None, tied=self.tied, layer=layer,
            embedding=UnscaledEmbedding, positions=LearnedPositionalEncoding, rng=rng)
        return set_eps(model, self.eps)
