"""The cases of the test vectors computed by PyTorch, from the tensors of their files alone."""

import math

import torch
from torch.nn import functional as F


def computed(case, tensors):
    """{name: array} of the outputs and gradients of a case; autograd finds the gradients."""
    t = {name: torch.from_numpy(x.astype(float) if x.dtype.kind == "f" else x.copy())
         for name, x in tensors.items()}
    given = {name: x.requires_grad_() for name, x in t.items()
             if name.startswith(("input.", "parameter.")) and x.is_floating_point()}
    one = Case(case, *({name.removeprefix(role): y for name, y in t.items()
                        if name.startswith(role)} for role in ("input.", "parameter.")))
    outputs = COMPONENTS[case["component"]](one)
    outputs = outputs if isinstance(outputs, dict) else {case["output"]: outputs}
    found = {f"output.{name}": y for name, y in outputs.items()}
    if "output" in case:
        grads = torch.autograd.grad(outputs[case["output"]], list(given.values()),
                                    t[f"upstream.{case['output']}"])
        found |= {f"grad.{n.split('.', 1)[1]}": g for n, g in zip(given, grads)}
    return {name: y.detach().numpy() for name, y in found.items()}


def softmax(scores):
    """With a row of zeros where all scores are -inf."""
    empty = (scores == -math.inf).all(-1, keepdim=True)
    return torch.softmax(torch.where(empty, 0.0, scores), -1) * ~empty


def hidden(scores, allowed):
    return scores if allowed is None else torch.where(allowed, scores, -math.inf)


