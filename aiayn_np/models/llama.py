"""Llama and its kin, Qwen2 and Qwen3: the decoder of the parts since 2017 (Touvron et al., 2023).

It differs from GPT-2: rotary positions instead of learned ones, RMS norms, SwiGLU, no biases, and
heads of keys and values that several heads of queries share. Qwen2 has biases on queries, keys and
values; Qwen3 norms queries and keys.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..checks import is_integer
from ..files import CheckpointError
from ..variants.layer_options import set_eps
from ..variants.models import LanguageModel, llama
from ..variants.rotary import NormedRotaryPositions, RotaryPositions
from .config import Config, read_json
from .loaded import Pretrained
from .tokenizer_files import llama_vocabulary
from .vocabularies import TokenizerVocabulary
from .weights import Tensor, linear_tensors

FULL = "full_attention"


def load_llama(folder: str | Path) -> "Llama":
    """Open the folder of a LlamaForCausalLM, Qwen2ForCausalLM or Qwen3ForCausalLM.

    Returns a Llama. Raises FileNotFoundError, and CheckpointError with the reason.
    """
    path = Path(folder) / "config.json"
    kind = read_json(path).get("model_type")
    if not isinstance(kind, str) or kind not in LLAMAS:
        raise CheckpointError(f"{path}: model_type must be one of {', '.join(LLAMAS)}, got"
                              f" {str(kind)[:60]}")
    return LLAMAS[kind](folder)


class Llama(Pretrained):
    """`model` is a LanguageModel of LlamaLayers; `pad` and `eos` are ids of the folder, or None.

    No id is masked, as in GPT2.
    """

    family, heads = "llama", ("LlamaForCausalLM",)
    only: ClassVar[dict] = {"rope_scaling": None, "pretraining_tp": 1, "partial_rotary_factor": 1.0,
                            "use_sliding_window": False, "num_local_experts": None}
    rotary: ClassVar[type] = RotaryPositions

    def read_sizes(self, config: Config) -> None:
        self.V, self.d_model = config.size("vocab_size", 32000), config.size("hidden_size", 4096)
        self.N = config.size("num_hidden_layers", 32)
        self.h = config.heads("num_attention_heads", 32, self.d_model)
        self.h_kv = config.size("num_key_value_heads", self.h)
        if self.h % self.h_kv:
            config.refuse("num_key_value_heads", f"a divisor of the {self.h} heads")
        self.d_k = config.size("head_dim", self.usual_d_k())
        if self.d_k % 2:
            config.refuse("head_dim", "even, for pairs of features")
        self.d_ff = config.size("intermediate_size", 11008)
        self.max_len = config.size("max_position_embeddings", 2048)
        self.activation = config.activation("hidden_act", "silu")
        self.eps = config.fraction("rms_norm_eps", 1e-6)
        self.tied = config.flag("tie_word_embeddings", False)
        self.base = base_of(config)
        self.read_biases(config)
        if set(config.values.get("layer_types") or [FULL]) != {FULL}:
            config.refuse("layer_types", f"{FULL} in every layer")
        self.pad = config.token("pad_token_id", self.V, optional=True)
        eos = self.generation.get("eos_token_id", config.values.get("eos_token_id"))
        self.eos = eos if is_integer(eos) and 0 <= eos < self.V else None

    def usual_d_k(self) -> int:
        """Return the d_k of a folder that does not give it."""
        return self.d_model // self.h

    def read_biases(self, config: Config) -> None:
        """Read which projections have biases: "QKVO" names them."""
        self.biases = "QKVO" * config.flag("attention_bias", False)
        self.gate_bias = config.flag("mlp_bias", False)

    def wanted(self) -> Iterator[Tensor]:
        d, d_ff, E = self.d_model, self.d_ff, (self.V, self.d_model)
        tied = ("lm_head.weight",) if self.tied else ()
        yield Tensor(("model.embed_tokens.weight", *tied), E, ("stack.embedding.E",))
        if not self.tied:
            yield Tensor(("lm_head.weight",), E, ("output_projection.E",))
        yield gamma("model.norm", "stack.encoder.norm", d)
        for i in range(self.N):
            theirs, ours = f"model.layers.{i}", f"stack.encoder.layers.{i}"
            yield gamma(f"{theirs}.input_layernorm", f"{ours}.norm_1", d)
            yield gamma(f"{theirs}.post_attention_layernorm", f"{ours}.norm_2", d)
            wide, narrow = self.h * self.d_k, self.h_kv * self.d_k
            for name, sizes in (("Q", (d, wide)), ("K", (d, narrow)), ("V", (d, narrow)),
                                ("O", (wide, d))):
                yield from linear_tensors(f"{theirs}.self_attn.{name.lower()}_proj",
                                          f"{ours}.self_attention.linear_{name}", *sizes,
                                          bias=name in self.biases)
            for name, layer, sizes in (
                    ("gate", "linear_gate", (d, d_ff)), ("up", "linear_1", (d, d_ff)),
                    ("down", "linear_2", (d_ff, d))):
                yield from linear_tensors(f"{theirs}.mlp.{name}_proj",
                                          f"{ours}.feed_forward.{layer}", *sizes,
                                          bias=self.gate_bias)
            if self.rotary is NormedRotaryPositions:
                for name in "QK":
                    rotary = f"{ours}.self_attention.attention.rotary_{name}"
                    yield gamma(f"{theirs}.self_attn.{name.lower()}_norm", f"{rotary}.norm",
                                self.d_k)

    def ignored(self, name: str) -> bool:
        return name.endswith(".rotary_emb.inv_freq")                   # constants

    def build(self, rng: np.random.Generator) -> LanguageModel:
        model = llama(self.V, N=self.N, d_model=self.d_model, d_ff=self.d_ff, h=self.h,
                      h_kv=self.h_kv, d_k=self.d_k, base=self.base, max_len=self.max_len,
                      tied=self.tied, bias=bool(self.biases), gate_bias=self.gate_bias,
                      activation=self.activation, rotary=self.rotary, rng=rng)
        if self.biases == "QKV":
            for layer in model.stack.encoder.layers:
                layer.self_attention.linear_O.b = None
        return set_eps(model, self.eps)

    def read_vocabulary(self, folder: str | Path) -> TokenizerVocabulary | None:
        return llama_vocabulary(folder, self)


class Qwen2(Llama):
    """A Llama with biases on queries, keys and values."""

    family, heads = "qwen2", ("Qwen2ForCausalLM",)

    def read_biases(self, config: Config) -> None:
        self.biases, self.gate_bias = "QKV", False


class Qwen3(Llama):
    """A Llama that takes the scale of queries and keys away before it turns them."""

    family, heads = "qwen3", ("Qwen3ForCausalLM",)
    rotary: ClassVar[type] = NormedRotaryPositions

    def usual_d_k(self) -> int:
        return 128


LLAMAS: dict[Any, type[Llama]] = {kind.family: kind for kind in (Llama, Qwen2, Qwen3)}


def base_of(config):
    """Return the base of the angles: `rope_theta`, in newer folders in `rope_parameters`."""
    rope = config.values.get("rope_parameters") or {}
    if not isinstance(rope, dict) or rope.get("rope_type", "default") != "default" or (
            rope.get("partial_rotary_factor", 1) != 1):
        config.refuse("rope_parameters", "those of the rope_type 'default'")
    base = rope.get("rope_theta", config.values.get("rope_theta", 10000.0))
    if isinstance(base, bool) or not isinstance(base, (int, float)) or not base > 0:
        config.refuse("rope_theta", "a number above 0")
    return float(base)


def gamma(theirs, ours, d):
    """Make the Tensor of an RMS norm."""
    return Tensor((f"{theirs}.weight",), (d,), (f"{ours}.gamma",))
