"""Llama and its kin, Mistral, Qwen2, Qwen3: the decoder of the parts since 2017 (Touvron, 2023).

It differs from GPT-2: rotary positions instead of learned ones, RMS norms, SwiGLU, no biases, and
grouped queries: several heads of queries share one head of keys and values. Qwen2 has biases on
queries, keys and values; Qwen3 norms queries and keys.
"""

from functools import partial
from typing import ClassVar

from ..module import Rng
from ..variants.layer_options import set_eps
from ..variants.models import LanguageModel, llama
from ..variants.rotary import NormedRotaryPositions, RotaryPositions, Stretch
from .config import Config, is_number
from .pretrained import Pretrained
from .tables import SAME, Table, linear, norm

FULL = "full_attention"
LAYER, OURS = "model.layers.*", "stack.encoder.layers.*"
LLAMAS = ("llama", "mistral", "qwen2", "qwen3")
STRETCH = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


class Llama(Pretrained):
    """The folder of a LlamaForCausalLM, or of a Mistral, Qwen2 or Qwen3 of this kind.

    `model` is a LanguageModel of LlamaLayers; `ends` are those of a GPT2. No id is masked, as in
    GPT2.

    biases : the letters, some of "QKVO", of the projections of attention that have biases
    """

    families = LLAMAS
    only: ClassVar[dict] = {"pretraining_tp": 1, "partial_rotary_factor": 1.0,
                            "use_sliding_window": False, "num_local_experts": None}

    def read_sizes(self, config: Config) -> None:
        self.V, self.d_model = config.size("vocab_size", 32000), config.size("hidden_size", 4096)
        self.N = config.size("num_hidden_layers", 32)
        self.h = config.size("num_attention_heads", 32)
        self.h_kv = config.size("num_key_value_heads", 8 if self.family == "mistral" else self.h)
        self.d_k = config.size(
            "head_dim", 128 if self.family == "qwen3" else self.d_model // self.h)
        self.d_ff = config.size("intermediate_size", 11008)
        self.max_len = config.size("max_position_embeddings", 2048)
        self.activation = config.activation("hidden_act", "silu")
        self.eps = config.fraction("rms_norm_eps", 1e-6)
        self.tied = config.flag("tie_word_embeddings", False)
        self.base, self.stretch = angles_of(config)
        self.biases = "QKV" if self.family == "qwen2" else (
            "QKVO" * config.flag("attention_bias", False))
        self.gate_bias = self.family == "llama" and config.flag("mlp_bias", False)
        if self.family == "mistral" and config.values.get("sliding_window", 4096) is not None:
            config.refuse("sliding_window", "null")
        if set(config.values.get("layer_types") or [FULL]) != {FULL}:
            config.refuse("layer_types", f"{FULL} in every layer")
        self.ends = self.end_ids()

    def table(self) -> Table:
        attention, feed_forward = f"{OURS}.self_attention", f"{OURS}.feed_forward"
        return {
            "model.embed_tokens.weight": ("stack.embedding.E", SAME),
            "lm_head.weight": ("output_projection.E", SAME),
            **norm("model.norm", "stack.encoder.norm"),
            **norm(f"{LAYER}.input_layernorm", f"{OURS}.norm_1"),
            **norm(f"{LAYER}.post_attention_layernorm", f"{OURS}.norm_2"),
            **linear(f"{LAYER}.self_attn.q_proj", f"{attention}.linear_Q"),
            **linear(f"{LAYER}.self_attn.k_proj", f"{attention}.linear_K"),
            **linear(f"{LAYER}.self_attn.v_proj", f"{attention}.linear_V"),
            **linear(f"{LAYER}.self_attn.o_proj", f"{attention}.linear_O"),
            **norm(f"{LAYER}.self_attn.q_norm", f"{attention}.attention.rotary_Q.norm"),
            **norm(f"{LAYER}.self_attn.k_norm", f"{attention}.attention.rotary_K.norm"),
            **linear(f"{LAYER}.mlp.gate_proj", f"{feed_forward}.linear_gate"),
            **linear(f"{LAYER}.mlp.up_proj", f"{feed_forward}.linear_1"),
            **linear(f"{LAYER}.mlp.down_proj", f"{feed_forward}.linear_2"),
        }

    def ignored(self, name: str) -> bool:
        return name.endswith(".rotary_emb.inv_freq")                   # constants

    def build(self, rng: Rng) -> LanguageModel:
        rotary = NormedRotaryPositions if self.family == "qwen3" else RotaryPositions
        model = llama(self.V, N=self.N, d_model=self.d_model, d_ff=self.d_ff, h=self.h,
                      h_kv=self.h_kv, d_k=self.d_k, base=self.base, max_len=self.max_len,
                      tied=self.tied, bias=bool(self.biases), gate_bias=self.gate_bias,
                      activation=self.activation, rng=rng,
                      rotary=partial(rotary, stretch=self.stretch))
        if self.biases == "QKV":
            for layer in model.stack.encoder.layers:
                layer.self_attention.linear_O.b = None
        return set_eps(model, self.eps)


def angles_of(config):
    """Return the base of the angles and their Stretch, or None.

    Newer folders keep both in `rope_parameters`, older ones in `rope_theta` and `rope_scaling`,
    which wins in transformers too.
    """
    values = config.values
    key = "rope_scaling" if values.get("rope_scaling") else "rope_parameters"
    rope = values.get(key) or {}
    kind = isinstance(rope, dict) and rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "llama3") or rope.get("partial_rotary_factor", 1) != 1:
        config.refuse(key, "those of the rope_type 'default' or 'llama3'")
    base = rope.get("rope_theta", values.get("rope_theta", 10000.0))
    if not is_number(base) or not base > 0:
        config.refuse("rope_theta", "a number above 0")
    if kind == "default":
        return float(base), None
    numbers: list = [rope.get(name) for name in STRETCH]
    if not all(is_number(x) and x > 0 for x in numbers) or not numbers[1] < numbers[2]:
        config.refuse(key, f"numbers above 0 for {', '.join(STRETCH)}, the second below the third")
    return float(base), Stretch(*numbers)
