"""The training step of steps.py in PyTorch, with its own layers (torch.nn.Transformer)."""

import math

import numpy as np
import torch
from common import initial, rate
from torch import nn


class Model(nn.Module):
    """The paper's encoder-decoder as torch.nn.Transformer.

    It has no biases in attention, one E, and no dropout.
    """

    def __init__(self, c, PE):
        super().__init__()
        d, self.c = c.d_model, c
        self.E = nn.Embedding(c.vocab_size, d)
        self.stacks = nn.Transformer(d, c.h, c.N, c.N, c.d_ff, 0.0, batch_first=True,
                                     layer_norm_eps=1e-6)
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        layers = [m for m in self.stacks.modules() if hasattr(m, "self_attn")]
        for layer in layers:
            for name in ("self_attn", "multihead_attn"):
                if hasattr(layer, name):
                    attention = nn.MultiheadAttention(d, c.h, bias=False, batch_first=True)
                    setattr(layer, name, attention)
        self.PE: torch.Tensor
        self.register_buffer("PE", torch.from_numpy(PE), persistent=False)

    def embed(self, ids):
        """Token ids to the input of the stacks."""
        return self.E(ids) * math.sqrt(self.c.d_model) + self.PE[: ids.shape[1]]

    def forward(self, src, tgt, later):
        """Ids to logits; `later` hides later tokens."""
        memory = self.stacks.encoder(self.embed(src))
        y = self.stacks.decoder(self.embed(tgt), memory, tgt_mask=later, tgt_is_causal=True)
        return y @ self.E.weight.T


def renamed(state):
    """Our state_dict under PyTorch's names: matrices transposed, Q, K and V in one array."""
    def matrix(name):
        return torch.from_numpy(np.ascontiguousarray(state[name].T))

    names = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
    new = {"E.weight": torch.from_numpy(state["src_embedding.E"])}
    for name in state:
        layer, _, part = name.rpartition(".")
        layer, _, kind = layer.rpartition(".")
        stem, _, block = f"stacks.{layer}".rpartition(".")
        if kind == "linear_Q":
            attention = f"{stem}.{names[block]}"
            rows = [matrix(f"{layer}.linear_{q}.W") for q in "QKV"]
            new[f"{attention}.in_proj_weight"] = torch.cat(rows)
            new[f"{attention}.out_proj.weight"] = matrix(f"{layer}.linear_O.W")
        elif kind in ("linear_1", "linear_2"):
            new[f"{stem}.linear{kind[-1]}.{'bias' if part == 'b' else 'weight'}"] = matrix(name)
        elif kind == "layer_norm":
            new[f"{stem}.norm{block[-1]}.{'weight' if part == 'gamma' else 'bias'}"] = matrix(name)
    return new


def started(c):
    """The model with the values that all start from."""
    state, PE = initial(c)
    model = Model(c, PE)
    model.load_state_dict(renamed(state))
    return model


def in_torch(c, threads):
    """(number of parameters, step); step(ids, i) returns the loss."""
    torch.set_num_threads(threads)
    model = started(c).train()
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    criterion = nn.CrossEntropyLoss()
    later = nn.Transformer.generate_square_subsequent_mask(c.T - 1)

    def step(ids, i):
        ids = torch.from_numpy(ids)
        adam.param_groups[0]["lr"] = rate(i)
        adam.zero_grad()
        logits = model(ids, ids[:, :-1], later)
        loss = criterion(logits.reshape(-1, c.vocab_size), ids[:, 1:].reshape(-1))
        loss.backward()
        adam.step()
        return loss.item()

    return sum(p.numel() for p in model.parameters()), step
