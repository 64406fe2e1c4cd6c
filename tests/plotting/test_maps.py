"""Attention maps are read from the cache, under the path that they have there."""

import numpy as np

from aiayn_np import Transformer, attention_maps, attention_masks
from aiayn_np.module import Cache


def test_names_are_paths_and_arrays_are_the_cached_ones(rng):
    model = Transformer(9, N=2, d_model=12, d_ff=16, h=3, rng=rng)
    src, tgt = np.array([[3, 4, 5, 0], [6, 7, 0, 0]]), np.array([[1, 3], [1, 0]])
    _, cache = model.forward(src, tgt)
    maps = attention_maps(cache)
    assert list(maps) == [
        f"{stack}.layers.{i}.{kind}.attention.weights"
        for stack, kinds in (
            ("encoder", ["self_attention"]), ("decoder", ["self_attention", "cross_attention"])
        )
        for i in (0, 1)
        for kind in kinds
    ]
    cross = maps["decoder.layers.1.cross_attention.attention.weights"]
    assert cross is cache.decoder.layers[1].cross_attention.attention.weights
    assert cross.shape == (2, 3, 2, 4)

    masks = attention_masks(cache)
    assert list(masks) == list(maps)
    for name, weights in maps.items():
        assert masks[name].shape == weights.shape
        assert (weights[~masks[name]] == 0).all()
        assert (weights[masks[name]] > 0).all()
    allowed = masks["decoder.layers.0.self_attention.attention.weights"]
    assert allowed[1, 2].tolist() == [[True, False], [True, False]]  # causal, and a padded key


def test_an_attention_that_keeps_no_map_has_none():
    kept = Cache(attention=Cache(weights=np.ones((1, 2, 2))))
    assert list(attention_maps(Cache(a=kept, b=Cache(attention=Cache(x=np.ones(3)))))) == [
        "a.attention.weights"
    ]
    assert attention_masks(kept)["attention.weights"].all()
