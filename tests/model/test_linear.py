"""Linear: without a bias."""

from aiayn_np import Linear


def test_without_bias_there_is_only_W(rng):
    layer = Linear(4, 7, bias=False, rng=rng)
    assert layer.b is None
    assert [name for name, _ in layer.named_parameters()] == ["W"]
