"""What a report says before it gives an answer: where it shows, what was measured, and a question.

The mistake is known as a change of the right formula, and its effect as numbers. The question is
made from both, in the names and lines of the student's code where `tracing` finds them. It names
neither the cause nor the right code: a student asks for these by `hint=1` and `hint=2`.
"""

import ast
import contextlib
import re
import textwrap

import numpy as np

from ..language import say, say_name, tidy
from .calling import Stop, call, copied
from .changes import Turn
from .comparing import TOLERANCE, errors, is_numbers, same
from .diagnosis import has, observed
from .example import Example
from .operators import text
from .questions import FIXED, HAND, KINDS, SEEN, SHAPES, TURN, question_of
from .report import kinds_in, listed
from .tracing import Watch

FIRST = re.compile(r".*?(\.(?= )|。|$)", re.DOTALL)  # the first sentence
CODE = 38  # columns of a line that is quoted


def told(subject, checking, stop):
    """Return the texts of a Report on what ended a check, as a dict."""
    derivation = [say(text) for text in subject.derivation(checking.stage)]
    finding = checking.finding
    state = state_of(checking, stop)
    if finding is None:
        hints = (stop.cause or stop.message, derivation[0], "\n".join(derivation))
        where = stop.where or stop.message.removesuffix(stop.cause).strip() or stop.message
        question = stop.question or ("" if stop.got is None else say(SHAPES))
        return dict(state=state, where=sentence(where), question=sentence(question), hints=hints)
    story = Story(checking, finding, stop.diagnosis)
    hints = (sentence(story.cause), sentence(story.code) or derivation[0], "\n".join(derivation))
    question = tidy(" ".join(filter(None, map(sentence, (story.measured, story.question)))))
    return dict(state=state, where=sentence(story.where), question=question, hints=hints,
                example=story.example)


def sentence(text):
    """Return a text that ends with one full stop, or with its question mark."""
    text = tidy(text).rstrip(". 。")
    return text if not text or text.endswith(("?", "？", ":")) else text + say(".")


def state_of(checking, stop):
    """Tell in one sentence what is right and what is wrong."""
    rows = list(checking.rows.values())
    if checking.stage == "function":
        return ""
    right = [say("forward")] if checking.stage == "backward" else []
    if checking.finding is None:
        return say("Right: {right}.", right=right[0]) if right else ""
    wrong = listed(kinds_in(row for row in rows if row.verdict == "WRONG")) if right else say(
        "forward")
    return say("Right: {right}. Wrong: {wrong}.", right=right[0], wrong=wrong) if right else say(
        "Wrong: {wrong}.", wrong=wrong)


