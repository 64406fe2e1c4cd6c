"""The page's JavaScript is held against the test vectors, as any other program is."""

import json

import numpy as np
import pytest
from javascript import node

from aiayn_np.proofs.tensors import read_tensors, write_tensors
from aiayn_np.proofs.vectors import compare_vectors, write_vectors

pytestmark = pytest.mark.slow
COMPUTE = """
const matrix = ({ shape, data }) => new Matrix(...shape, Float64Array.from(data));
const leaf = (x) => Object.assign(x, { grad: new Float64Array(x.length) });
function parameter(x) {
  if (x.shape.length === 1) return leaf(Float64Array.from(x.data));
  const W = matrix(x);
  W.grad = new Matrix(W.rows, W.columns);
  return W;
}
function main(cases) {
  return cases.map(({ component, inputs, parameters, upstream, eps, allowed }) => {
    const own = Object.fromEntries(Object.entries(parameters).map(([k, x]) => [k, parameter(x)]));
    const of = (name) => new Linear({ W: own[`${name}W`], b: own[`${name}b`] });
    const softmax = new Softmax({});
    const attention = new ScaledDotProductAttention({ mask: new Mask({}), softmax });
    const layer = {
      softmax: () => softmax, relu: () => new ReLU({}), linear: () => of(""),
      layer_norm: () => new LayerNorm({ ...own, eps }),
      scaled_dot_product_attention: () => attention,
      position_wise_feed_forward: () => new PositionwiseFeedForward({
        linear_1: of("linear_1."), linear_2: of("linear_2."), relu: new ReLU({}) }),
    }[component]();
    const heads = component === "softmax" || layer === attention;
    const given = inputs.map((x) => (heads ? x.map(matrix) : matrix(x)));
    const [y, cache] = layer.forward(...given, { allowed });
    const grad = layer.backward(heads ? upstream.map(matrix) : matrix(upstream), cache);
    const flat = (x) => (Array.isArray(x) ? x.flatMap((m) => [...m.data]) : [...x.data]);
    return { y: flat(y), inputs: (layer === attention ? grad : [grad]).map(flat),
             parameters: Object.fromEntries(Object.entries(own).map(
               ([k, x]) => [k, [...(x.grad.data ?? x.grad)]])) };
  });
}
"""
TAKES = ("softmax", "relu", "linear", "layer_norm", "scaled_dot_product_attention",
         "position_wise_feed_forward")


def as_matrix(x):
    return dict(shape=[x.size // x.shape[-1], x.shape[-1]], data=x.ravel().tolist())


def as_heads(x):
    return [as_matrix(of) for of in x.reshape(-1, *x.shape[-2:])]


def asked(case, tensors):
    """A case as the page takes it: matrices, and lists of heads; None if it has no such thing."""
    allowed = tensors.get("input.allowed")
    if case["component"] not in TAKES or "P_drop" in case["sizes"] or np.ndim(allowed) > 2:
        return None
    if not all(np.isfinite(x).all() for x in tensors.values()):        # JSON has no -inf
        return None
    heads = case["component"] in ("softmax", "scaled_dot_product_attention")
    turn = as_heads if heads else as_matrix
    inputs = [name for name in tensors if name.startswith("input.") and name != "input.allowed"]
    (upstream,) = (x for name, x in tensors.items() if name.startswith("upstream."))
    return dict(
        component=case["component"], inputs=[turn(tensors[name].astype(float)) for name in inputs],
        parameters={name.removeprefix("parameter."): dict(shape=x.shape, data=x.ravel().tolist())
                    for name, x in tensors.items() if name.startswith("parameter.")},
        upstream=turn(upstream.astype(float)), eps=case["sizes"].get("eps", 1e-6),
        allowed=None if allowed is None else allowed.tolist())


def computed(case, tensors, found):
    """The tensors of a case as the page has computed them."""
    (upstream,) = (name for name in tensors if name.startswith("upstream."))
    inputs = [name for name in tensors if name.startswith("input.") and name != "input.allowed"]
    values = {upstream.replace("upstream", "output"): found["y"]}
    values |= {f"grad.{name.removeprefix('input.')}": grad
               for name, grad in zip(inputs, found["inputs"], strict=True)}
    values |= {f"grad.{name}": grad for name, grad in found["parameters"].items()}
    return {name: np.reshape(np.array(x, float), tensors[name].shape).astype(tensors[name].dtype)
            for name, x in values.items()}


@pytest.mark.parametrize("planted", [False, True])
def test_the_page_computes_the_right_numbers(planted, tmp_path):
    write_vectors(tmp_path / "right")
    (tmp_path / "page").mkdir()
    cases = json.loads((tmp_path / "right" / "manifest.json").read_text(encoding="utf-8"))
    tensors = {c["name"]: read_tensors(tmp_path / "right" / f"{c['name']}.safetensors")
               for c in cases}
    taken = {c["name"]: (c, data) for c in cases if (data := asked(c, tensors[c["name"]]))}
    script = COMPUTE
    if planted:                                                        # as bug 14 of the zoo
        script += """
const { backward } = ScaledDotProductAttention.prototype;
ScaledDotProductAttention.prototype.backward = function (...given) {
  return backward.apply(Object.assign(Object.create(this), { scale: (x) => x }), given);
};
"""
    found = node(script, [data for _, data in taken.values()])
    for (name, (case, _)), numbers in zip(taken.items(), found, strict=True):
        write_tensors(tmp_path / "page" / f"{name}.safetensors",
                      computed(case, tensors[name], numbers))
    report = compare_vectors(tmp_path / "right", tmp_path / "page")
    assert len(taken) >= 24
    assert bool(report) is not planted, str(report)
    assert ("grad.Q" in str(report)) is planted
