"""Running the page's scripts outside of a page, in Node.js, and the same changes in Python."""

import json
import shutil
import subprocess

import numpy as np

import aiayn_np.transformer
from aiayn_course.page import live
from aiayn_np import Transformer, causal
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.choices import CHOICES, keywords

PAPER = {option: next(iter(names)) for option, names in CHOICES.items()}
# every variant that the page runs, one at a time, and two together
VARIANTS = [
    *(PAPER | {option: name} for option, names in (
        ("attention", ["scaled-dot"]), ("positions", ["learned"]), ("norm", ["pre"]),
    ) for name in names),
    PAPER | dict(positions="learned", norm="pre"),
]
NAMES = ["-".join(v for o, v in variant.items() if v != PAPER[o]) or "paper"
         for variant in VARIANTS]
MODULES = ["matrix", "transformer", "variants", "training", "shares", "what_if", "vocabulary",
           "address"]                                                  # those without a document
SIZES = dict(N=2, d_model=24, d_ff=40, h=3, P_drop=0.0, max_len=60)

# For every case: a forward of (src, tgt) with the changes, and what greedy decoding gives.
SOLVE = """
function solve(model, { src, tgt, changes, ends }) {
  const other = changed_model(model, { ...AS_TRAINED, ...changes });
  const [logits, cache] = other.forward(src, tgt);
  const weights = attention_paths(other).map(
    (path) => at(cache, path).attention.weights.map((w) => [...w.data]));
  const steps = ends ? [...greedy_decode(other, src, ends)] : [];
  return { logits: [...logits.data], weights, tokens: steps.map((step) => step.token) };
}
"""


def rounded(model):
    """The model in double precision with the numbers that a page holds."""
    for parameter in model.parameters():
        parameter.value[...] = live.kept(parameter.value)
    return model.astype(np.float64)


def random_model(variant, vocab_size, rng):
    """A model that nobody trained, of a variant."""
    model = randomise(Transformer(vocab_size, **SIZES, **keywords(variant), rng=rng), rng)
    for parameter in model.parameters():
        if parameter.value.ndim == 2:
            parameter.value[...] *= 1.5                                # maps that are far from even
    return rounded(model)


def packed(model):
    """A model as the page stores it: its description, and its numbers."""
    values = []
    tree = live.described(model, values, {})
    return dict(tree=tree, weights=[float(x) for value in values for x in value.ravel()])


def node(script, data):
    """What `main(data)` of a script gives, run by Node.js with the modules of the page."""
    found = shutil.which("node")
    assert found, "these tests need Node.js"
    modules = [f"Object.assign(globalThis, await import('./{name}.js'));" for name in MODULES]
    whole = "\n".join([*modules, "Object.assign(globalThis, LAYERS);"]) + SOLVE + script + """
const { readFileSync } = await import("node:fs");
process.stdout.write(JSON.stringify(main(JSON.parse(readFileSync(0, "utf8")))));
"""
    done = subprocess.run([found, "--input-type=module", "-e", whole], input=json.dumps(data),
                          capture_output=True, text=True, encoding="utf-8", check=False,
                          cwd=live.PAGE)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


CASES = """
function main({ tree, weights, cases }) {
  const model = build(tree, Float64Array.from(weights));
  return cases.map((one) => solve(model, one));
}
"""


# For every case: the shares in the best token after each prefix of tgt.
SHARES = """
function main({ tree, weights, cases }) {
  const model = build(tree, Float64Array.from(weights));
  return cases.map(({ src, tgt, changes }) => {
    const other = changed_model(model, { ...AS_TRAINED, ...changes });
    const [logits, cache] = other.forward(src, tgt);
    return tgt.map((_, t) => {
      const row = [...logits.row(t)];
      const token = row.indexOf(Math.max(...row));
      return { token, ...shares(other, { ...cache, logits }, t, token) };
    });
  });
}
"""


def solved(model, cases):
    """What the page's scripts make of every case, in Node.js."""
    return node(CASES, packed(model) | dict(cases=cases))


def changed(model, changes):
    """The same changes as what_if.js makes, by methods replaced in Python; for one model only.

    "causal" is not made here: see `without_future_mask`.
    """
    if not changes.get("positions", True):
        model.positions.forward = lambda x, *, start=0: (x, None)
    attentions = {f"{stack}.layers.{i}.{name}": getattr(layer, name)
                  for stack in ("encoder", "decoder")
                  for i, layer in enumerate(getattr(model, stack).layers)
                  for name in ("self_attention", "cross_attention") if hasattr(layer, name)}
    for path, place in attentions.items():
        rescale(place.attention, changes.get("factor", 1))
        for change in changes.get("muted", ()):
            if change["path"] == path:
                mute(place.attention, change["head"])
    return model


def rescale(attention, factor):
    """Scores `factor` times as large."""
    forward = attention.forward
    attention.forward = lambda Q, K, V, **options: forward(Q * factor, K, V, **options)


def mute(attention, head):
    """The head's output is zero."""
    forward = attention.forward

    def muted(Q, K, V, **options):
        heads, cache = forward(Q, K, V, **options)
        heads = heads.copy()
        heads[:, head] = 0
        return heads, cache

    attention.forward = muted


def without_future_mask(monkeypatch):
    """The decoder of every model may look ahead."""
    monkeypatch.setattr(aiayn_np.transformer, "causal",
                        lambda T: np.ones_like(causal(T)))
