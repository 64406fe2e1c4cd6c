"""The cases of the test vectors, and all numbers of a case.

vectors.json lists the components and their cases. An input is a shape, whose numbers are drawn;
{"ids": n, "shape": shape}, for ids from 1 to n; or the numbers, in nested lists. A size that is a
list is the shape of a Parameter. The names of tensors begin with their roles: input.x, parameter.W,
upstream.y, output.y, grad.x.
"""

import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..decoding.beam import beam_search
from ..decoding.generation import start_generation
from ..decoding.greedy import greedy_decode
from ..module import Parameter, leaves
from ..training.loop import training_steps
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.optimizer import Adam, warmup_rate
from ..variants.optimizers import AdamW
from .finding import arguments
from .probing import randomise


def cases() -> Iterator[dict[str, Any]]:
    """Yield every case: its entry in vectors.json, with the facts of its component and a name."""
    text = Path(__file__).with_name("vectors.json").read_text(encoding="utf-8")
    components = json.loads(text)
    defaults = components.pop("defaults")
    for component, facts in components.items():
        for number, case in enumerate(facts.pop("cases"), 1):
            name = {"name": f"{component}_{number:02}", "component": component}
            yield name | defaults | facts | case


def tensors_of(case: dict[str, Any]) -> dict[str, np.ndarray]:
    """Draw the inputs, parameters and upstream gradient of a case, and compute all the others.

    All is computed in float64. The drawn numbers are multiples of 1/1024, so float32 holds them.
    """
    rng = np.random.default_rng(list(case["name"].encode()))
    inputs = {name: drawn(what, rng) for name, what in case["inputs"].items()}
    layer = made(case, rng)
    given = {f"input.{name}": x for name, x in inputs.items()}
    for name, parameter in layer.named_parameters():
        parameter.value = rounded(parameter.value)
        given[f"parameter.{name}"] = parameter.value.copy()
    if "output" in case:
        return given | passes(case, layer, inputs, rng)
    outputs = FUNCTIONS[case["component"]](case, layer, inputs)
    return given | {f"output.{name}": np.asarray(x) for name, x in outputs.items()}


def rounded(x):
    """Return the nearest multiples of 1/1024."""
    return np.round(1024 * x) / 1024


def drawn(what, rng):
    """Return the array that an entry of a case describes."""
    if isinstance(what, dict):
        return rng.integers(1, what["ids"] + 1, what["shape"])
    is_shape = not any(isinstance(n, list) for n in what)
    return rounded(rng.standard_normal(what)) if is_shape else np.array(what)


def made(case, rng):
    """Construct the layer of a case; its vectors and biases are random, too."""
    module, name = case["layer"].rsplit(".", 1)
    kind = getattr(import_module(f"..{module}", __package__), name)
    sizes = {name: Parameter.normal(1, tuple(size), rng) if isinstance(size, list) else size
             for name, size in case["sizes"].items()}
    takes_rng = "rng" in inspect.signature(kind).parameters
    return randomise(kind(**sizes, **{"rng": rng} if takes_rng else {}), rng)


def passes(case, layer, inputs, rng):
    """Run forward and backward; return dropout masks, upstream gradient, outputs and gradients."""
    names = arguments(layer.forward, with_defaults=True)
    options = case["options"] | {name: x for name, x in inputs.items() if name not in names}
    if "P_drop" in case["sizes"]:
        options["rng"] = rng
    y, cache = layer.forward(*(inputs[name] for name in names), **options)
    upstream = rounded(rng.standard_normal(np.shape(y)))
    found = {f"input.{path}": x for path, x in leaves(cache, np.ndarray)
             if path.endswith("kept") and x.dtype == bool}
    grads = layer.backward(upstream if upstream.ndim else float(upstream), cache)
    found |= {f"upstream.{case['output']}": upstream, f"output.{case['output']}": np.asarray(y)}
    if hasattr(cache, "weights"):
        found["output.weights"] = cache.weights                        # as backward has left them
    by_name = dict(zip(names, grads if isinstance(grads, tuple) else (grads,)))
    by_name |= {name: parameter.grad for name, parameter in layer.named_parameters()}
    return found | {f"grad.{name}": x for name, x in by_name.items() if x is not None}


def rates(case, _, inputs):
    """Return the rate of Eq. (3) for rows of steps."""
    return {"rate": [[warmup_rate(step, **case["options"]) for step in row]
                     for row in inputs["step"].tolist()]}


def optimized(case, layer, inputs):
    """Return the value of each parameter after all steps."""
    adam = (AdamW if "decay" in case["options"] else Adam)(layer, **case["options"])
    for step, rate in enumerate(inputs["rate"].ravel().tolist()):
        for name, parameter in layer.named_parameters():
            parameter.grad[...] = inputs[f"grad_{name}"][step]
        adam.step(rate)
    return {name: parameter.value for name, parameter in layer.named_parameters()}


def decoded(case, model, inputs):
    """Return the ids that greedy decoding or beam search writes."""
    decode = beam_search if "beam" in case["options"] else greedy_decode
    return {"ids": decode(model, inputs["src"], **case["options"])}


def kept_keys(case, model, inputs):
    """Return the logits after a prompt and after each later id, (B, steps, V); keys are kept."""
    ids, text = inputs["ids"], start_generation(model, keep=True)
    ends = range(case["options"]["prompt"], ids.shape[1] + 1)
    return {"logits": np.stack([text.next_logits(ids[:, begin:end])
                                for begin, end in zip((0, *ends), ends)], axis=1)}


def training(case, model, inputs):
    """Return the losses of a training: of a model that copies, or of a language model."""
    ids, copies = inputs["ids"], hasattr(model, "decoder")
    shifted = np.concatenate([np.ones_like(ids[..., :1]), ids[..., :-1]], axis=-1)
    batches = list(zip(ids, shifted, ids) if copies else zip(shifted, ids))
    steps = training_steps(
        model, LabelSmoothedCrossEntropy(), (Adam if copies else AdamW)(model),
        lambda step: batches[step - 1],
        lambda step: warmup_rate(step, model.d_model, **case["options"]), steps=len(ids), rng=None)
    return {"losses": [step.scores[0] for step in steps]}


FUNCTIONS = {  # of components without a backward
    "warmup_rate": rates, "adam": optimized, "adamw": optimized, "greedy_decode": decoded,
    "beam_search": decoded, "kept_keys": kept_keys, "training": training,
    "training_since_2017": training,
}
