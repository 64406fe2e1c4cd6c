"""A language model's training in PyTorch: the same weights, batches, rates and Adam."""

import math

import torch
from pytorch import as_it_is, layer_links, norm, post_norms, pre_norms, send
from torch.nn.functional import cross_entropy


class Twin:
    """The model and the optimizer of a WordsRun, without dropout."""

    def __init__(self, run):
        o, model = run.options, run.model
        self.dtype = {"float32": torch.float32, "float64": torch.float64}[run.options["dtype"]]
        pre = run.options["norm"] == "pre"
        self.E = torch.zeros(run.task.vocab_size, o["d_model"], dtype=self.dtype,
                             requires_grad=True)
        self.PE = torch.tensor(model.stack.positions.table(o["max_len"]), dtype=self.dtype)
        self.layers = [torch.nn.TransformerEncoderLayer(
            o["d_model"], o["h"], o["d_ff"], dropout=0.0, layer_norm_eps=1e-6, batch_first=True,
            norm_first=pre, dtype=self.dtype) for _ in range(o["N"])]
        self.norm = torch.nn.LayerNorm(o["d_model"], eps=1e-6, dtype=self.dtype) if pre else None
        links = {"stack.embedding.E": (self.E, as_it_is)}
        for i, layer in enumerate(self.layers):
            names = (pre_norms if pre else post_norms)(2)
            links |= layer_links(f"stack.encoder.layers.{i}.", layer, names)
        if pre:
            links |= norm("stack.encoder.norm.", self.norm)
        send(model, links)
        parts = [p for layer in [*self.layers, *([self.norm] if pre else [])]
                 for p in layer.parameters() if p.requires_grad]
        self.adam = torch.optim.Adam([self.E, *parts], betas=(0.9, 0.98), eps=1e-9)
        self.hidden = torch.ones(o["max_len"], o["max_len"], dtype=torch.bool).triu(1)

    def step(self, ids, targets, rate):
        """Take a step; return the loss before it."""
        x = self.E[torch.from_numpy(ids)] * math.sqrt(self.E.shape[1]) + self.PE[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, src_mask=self.hidden, is_causal=True)
        logits = (self.norm(x) if self.norm else x) @ self.E.T
        loss = cross_entropy(logits.flatten(0, 1), torch.from_numpy(targets).flatten())
        self.adam.zero_grad()
        loss.backward()
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        return loss.item()
