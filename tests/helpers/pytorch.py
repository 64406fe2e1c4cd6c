"""What PyTorch computes from the cases of parity.py: same parameters, inputs, gradient, names.

PyTorch is imported when the first case is computed, so that this file can be read without it.
A link is (our parameter's name) -> (their tensor, our layout of it): parameters go out through it,
and gradients come back.
"""

import functools
import importlib.util
import math
import warnings

import numpy as np
import pytest
from parity import ADAM_STEPS, D_FF, D_MODEL, PAD, VOCAB, AdamCase, AdamWCase, CurveCase, H
from reference import naive_speed


@functools.cache
def pytorch():
    """The module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
    return torch


def one_thread():
    """For a fixture: faster for so small a model."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    torch = pytorch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def tensor(x, grad=False):
    is_float = np.asarray(x).dtype.kind == "f"
    return pytorch().tensor(x, requires_grad=grad and is_float)


def numbers(x):
    return x.detach().numpy().copy()


def hidden(allowed):
    """Our mask as theirs: True where it is forbidden to look; padding (B, T_k), causal (T, T)."""
    if allowed is None:
        return None
    return tensor(~allowed[:, 0, 0] if allowed.ndim == 4 else ~allowed)


def as_it_is(x):
    return x


def transposed(x):
    """All axes in reverse: (d_out, d_in) is W^T, and (d_out, d_in, k) is our (k, d_in, d_out)."""
    return x.permute(*reversed(range(x.ndim)))


def linear(name, theirs):
    return {f"{name}W": (theirs.weight, transposed), f"{name}b": (theirs.bias, as_it_is)}


def norm(name, theirs):
    return {f"{name}gamma": (theirs.weight, as_it_is), f"{name}beta": (theirs.bias, as_it_is)}


def attention(name, theirs):
    """W_Q, W_K, W_V stand one below another; the paper has no biases: zero and frozen."""
    for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
        pytorch().nn.init.zeros_(bias).requires_grad_(False)
    links = {
        f"{name}linear_{letter}.W": (theirs.in_proj_weight, lambda x, i=i: x.chunk(3)[i].T)
        for i, letter in enumerate("QKV")
    }
    return links | {f"{name}linear_O.W": (theirs.out_proj.weight, transposed)}


def layer_links(name, theirs, norms):
    """Of an encoder or decoder layer; `norms` are our names of the norms, in order."""
    links = attention(f"{name}self_attention.", theirs.self_attn)
    if len(norms) == 3:
        links |= attention(f"{name}cross_attention.", theirs.multihead_attn)
    for i, ours in enumerate(norms, start=1):
        links |= norm(f"{name}{ours}.", getattr(theirs, f"norm{i}"))
    links |= linear(f"{name}feed_forward.linear_1.", theirs.linear1)
    return links | linear(f"{name}feed_forward.linear_2.", theirs.linear2)


def post_norms(n):
    return [f"add_norm_{i}.layer_norm" for i in range(1, n + 1)]


def pre_norms(n):
    return [f"norm_{i}" for i in range(1, n + 1)]


def send(layer, links):
    """Our parameters into theirs: every one of ours has its link."""
    ours = dict(layer.named_parameters())
    assert set(ours) == set(links), set(ours) ^ set(links)
    with pytorch().no_grad():
        for name, (theirs, view) in links.items():
            view(theirs).copy_(tensor(ours[name].value))


def own_forward(theirs):
    return lambda *inputs, **options: (theirs(*inputs), {})


def layer_norm(layer):
    theirs = pytorch().nn.LayerNorm(D_MODEL, eps=layer.eps).double()
    return norm("", theirs), own_forward(theirs)


def rms_norm(layer):
    theirs = pytorch().nn.RMSNorm(D_MODEL, eps=layer.eps).double()
    return {"gamma": (theirs.weight, as_it_is)}, own_forward(theirs)


def batch_norm(layer):
    theirs = pytorch().nn.BatchNorm1d(D_MODEL, eps=layer.eps).double()
    return norm("", theirs), lambda x: (theirs(x.mT).mT, {})


def multi_head(layer):
    theirs = pytorch().nn.MultiheadAttention(D_MODEL, H, batch_first=True).double()

    def forward(*inputs, allowed):
        is_padding = allowed is not None and allowed.ndim == 4
        mask = {"key_padding_mask" if is_padding else "attn_mask": hidden(allowed)}
        y, weights = theirs(*inputs, **mask, average_attn_weights=False)
        return y, {"attention.weights": weights}
    return attention("", theirs), forward


def feed_forward(layer):
    nn = pytorch().nn
    theirs = nn.Sequential(nn.Linear(D_MODEL, D_FF), nn.ReLU(), nn.Linear(D_FF, D_MODEL)).double()
    return linear("linear_1.", theirs[0]) | linear("linear_2.", theirs[2]), own_forward(theirs)


