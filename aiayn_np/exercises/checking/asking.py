"""What a report says before it gives an answer: where it shows, what was measured, and a question.

The mistake is known as a change of the right formula, and its effect as numbers. The question is
made from both, in the names and lines of the student's code where `tracing` finds them. It names
neither the cause nor the right code: a student asks for these by `hint=1` and `hint=2`.
"""

import ast
import contextlib
import math
import re

import numpy as np

from ..language import say, say_name, tidy, width
from .calling import Stop, call, copied
from .changes import Turn
from .comparing import TOLERANCE, errors, is_numbers, same
from .diagnosis import has, observed
from .example import Example
from .operators import text
from .questions import FIXED, HAND, KINDS, SAID, SAID_OF, SEEN, SHAPES, TURN, question_of
from .report import WIDTH, kinds_in, listed
from .tracing import Watch

FIRST = re.compile(r".*?(\.(?= )|。|$)", re.DOTALL)  # the first sentence
RETURNED = "wrong count", "wrong type", "nothing returned", "no cache", "order", "dtype"
RETURN = "Begin at the line with `return`: what stands there, and of which type and shape is it?"
NO_CODE = "Here no piece of your code can be set beside the right one: hint=3 gives the derivation."
LONG = 90  # columns of a line that is quoted
ABSENT = "term", "factor", "power", "missing"  # kinds of what the student does not have
HOLDERS = ast.BinOp, ast.Compare, ast.Call, ast.Subscript
LEFT_OUT = {ast.Add: "term", ast.Sub: "term", ast.Pow: "power"}  # the kind of what is missing


