"""Random models of transformers, and their logits and gradients, to be compared with.

`python tests/helpers/hugging_face.py` freezes five of them in tests/golden/pretrained, or only
those that it is given, so that the default suite compares without PyTorch.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

from aiayn_np.models import load_bert, load_fsmt, load_gpt2, load_llama, load_marian

GOLDEN = Path(__file__).parents[1] / "golden" / "pretrained"
LOADERS = {"marian": load_marian, "fsmt": load_fsmt, "gpt2": load_gpt2, "bert": load_bert,
           "llama": load_llama}
MARIAN = dict(vocab_size=29, d_model=18, encoder_layers=3, decoder_layers=1, encoder_ffn_dim=20,
              decoder_ffn_dim=23, encoder_attention_heads=2, decoder_attention_heads=3,
              pad_token_id=28, decoder_start_token_id=28, eos_token_id=0,
              max_position_embeddings=31, activation_function="swish", scale_embedding=True)
GPT2 = dict(vocab_size=23, n_positions=17, n_embd=12, n_layer=3, n_head=3, bos_token_id=1,
            eos_token_id=2)
BERT = dict(vocab_size=23, max_position_embeddings=17, hidden_size=12, num_hidden_layers=3,
            num_attention_heads=3, intermediate_size=20, type_vocab_size=3)
LLAMA = dict(vocab_size=23, hidden_size=12, intermediate_size=10, num_hidden_layers=2,
             num_attention_heads=6, num_key_value_heads=2, head_dim=4, max_position_embeddings=17,
             bos_token_id=1, eos_token_id=2, tie_word_embeddings=True)
LLAMAS = ("llama", "mistral", "qwen2", "qwen3")
FSMT = dict(src_vocab_size=29, tgt_vocab_size=29, tie_word_embeddings=True, d_model=18,
            encoder_layers=3, decoder_layers=1, encoder_ffn_dim=20, decoder_ffn_dim=23,
            encoder_attention_heads=2, decoder_attention_heads=3, max_position_embeddings=31)
SIZES = {"marian": MARIAN, "fsmt": FSMT, "gpt2": GPT2, "bert": BERT, "llama": LLAMA}
TWO = ("marian", "fsmt")


def make(family, folder, *, seed=0, dtype="float64", **options):
    """Save a random model of transformers into a folder, and return it with dropout off."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    config, cls = {
        "marian": (transformers.MarianConfig, transformers.MarianMTModel),
        "fsmt": (transformers.FSMTConfig, transformers.FSMTForConditionalGeneration),
        "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
        "bert": (transformers.BertConfig, transformers.BertForMaskedLM),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    }[family]
    torch.manual_seed(seed)
    model = cls(config(**(SIZES.get(family, LLAMA) | options))).to(torch.float64).eval()
    with torch.no_grad():
        for name, p in [*model.named_parameters(), *model.named_buffers()]:
            if p.is_floating_point() and not name.endswith(("inv_freq", "positions.weight")):
                is_gamma = name.endswith("weight") and ("norm" in name.lower() or "ln_" in name)
                p.copy_(0.3 * torch.randn(p.shape, dtype=torch.float64) + is_gamma)
    model = model.to(getattr(torch, dtype))
    model.save_pretrained(folder)
    return model


