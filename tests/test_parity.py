"""Live parity with PyTorch in float64: forward and every gradient, norm-relative 1e-12."""

import math
import warnings

import numpy as np
import pytest
from layers import randomise

from aiayn_np import (
    Adam,
    LabelSmoothedCrossEntropy,
    LayerNorm,
    MultiHeadAttention,
    Parameter,
    PositionwiseFeedForward,
    Transformer,
    causal,
    not_padding,
    warmup_rate,
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

D_MODEL, H, D_FF, VOCAB, PAD = 8, 2, 11, 9, 0


@pytest.fixture(autouse=True, scope="module")
def pytorch():
    """Import it only when these tests run; on one thread, which is faster for so small a model."""
    global torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def tensor(x, grad=True):
    return torch.tensor(x, dtype=torch.float64, requires_grad=grad)


def future(T):
    """PyTorch's causal mask: True where it is forbidden to look."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def assert_near(got, want, tolerance=1e-12):
    """Norm-relative; a PyTorch tensor may stand on the right."""
    want = want.detach().numpy() if hasattr(want, "detach") else want
    assert got.shape == want.shape
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    assert error <= tolerance, error


def copy_linear(theirs, ours):
    """Our W, b into nn.Linear, whose weight is W^T."""
    with torch.no_grad():
        theirs.weight.copy_(tensor(ours.W.value.T))
        theirs.bias.copy_(tensor(ours.b.value))


def copy_norm(theirs, ours):
    with torch.no_grad():
        theirs.weight.copy_(tensor(ours.gamma.value))
        theirs.bias.copy_(tensor(ours.beta.value))


def copy_attention(theirs, ours):
    """W_Q, W_K, W_V stand one below another in in_proj_weight; all biases zero and frozen."""
    three = (ours.linear_Q, ours.linear_K, ours.linear_V)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(tensor(np.concatenate([m.W.value.T for m in three])))
        theirs.out_proj.weight.copy_(tensor(ours.linear_O.W.value.T))
        for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
            bias.zero_()
            bias.requires_grad_(False)


def assert_linear_gradients(ours, theirs):
    assert_near(ours.W.grad, theirs.weight.grad.T)
    assert_near(ours.b.grad, theirs.bias.grad)


def assert_norm_gradients(ours, theirs):
    assert_near(ours.gamma.grad, theirs.weight.grad)
    assert_near(ours.beta.grad, theirs.bias.grad)


def assert_attention_gradients(ours, theirs):
    parts = (ours.linear_Q, ours.linear_K, ours.linear_V)
    want = theirs.in_proj_weight.grad.chunk(3)
    for part, gradient in zip(parts, want):
        assert_near(part.W.grad, gradient.T)
    assert_near(ours.linear_O.W.grad, theirs.out_proj.weight.grad.T)


def test_layer_norm(rng):
    ours = LayerNorm(D_MODEL)
    randomise(ours, rng)
    theirs = torch.nn.LayerNorm(D_MODEL, eps=1e-6, dtype=torch.float64)
    copy_norm(theirs, ours)
    x = rng.normal(2, 3, (3, 5, D_MODEL))
    y, cache = ours.forward(x)
    x_t = tensor(x)
    y_t = theirs(x_t)
    assert_near(y, y_t)
    grad_y = rng.standard_normal(y.shape)
    y_t.backward(tensor(grad_y))
    assert_near(ours.backward(grad_y, cache), x_t.grad)
    assert_norm_gradients(ours, theirs)


@pytest.mark.parametrize("masking", ["none", "causal", "padding", "cross with padding"])
def test_multi_head_attention(rng, masking):
    ours = MultiHeadAttention(D_MODEL, H, rng=rng)
    theirs = torch.nn.MultiheadAttention(D_MODEL, H, batch_first=True, dtype=torch.float64)
    copy_attention(theirs, ours)
    B, T_q = 3, 6
    T_k = 4 if "cross" in masking else T_q
    ids = np.where(np.arange(T_k) < np.array([[T_k], [2], [3]]), 1, PAD)
    allowed = options = None
    if masking == "causal":
        allowed, options = causal(T_q), dict(attn_mask=future(T_q))
    elif "padding" in masking:
        allowed, options = not_padding(ids), dict(key_padding_mask=torch.tensor(ids == PAD))
    x_Q = rng.standard_normal((B, T_q, D_MODEL))
    x_K, x_V = rng.standard_normal((2, B, T_k, D_MODEL))
    y, cache = ours.forward(x_Q, x_K, x_V, allowed=allowed)
    inputs = [tensor(x) for x in (x_Q, x_K, x_V)]
    y_t, weights = theirs(*inputs, **(options or {}), average_attn_weights=False)
    assert_near(y, y_t)
    assert_near(cache.attention.weights, weights)
    grad_y = rng.standard_normal(y.shape)
    y_t.backward(tensor(grad_y))
    for gradient, x in zip(ours.backward(grad_y, cache), inputs):
        assert_near(gradient, x.grad)
    assert_attention_gradients(ours, theirs)


def test_feed_forward(rng):
    ours = PositionwiseFeedForward(D_MODEL, D_FF, rng=rng)
    randomise(ours, rng)
    options = dict(dtype=torch.float64)
    first = torch.nn.Linear(D_MODEL, D_FF, **options)
    second = torch.nn.Linear(D_FF, D_MODEL, **options)
    copy_linear(first, ours.linear_1)
    copy_linear(second, ours.linear_2)
    x = rng.standard_normal((3, 5, D_MODEL))
    y, cache = ours.forward(x)
    x_t = tensor(x)
    y_t = second(torch.relu(first(x_t)))
    assert_near(y, y_t)
    grad_y = rng.standard_normal(y.shape)
    y_t.backward(tensor(grad_y))
    assert_near(ours.backward(grad_y, cache), x_t.grad)
    assert_linear_gradients(ours.linear_1, first)
    assert_linear_gradients(ours.linear_2, second)


@pytest.mark.parametrize("eps_ls", [0, 0.1, 0.4])
def test_cross_entropy(rng, eps_ls):
    logits = 3 * rng.standard_normal((4, 5, VOCAB))
    targets = rng.integers(0, VOCAB, (4, 5))
    targets[1, 2:] = PAD
    loss, cache = LabelSmoothedCrossEntropy(eps_ls, pad=PAD).forward(logits, targets=targets)
    logits_t = tensor(logits)
    loss_t = cross_entropy(logits_t, targets, eps_ls)
    assert_near(loss, loss_t)
    loss_t.backward()
    grad = LabelSmoothedCrossEntropy(eps_ls, pad=PAD).backward(1.0, cache)
    assert_near(grad, logits_t.grad)


def cross_entropy(logits, targets, eps_ls=0.1):
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, VOCAB), torch.tensor(targets.reshape(-1)), label_smoothing=eps_ls,
        ignore_index=PAD,
    )


def test_adam_over_a_thousand_steps_of_the_warm_up(rng):
    values = [rng.standard_normal((3, 4)), rng.standard_normal(5)]
    ours = [Parameter(value.copy()) for value in values]
    theirs = [tensor(value) for value in values]
    adam = Adam(ours)
    adam_t = torch.optim.Adam(theirs, betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, 1001):
        rate = adam_t.param_groups[0]["lr"] = warmup_rate(step, 16, 200)
        for p, p_t in zip(ours, theirs):
            p.grad[...] = rng.standard_normal(p.grad.shape) * rng.choice([1e-4, 1, 100])
            p_t.grad = tensor(p.grad, grad=False)
        adam.step(rate)
        adam_t.step()
    for p, p_t in zip(ours, theirs):
        assert_near(p.value, p_t)


class TheirTransformer:
    """nn.Transformer, post-norm and without its final norms, between our embedding and E^T."""

    def __init__(self, ours):
        self.core = torch.nn.Transformer(
            D_MODEL, H, 2, 2, D_FF, dropout=0.0, layer_norm_eps=1e-6, batch_first=True,
            dtype=torch.float64,
        )
        self.core.encoder.norm = self.core.decoder.norm = None
        self.E = tensor(ours.src_embedding.E.value)
        self.PE = tensor(ours.positions.table(20), grad=False)
        for pair in self.pairs(ours):
            for copy, part, their_part in zip(
                (copy_attention, copy_norm, copy_linear), pair[::2], pair[1::2]
            ):
                for one, theirs in zip(part, their_part):
                    copy(theirs, one)

    def pairs(self, ours):
        """(attentions, theirs, norms, theirs, linears, theirs) of every layer."""
        for one, theirs in zip(ours.encoder.layers, self.core.encoder.layers):
            yield (
                [one.self_attention], [theirs.self_attn],
                [one.add_norm_1.layer_norm, one.add_norm_2.layer_norm],
                [theirs.norm1, theirs.norm2],
                [one.feed_forward.linear_1, one.feed_forward.linear_2],
                [theirs.linear1, theirs.linear2],
            )
        for one, theirs in zip(ours.decoder.layers, self.core.decoder.layers):
            yield (
                [one.self_attention, one.cross_attention],
                [theirs.self_attn, theirs.multihead_attn],
                [a.layer_norm for a in (one.add_norm_1, one.add_norm_2, one.add_norm_3)],
                [theirs.norm1, theirs.norm2, theirs.norm3],
                [one.feed_forward.linear_1, one.feed_forward.linear_2],
                [theirs.linear1, theirs.linear2],
            )

    def parameters(self):
        """What is trained: all but the biases of the projections, which are frozen at zero."""
        return [self.E, *(p for p in self.core.parameters() if p.requires_grad)]

    def __call__(self, src, tgt):
        x, y = (
            self.E[torch.tensor(ids)] * math.sqrt(D_MODEL) + self.PE[: ids.shape[1]]
            for ids in (src, tgt)
        )
        src_pad, tgt_pad = torch.tensor(src == PAD), torch.tensor(tgt == PAD)
        y = self.core(
            x, y, tgt_mask=future(tgt.shape[1]), src_key_padding_mask=src_pad,
            tgt_key_padding_mask=tgt_pad, memory_key_padding_mask=src_pad,
        )
        return y @ self.E.T


def make_pair(rng):
    ours = Transformer(VOCAB, N=2, d_model=D_MODEL, d_ff=D_FF, h=H, max_len=20, rng=rng)
    randomise(ours, rng)
    return ours, TheirTransformer(ours)


def make_batch(rng):
    src, tgt = rng.integers(1, VOCAB, (4, 7)), rng.integers(1, VOCAB, (4, 6))
    src[1, 4:] = src[3, 6:] = PAD
    tgt[2, 3:] = tgt[3, 5:] = PAD
    return src, tgt[:, :-1], tgt[:, 1:]


def test_whole_model(rng):
    ours, theirs = make_pair(rng)
    src, tgt, targets = make_batch(rng)
    logits, cache = ours.forward(src, tgt)
    logits_t = theirs(src, tgt)
    assert_near(logits, logits_t)
    criterion = LabelSmoothedCrossEntropy(0.1, pad=PAD)
    loss, loss_cache = criterion.forward(logits, targets=targets)
    loss_t = cross_entropy(logits_t, targets)
    assert_near(loss, loss_t)
    ours.backward(criterion.backward(1.0, loss_cache), cache)
    loss_t.backward()
    assert_near(ours.src_embedding.E.grad, theirs.E.grad)
    for attentions, a, norms, n, linears, m in theirs.pairs(ours):
        for one, other in zip(attentions, a):
            assert_attention_gradients(one, other)
        for one, other in zip(norms, n):
            assert_norm_gradients(one, other)
        for one, other in zip(linears, m):
            assert_linear_gradients(one, other)


def test_training_curve_over_fifty_steps(rng):
    ours, theirs = make_pair(rng)
    criterion, adam = LabelSmoothedCrossEntropy(0.1, pad=PAD), Adam(ours.parameters())
    trained = sum(p.numel() for p in theirs.parameters())
    assert trained == sum(p.value.size for p in ours.parameters())
    adam_t = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)
    losses, losses_t = [], []
    for step in range(1, 51):
        src, tgt, targets = make_batch(rng)
        rate = adam_t.param_groups[0]["lr"] = warmup_rate(step, D_MODEL, 100)
        ours.zero_grad()
        logits, cache = ours.forward(src, tgt)
        loss, loss_cache = criterion.forward(logits, targets=targets)
        ours.backward(criterion.backward(1.0, loss_cache), cache)
        adam.step(rate)
        adam_t.zero_grad()
        loss_t = cross_entropy(theirs(src, tgt), targets)
        loss_t.backward()
        adam_t.step()
        losses.append(loss)
        losses_t.append(loss_t.item())
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, losses_t, rtol=1e-9, atol=0)