def told(subject, checking, stop):
    """Return the texts of a Report on what ended a check, as a dict."""
    derivation = [say(text) for text in subject.derivation(checking.stage)]
    finding = checking.finding
    state = state_of(checking, stop)
    if finding is None:
        rest = stop.cause or ("" if stop.where else FIRST.sub("", stop.message, count=1))
        where = stop.where or stop.message.removesuffix(rest)
        next_step = say(RETURN) if stop.diagnosis in RETURNED else derivation[0]
        hints = rest.strip() or next_step, say(NO_CODE), "\n".join(derivation)
        question = stop.question or ("" if stop.got is None else say(SHAPES))
        return dict(state=state, where=sentence(where), question=sentence(question), hints=hints)
    story = Story(checking, finding, stop.diagnosis)
    cause = f"{sentence(story.cause)} {stop.cause}".strip()
    hints = (cause or derivation[0], sentence(story.code) or say(NO_CODE), "\n".join(derivation))
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
    right = [say("forward")] if checking.stage == "backward" and stop.tensor != "output" else []
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
            len(got) == len(want) and min(np.size(got), np.size(want)) > 0)
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
        code = spot.code if len(spot.code) <= LONG else f"{spot.code[: LONG - 2].rstrip()} …"
        code = f"`{code}`"
        wrong = say("{name} in line {line} is not yet: {code}." if right else
                    "{name} in line {line} is not right yet: {code}.", line=spot.key[1], code=code,
                    name=f"`{spot.key[2]}`") if spot.key[2] else say(
            "what line {line} returns is not yet: {code}." if right else
            "What line {line} returns is not right yet: {code}.", line=spot.key[1], code=code)
        where = say("{first}, {second}", first=right, second=wrong) if right else wrong
        return where if width(where) <= WIDTH else where.replace(code, f"\n{code}")

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
        known = finding.explanation or self.diagnosis == "wrong"
        first = FIRST.match("" if known else finding.why)
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
        if not explanation.known and kind not in ABSENT and not self.is_his(change):
            return say(HAND)
        question = question_of(explanation.key) if explanation.known else None
        if question and (question, kind) != (FIXED, "comparison"):
            return say(question)
        return say(KINDS[kind], wrong=f"`{self.in_his_names(wrong)}`")

    def cause_of(self, change):
        """Return the sentences that name the cause."""
        if change is None:
            rest = "" if self.diagnosis == "wrong" else FIRST.sub("", self.finding.why, count=1)
            return f"{rest.strip()} {self.last_right()}".strip()
        if hasattr(change, "both"):
            return say("Two things at once. {first} And then: {second}",
                       first=self.cause_of(change.both[0]), second=self.cause_of(change.both[1]))
        if isinstance(change, Turn):
            return change.why
        if change.known:
            return say(change.known)
        codes = [f"`{self.in_his_names(after)}`" for _, after in change.pieces if after != "pass"]
        kind, piece = kind_of(*change.pieces[0])
        name, piece = say_name(change.key), f"`{self.in_his_names(piece)}`"
        said = SAID_OF.get(change.key) or SAID.get(kind)
        if said and "{piece}" in said and change.key not in SAID_OF and not self.is_his(change):
            return say("It is as if, in the formula, {codes}.", codes=listed(self.pairs(
                change, stood=True), 2))
        cause = say(said, piece=piece) if said else name[0].upper() + name[1:]
        return say("{key}: your numbers are those of {codes}." if codes else "{key}.", key=cause,
                   codes=listed(codes, 2) if codes else "")

    def is_his(self, change):
        """Tell whether the student's code has the wrong piece of a Change, or may lack a piece."""
        before, after = change.pieces[0]
        kind, piece = kind_of(before, after)
        if after == "pass" or not (wrong := parsed(self.in_his_names(after))):
            return True
        source = self.watch.source()
        used = {getattr(node, name) for node in source for name in ("attr", "id", "arg")
                if hasattr(node, name)}
        if kind in ABSENT:
            pieces = parsed(self.in_his_names(piece))
            return all(node.id in used | {"np", "math", "self"} for part in pieces
                       for node in ast.walk(part) if isinstance(node, ast.Name))
        held = set().union(*map(marks, source))
        path = way(parsed(self.in_his_names(before))[0], wrong[0])
        functions = {node.func.attr for node in path if isinstance(getattr(
            node, "func", None), ast.Attribute)}
        return functions <= used and bool(held & marks(path[-1]))

    def last_right(self):
        """Return a sentence on the last value that is right on the way, or ""."""
        key = self.watch.last_right(self.watch.good(), ("", 0, ""), math.inf)
        other = self.watch.unknown()
        if key and other:
            return say("{name} in line {line} is right. Compute {other} in line {number} by hand:"
                       " the formula has no such value.", name=f"`{key[2]}`", line=key[1],
                       other=f"`{other[2]}`", number=other[1])
        return say("The last value that is right on the way is {name} in line {line}. Compute the"
                   " next one by hand.", name=f"`{key[2]}`", line=key[1]) if key else ""

    def code_of(self, change):
        """Return a sentence with the wrong code and the right one, in the student's names."""
        if change is None or isinstance(change, Turn):
            return ""
        shown = self.pairs(change)
        line = say(" in line {number}", number=self.spot.key[1]) if self.spot else ""
        return say("Your numbers{line} are those of {codes}.", line=line, codes=listed(shown, 2))

    def pairs(self, change, stood=False):
        """Return a phrase for each changed piece of the formula, in the student's names."""
        pieces = [piece for part in getattr(change, "both", [change]) for piece in part.pieces]
        return [say("`{before}` left out" if after == "pass" else
                    "`{after}` stood where `{before}` stands" if stood else
                    "`{after}` where `{before}` is right",
                    before=self.in_his_names(before), after=self.in_his_names(after))
                for before, after in pieces]

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


def parsed(code):
    """Return the expression that a piece of code is, in a list, or [] if it is none."""
    with contextlib.suppress(SyntaxError):
        return [ast.parse(code.partition("=")[2] if re.match(r"\w+=(?!=)", code) else code,
                          mode="eval").body]
    return []


def way(right, wrong):
    """Return the operations, calls and indices of the wrong code that hold the difference."""
    found = [wrong]
    while not is_number(right) and (pair := only_difference(right, wrong)):
        right, wrong = pair
        found += [wrong] if isinstance(wrong, HOLDERS) else []
    return found


def marks(node):
    """Return what tells an operation, call or index from others.

    An operation is told by its operator and either side, a call by its function and an argument.
    """
    if isinstance(node, (ast.BinOp, ast.Compare)):
        sides = [node.left, getattr(node, "right", None) or node.comparators[0]]  # type: ignore
        sign = type(getattr(node, "op", None) or node.ops[0]).__name__  # type: ignore
        return {f"{plain(sides[0])} {sign}", f"{sign} {plain(sides[1])}"}
    if isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        names = {getattr(part, "attr", getattr(part, "id", "")) for part in (node.func, owner)}
        return {f"{name}({plain(given)}" for name in names for given in (owner, *node.args)}
    return {plain(node)} if isinstance(node, HOLDERS) else set()


