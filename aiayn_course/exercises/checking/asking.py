"""The texts of a report: where the mistake shows, what was measured, a question, and the hints.

The mistake is known as an edit of the right formula, and its effect as numbers. The question is
made from both, in the names and lines of the student's code where `tracing` finds them. It names
neither the cause nor the right code: a student asks for these by `hint=1` and `hint=2`.
"""

import ast
import copy
import re

import numpy as np

from aiayn_np.text.columns import width

from ..language import WIDTH, listed, say, say_name, tidy
from ..topics.questions import OF_KEY
from .comparing import measured
from .example import Example
from .explaining import is_wrong, observed
from .kinds import HAND, KINDS, text
from .operands import functions_of, names_in, source_of, tree_of
from .report import groups_of
from .stop import FIRST
from .tracing import Watch, fitting_array, helper_of

NO_CAUSE = "No single cause is known. Compare each of your steps with the derivation: hint=3."
ALL_SAID = "What is wrong stands in the report. hint=3 gives the derivation."
OF_A_RETURN = "wrong count", "order", "no cache", "nothing returned"
LONG = 80  # columns of a line that is quoted
LINE = "What comes into this line, and what can it not take?"
SEEN = {  # the diagnosis of what is seen at once: a question
    "zero": "Which line adds to the gradient, and is that line reached?",
    "no gradient": "When this input grows a little, what happens to the output?",
    "sign": "Where does a minus come in?",
    "nearly": "Which small number, or which type, comes in?",
    "some cases": "What is special there?",
    "some entries": "What is special about them?",
    "nan": LINE, "inf": LINE,
}


def told(checking, stop):
    """Return the texts of a Report on what ended a check, as a dict."""
    state, code, example = state_of(checking, stop), "", None
    if stop.finding:
        story = Story(checking, stop.finding)
        where, question, code, example = (
            story.where(), story.question(), story.code(), story.example())
        cause = story.cause() or say(NO_CAUSE)
        first = FIRST.match(stop.where)[0]                             # type: ignore[index]
        message = " ".join(map(sentence, filter(None, (state, first, cause, code))))
    else:
        where, question = stop.where, stop.question
        cause = f"{fitting_array(checking, stop.failure)} {stop.cause}".strip()
        message = f"{where} {cause}".strip()
        cause = cause or say(NO_CAUSE if stop.failure else ALL_SAID)
    derivation = "\n".join(map(say, checking.subject.derivation(checking.stage)))
    return dict(state=state, where=sentence(where), question=tidy(question), example=example,
                message=sentence(message), hints=(
                    sentence(cause), sentence(code or beside(checking, stop)), derivation))


def state_of(checking, stop):
    """Tell in one sentence what is right and what is wrong."""
    right = checking.stage == "backward" and stop.tensor != "output"
    if checking.stage == "function" or not (right or stop.finding):
        return ""
    if not stop.finding:
        return say("Right: {right}.", right=say("forward"))
    if not right:
        return say("Wrong: {wrong}.", wrong=say("forward"))
    rows = [row for row in checking.rows.values() if row.verdict == "WRONG"]
    wrong = [name for names, _ in groups_of(rows) for name in names]
    return say("Right: {right}. Wrong: {wrong}.", right=say("forward"), wrong=listed(wrong, 3))


def beside(checking, stop):
    """Return a sentence with the student's line beside the right one.

    The line is the one that stops, or that makes the wrong tensor. What the formula makes of the
    same name or tensor stands beside it, or else its last line.
    """
    formula, failure = checking.formula, stop.failure
    tensors = stop.tensor or (stop.finding.wrong if stop.finding else "")
    tensor = tensors if isinstance(tensors, str) else tensors[0]
    line = stop.code or (failure and failure.code) or line_for(checking, tensor)
    mine = say("Your line is {code}.", code=f"`{line}`") if line else say(
        "No line of yours makes {name}.", name=say_name(tensor or "output"))
    if stop.diagnosis in OF_A_RETURN:
        return mine + " " + say("It must end with {right}.", right=f"`{right_return(checking)}`")
    right = "" if stop.code else formula.code_of(failure.target if failure else tensor)
    names = Watch(formula, checking.stage, checking.trial).names() if (
        checking.trial and (failure or stop.finding)) else {}
    code = in_his_names(right or formula.last_line, names, checking)
    if stop.diagnosis == "overwritten":
        code = f"self.{tensor} += {code}"
    elif re.search(rf"(^|= |return ){re.escape(code)}($|,)", line):
        return say("Your line {code} is that of the formula: look at what comes into it.",
                   code=f"`{line}`")
    return mine + " " + say("The formula has {right} there." if right else
                            "The formula ends with {right}.", right=f"`{code}`")


