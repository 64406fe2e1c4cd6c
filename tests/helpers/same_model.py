"""Models that PyTorch has too: a tiny one of each kind, a batch, and what our side computes."""

import warnings

import numpy as np
from parity import T_SRC, B, T, fill

from aiayn_np import (
    DecoderLayer,
    EncoderLayer,
    LabelSmoothedCrossEntropy,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    Transformer,
)
from aiayn_np.models.convert import table
from aiayn_np.models.tables import links, state_of
from aiayn_np.models.twin import build
from aiayn_np.variants.choices import CHOICES

VOCAB, PAD, EPS_LS, N, D_MODEL, D_FF, H = 9, 3, 0.1, 2, 6, 7, 2


def with_biases(kind):
    """A factory of layers whose attentions have biases."""
    def make(d_model, d_ff, h, *, rng, **options):
        layer = kind(d_model, d_ff, h, rng=rng, **options)
        for name in ("self_attention", "cross_attention"):
            if hasattr(layer, name):
                setattr(layer, name, MultiHeadAttention(d_model, h, bias=True, rng=rng))
        return layer
    return make


KINDS = {
    "the paper's": {},
    "pre-norm": CHOICES["norm"]["pre"],
    "learned positions": {"positions": LearnedPositionalEncoding},
    "biases": {"encoder_layer": with_biases(EncoderLayer),
               "decoder_layer": with_biases(DecoderLayer)},
    "pre-norm, learned positions": CHOICES["norm"]["pre"] | {
        "positions": LearnedPositionalEncoding},
}


def model_of(kind, rng, **options):
    """A tiny model of a kind, every parameter drawn."""
    sizes = dict(N=N, d_model=D_MODEL, d_ff=D_FF, h=H, max_len=10, pad=PAD, P_drop=0.0) | options
    model = Transformer(VOCAB, **sizes, **KINDS[kind], rng=rng)
    fill(model, rng)
    return model


def batch(rng):
    """src (B, T_src), tgt and targets (B, T): padded rows, and a source of padding alone."""
    src, tgt = rng.integers(4, VOCAB, (B, T_SRC)), rng.integers(4, VOCAB, (B, T + 1))
    src[1, 4:] = src[2] = PAD
    tgt[0, 5:] = tgt[2, 3:] = PAD
    return src, tgt[:, :-1], tgt[:, 1:]


def ours(model, src, tgt, targets):
    """{"logits", "loss", "grad NAME": array} of our model."""
    criterion = LabelSmoothedCrossEntropy(EPS_LS, pad=model.pad)
    logits, cache = model.forward(src, tgt)
    loss, loss_cache = criterion.forward(logits, targets=targets)
    model.zero_grad()
    model.backward(criterion.backward(1.0, loss_cache), cache)
    gradients = {f"grad {name}": p.grad for name, p in model.named_parameters()}
    return {"logits": logits, "loss": np.array(loss)} | gradients


def to_theirs(state, config):
    """Our arrays under PyTorch's names, and in its shapes."""
    model = build(config)
    for name, parameter in model.named_parameters():
        parameter.value = state[name]
    found = state_of(links(model, table(config)))
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def theirs(module, src, tgt, targets):
    """The same of a module in PyTorch, gradients by its names; none for what is frozen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
    ids = [torch.from_numpy(x) for x in (src, tgt, targets)]
    logits = module(*ids[:2])
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), ids[2].flatten(), label_smoothing=EPS_LS,
        ignore_index=module.config["pad"])
    module.zero_grad()
    loss.backward()
    gradients = {f"grad {n}": p.grad for n, p in module.named_parameters() if p.requires_grad}
    found = {"logits": logits, "loss": loss} | gradients
    return {name: x.detach().numpy().copy() for name, x in found.items()}
