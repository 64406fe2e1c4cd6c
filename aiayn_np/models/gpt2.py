"""GPT-2: the decoder half of the paper's model, pre-norm (Radford et al., 2019).

It differs from the paper: it has no encoder, but a norm before each sublayer and one at the end,
the tanh form of GELU, biases, learned positions, and an embedding that is not scaled.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..embedding import OutputProjection
from ..module import Parameter
from ..positional_encoding import LearnedPositionalEncoding
from ..variants.embeddings import UnscaledEmbedding
from ..variants.layer_options import layer_factory, set_eps
from ..variants.models import LanguageModel
from ..variants.pre_norm import PreNormEncoderLayer
from .config import Config
from .forms import SAME, SIDE_BY_SIDE
from .loaded import Pretrained
from .tokenizer_files import gpt2_vocabulary
from .vocabularies import TokenizerVocabulary
from .weights import Tensor

PREFIX = "transformer."  # of all names; the folders of OpenAI lack it


def load_gpt2(folder: str | Path) -> "GPT2":
    """Open the folder of a GPT-2 or of another GPT2LMHeadModel.

    Returns a GPT2. Raises FileNotFoundError, and CheckpointError with the reason.
    """
    return GPT2(folder)


class GPT2(Pretrained):
    """`model` is a LanguageModel; `pad` and `eos` are ids of the folder, or None.

    No id is masked, not even that of padding: often padding has the id of <|endoftext|>, which
    stands in texts. Padding at the end changes nothing before it.
    """

    family, heads = "gpt2", ("GPT2LMHeadModel", "GPT2Model")
    only: ClassVar[dict] = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}

    def read_sizes(self, config: Config) -> None:
        self.V, self.d_model = config.size("vocab_size", 50257), config.size("n_embd", 768)
        self.max_len, self.N = config.size("n_positions", 1024), config.size("n_layer", 12)
        self.h = config.heads("n_head", 12, self.d_model)
        self.d_ff = config.size("n_inner", 4 * self.d_model)
        self.activation = config.activation("activation_function", "gelu_new")
        self.eps = config.fraction("layer_norm_epsilon", 1e-5)
        self.tied = config.flag("tie_word_embeddings", True)
        self.P_drop = config.fraction("resid_pdrop", 0.1)
        self.pad = config.token("pad_token_id", self.V, optional=True)
        eos = self.generation.get("eos_token_id", config.values.get("eos_token_id"))
        self.eos = eos if isinstance(eos, int) and 0 <= eos < self.V else None

    def wanted(self) -> Iterator[Tensor]:
        return tensors_of(self.V, self.d_model, self.d_ff, self.max_len, self.N, tied=self.tied)

    def ignored(self, name: str) -> bool:
        return name.endswith((".attn.bias", ".attn.masked_bias"))      # the causal mask

    def build(self, rng: np.random.Generator) -> LanguageModel:
        layer = layer_factory(PreNormEncoderLayer, bias=True, activation=self.activation)
        model = LanguageModel(
            self.V, N=self.N, d_model=self.d_model, d_ff=self.d_ff, h=self.h, P_drop=self.P_drop,
            max_len=self.max_len, pad=None, layer=layer, embedding=UnscaledEmbedding,
            positions=LearnedPositionalEncoding, rng=rng)
        if not self.tied:
            E = Parameter(rng.normal(size=(self.V, self.d_model)))
            model.output_projection = OutputProjection(E)
        return set_eps(model, self.eps)

    def read_vocabulary(self, folder: str | Path) -> TokenizerVocabulary | None:
        return gpt2_vocabulary(folder, self)


def tensors_of(V: int, d: int, d_ff: int, max_len: int, N: int, *, tied: bool) -> Iterator[Tensor]:
    """Yield the Tensors of a GPT-2 of these sizes."""
    yield tensor("wte.weight", (V, d), "stack.embedding.E",
                 also=("lm_head.weight",) if tied else ())
    if not tied:
        yield Tensor(("lm_head.weight",), (V, d), ("output_projection.E",))
    yield tensor("wpe.weight", (max_len, d), "stack.positions.E")
    yield from norm("ln_f", "stack.encoder.norm", d)
    for i in range(N):
        theirs, ours = f"h.{i}", f"stack.encoder.layers.{i}"
        heads = [f"{ours}.self_attention.linear_{name}" for name in "QKV"]
        for kind, shape, attribute in (("weight", (d, 3 * d), "W"), ("bias", (3 * d,), "b")):
            yield tensor(f"{theirs}.attn.c_attn.{kind}", shape,
                         *(f"{name}.{attribute}" for name in heads), form=SIDE_BY_SIDE)
        yield from conv(f"{theirs}.attn.c_proj", f"{ours}.self_attention.linear_O", d, d)
        yield from conv(f"{theirs}.mlp.c_fc", f"{ours}.feed_forward.linear_1", d, d_ff)
        yield from conv(f"{theirs}.mlp.c_proj", f"{ours}.feed_forward.linear_2", d_ff, d)
        yield from norm(f"{theirs}.ln_1", f"{ours}.norm_1", d)
        yield from norm(f"{theirs}.ln_2", f"{ours}.norm_2", d)


def tensor(name, shape, *paths, form=SAME, also=()):
    """Make a Tensor whose name may lack the prefix."""
    return Tensor((PREFIX + name, name, *also), shape, paths, form)


def norm(theirs, ours, d):
    """Yield gamma and beta of a layer norm."""
    yield tensor(f"{theirs}.weight", (d,), f"{ours}.gamma")
    yield tensor(f"{theirs}.bias", (d,), f"{ours}.beta")


def conv(theirs, ours, d_in, d_out):
    """Yield W and b of a "Conv1D", which computes x W + b as our Linear does."""
    yield tensor(f"{theirs}.weight", (d_in, d_out), f"{ours}.W")
    yield tensor(f"{theirs}.bias", (d_out,), f"{ours}.b")