def right_return(checking):
    """Return the line that a method must end with."""
    if checking.stage == "function":
        return "return " + checking.formula.last_line
    moving = [f"grad_{name}" for name in checking.trial.moving] or ["None"]
    return "return y, cache" if checking.stage == "forward" else f"return {', '.join(moving)}"


def line_for(checking, tensor):
    """Return the student's statement that makes a tensor, or the last one that returns, or ""."""
    lines = [(function.__code__.co_filename, line) for function in functions_of(checking.student)
             for top in ast.walk(tree_of(function.__code__.co_filename))
             if isinstance(top, ast.FunctionDef) and checking.stage in ("function", top.name)
             and top.lineno == function.__code__.co_firstlineno for line in ast.walk(top)
             if isinstance(line, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return))]
    found = [one for one in lines if f"self.{tensor}" in ast.unparse(one[1])] if (
        tensor.endswith(".grad")) else [one for one in lines if isinstance(
            one[1], ast.Return)] or lines * (checking.stage == "function")
    return shorten(source_of(found[-1][0], found[-1][1].lineno)) if found else ""


def shorten(code):
    return code if len(code) <= LONG else f"{code[: LONG - 2].rstrip()} …"


def in_his_names(code, names, checking):
    """Return code in one line, with the student's names alone.

    A name that he does not have becomes what it is made of, or … if that is unknown or too long.
    """
    used = names_in({function.__code__.co_filename for function in functions_of(checking.student)})
    made_of = {**checking.formula.made_of}
    while True:
        named = ast.unparse(Named(names, used, made_of).visit(ast.parse(code)))
        named = re.sub(r"\n *", "; ", re.sub(r":\n *", ": ", named))
        if len(named) <= max(LONG, len(code)) or not any(made_of.values()):
            return named
        longest = max(filter(made_of.get, made_of), key=lambda name: (
            name not in code, len(text(made_of[name]))))               # the inner ones first
        made_of[longest] = None


def question_of(edit):
    """Return the question for an edit."""
    own = OF_KEY.get(edit.key) or OF_KEY.get(edit.key.removesuffix(" in backward"))
    kind = edit.kind or next((kind for kind in KINDS if kind.key == edit.key), None)
    return (edit.known and own) or (kind.question if kind else HAND)


def sentence(text):
    """Return a text that ends with one full stop, or with its question mark."""
    text = tidy(text).rstrip(". 。")
    return text if not text or text.endswith(("?", "？", ":")) else text + say(".")


class Named(ast.NodeTransformer):
    """Put a student's names into code of the formula.

    mine : {name in the formula: the student's name}      used : all names in the student's file
    made_of : what stands in the place of a name that the student does not have, or None
    """

    def __init__(self, mine, used, made_of):
        self.mine, self.used, self.made_of = mine, used, made_of

    def visit_Name(self, node):
        if node.id in self.mine:
            return ast.Name(self.mine[node.id])
        if node.id in self.used or node.id not in self.made_of or isinstance(node.ctx, ast.Store):
            return node
        made = self.made_of[node.id]
        return self.visit(copy.deepcopy(made)) if made else ast.Name("…")

    def visit_Call(self, node):
        """Leave out what the formula does for the type alone."""
        self.generic_visit(node)
        return node.args[0] if ast.unparse(node.func) == "np.float64" else node