def before(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


def rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


class Case:
    """x: inputs, p: parameters, s: sizes, o: options; `name` is where a layer's parameters are."""

    def __init__(self, case, x, p):
        self.x, self.p, self.s, self.o = x, p, case["sizes"], case["options"]
        self.eps = self.s.get("eps", 1e-6)

    def dropped(self, x, kept):
        return x * self.x[kept] / (1 - self.s["P_drop"]) if kept in self.x else x

    def attention(self, Q, K, V):
        weights = softmax(hidden(Q @ K.mT / math.sqrt(Q.shape[-1]), self.x.get("allowed")))
        return {"out": self.dropped(weights, "dropout.kept") @ V, "weights": weights}

    def linear(self, x, name=""):
        return x @ self.p[f"{name}W"] + self.p.get(f"{name}b", 0)

    def heads(self, x_Q, x_K, x_V, allowed=None, name="", turn=lambda x: x):
        h, kv = self.s["h"], self.s.get("h_kv", self.s["h"])
        Q, K, V = (self.linear(x, f"{name}linear_{a}.").unflatten(-1, (n, -1)).transpose(-2, -3)
                   for a, n, x in (("Q", h, x_Q), ("K", kv, x_K), ("V", kv, x_V)))
        K, V = (y.repeat_interleave(h // kv, dim=-3) for y in (turn(K), V))
        Q = turn(Q)
        out = softmax(hidden(Q @ K.mT / math.sqrt(Q.shape[-1]), allowed)) @ V
        return self.linear(out.transpose(-2, -3).flatten(-2), f"{name}linear_O.")

    def feed_forward(self, x, name=""):
        return self.linear(F.relu(self.linear(x, f"{name}linear_1.")), f"{name}linear_2.")

    def swiglu(self, x, name=""):
        gate, up = (self.linear(x, f"{name}linear_{which}.") for which in ("gate", "1"))
        return self.linear(F.silu(gate) * up, f"{name}linear_2.")

    def norm(self, x, name=""):
        return F.layer_norm(x, x.shape[-1:], self.p[f"{name}gamma"], self.p[f"{name}beta"],
                            self.eps)

    def rms(self, x, name=""):
        return F.rms_norm(x, x.shape[-1:], self.p[f"{name}gamma"], self.eps)

    def add_norm(self, x, sublayer, name=""):
        return self.norm(x + self.dropped(sublayer, f"{name}dropout.kept"), f"{name}layer_norm.")

    def layer(self, x, allowed=None, memory=None, memory_allowed=None, name=""):
        attended, n = self.heads(x, x, x, allowed, f"{name}self_attention."), 2
        x = self.add_norm(x, attended, f"{name}add_norm_1.")
        if memory is not None:
            attended = self.heads(x, memory, memory, memory_allowed, f"{name}cross_attention.")
            x, n = self.add_norm(x, attended, f"{name}add_norm_2."), 3
        fed = self.feed_forward(x, f"{name}feed_forward.")
        return self.add_norm(x, fed, f"{name}add_norm_{n}.")

    def sinusoids(self, x, start=0):
        T, d = x.shape[-2:]
        angle = torch.arange(start, start + T).double()[:, None] / 10000 ** (
            torch.arange(0, d, 2).double() / d)
        return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[:, :d]

    def transformer(self, src, tgt):
        E, real = self.p["src_embedding.E"], (src != 0)[:, None, None]
        y, z = (self.dropped(self.sinusoids(math.sqrt(E.shape[1]) * E[ids]), f"{name}_dropout.kept")
                for ids, name in ((src, "src"), (tgt, "tgt")))
        for i in range(self.s["N"]):
            y = self.layer(y, real, name=f"encoder.layers.{i}.")
        allowed = before(tgt.shape[1]) & (tgt != 0)[:, None, None]
        for i in range(self.s["N"]):
            z = self.layer(z, allowed, y, real, f"decoder.layers.{i}.")
        return z @ E.T

    def rotated(self, x, start=0):
        """Pairs as complex numbers, as Meta's own code for Llama has them."""
        d, twos = x.shape[-1], self.s.get("interleaved")
        w = self.s.get("base", 10000.0) ** (-torch.arange(0, d, 2).double() / d)
        angle = torch.outer(torch.arange(start, start + x.shape[-2]).double(), w)
        pairs = x.unflatten(-1, (-1, 2)) if twos else x.unflatten(-1, (2, -1)).transpose(-1, -2)
        z = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle)
        y = torch.view_as_real(z)
        return (y if twos else y.transpose(-1, -2)).flatten(-2)

    def llama(self, ids):
        E, x = self.p["stack.embedding.E"], self.p["stack.embedding.E"][ids]
        for i in range(self.s["N"]):
            name = f"stack.encoder.layers.{i}."
            n = self.rms(x, f"{name}norm_1.")
            x = x + self.heads(n, n, n, before(ids.shape[1]), f"{name}self_attention.",
                               self.rotated)
            x = x + self.swiglu(self.rms(x, f"{name}norm_2."), f"{name}feed_forward.")
        return self.rms(x, "stack.encoder.norm.") @ self.p.get("output_projection.E", E).T

    def loss(self, logits, targets, eps_ls):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0,
                               label_smoothing=eps_ls)

    def optimizer(self, kind, beta_2, **more):
        betas = (self.o.get("beta_1", 0.9), self.o.get("beta_2", beta_2))
        more |= {"eps": self.o["eps"]} if "eps" in self.o else {}
        return kind(self.p.values(), betas=betas, **more)

    def adam(self):
        return self.optimizer(torch.optim.Adam, 0.98, eps=1e-9)

    def adamw(self):
        return self.optimizer(torch.optim.AdamW, 0.999, weight_decay=self.o.get("decay", 0.01))

    def optimized(self, adam):
        for step, adam.param_groups[0]["lr"] in enumerate(self.x["rate"].flatten().tolist()):
            for name, y in self.p.items():
                y.grad = self.x[f"grad_{name}"][step].detach()
            adam.step()
        return self.p

    def training(self, adam, logits_of):
        losses = []
        for step, ids in enumerate(self.x["ids"], 1):
            logits = logits_of(ids, torch.cat([torch.ones_like(ids[:, :1]), ids[:, :-1]], 1))
            losses.append(self.loss(logits, ids, 0.0).detach())
            adam.zero_grad()
            self.loss(logits, ids, 0.1).backward()
            adam.param_groups[0]["lr"] = rate(step, self.s["d_model"], **self.o)
            adam.step()
        return {"losses": torch.stack(losses)}

    def decoded(self, bos, eos, max_len, beam=1, alpha=0.0):
        """One source after another, and all continuations of each prefix."""
        rows = []
        for src in self.x["src"]:
            live, done = [((), 0.0)], []
            for n in range(1, max_len + 1):
                found = [((*Y, v), log_P + log_p) for Y, log_P in live for v, log_p in enumerate(
                    self.transformer(src[None], torch.tensor([[bos, *Y]]))[0, -1].log_softmax(
                        -1).tolist())]
                found.sort(key=lambda one: -one[1])
                done += [(log_P / ((5 + n) / 6) ** alpha, Y) for Y, log_P in found[:beam]
                         if Y[-1] == eos or n == max_len]
                live = [one for one in found if one[0][-1] != eos][:beam]
            rows.append(max(done)[1] if beam > 1 else done[0][1])
        width = max(map(len, rows))
        return {"ids": torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])}


