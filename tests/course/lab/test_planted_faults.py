"""Faults planted in the gate and in the claims that go through it: each is caught.

`check` holds a claim against results made by hand, in which both sides differ by a known amount at
their best rates. It passes for the code as it is. A fault is a change of the source of a function.
"""

import contextlib
import importlib
import inspect
from dataclasses import replace

import numpy as np
import pytest
from committed import committed

from aiayn_course.lab import AGREES, DISAGREES, EXPERIMENTS, IN_PART, NOT_SETTLED, gate
from aiayn_course.lab.claims.induction import SIDES
from aiayn_course.lab.claims.made_of import LOST, MARGIN

SEED = np.array([0.0, 5, 1, 9, 3])[:, None]                            # of all models of a seed
NOISE = 0.001 * np.array([-2.0, -1, 0, 1, 2])[:, None]


def side(rates, difference=0.0, best=None, step=1):
    """Losses (rates, 5 seeds, 2 times) of one side, lowest at one rate, by default the middle."""
    away = step * np.abs(np.arange(rates) - (rates // 2 if best is None else best))
    return 40 + difference + away[:, None, None] + SEED + (difference != 0) * NOISE + np.zeros(2)


def fill(losses, base, more, best=None):
    """Fill (values, rates, seeds, 2): all but the base lose more, and have another best rate."""
    rates = losses.shape[1]
    for i in range(len(losses)):
        losses[i] = side(rates, more, best) if i != base else side(rates, 0, best or 1)


def widths(k, d, best=None):
    k.loss = np.zeros((*k.loss.shape[:3], 5, 2))
    for task in k.loss:
        fill(task, list(k.x).index(k.base), d, best)


def scale(k, d, best=None):
    curves = np.zeros((*k.curves.shape[:3], 5, 6))
    for width in curves.swapaxes(0, 1):
        for i, kind in enumerate(width):
            kind[..., [1, 5]] = side(len(kind), d * (i == 1), best if i == 1 else best or 1)
    k.curves = curves


def warm(k, d, best=None):
    curves = np.zeros((4, len(k.peak), 5, 6))
    for i, kind in enumerate(curves):
        kind[..., [1, 5]] = side(len(kind), d * (i == 1), best)
    k.curves = curves


def smoothing(k, d, best=None):
    k.loss, wrong = np.zeros((2, *k.loss.shape[:2], 5, 2))
    fill(k.loss, 0, d, best)
    fill(wrong, 0, -d, best)
    k.right = 1 - wrong / 100


def additive(k, d, best=None):
    rates = len(k.rate_scale)
    k.losses["additive"] = np.array([side(rates, 0, best or 1)] * 2)
    k.losses["dot"] = np.array([side(rates, min(d, 0), best), side(rates, d, best)])


def dropout(k, d, best=None):
    losses, wrong = np.zeros((2, 2, len(k.rate_scale), 5, 2))
    k.held_out, k.right = np.zeros((2, *losses.shape[:-1], 6))
    for some in (losses, wrong):
        fill(some, 1, d, best)
    k.held_out[..., [1, 5]], k.right[..., [1, 5]], k.steps = losses, 1 - wrong / 100, np.arange(6)


def head_jobs(k, d, best=None):
    k.found = np.zeros((2, 5, 3, 2))
    k.found[..., 1:, 0], k.found[..., 1:, 1] = 3, d


def induction(k, d, best=None):
    wrong = side(len(k.rate_scale), d, best, step=9), side(1)              # points
    k.right = {name: 1 - x / 100 for name, x in zip(SIDES, wrong)}
    astray = np.array([9, 9, 0, 9]), np.array([9, 9, 9, 9, 9, 9, 0, 9])    # head 3 of layer 2
    k.weight = {name: 1 - (x[..., None] + more) / 100
                for name, x, more in zip(SIDES, wrong, astray)}
    k.left = np.full((5, 2, 8), 0.5 + d / 100)
    k.left[..., :4], k.left[..., 6] = 0, 0.5


def made_of(k, d, best=None):
    k.known, k.last = np.full((2, 5, 2, 3), 0.5), np.ones((2, 5, 2))
    k.known[..., 0] += (d - MARGIN) / 100
    k.held = 1 - (LOST + d) / 100 * k.last


def positions(k, d, best=None):
    rates = len(k.rate_scale)
    apart = 0 if d > 0 else d
    k.nats = np.array([side(rates, x, best) for x in (apart, 0, 0)])
    k.copied = np.ones((3, rates, 5, 2, len(k.lengths)))
    missed = np.array([side(rates, x, best) for x in (-d, 0, 0)]) / 100
    k.copied -= missed[..., None]


MADE = {  # experiment: (how its results are made, how many effects it has)
    "scale_training": (scale, 2), "head_count": (widths, 6), "key_width": (widths, 6),
    "warm_up": (warm, 2), "label_smoothing": (smoothing, 2), "learned_positions": (positions, 3),
    "additive": (additive, 2), "dropout": (dropout, 4), "head_jobs": (head_jobs, 2),
    "induction": (induction, 3), "made_of": (made_of, 4)}


def check(name):
    """Raise AssertionError unless the claim says of results made by hand what they are made to say.
    """
    k, (made, number) = committed(EXPERIMENTS[name]), MADE[name]
    for d, verdict in ((8.0, AGREES), (-8.0, DISAGREES), (0.0, DISAGREES)):
        made(k, d)
        assert len(k.effects) == number
        alike = [e for e in k.effects.values() if e.alike]
        assert len(alike) == (name in ("learned_positions", "additive"))
        for e in k.effects.values():
            assert e.difference.shape == (5, 2)
            np.testing.assert_allclose(e.difference, min(d, 0) if e.alike else d, atol=0.003)
        assert k.verdict == (IN_PART if alike and d == 0 else verdict)
        assert "5 seeds" in k.models
    check_gate()
    if name == "induction":
        made(k, 40.0)
        k.left[1, 1, 6] = k.left[1, 1, 7] - 0.04                       # one seed misses it little
        assert k.verdict == IN_PART
    if name in ("made_of", "head_jobs"):                               # there is one rate
        return
    made(k, 8.0, best=0)
    assert any(e.edge for e in k.effects.values())
    assert all(e.sign is None for e in k.effects.values() if e.edge)
    made(k, 8.0, best=1)
    assert all(not e.edge for e in k.effects.values())


def check_gate():
    """Raise AssertionError unless signs and verdicts are those of a few effects by hand."""
    held = gate.Effect(8 + NOISE + np.zeros(2), 1.0)
    none, contrary = (replace(held, difference=held.difference * x) for x in (0, -1))
    open_ = replace(held, difference=held.difference[1:])
    for difference, sign in ((held.difference, 1), (-held.difference, -1), (NOISE * [1, 1], 0),
                             (held.difference[:4], None), (held.difference * [1, 0], None),
                             (1 + 100 * NOISE * [1, 1], None)):
        assert replace(held, difference=difference).sign == sign
    for difference, sign in ((NOISE * [1, 1], 1), (held.difference, -1), (-held.difference, -1),
                             (1 + 100 * NOISE * [1, 1], None)):
        assert replace(held, difference=difference, alike=True).sign == sign
    for effects, verdict in (([held, none], IN_PART), ([held, contrary], IN_PART),
                             ([none, contrary], DISAGREES), ([none], DISAGREES),
                             ([none, open_], NOT_SETTLED)):
        assert gate.verdict_of(dict(enumerate(effects))) == verdict


@pytest.mark.parametrize("name", MADE)
def test_a_claim_says_what_its_results_are_made_to_say(name):
    check(name)


def test_every_claim_that_goes_through_the_gate_is_checked():
    assert set(MADE) == {n for n, e in EXPERIMENTS.items() if issubclass(e.result, gate.Trained)}


def functions(things):
    """Return {qualified name: function} of a module and of its classes, properties too."""
    found = {}
    for thing in list(things.values()):
        if getattr(thing, "__module__", None) == things["__name__"]:
            parts = vars(thing).values() if inspect.isclass(thing) else [thing]
            found |= {f.__qualname__: f for f in (getattr(part, "fget", part) for part in parts)
                      if inspect.isfunction(f) and "<locals>" not in f.__qualname__}
    return found


@contextlib.contextmanager
def planted(module, right, wrong):
    """Change the source of one function, in a `with` block."""
    module = importlib.import_module(f"aiayn_course.lab.{module}")
    source = inspect.getsource(module)
    assert source.count(right) == 1, f"{source.count(right)} times {right}"
    changed = dict(vars(module))
    exec(compile(source.replace(right, wrong), module.__file__, "exec"), changed)
    ours, codes = functions(vars(module)), {}
    try:
        for name, function in functions(changed).items():
            if function.__code__ != ours[name].__code__:
                codes[name], ours[name].__code__ = ours[name].__code__, function.__code__
        assert codes, "nothing has changed"
        yield
    finally:
        for name, code in codes.items():
            ours[name].__code__ = code


FAULTS = [  # a module, a part of its source, the fault, and a claim that shows it
    ("gate", "best[0] - best[1]", "best[1] - best[0]", "head_count"),              # a sign
    ("gate", "(best[0] - best[1],", "((best[0] - best[1])[1:],", "key_width"),     # a seed left out
    ("gate", "median.argmin(axis=0)", "median.argmax(axis=0)", "head_count"),      # the worst rate
    ("gate", "median[1:-1].min(", "median.min(", "label_smoothing"),               # no edge
    ("gate", "bool(early != late)", "0", "warm_up"),          # one time decides
    ("gate", "return AGREES if set(signs) == {1} else IN_PART", "return AGREES", "warm_up"),
    ("gate", "DISAGREES if -1 in signs or", "DISAGREES if", "key_width"),
    ("gate", "-1 in signs or set(signs) == {0}", "-1 in signs", "key_width"),
    ("gate", "set(signs) == {0} else", "0 in signs else", "head_count"),           # all, or one
    ("gate", "        if self.every:", "        if not self:", "induction"),       # a mean decides
    ("gate", "if n >= SEEDS:", "if n >= 2:", "scale_training"),                    # four seeds do
    ("gate", "(low > self.least) * 1", "(high > self.least) * 1", "head_count"),   # a part of it
    ("gate", "(low >= -self.least) * (high <= self.least) * 1 - above - below", "1 + 0 * above",
     "warm_up"),                                                                   # always alike
    ("learning", "// LONGER - 1", "// LONGER", "scale_training"),                  # too late
    ("claims.head_count", "if x != self.base}", "if x > self.base}", "key_width"),
    ("claims.head_count", "loss[at.index(self.base)], (", "loss[0], (", "head_count"),
    ("claims.head_count", "zip(self.tasks, self.loss) for", "zip(self.tasks[1:], self.loss) for",
     "head_count"),                                                                # a task left out
    ("claims.scale_training", "self.against(UNSCALED, SCALED, range(1, ",
     "self.against(UNSCALED, SCALED, range(", "scale_training"),                   # a width more
    ("claims.scale_training", "self.against(UNSCALED, SCALED", "self.against(SCALED, UNSCALED",
     "scale_training"),
    ("claims.warm_up", "self.against(POST, POST_FLAT,", "self.against(PRE, PRE_FLAT,", "warm_up"),
    ("claims.warm_up", '"best rates": slice(None)', '"best rates": [3]', "warm_up"),  # a grid cut
    ("claims.smoothing", "loss[i], loss[0],", "loss[0], loss[i],", "label_smoothing"),
    ("claims.smoothing", "100 * (1 - self.right)", "100 * self.right", "label_smoothing"),
    ("claims.additive", "alike=i < first)", "alike=True)", "additive"),            # always alike
    ("claims.additive", 'self.against_additive("dot", 1)', 'self.against_additive("dot", 2)',
     "additive"),
    ("claims.head_jobs", "found[:, 1:, kind] - found[:, :1, kind]",
     "found[:, :1, kind] - found[:, 1:, kind]", "head_jobs"),
    ("claims.head_jobs", "self.gained(1)", "self.gained(0)", "head_jobs"),
    ("claims.overfitting", "losses[0, some], loss[some]", "loss[some], losses[0, some]", "dropout"),
    ("claims.overfitting", "100 * (1 - ends(self.right))", "100 * ends(self.right)", "dropout"),
    ("claims.induction", "(others - self.without)", "(self.without - others)", "induction"),
    ("claims.induction", ", every=True", "", "induction"),                         # a mean decides
    ("claims.induction", "effect(one, two, SIDES", "effect(one[2:], two, SIDES", "induction"),
    ("claims.induction", "100 - 100 * self.right[side]", "100 * self.right[side]", "induction"),
    ("claims.made_of", "ours - last_map + MARGIN", "last_map - ours + MARGIN", "made_of"),
    ("claims.made_of", "100 - 100 * self.held", "100 * self.held", "made_of"),
    ("claims.position_training", "m[1], m[0], SIDES", "m[0], m[1], SIDES", "learned_positions"),
    ("claims.position_training", ", NATS, alike=True)}", ", NATS)}", "learned_positions"),
    ("claims.smoothing", "100 * (1 - self.right)", "1 - self.right", "label_smoothing"),  # a unit
]


@pytest.mark.parametrize(("module", "right", "wrong", "name"), FAULTS)
def test_a_planted_fault_is_caught(module, right, wrong, name):
    check(name)
    with planted(module, right, wrong), pytest.raises((AssertionError, KeyError)):
        check(name)
    check(name)