class Story:
    """Everything that a report tells of wrong numbers.

    where : a sentence on the line in which they begin
    example : an Example, in the smallest case
    measured, question : sentences
    cause, code : the first two hints
    """

    def __init__(self, checking, finding, diagnosis):
        self.finding, self.diagnosis = finding, diagnosis
        self.change = finding.explanation and finding.explanation.change
        self.watch = Watch(checking, finding.stage, finding.trials, finding.wrong,
                           self.change)
        pairs = {name: [observed(t, name) for t in self.watch.trials if has(t, name)]
                 for name in finding.wrong}
        self.spot = self.watch.spot({name: some for name, some in pairs.items()
                                     if len(some) == len(self.watch.trials)})
        self.mine = self.watch.names() if self.change else {}
        self.example = self.example_of()
        self.where = self.where_it_begins()
        self.measured = self.measurement()
        self.question = self.asked()
        self.cause, self.code = self.cause_of(self.change), self.code_of(self.change)

    def example_of(self):
        """Return the Example of the first wrong value, in the smallest case, or None."""
        name = (self.spot and self.spot.key[2]) or self.finding.wrong[0]
        case, (got, want) = self.trial().case, self.compared()
        ids = np.asarray(want).dtype.kind == "i" and np.ndim(got) == 2 and (
            len(got) == len(want) and np.size(got) > 0)
        return Example.of(name, case.what, got, want) if ids or (
            np.shape(got) == np.shape(want)) else None

    def where_it_begins(self):
        """Return a sentence on the student's line that holds the first wrong value, or ""."""
        spot, seen = self.spot, self.finding.seen
        if not spot or not spot.sure or (seen and seen[0] in ("nan", "inf")):
            return ""                                                  # what is seen names a line
        if not (spot.right or self.change):
            return ""
        right = spot.right and say("{name} in line {line} is right", name=f"`{spot.right[2]}`",
                                   line=spot.right[1])
        code = textwrap.shorten(spot.code, CODE, placeholder=" …")
        wrong = say("{name} in line {line} is not: `{code}`." if right else
                    "{name} in line {line} is wrong: `{code}`.", line=spot.key[1], code=code,
                    name=f"`{spot.key[2]}`") if spot.key[2] else say(
            "what line {line} returns is not: `{code}`." if right else
            "What line {line} returns is wrong: `{code}`.", line=spot.key[1], code=code)
        return say("{first}, {second}", first=right, second=wrong) if right else wrong

    def measurement(self):
        """Return a sentence on the numbers, or ""."""
        finding = self.finding
        if finding.seen:
            said = finding.seen[1]
            rest = FIRST.sub("", said, count=1).strip()                # the example shows nan
            return rest if finding.seen[0] in ("nan", "inf") and rest else said
        pair = self.compared()
        if np.shape(pair[0]) != np.shape(pair[1]):
            return say("It has shape {got}, and must have {want}.", got=np.shape(pair[0]),
                       want=np.shape(pair[1]))
        tests = (lambda: sums(*pair), self.only_where, self.without, lambda: moved(*pair))
        for test in tests:
            if sentence := test():
                return sentence
        first = FIRST.match("" if finding.explanation else finding.why)
        return first[0] if first else ""

    def only_where(self):
        """Name the condition on an input under which entries are wrong, or return ""."""
        trial = self.trial()
        given = {**dict(zip(getattr(trial, "names", ()), trial.case.inputs)),
                 **trial.case.options}
        got, want = self.compared()
        with contextlib.suppress(ValueError):
            bad = errors(got, want) > TOLERANCE
            for name, condition, mask, exact in conditions(given):
                while np.ndim(mask) < bad.ndim and np.shape(mask) == bad.shape[:np.ndim(mask)]:
                    mask = mask[..., None]
                mask = np.broadcast_to(mask, bad.shape)
                if mask.all() or not bad.any() or (bad & ~mask).any():
                    continue
                if exact <= np.array_equal(bad, mask) and 2 * bad.sum() >= mask.sum():
                    return say("It is wrong only where {name} {condition}.", name=f"`{name}`",
                               condition=condition)
        return ""

    def trial(self):
        """Return the smallest trial that shows the mistake."""
        if self.spot:
            return next(t for t in self.finding.trials if t.case is self.spot.case)
        name = self.finding.wrong[0]
        return min((t for t in self.finding.trials if has(t, name) and not same(
            *observed(t, name))), key=lambda t: np.size(observed(t, name)[1]))

    def compared(self):
        """Return the student's array and the right one, in this trial."""
        if self.spot:
            return self.spot.got, self.spot.want
        return observed(self.trial(), self.finding.wrong[0])

    def without(self):
        """Name an option that has no effect on the student's output, or return ""."""
        if self.finding.stage != "forward":
            return ""
        trial = self.trial()
        for name in trial.case.options:
            options = {n: option for n, option in trial.case.options.items() if n != name}
            with contextlib.suppress(Stop):
                y, _ = call("forward", trial.layer.forward, *copied(trial.case.inputs),
                            **copied(options))
                if is_numbers(y) and same(y, trial.got):
                    return say("Your output is the same with {name} and without it.",
                               name=f"`{name}`")
        return ""

    def asked(self):
        """Return the question."""
        seen, explanation = self.finding.seen, self.finding.explanation
        if seen and seen[0] in SEEN and not (explanation and explanation.known):
            return say(SEEN[seen[0]])
        if not explanation:
            return say(SEEN.get(self.diagnosis, HAND))
        if isinstance(self.change, Turn):
            return say(TURN)
        change = getattr(self.change, "both", [self.change])[0]
        kind, wrong = kind_of(*change.pieces[0])
        question = question_of(explanation.key) if explanation.known else None
        if question and (question, kind) != (FIXED, "comparison"):
            return say(question)
        return say(KINDS[kind], wrong=f"`{self.in_his_names(wrong)}`")

    def cause_of(self, change):
        """Return the sentences that name the cause."""
        if change is None:
            return self.finding.why
        if hasattr(change, "both"):
            return say("Two things at once. {first} And then: {second}",
                       first=self.cause_of(change.both[0]), second=self.cause_of(change.both[1]))
        if isinstance(change, Turn):
            return change.why
        if change.known:
            return say(change.known)
        codes = [f"`{self.in_his_names(after)}`" for _, after in change.pieces if after != "pass"]
        return say("{key}: your numbers are those of {codes}." if codes else "{key}.",
                   key=say_name(change.key).capitalize(),
                   codes=listed(codes, 2) if codes else "")

    def code_of(self, change):
        """Return a sentence with the wrong code and the right one, in the student's names."""
        if change is None or isinstance(change, Turn):
            return ""
        pieces = [piece for part in getattr(change, "both", [change]) for piece in part.pieces]
        shown = [say("`{after}` where `{before}` is right" if after != "pass" else
                     "`{before}` left out", before=self.in_his_names(before),
                     after=self.in_his_names(after)) for before, after in pieces]
        line = say(" in line {number}", number=self.spot.key[1]) if self.spot else ""
        return say("Your numbers{line} are those of {codes}.", line=line, codes=listed(shown, 2))

    def in_his_names(self, code):
        """Return code with the student's name for each variable whose value only it holds."""
        if not self.mine:
            return code
        try:
            tree = ast.parse(code, mode="eval")
        except SyntaxError:
            return code
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self.mine:
                node.id = self.mine[node.id]
        return ast.unparse(tree)


