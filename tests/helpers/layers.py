"""Every layer class of the package, each with a function that draws a random configuration.

`draw(name, rng)` gives (layer, inputs, options) for layer.forward(*inputs, **options). Sizes are
mostly different and larger than 1; gamma, beta and biases are random; there is padding, there are
repeated ids, masks of every allowed shape, queries without an allowed key, and dropout (an `rng`
option, which a test copies before each call to repeat the same draws).
"""

import importlib
import pkgutil

import numpy as np

import aiayn_np
from aiayn_np import (
    AddNorm,
    Decoder,
    DecoderLayer,
    Dropout,
    Embedding,
    Encoder,
    EncoderLayer,
    LabelSmoothedCrossEntropy,
    LayerNorm,
    LearnedPositionalEncoding,
    Linear,
    Mask,
    Module,
    MultiHeadAttention,
    OutputProjection,
    Parameter,
    PositionwiseFeedForward,
    ReLU,
    ScaledDotProductAttention,
    SinusoidalPositionalEncoding,
    Softmax,
    Transformer,
    causal,
)
from aiayn_np.proofs.probing import randomise
from aiayn_np.training.loss import ModelLoss

LAYERS, CLASSES = {}, {}
STACKS = (  # too slow for hundreds of draws
    "Encoder", "Decoder", "Transformer", "ModelLoss", "TokenStack", "LanguageModel",
    "MaskedLanguageModel",
)


def draw(name, rng):
    """(layer, inputs, options) of the class `name`, with random gamma, beta and biases."""
    layer, inputs, options = LAYERS[name](rng)
    randomise(layer, rng)
    return layer, inputs, options


def module_classes():
    """Every layer that the package defines, in any of its files.

    The attentions of the KV cache are none: they have the layers of another one, and no backward.
    """
    for found in pkgutil.walk_packages(aiayn_np.__path__, "aiayn_np."):
        if not found.name.endswith("__main__") and not found.name.endswith(".torch_module"):
            importlib.import_module(found.name)
    classes, new = set(), [Module]
    while new:
        new = [c for parent in new for c in parent.__subclasses__()]
        classes |= {c for c in new if c.__module__.split(".")[0] == "aiayn_np"}
    return {c for c in classes if not c.__module__.startswith("aiayn_np.decoding.")}


def register(cls):
    """Decorator: this function draws configurations of the class `cls`."""
    def keep(function):
        LAYERS[cls.__name__], CLASSES[cls.__name__] = function, cls
        return function
    return keep


def sizes(rng, n, low=2):
    """`n` different sizes from `low` on; now and then one of them is 1."""
    drawn = [int(s) for s in rng.permutation(np.arange(low, low + 6))[:n]]
    if low == 2 and rng.random() < 0.1:
        drawn[rng.integers(n)] = 1
    return drawn


def leading(rng):
    """The axes before the features: one to three."""
    return sizes(rng, int(rng.integers(1, 4)))


def width(rng):
    """A d_model for layers with a layer norm: with few features a row may be almost constant."""
    return int(rng.integers(4, 10))


def mask(rng, scores):
    """No mask or a random one, of two axes or of as many as the scores; some rows all False."""
    kind = rng.integers(4)
    if kind == 0:
        return None
    some = tuple(s if rng.random() < 0.5 else 1 for s in scores)
    shape = (some, scores[-2:], scores)[kind - 1]
    allowed = rng.random(shape) < 0.6
    if rng.random() < 0.3:
        allowed[..., rng.integers(shape[-2]), :] = False
    return allowed


def dropout(rng):
    """The options of a forward with dropout, three times in four."""
    return {"rng": np.random.default_rng(rng.integers(2**32))} if rng.random() < 0.75 else {}


def rate(rng):
    return float(rng.uniform(0.1, 0.4))


def padded_ids(rng, B, T, vocab_size, pad):
    """Ids (B, T) with many repetitions, filled up with `pad` behind random lengths."""
    ids = rng.integers(0, vocab_size, (B, T))
    lengths = rng.integers(1, T + 1, (B, 1))
    return np.where(np.arange(T) < lengths, ids, pad)