def float64_positions(model):
    """Put the sinusoids in float64, which transformers computes in float32."""
    import torch

    for stack in (model.model.encoder, model.model.decoder):
        T, d = stack.embed_positions.weight.shape
        if model.config.model_type == "fsmt":
            from transformers.models.fsmt import modeling_fsmt

            modeling_fsmt.fill_with_neg_inf = lambda mask: mask.fill_(-1e30)   # its own overflows
            angle = np.arange(T)[:, None] * 10000 ** (-np.arange(d // 2) / (d // 2 - 1))
            table = np.concatenate([np.sin(angle), np.cos(angle), np.zeros((T, d % 2))], axis=1)
            stack.embed_positions.weight.data = torch.tensor(table)
            continue
        i = np.arange(d)
        angle = np.arange(T)[:, None] / 10000 ** (2 * (i // 2) / d)
        table = np.concatenate([np.sin(angle[:, 0::2]), np.cos(angle[:, 1::2])], axis=1)
        stack.embed_positions.weight.data = torch.tensor(table)


def float64_norms_and_angles(model):
    """Let a Llama compute its norms and the angles of its positions in float64, not in float32.

    A config of another base or width has other frequencies, so they are computed again.
    """
    import torch

    def norm(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)
                                              + self.variance_epsilon))

    def angles(self, x, position_ids):
        config = self.config
        d = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        base = config.rope_parameters["rope_theta"]
        w = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        if (rope := config.rope_parameters)["rope_type"] == "llama3":  # as transformers words it
            long, short = (rope["original_max_position_embeddings"] / rope[f"{name}_freq_factor"]
                           for name in ("low", "high"))
            wave = 2 * np.pi / w
            s = ((rope["original_max_position_embeddings"] / wave - rope["low_freq_factor"])
                 / (rope["high_freq_factor"] - rope["low_freq_factor"]))
            between = (1 - s) * w / rope["factor"] + s * w
            w = torch.where(wave > long, w / rope["factor"], torch.where(wave < short, w, between))
        angle = position_ids[..., None].double() * w
        angle = torch.cat([angle, angle], dim=-1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)

    for part in model.modules():
        if type(part).__name__.endswith("RMSNorm"):
            part.forward = norm.__get__(part)
        elif type(part).__name__.endswith("RotaryEmbedding"):
            part.forward = angles.__get__(part)
    model.set_attn_implementation("sdpa")                # "eager" has a softmax in float32
    return model


def exact(family, model):
    """Let a model of transformers compute in float64 what it computes in float32."""
    if family in TWO:
        float64_positions(model)
    if family in LLAMAS:
        float64_norms_and_angles(model)


def batch(family, config, rng):
    """(ids as keywords of `logits`, which positions are real) of a padded batch."""
    if family in TWO:
        pad, start = config["pad_token_id"], config["decoder_start_token_id"]
        low, *high = ((1, *2 * [min(config["vocab_size"], pad)]) if family == "marian" else
                      (pad + 1, config["src_vocab_size"], config["tgt_vocab_size"]))
        src, tgt = (rng.integers(low, top, (3, T)) for top, T in zip(high, (7, 5)))
        src[1, 4:], tgt[:, 0], tgt[2, 3:] = pad, start, pad
        real = tgt != pad
        real[:, 0] = True
        return dict(src=src, tgt=tgt), real
    pad = config.get("pad_token_id")
    ids = rng.integers(0, config["vocab_size"], (3, 9))
    if pad is not None:
        ids[ids == pad] = pad + 1
        ids[1, 6:] = pad
    real = np.ones(ids.shape, bool) if pad is None else ids != pad
    if family == "gpt2" or family in LLAMAS:
        return dict(ids=ids), real
    return dict(ids=ids, segments=rng.integers(0, config["type_vocab_size"], ids.shape)), real


def compute(family, model, inputs, real, cotangent):
    """(logits, {name: gradient of sum(cotangent * logits)}) by transformers."""
    import torch

    given = {name: torch.tensor(ids) for name, ids in inputs.items()}
    if family in TWO:
        pad = model.config.pad_token_id
        given = dict(
            input_ids=given["src"], attention_mask=(given["src"] != pad).long(),
            decoder_input_ids=given["tgt"], decoder_attention_mask=torch.tensor(real).long())
    else:
        given["input_ids"] = given.pop("ids")
        given["attention_mask"] = torch.tensor(real).long()
        if "segments" in given:
            given["token_type_ids"] = given.pop("segments")
    model.zero_grad()
    logits = model(**given, use_cache=False).logits                    # with it, FSMT masks nothing
    logits.backward(torch.tensor(cotangent))
    gradients = {n: p.grad.numpy() for n, p in model.named_parameters()
                 if p.grad is not None and "embed_positions" not in n}
    if family == "fsmt" and model.config.tie_word_embeddings:          # the file has this name
        gradients["model.decoder.embed_tokens.weight"] = gradients.pop(
            "model.encoder.embed_tokens.weight")
    return logits.detach().numpy(), gradients


def freeze(family):
    """Write a folder and what transformers makes of it."""
    folder, rng = GOLDEN / family, np.random.default_rng(7)
    shutil.rmtree(folder, ignore_errors=True)
    model = make(family, folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    exact(family, model)
    config = json.loads((folder / "config.json").read_text())
    inputs, real = batch(family, config, rng)
    V = "tgt_vocab_size" if family == "fsmt" else "vocab_size"
    cotangent = rng.standard_normal((*real.shape, config[V])) * real[..., None]
    logits, gradients = compute(family, model, inputs, real, cotangent)
    np.savez_compressed(folder / "expected.npz", real=real, cotangent=cotangent, logits=logits,
                        **{f"input/{name}": ids for name, ids in inputs.items()},
                        **{f"gradient/{name}": g for name, g in gradients.items()})


if __name__ == "__main__":
    for name in sys.argv[1:] or SIZES:
        freeze(name)
