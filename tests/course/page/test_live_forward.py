"""The page's forward in JavaScript beside the library's, in Node.js: logits, weights, tokens."""

import copy

import numpy as np
import pytest
from javascript import (
    NAMES,
    VARIANTS,
    changed,
    node,
    packed,
    random_model,
    rounded,
    solved,
    without_future_mask,
)
from trained import trained

from aiayn_course.page import live
from aiayn_np import CopyTask, ReverseTask, SortTask, greedy_decode
from aiayn_np.plotting.maps import attention_maps

pytestmark = pytest.mark.slow
TASKS = [CopyTask, ReverseTask, SortTask]
CHANGES = {
    "factor": dict(factor=2.5),
    "no scale": dict(factor=8**0.5),
    "positions": dict(positions=False),
    "causal": dict(causal=False),
    "muted": dict(muted=[dict(path="encoder.layers.1.self_attention", head=2),
                         dict(path="decoder.layers.0.cross_attention", head=0)]),
    "all but one": dict(muted=[dict(path="decoder.layers.0.self_attention", head=i)
                               for i in (0, 2)]),
    "all": dict(factor=0.5, positions=False, causal=False,
                muted=[dict(path="decoder.layers.1.self_attention", head=1)]),
}


def agree(model, cases, found, decode=True):
    """Every case as NumPy finds it: logits to 1e-4, weights to 1e-5, the same tokens."""
    for case, got in zip(cases, found, strict=True):
        src, tgt = np.array([case["src"]]), np.array([case["tgt"]])
        logits, cache = model.forward(src, tgt)
        np.testing.assert_allclose(got["logits"], logits.ravel(), rtol=0, atol=1e-4)
        maps = attention_maps(cache)
        assert len(maps) == len(got["weights"])
        order = sorted(maps, key=lambda name: "cross" in name)         # as attention_paths has them
        for name, weights in zip(order, got["weights"]):
            np.testing.assert_allclose(np.ravel(weights), maps[name].ravel(), rtol=0, atol=1e-5)
        if decode:
            ends = case["ends"]
            want = greedy_decode(model, src, **ends, keep=False)
            assert got["tokens"] == want[0].tolist()


def cases_of(task, n, rng, changes=None):
    """n sequences of a task, each with its answer as the target."""
    src, tgt_in, _ = task.batch(n, rng)
    ends = dict(bos=task.bos, eos=task.eos, max_len=12)
    return [dict(src=s[s > 0].tolist(), tgt=t[t > 0].tolist(), ends=ends, changes=changes or {})
            for s, t in zip(src, tgt_in)]


@pytest.mark.parametrize("task_class", TASKS, ids=lambda c: c.name)
@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_page_and_numpy_agree_on_200_sequences(variant, task_class, rng):
    task = task_class()
    model = random_model(variant, task.vocab_size, rng)
    cases = cases_of(task, 200, rng)
    agree(model, cases, solved(model, cases))


def test_the_scripts_have_the_listed_layers():
    assert set(node("const main = () => Object.keys(LAYERS);", {})) == set(live.LAYERS)


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_a_trained_model_gives_the_right_answers(name, rng):
    model, task, _ = trained(name)
    model = rounded(copy.deepcopy(model))
    cases = cases_of(task, 200, rng)
    found = solved(model, cases)
    agree(model, cases, found)
    right = [[*task.target(np.array(c["src"][:-1])), task.eos] == f["tokens"]
             for c, f in zip(cases, found)]
    assert np.mean(right) > 0.95


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_each_what_if_is_the_same_change_in_python(variant, change, rng, monkeypatch):
    task, changes = CopyTask(), CHANGES[change]
    model = random_model(variant, task.vocab_size, rng)
    cases = cases_of(task, 20, rng, changes)
    found, before = solved(model, cases), solved(model, [c | dict(changes={}) for c in cases])
    if not changes.get("causal", True):
        without_future_mask(monkeypatch)
    agree(changed(copy.deepcopy(model), changes), cases, found)
    assert found != before                                             # it changed something


def test_padding_is_never_looked_at(rng):
    model = random_model(VARIANTS[0], 13, rng)
    cases = [dict(src=[5, 0, 7, 2, 0], tgt=[1, 4, 0, 6], ends=dict(bos=1, eos=2, max_len=5))]
    found = solved(model, cases)
    agree(model, cases, found)
    assert np.array(found[0]["weights"][0])[0].reshape(5, 5)[:, [1, 4]].tolist() == [[0, 0]] * 5


KEPT = """
function main({ tree, weights, sources }) {
  const model = build(tree, Float64Array.from(weights));
  const ends = { bos: 1, eos: -1, max_len: 6 };
  return sources.flatMap((src) =>
    [...greedy_decode(model, src, ends)].map(({ tgt, row }) => {
      const whole = model.forward(src, tgt)[0].row(tgt.length - 1);
      return Math.max(...row.map((logit, i) => Math.abs(logit - whole[i])));
    }));
}
"""


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_kept_keys_and_values_change_nothing(variant, rng):
    model = random_model(variant, 13, rng)
    sources = [[3, 4, 5, 2], [3, 4, 6, 7, 2], [3, 2]]
    differences = node(KEPT, packed(model) | dict(sources=sources))
    assert len(differences) == 18
    assert max(differences) < 1e-12