COMPONENTS = {
    "softmax": lambda c: softmax(c.x["scores"]), "mask": lambda c: hidden(**c.x),
    "scaled_dot_product_attention": lambda c: c.attention(c.x["Q"], c.x["K"], c.x["V"]),
    "linear": lambda c: c.linear(c.x["x"]), "relu": lambda c: F.relu(c.x["x"]),
    "multi_head_attention": lambda c: c.heads(**c.x),
    "grouped_query_attention": lambda c: c.heads(**c.x),
    "position_wise_feed_forward": lambda c: c.feed_forward(c.x["x"]),
    "swiglu": lambda c: c.swiglu(c.x["x"]), "rms_norm": lambda c: c.rms(c.x["x"]),
    "embedding": lambda c: math.sqrt(c.p["E"].shape[1]) * c.p["E"][c.x["ids"]],
    "output_projection": lambda c: c.x["x"] @ c.p["E"].T,
    "sinusoidal_positional_encoding": lambda c: c.sinusoids(c.x["x"], **c.o),
    "learned_positional_encoding": lambda c: c.x["x"] + c.p["E"][c.o.get("start", 0) :][
        : c.x["x"].shape[1]],
    "layer_norm": lambda c: c.norm(c.x["x"]), "dropout": lambda c: c.dropped(c.x["x"], "kept"),
    "add_norm": lambda c: c.add_norm(c.x["x"], c.x["sublayer_output"]),
    "encoder_layer": lambda c: c.layer(c.x["x"], c.x.get("allowed")),
    "decoder_layer": lambda c: c.layer(c.x["x"], c.x.get("allowed"), c.x["memory"],
                                       c.x.get("memory_allowed")),
    "transformer": lambda c: c.transformer(c.x["src"], c.x["tgt"]),
    "label_smoothed_cross_entropy": lambda c: c.loss(**c.x, eps_ls=c.s.get("eps_ls", 0.1)),
    "adam": lambda c: c.optimized(c.adam()), "adamw": lambda c: c.optimized(c.adamw()),
    "warmup_rate": lambda c: {"rate": torch.tensor(
        [[rate(n, **c.o) for n in row] for row in c.x["step"].tolist()], dtype=torch.float64)},
    "greedy_decode": lambda c: c.decoded(**c.o), "beam_search": lambda c: c.decoded(**c.o),
    "training": lambda c: c.training(c.adam(), c.transformer),
    "training_since_2017": lambda c: c.training(c.adamw(), lambda _, tgt: c.llama(tgt)),
    "rotary_positions": lambda c: c.rotated(c.x["x"], **c.o), "llama": lambda c: c.llama(**c.x),
    "kept_keys": lambda c: {"logits": c.llama(c.x["ids"])[:, c.o["prompt"] - 1 :]},
}