def cross_entropy(layer):
    return {}, lambda logits, targets: (mean_loss(logits, targets, layer.eps_ls), {})


def mean_loss(logits, targets, eps_ls):
    return pytorch().nn.functional.cross_entropy(
        logits.reshape(-1, VOCAB), tensor(targets.reshape(-1)), label_smoothing=eps_ls,
        ignore_index=PAD,
    )


def stack_options(**options):
    return dict(dropout=0.0, layer_norm_eps=1e-6, batch_first=True) | options


def encoder_layer(layer, norms=post_norms, norm_first=False):
    theirs = pytorch().nn.TransformerEncoderLayer(
        D_MODEL, H, D_FF, **stack_options(norm_first=norm_first)
    ).double()

    def forward(x, allowed):
        return theirs(x, src_key_padding_mask=hidden(allowed)), {}
    return layer_links("", theirs, norms(2)), forward


def decoder_layer(layer, norms=post_norms, norm_first=False):
    theirs = pytorch().nn.TransformerDecoderLayer(
        D_MODEL, H, D_FF, **stack_options(norm_first=norm_first)
    ).double()

    def forward(x, memory, allowed, memory_allowed):
        masks = dict(tgt_mask=hidden(allowed), memory_key_padding_mask=hidden(memory_allowed))
        return theirs(x, memory, **masks), {}
    return layer_links("", theirs, norms(3)), forward


def transformer(layer):
    """nn.Transformer, post-norm and without its final norms, between our embedding and E^T."""
    torch = pytorch()
    core = torch.nn.Transformer(D_MODEL, H, 2, 2, D_FF, **stack_options()).double()
    core.encoder.norm = core.decoder.norm = None
    E = torch.zeros(VOCAB, D_MODEL, dtype=torch.float64, requires_grad=True)
    PE = tensor(layer.model.positions.table(20))
    links = {"model.src_embedding.E": (E, as_it_is)}
    for stack, n in (("encoder", 2), ("decoder", 3)):
        for i, theirs in enumerate(getattr(core, stack).layers):
            links |= layer_links(f"model.{stack}.layers.{i}.", theirs, post_norms(n))

    def forward(src, tgt, targets):
        x, y = (E[ids] * math.sqrt(D_MODEL) + PE[: ids.shape[1]] for ids in (src, tgt))
        T = tgt.shape[1]
        y = core(
            x, y, tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
            src_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        logits = y @ E.T
        loss = mean_loss(logits, targets, layer.loss.eps_ls)
        return loss, {"loss.log_p": torch.log_softmax(logits, dim=-1)}
    return links, forward


def recurrent(layer):
    name, d_hidden = type(layer).__name__, len(layer.U.value)
    theirs = getattr(pytorch().nn, name)(D_MODEL, d_hidden, batch_first=True).double()
    links = {"linear_x.W": (theirs.weight_ih_l0, transposed),
             "linear_x.b": (theirs.bias_ih_l0, as_it_is), "U": (theirs.weight_hh_l0, transposed)}
    if name == "GRU":
        links["b"] = (theirs.bias_hh_l0, as_it_is)
    else:  # it has two biases that are added: ours is the first
        pytorch().nn.init.zeros_(theirs.bias_hh_l0).requires_grad_(False)
    return links, lambda x: (theirs(x)[0], {})


def convolution(layer):
    """Padded on both sides; the first T outputs, which for a causal one are all that count."""
    theirs = pytorch().nn.Conv1d(D_MODEL, layer.d_out, layer.k, padding=layer.left).double()
    links = {"W": (theirs.weight, transposed), "b": (theirs.bias, as_it_is)}
    return links, lambda x: (theirs(x.mT).mT[:, : x.shape[1]], {})


def rotary(layer):
    """Pairs as complex numbers, as Meta's own code for Llama computes them."""
    torch = pytorch()

    def forward(x, start):
        d = x.shape[-1]
        w = torch.tensor([naive_speed(layer.base ** (-i / d), layer.stretch)
                          for i in range(0, d, 2)], dtype=torch.float64)
        angle = torch.outer(torch.arange(start, start + x.shape[-2], dtype=torch.float64), w)
        pairs = x.unflatten(-1, (-1, 2)) if layer.interleaved else (
            x.unflatten(-1, (2, -1)).transpose(-1, -2))
        z = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle)
        y = torch.view_as_real(z)
        return (y if layer.interleaved else y.transpose(-1, -2)).flatten(-2), {}
    return {}, forward