def plain(node):
    return re.sub(r"\bcache\.|[()]", "", ast.unparse(node))


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
            added = float(got.sum(axis=-1).flat[np.argmax(off)])
            row = next(said for n in (3, 6, 9, 12, 17) if float(said := f"{added:.{n}g}") != total)
            column = got.ndim > 1 and next((
                axis for axis in range(got.ndim - 1)
                if np.allclose(got.sum(axis=axis), total, rtol=0, atol=1e-9)), None)
            if column is not False and column is not None:
                return say("A row of yours adds up to {row}, and along axis {axis} to {total}.",
                           row=row, total=total, axis=column)
            return say("A row of yours adds up to {row}, not to {total}.", row=row, total=total)
    return ""


def moved(got, want):
    """Say so if the student's numbers are the right ones at other places."""
    got, want = np.asarray(got), np.asarray(want)
    if want.size > 2 and want.dtype.kind == "f" and same(np.sort(got.ravel()),
                                                         np.sort(want.ravel())):
        return say("The right numbers, at other places.")
    return ""


def kind_of(before, after):
    """Return (kind, piece): how wrong code differs from the right code, and which piece does."""
    if after == "pass":
        return "missing", before
    try:
        right, wrong = (ast.parse(code, mode="eval").body for code in (before, after))
    except SyntaxError:
        return "other", ""
    holder = None
    while not is_number(right) and (pair := only_difference(right, wrong)) is not None:
        if not (isinstance(right, ast.Tuple) and isinstance(holder, ast.Subscript)):
            holder = right
        right, wrong = pair
        if isinstance(right, ast.keyword) and right.arg == "axis":
            return "axis", ""
    if not isinstance(wrong, ast.expr) or not isinstance(right, ast.expr):
        return of_operators(right, wrong, holder)
    return difference(right, wrong, holder)


def is_number(node):
    """Tell whether a node is a number, perhaps a negative one."""
    return isinstance(getattr(node, "operand", node), ast.Constant)


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


def of_operators(right, wrong, holder):
    """Return (kind, piece) of a difference between two operators or options."""
    both, piece = {type(right), type(wrong)}, text(getattr(holder, "right", holder))
    if both <= {ast.Add, ast.Sub}:
        return "sign", piece
    if both <= {ast.Mult, ast.Div, ast.FloorDiv}:
        return "divided", piece
    return "comparison" if isinstance(right, ast.cmpop) else "other", ""


def difference(right, wrong, holder):
    """Return (kind, piece) of a difference between two expressions."""
    before, after = text(right), text(wrong)
    if isinstance(holder, ast.Subscript):
        return "size" if ".shape" in text(holder) else "index", after
    if isinstance(wrong, ast.BinOp) and before in (sides := [text(wrong.left), text(wrong.right)]):
        return "extra", sides[sides[0] == before]
    if isinstance(right, ast.IfExp):
        return "condition", after
    if isinstance(right, ast.BinOp) and after in (sides := [text(right.left), text(right.right)]):
        return LEFT_OUT.get(type(right.op), "factor"), sides[sides[0] == after]
    if isinstance(right, ast.BinOp) and after == f"-{text(right.right)}":
        return "term", text(right.left)
    if isinstance(wrong, ast.UnaryOp) or isinstance(right, ast.UnaryOp):
        return "sign", text((wrong if isinstance(wrong, ast.UnaryOp) else right).operand)
    if isinstance(wrong, ast.Constant):
        return "number", after
    if isinstance(right, ast.Call):
        if after in map(text, right.args):
            return "missing", text(right.func)
        if less := [k for k in right.keywords if text(k) not in after]:
            return "missing", text(less[0])
        if isinstance(wrong, ast.Call) and text(right.func) != text(wrong.func):
            moves = ("reshape", "swapaxes", "moveaxis", "flip")
            moved = any(m in code for m in moves for code in (before, after))
            return "moved" if moved else "function", text(wrong.func).rpartition(".")[2]
    if isinstance(wrong, ast.Call) and before in map(text, wrong.args):
        return "twice", before if "_like" in after else text(wrong.func)
    simple = ast.Name, ast.Attribute
    if isinstance(holder, ast.Call) and right is holder.func:
        return "function", after.rpartition(".")[2]
    if isinstance(right, simple) and isinstance(wrong, simple):
        return "array", after
    return "other", ""