def conditions(given):
    """Yield (name, words, mask, exact) of what may be special about entries of the inputs.

    exact : whether all such entries must be wrong, since the others may be right by chance
    """
    for name, x in given.items():
        if isinstance(x, np.ndarray) and x.dtype == bool:
            yield from ((name, say("is False"), ~x, False), (name, say("is True"), x, False))
        elif isinstance(x, np.ndarray) and x.dtype.kind in "fi":
            yield from ((name, words, mask, exact) for words, mask, exact in (
                (say("is 0"), x == 0, True), (say("is -inf"), np.isneginf(x), False),
                (say("is negative"), x < 0, True), (say("is positive"), x > 0, True)))


def sums(got, want):
    """Say so if a row of the right array adds up to 0 or 1, and one of the student's does not."""
    got, want = np.asarray(got), np.asarray(want)
    if not (want.ndim > 1 and want.shape[-1] > 1 and np.isfinite(got).all() and np.any(want)
            and want.dtype.kind == "f" and np.isfinite(want).all()):
        return ""
    for total in (1, 0):
        if np.allclose(want.sum(axis=-1), total, rtol=0, atol=1e-9):
            off = np.abs(got.sum(axis=-1) - total)
            if off.max() < 1e-9:
                return ""
            row = float(got.sum(axis=-1).flat[np.argmax(off)])
            column = got.ndim > 1 and next((
                axis for axis in range(got.ndim - 1)
                if np.allclose(got.sum(axis=axis), total, rtol=0, atol=1e-9)), None)
            if column is not False and column is not None:
                return say("A row of yours adds up to {row}, and along axis {axis} to {total}.",
                           row=f"{row:.3g}", total=total, axis=column)
            return say("A row of yours adds up to {row}, not to {total}.", row=f"{row:.3g}",
                       total=total)
    return ""


def moved(got, want):
    """Say so if the student's numbers are the right ones at other places."""
    got, want = np.asarray(got), np.asarray(want)
    if want.size > 2 and want.dtype.kind == "f" and same(np.sort(got.ravel()),
                                                         np.sort(want.ravel())):
        return say("The right numbers, at other places.")
    return ""


def kind_of(before, after):
    """Return (kind, wrong piece): how wrong code differs from the right code."""
    if after == "pass":
        return "missing", ""
    try:
        right, wrong = (ast.parse(code, mode="eval").body for code in (before, after))
    except SyntaxError:
        return "other", ""
    holder = None
    while (pair := only_difference(right, wrong)) is not None:
        holder = right
        right, wrong = pair
        if isinstance(right, ast.keyword) and right.arg == "axis":
            return "axis", ""
    if not isinstance(wrong, ast.expr) or not isinstance(right, ast.expr):
        return of_operators(right, wrong), ""
    kind = difference(right, wrong, holder)
    name = wrong.func if isinstance(wrong, ast.Call) else wrong
    return kind, text(name).rpartition(".")[2] if kind == "function" else text(wrong)


def only_difference(right, wrong):
    """Return the only two children in which two nodes of one type differ, or None."""
    if type(right) is not type(wrong):
        return None
    different = []
    for one, other in zip(children(right), children(wrong), strict=False):
        if ast.dump(one) != ast.dump(other):
            different.append((one, other))
    same_count = len(children(right)) == len(children(wrong))
    return different[0] if same_count and len(different) == 1 else None


def children(node):
    return list(ast.iter_child_nodes(node))


def of_operators(right, wrong):
    """Return the kind of a difference between two operators or options."""
    both = {type(right), type(wrong)}
    if both <= {ast.Add, ast.Sub}:
        return "sign"
    if both <= {ast.Mult, ast.Div, ast.FloorDiv}:
        return "divided"
    return "comparison" if isinstance(right, ast.cmpop) else "other"


def difference(right, wrong, holder):
    """Return the kind of a difference between two expressions."""
    codes = [text(node) for node in (right, wrong)]
    if isinstance(holder, ast.Subscript):
        return "index"
    if isinstance(right, ast.IfExp):
        return "condition"
    if isinstance(right, ast.BinOp) and codes[1] in (text(right.left), text(right.right)):
        if isinstance(right.op, (ast.Add, ast.Sub)):
            return "term"
        return "power" if isinstance(right.op, ast.Pow) else "factor"
    if isinstance(wrong, ast.BinOp) and codes[0] in (text(wrong.left), text(wrong.right)):
        return "extra"
    if isinstance(wrong, ast.UnaryOp) or isinstance(right, ast.UnaryOp):
        return "sign"
    if isinstance(wrong, ast.Constant):
        return "number"
    if isinstance(right, ast.Call):
        if codes[1] in map(text, right.args):
            return "missing"
        if isinstance(wrong, ast.Call) and text(right.func) != text(wrong.func):
            moves = ("reshape", "swapaxes", "moveaxis", "flip")
            return "moved" if any(m in code for m in moves for code in codes) else "function"
    if isinstance(wrong, ast.Call) and codes[0] in map(text, wrong.args):
        return "twice"
    simple = ast.Name, ast.Attribute
    if isinstance(holder, ast.Call) and right is holder.func:
        return "function"
    if isinstance(right, simple) and isinstance(wrong, simple):
        return "array"
    return "other"