def grouped(layer):
    """PyTorch's own attention with groups, `enable_gqa`."""
    torch = pytorch()
    d, names = layer.d_model, "QKVO"
    widths = {"Q": layer.h, "K": layer.h_kv, "V": layer.h_kv, "O": layer.h}
    theirs = {n: torch.nn.Linear(d, d if n == "O" else widths[n] * layer.d_k, bias=False).double()
              for n in names}
    turn = getattr(layer.attention, "rotary_Q", None)

    def forward(*inputs, allowed):
        heads = [theirs[n](x).unflatten(-1, (widths[n], -1)).transpose(1, 2)
                 for n, x in zip(names, inputs)]
        if turn is not None:
            heads[:2] = (rotary(turn)[1](x, 0)[0] for x in heads[:2])
        y = torch.nn.functional.scaled_dot_product_attention(
            *heads, attn_mask=tensor(allowed), enable_gqa=True)
        return theirs["O"](y.transpose(1, 2).flatten(2)), {}
    return {f"linear_{n}.W": (theirs[n].weight, transposed) for n in names}, forward


def gated(layer):
    nn = pytorch().nn
    bias, d_ff = layer.linear_1.b is not None, layer.linear_1.d_out
    theirs = [nn.Linear(*sizes, bias=bias).double() for sizes in (
        (D_MODEL, d_ff), (D_MODEL, d_ff), (d_ff, D_MODEL))]
    gate, up, down = theirs
    activation = getattr(nn, type(layer.activation).__name__)()
    links = {}
    for name, one in zip(("linear_gate.", "linear_1.", "linear_2."), theirs):
        links |= {n: link for n, link in linear(name, one).items() if bias or n.endswith("W")}
    return links, lambda x: (down(activation(gate(x)) * up(x)), {})


TWINS = {
    "RotaryPositions": rotary, "GroupedQueryAttention": grouped, "SwiGLU": gated,
    "LayerNorm": layer_norm, "RMSNorm": rms_norm, "BatchNorm": batch_norm,
    "MultiHeadAttention": multi_head, "PositionwiseFeedForward": feed_forward,
    "LabelSmoothedCrossEntropy": cross_entropy, "EncoderLayer": encoder_layer,
    "DecoderLayer": decoder_layer, "ModelLoss": transformer,
    "PreNormEncoderLayer": functools.partial(encoder_layer, norms=pre_norms, norm_first=True),
    "PreNormDecoderLayer": functools.partial(decoder_layer, norms=pre_norms, norm_first=True),
    "RNN": recurrent, "GRU": recurrent,
    "Convolution1D": convolution,
}


def twin(layer):
    """(links, forward) of PyTorch's layer, with our parameters."""
    links, forward = TWINS[type(layer).__name__](layer)
    send(layer, links)
    return links, forward


def arrays(case):
    """{name: array}: what PyTorch computes from this case, under the names of case.arrays()."""
    if isinstance(case, AdamCase):
        return adam_arrays(case)
    if isinstance(case, CurveCase):
        return {"losses": curve(case)}
    links, forward = twin(case.layer)
    inputs = [tensor(x, grad=True) for x in case.inputs]
    y, kept = forward(*inputs, **case.options)
    y.backward(tensor(case.grad_y))
    gradients = [x.grad for x in inputs if x.requires_grad]
    found = {"y": y} | kept | {f"grad of input {i}": g for i, g in enumerate(gradients)}
    found |= {f"grad of {name}": view(theirs.grad) for name, (theirs, view) in links.items()}
    return {name: numbers(x) for name, x in found.items()}


def adam(parameters):
    return pytorch().optim.Adam(parameters, betas=(0.9, 0.98), eps=1e-9)


def adamw(case, values):
    return pytorch().optim.AdamW([
        dict(params=values[: case.decayed], weight_decay=0.1),
        *([dict(params=values[case.decayed :], weight_decay=0.0)] if values[case.decayed :] else [])
    ])


def adam_arrays(case):
    values = [tensor(x, grad=True) for x in case.values]
    optimizer = adamw(case, values) if isinstance(case, AdamWCase) else adam(values)
    assert len(case.rates) == ADAM_STEPS
    for rate, gradients in zip(case.rates, case.gradients):
        for value, gradient in zip(values, gradients):
            value.grad = tensor(gradient)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    return {f"value {i}": numbers(x) for i, x in enumerate(values)}


def curve(case):
    """The losses of the twin; trained is all but the biases that are frozen at zero."""
    links, forward = twin(case.layer)
    trained = list({id(theirs): theirs for theirs, _ in links.values()}.values())
    assert sum(p.numel() for p in trained) == sum(p.value.size for p in case.layer.parameters())
    optimizer, losses = adam(trained), []
    for rate, (src, tgt, targets) in zip(case.rates, case.batches):
        optimizer.zero_grad()
        loss, _ = forward(tensor(src), tensor(tgt), targets)
        loss.backward()
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)
