"""The Transformer as a torch.nn.Module, made of torch.nn.Transformer."""

import contextlib
import math
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ..positional_encoding import SinusoidalPositionalEncoding

ACTIVE = {"relu": F.relu, "gelu": F.gelu, "gelu_new": partial(F.gelu, approximate="tanh"),
          "silu": F.silu}


class TorchTransformer(nn.Module):
    """logits = Decoder(tgt, Encoder(src)) E^T, computed by PyTorch

    src (B, T_src), tgt (B, T_tgt) ids   ->   logits (B, T_tgt, vocab_size)
    config : the config that `config_of` returns for our model
    state : {name: array} of all values, without the biases that our model lacks

    The stacks are torch.nn.Transformer. It differs from the paper in four points, and all four are
    undone here. The biases in the projections of attention are zero and frozen. Post-norm has no
    norm at the end of each stack. Dropout inside the feed-forward network has rate 0. Dropout
    inside attention has our rate.
    """

    def __init__(self, config, state):
        super().__init__()
        self.config = dict(config)
        size = config["max_len"], config["d_model"]
        with torch.device("meta"):                # needs no memory; `state` has all values
            self.E = nn.Parameter(torch.empty(config["vocab_size"], config["d_model"]))
            self.stacks = stacks(config)
            self.positions = nn.Parameter(torch.empty(size))
        self.dropout = nn.Dropout(config["P_drop"])
        if config["positions"] == "sinusoidal":
            PE = SinusoidalPositionalEncoding(size[1], size[0]).table(size[0])
            del self.positions
            self.register_buffer("positions", torch.from_numpy(PE.astype(state["E"].dtype)),
                                 persistent=False)
        zeros = {name: np.zeros(p.shape, state["E"].dtype) for name, p in self.named_parameters()}
        tensors = {name: torch.from_numpy(value) for name, value in (zeros | state).items()}
        self.load_state_dict(tensors, assign=True)
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name in state)

    def embed(self, ids):
        """Return E[ids] sqrt(d_model) plus positions, (B, T, d_model), after dropout."""
        x = F.embedding(ids, self.E) * math.sqrt(self.config["d_model"])
        if ids.shape[1] > len(self.positions):
            raise ValueError(f"length must be at most max_len={len(self.positions)}, got length"
                             f" {ids.shape[1]}")
        return self.dropout(x + self.positions[: ids.shape[1]])

    def forward(self, src, tgt):
        T, pad = tgt.shape[1], self.config["pad"]
        later = torch.ones(T, T, dtype=torch.bool, device=tgt.device).triu(1)
        with no_fast_path():
            y = self.stacks(
                self.embed(src), self.embed(tgt), tgt_mask=later, tgt_is_causal=False,
                src_key_padding_mask=src == pad, tgt_key_padding_mask=tgt == pad,
                memory_key_padding_mask=src == pad,
            )
        return y @ self.E.T                                            # (B, T_tgt, vocab_size)


@contextlib.contextmanager
def no_fast_path():
    """Switch off PyTorch's fast path, which returns nan for a sequence of padding only."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def stacks(config):
    """Make a torch.nn.Transformer with the norms and the dropout of our layers."""
    d_model, h, eps = config["d_model"], config["h"], config["eps"]
    pre = config["norm"] == "pre"
    options = dict(dropout=config["P_drop"], layer_norm_eps=eps, norm_first=pre, batch_first=True,
                   activation=ACTIVE[config.get("activation", "relu")])
    layers = [kind(d_model, h, config["d_ff"], **options)
              for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)]
    ends = [nn.LayerNorm(d_model, eps=eps) if pre else None for _ in layers]
    result = nn.Transformer(
        d_model, h, batch_first=True,
        custom_encoder=nn.TransformerEncoder(layers[0], config["N"], ends[0],
                                             enable_nested_tensor=False),
        custom_decoder=nn.TransformerDecoder(layers[1], config["N"], ends[1]),
    )
    for module in result.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = config["attention_P_drop"]
        if isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
            module.dropout.p = 0.0                             # of the feed-forward network
    return result