@register(Softmax)
def softmax(rng):
    scores = 3 * rng.standard_normal((*leading(rng), *sizes(rng, 1)))
    if rng.random() < 0.3:
        scores[rng.random(scores.shape) < 0.3] = -np.inf
    if rng.random() < 0.3:
        scores[..., -1, :] = -np.inf
    scores.flat[0] = 1  # something has to be left that can move
    return Softmax(), [scores], {}


def of_two_sizes(cls, **options):
    """Draw a class of two sizes, which takes rows of the first; each option draws its value."""
    def drawn(rng):
        first, second = sizes(rng, 2)
        layer = cls(first, second, **{part: draw(rng) for part, draw in options.items()}, rng=rng)
        return layer, [rng.standard_normal((*leading(rng), first))], {}
    return register(cls)(drawn)


def yes_or_no(rng):
    return bool(rng.integers(2))


of_two_sizes(Linear, bias=yes_or_no)
of_two_sizes(PositionwiseFeedForward)
register(ReLU)(lambda rng: (ReLU(), [rng.standard_normal(leading(rng))], {}))
register(Dropout)(lambda rng: (Dropout(rate(rng)), [rng.standard_normal(leading(rng))],
                               dropout(rng)))


@register(Mask)
def masking(rng):
    scores = (*leading(rng), *sizes(rng, 1))
    return Mask(), [rng.standard_normal(scores)], {"allowed": mask(rng, scores)}


def queries_keys_values(rng, even=False):
    """(inputs, options) of an attention: any leading axes, a mask, and dropout."""
    B, h, T_q, T_k, d_k, d_v = sizes(rng, 6)
    lead, d_k = [(), (B,), (B, h)][rng.integers(3)], 2 * d_k if even else d_k
    shapes = [(*lead, T_q, d_k), (*lead, T_k, d_k), (*lead, T_k, d_v)]
    options = {"allowed": mask(rng, (*lead, T_q, T_k)), **dropout(rng)}
    return [rng.standard_normal(shape) for shape in shapes], options


@register(ScaledDotProductAttention)
def attention(rng):
    return ScaledDotProductAttention(rate(rng)), *queries_keys_values(rng)


@register(MultiHeadAttention)
def multi_head(rng):
    B, h, T_q, T_k, d_k, d_v = sizes(rng, 6)
    lead = [(), (B,)][rng.integers(2)]
    heads = dict(d_k=d_k, d_v=d_v, bias=bool(rng.integers(2)), rng=rng)
    layer = MultiHeadAttention(
        d_model := width(rng), h, attention=ScaledDotProductAttention(rate(rng)), **heads
    )
    x_Q = rng.standard_normal((*lead, T_q, d_model))
    x_K, x_V = rng.standard_normal((2, *lead, T_k, d_model))
    options = {"allowed": mask(rng, (*lead, h, T_q, T_k)), **dropout(rng)}
    return layer, [x_Q, x_K, x_V], options


def norm_of_rows(cls):
    """Draw a norm over the features, with rows of any mean and size."""
    def drawn(rng):
        d_model = width(rng)
        x = rng.normal(rng.normal(0, 3), rng.uniform(0.5, 3), (*leading(rng), d_model))
        return cls(d_model, eps=float(rng.choice([1e-6, 1e-3, 0.1]))), [x], {}
    return register(cls)(drawn)


norm_of_rows(LayerNorm)


@register(AddNorm)
def add_norm(rng):
    d_model = width(rng)
    x, sublayer_output = rng.standard_normal((2, *leading(rng), d_model))
    return AddNorm(d_model, rate(rng)), [x, sublayer_output], dropout(rng)


def embedding(cls):
    def drawn(rng):
        vocab_size, d_model = sizes(rng, 2)
        layer = cls(vocab_size, d_model, rng=rng)
        return layer, [rng.integers(0, vocab_size, leading(rng))], {}
    return register(cls)(drawn)


def projection(cls):
    def drawn(rng):
        E = Parameter(rng.standard_normal(sizes(rng, 2)))
        return cls(E), [rng.standard_normal((*leading(rng), E.value.shape[1]))], {}
    return register(cls)(drawn)


