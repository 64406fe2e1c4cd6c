"""New parameters: drawn from the distributions that the docstrings say; biases 0 and gains 1."""

import pytest
from layers import LAYERS

from aiayn_np import Embedding, LearnedPositionalEncoding, Linear
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.embeddings import SegmentEmbedding
from aiayn_np.variants.recurrent import GRU, RNN
from aiayn_np.variants.relative_position import RelativePositionBias, RelativePositionBias2D
from aiayn_np.variants.scoring import AdditiveScore, ConcatScore, GeneralScore

XAVIER = (6 / (300 + 500)) ** 0.5
WINDOW = (6 / (5 * (120 + 100))) ** 0.5      # k d_in numbers come in, k d_out go out
UNIFORM = {  # (class, its sizes, a parameter): the bound on both sides
    (Linear, (300, 500), "W"): XAVIER, (Convolution1D, (120, 100, 5), "W"): WINDOW,
    (RNN, (3, 64), "U"): 1 / 8, (GRU, (3, 64), "U"): 1 / 8,
}
NORMAL = {  # ... : the standard deviation
    (Embedding, (400, 50), "E"): 50**-0.5, (SegmentEmbedding, (100, 400), "E"): 400**-0.5,
    (LearnedPositionalEncoding, (50, 400), "E"): 0.5**0.5,   # the mean square of the sinusoids
    (GeneralScore, (50, 30), "W"): 1 / 30,
    **{(cls, (50, 30), name): 60**-0.5 for cls in (AdditiveScore, ConcatScore) for name in "WU"
       if (cls, name) != (ConcatScore, "U")},
    **{(cls, (50, 30), "v"): 30**-0.5 for cls in (AdditiveScore, ConcatScore)},
    (RelativePositionBias, (50, 20), "b"): 0.02, (RelativePositionBias2D, (50, 5, 5), "b"): 0.02,
}
DRAWN_TABLES = ("RelativePositionBias", "RelativePositionBias2D", "RelativeScore",
                "RelativeAttention", "WindowAttention")


@pytest.mark.parametrize(("cls", "sizes", "name"), [*UNIFORM, *NORMAL])
def test_a_parameter_is_drawn_as_its_docstring_says(cls, sizes, name, rng):
    """Five standard errors; a uniform draw comes near to its bound, a normal one goes beyond it."""
    value = getattr(cls(*sizes, rng=rng), name).value
    bound = UNIFORM.get((cls, sizes, name))
    std = NORMAL[cls, sizes, name] if bound is None else bound / 3**0.5
    assert value.std() == pytest.approx(std, rel=5 / (2 * value.size) ** 0.5)
    assert abs(value.mean()) < 5 * std / value.size**0.5
    largest = abs(value).max()
    assert largest > 2.5 * std if bound is None else 0.99 * bound < largest <= bound


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in DRAWN_TABLES])
def test_biases_start_at_0_and_gains_at_1(name, rng):
    layer, _, _ = LAYERS[name](rng)
    for path, parameter in layer.named_parameters():
        start = {"b": 0, "beta": 0, "gamma": 1}.get(path.split(".")[-1])
        assert start is None or (parameter.value == start).all(), path
        assert start is not None or parameter.value.any(), path