class Story:
    """Everything that a report tells of wrong numbers.

    edit : what gives the student's numbers, or None
    seen : (diagnosis, sentence) of how the numbers differ, or None
    spot : the first value of the student's code that is wrong, or None
    mine : {name in the formula: name in the student's code}
    trial, got, want : the smallest case that shows the mistake, the student's array, the right one
    """

    def __init__(self, checking, finding):
        self.checking, self.finding = checking, finding
        self.edit, self.seen = finding.edit, finding.seen
        name = finding.wrong[0]
        self.trial = min((t for t in finding.trials if is_wrong(t, [name])), key=lambda t: (
            -len(t.case.options), t.expected[name].size < 4, t.expected[name].size))
        self.watch = Watch(checking.formula, finding.stage, self.trial, finding.wrong, self.edit)
        self.spot = self.watch.spot()
        self.mine = self.watch.names()
        self.got, self.want = observed(self.trial, name)
        if self.spot:
            self.got, self.want = self.spot.got, self.spot.want

    def example(self):
        """Return the Example of the first wrong value, in the smallest case, or None."""
        name = (self.spot and self.spot.key[2]) or self.finding.wrong[0]
        ids = np.asarray(self.want).dtype.kind == "i" and np.ndim(self.got) == 2 and (
            len(self.got) == len(self.want) and min(np.size(self.got), np.size(self.want)) > 0)
        return Example.of(name, self.trial.case.what, self.got, self.want) if ids or (
            np.shape(self.got) == np.shape(self.want)) else None

    def where(self):
        """Return a sentence on the student's line that holds the first wrong value, or ""."""
        spot = self.spot
        if not spot or not (spot.right or self.edit):
            return ""
        code, (_, line, name) = f"`{shorten(spot.code)}`", spot.key
        where = say("{name} in line {line} is right. ", name=f"`{spot.right[2]}`",
                    line=spot.right[1]) if spot.right else ""
        where += say("{name} in line {line} is not right yet: {code}." if name else
                     "What line {line} returns is not right yet: {code}.", name=f"`{name}`",
                     line=line, code=code)
        if spot.doubt:
            where += say(" Or {name} in line {line} already.",
                         name=f"`{spot.doubt[2]}`", line=spot.doubt[1])
        elif helper := helper_of(*spot.key):
            where += say(" Or what {name} is given.", name=f"`{helper}`")
        return where if width(where) <= WIDTH else where.replace(code, f"\n{code}")

    def measured(self):
        """Return a sentence on how the student's numbers differ, or ""."""
        if self.seen and self.seen[0] != "wrong":
            return FIRST.match(self.seen[1])[0]                        # type: ignore[index]
        return measured(self.got, self.want)

    def question(self):
        """Return what was measured of the numbers, and the question."""
        seen, edit = self.seen, self.edit
        asked = question_of(edit) if edit else HAND
        if seen and seen[0] in SEEN and not (edit and edit.known) and (
                seen[0] not in ("nan", "inf") or self.where()):
            into = seen[0] == "zero" and self.finding.wrong[0].startswith("grad_")
            asked = SEEN["no gradient" if into else seen[0]]
        return " ".join(filter(None, map(sentence, (self.measured(), say(asked)))))

    def cause(self):
        """Return the sentences that name the cause, or ""."""
        edit = self.edit
        if edit is None:
            part, *_ = self.finding.wrong[0].removesuffix(".grad").rpartition(".")
            if self.seen[0] == "zero" and part:
                return say("{part}.backward adds to it: is it called?", part=part)
            rest = FIRST.sub("", self.seen[1], count=1).strip()
            return rest if self.seen[0] != "wrong" and rest else self.last_right()
        cause = say(edit.known) if edit.known else self.of_a_kind(edit)
        left = say(" There is more: {names} is wrong, too.", names=listed(
            [say_name(tensor) for tensor in self.finding.left])) if self.finding.left else ""
        return cause + left

    def of_a_kind(self, edit):
        """Return the sentence of an edit's kind, with the code that gives the student's numbers."""
        piece = edit.piece if edit.key.endswith("not passed on") else self.in_his_names(edit.piece)
        codes = [f"`{self.in_his_names(after)}`" for _, after in edit.pieces
                 if after != "pass" and not edit.kind.is_device]
        codes = [code for code in codes if re.search(r"\w", code)]
        said = say(edit.kind.sentence, piece=f"`{piece}`")
        return say("{key}: your numbers are those of {codes}." if codes else "{key}.",
                   key=said, codes=listed(codes, 2) if codes else "")

    def last_right(self):
        """Return a sentence on the last value that is right, and the next that is not known."""
        other = self.watch.unknown()
        before = (other, self.watch.mine[other].when[0]) if other else ()
        right = self.spot.right if self.spot else self.watch.last_right(*before)
        known = self.spot and other == self.spot.key                   # it is wrong, as is said
        said = [say("The last value that is right on the way is {name} in line {line}.",
                    name=f"`{right[2]}`", line=right[1])] if right else []
        if other and not known:
            said.append(say("The formula has no value such as {other} in line {number}, which may"
                            " be right all the same: compute it by hand.", other=f"`{other[2]}`",
                            number=other[1]))
        return " ".join(said)

    def code(self):
        """Return a sentence with the wrong code and the right one, in the student's names."""
        if self.edit is None:
            return ""
        shown = [say("`{before}` left out" if after == "pass" else
                     "`{after}` where `{before}` is right",
                     before=self.in_his_names(before), after=self.in_his_names(after))
                 for before, after in self.edit.pieces]
        return say("Your numbers are those of {codes}.", codes=listed(shown, 2))

    def in_his_names(self, code):
        """Return code with the student's names."""
        return in_his_names(code, self.mine, self.checking)