def positional(cls, least=0):
    """Even and odd d_model of at least so many, with and without a start."""
    def drawn(rng):
        d_model, T, start = sizes(rng, 3)
        d_model = max(d_model, least)
        layer = cls(d_model, T + start + 2, rng=rng)
        x = rng.standard_normal((*leading(rng)[1:], T, d_model))
        return layer, [x], {"start": start} if rng.random() < 0.75 else {}
    return register(cls)(drawn)


embedding(Embedding)
projection(OutputProjection)
positional(SinusoidalPositionalEncoding)
positional(LearnedPositionalEncoding)


def heads(rng):
    """(d_model, d_ff, h) and the keywords of an encoder or decoder layer; d_k and d_v differ."""
    h, d_k, d_v, d_ff = sizes(rng, 4)
    def make_attention(h, d_k, d_v, none):
        return ScaledDotProductAttention(rate(rng))
    options = dict(P_drop=rate(rng), d_k=d_k, d_v=d_v, rng=rng)
    if rng.random() < 0.5:
        options["attention"] = make_attention
    return (width(rng), d_ff, h), options


def layer_of_a_stack(cls, call, stack=None):
    """Draw a layer, or a stack of two; `call` gives its inputs and options."""
    def drawn(rng):
        (d_model, d_ff, h), options = heads(rng)
        layers = [cls(d_model, d_ff, h, **options) for _ in range(2 if stack else 1)]
        return stack(layers) if stack else layers[0], *call(rng, d_model, h)
    return register(stack or cls)(drawn)


def encoder_call(rng, d_model, h):
    B, T = sizes(rng, 2)
    return [rng.standard_normal((B, T, d_model))], {
        "allowed": mask(rng, (B, h, T, T)), **dropout(rng)
    }


def decoder_call(rng, d_model, h):
    B, T_tgt, T_src = sizes(rng, 3)
    x = rng.standard_normal((B, T_tgt, d_model))
    memory = rng.standard_normal((B, T_src, d_model))
    allowed = causal(T_tgt) & (rng.random((B, 1, 1, T_tgt)) < 0.8)
    options = {"allowed": allowed, "memory_allowed": mask(rng, (B, h, T_tgt, T_src))}
    return [x, memory], options | dropout(rng)


for layer, call, stack in ((EncoderLayer, encoder_call, Encoder),
                           (DecoderLayer, decoder_call, Decoder)):
    layer_of_a_stack(layer, call)
    layer_of_a_stack(layer, call, stack)


@register(LabelSmoothedCrossEntropy)
def cross_entropy(rng):
    shape, (vocab_size,) = leading(rng), sizes(rng, 1, low=3)
    pad = int(rng.integers(vocab_size))
    targets = rng.integers(0, vocab_size, shape)
    targets[rng.random(shape) < 0.2] = pad
    targets.flat[0] = (pad + 1) % vocab_size
    layer = LabelSmoothedCrossEntropy(float(rng.choice([0, 0.1, 0.3])), pad=pad)
    return layer, [3 * rng.standard_normal((*shape, vocab_size))], {"targets": targets}


@register(Transformer)
def transformer(rng):
    B, T_src, T_tgt, vocab_size = sizes(rng, 4, low=3)
    (d_model, d_ff, h), options = heads(rng)
    pad = int(rng.integers(vocab_size))
    positions = [SinusoidalPositionalEncoding, LearnedPositionalEncoding][rng.integers(2)]
    model = Transformer(
        vocab_size, N=2, d_model=d_model, d_ff=d_ff, h=h, max_len=max(T_src, T_tgt), pad=pad,
        positions=positions, **options,
    )
    src = padded_ids(rng, B, T_src, vocab_size, pad)
    tgt = padded_ids(rng, B, T_tgt, vocab_size, pad)
    return model, [src, tgt], dropout(rng)


@register(ModelLoss)
def model_loss(rng):
    model, (src, tgt), options = transformer(rng)
    targets = np.roll(tgt, -1, axis=1)
    targets[:, 0] = (model.pad + 1) % model.vocab_size
    loss = LabelSmoothedCrossEntropy(0.1, pad=model.pad)
    return ModelLoss(model, loss), [src, tgt], {"targets": targets, **options}


# The variants register themselves with the helpers above, each group in a file of its own.
for group in ("layers_scoring", "layers_sequence", "layers_norms", "layers_pretrained",
              "layers_since_2017"):
    importlib.import_module(group)
