"""The training step of steps.py in PyTorch, with its own layers (torch.nn.Transformer)."""

import math

import numpy as np
import torch
from common import initial, rate
from torch import nn


class Model(nn.Module):
    """The paper's encoder-decoder as torch.nn.Transformer.

    It has no biases in attention, one E, and dropout only on embeddings and sub-layers.
    """

    def __init__(self, c, PE, pad=None, P_drop=0.0):
        super().__init__()
        d, self.c, self.pad = c.d_model, c, pad
        self.E = nn.Embedding(c.vocab_size, d)
        self.stacks = nn.Transformer(d, c.h, c.N, c.N, c.d_ff, P_drop, batch_first=True,
                                     layer_norm_eps=1e-6)
        self.dropout = nn.Dropout(P_drop)
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        layers = [m for m in self.stacks.modules() if hasattr(m, "self_attn")]
        for layer in layers:
            layer.dropout.p = 0.0                              # inside the feed-forward network
            for name in ("self_attn", "multihead_attn"):
                if hasattr(layer, name):
                    attention = nn.MultiheadAttention(d, c.h, bias=False, batch_first=True)
                    setattr(layer, name, attention)
        self.PE: torch.Tensor
        self.register_buffer("PE", torch.from_numpy(PE), persistent=False)

    def embed(self, ids):
        """Token ids to the input of the stacks."""
        return self.dropout(self.E(ids) * math.sqrt(self.c.d_model) + self.PE[: ids.shape[1]])

    def padding(self, ids):
        """The mask of the padding in a sequence; None if the model has no `pad`."""
        return None if self.pad is None else ids == self.pad

    def encode(self, src):
        """Source ids to the memory."""
        return self.stacks.encoder(self.embed(src), src_key_padding_mask=self.padding(src))

    def decode(self, tgt, memory, src, later):
        """Target ids and the memory to logits; `later` hides later tokens."""
        y = self.stacks.decoder(self.embed(tgt), memory, tgt_mask=later, tgt_is_causal=True,
                                tgt_key_padding_mask=self.padding(tgt),
                                memory_key_padding_mask=self.padding(src))
        return y @ self.E.weight.T

    def forward(self, src, tgt, later):
        return self.decode(tgt, self.encode(src), src, later)


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


def started(c, pad=None):
    """The model with the values that all start from."""
    state, PE = initial(c)
    model = Model(c, PE, pad)
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
