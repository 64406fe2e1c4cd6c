"""Convolutions over the sequence: windows and their zeros."""


from aiayn_np.variants.convolution import Convolution1D


def test_there_are_no_more_zeros_than_the_windows_reach(rng):
    layer, x = Convolution1D(2, 4, 3, rng=rng), rng.standard_normal((2, 6, 2))
    assert layer.pad(x).shape == (2, 6 + 3 - 1, 2)
