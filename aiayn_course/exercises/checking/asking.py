"""The first part of a report: where the mistake shows, what was measured, and a question.

The mistake is known as an edit of the right formula, and its effect as numbers. The question is
made from both, in the names and lines of the student's code where `tracing` finds them. It names
neither the cause nor the right code: a student asks for these by `hint=1` and `hint=2`.
"""

import ast
import copy
import re

import numpy as np

from aiayn_np.text.columns import width

from ..language import WIDTH, listed, say, tidy
from ..topics.questions import OF_KEY
from .comparing import measured
from .example import Example
from .explaining import is_wrong, observed
from .fitting import refitted
from .kinds import HAND, KINDS
from .operands import functions_of, names_in, tree_of
from .report import kinds_in
from .stop import FIRST
from .tracing import Watch

NO_CODE = "Here no piece of your code can be set beside the right one: hint=3 gives the derivation."
NO_CAUSE = "No single cause is known. Compare each of your steps with the derivation: hint=3."
ALL_SAID = "What is wrong stands in the report. hint=3 gives the derivation."
LONG = 80  # columns of a line that is quoted
PART = re.compile(r"(self\.\w+)(?:\.forward|\.backward)?\(")  # a part that is called
LINE = "What comes into this line, and what can it not take?"
SEEN = {  # the diagnosis of what is seen at once: a question
    "zero": "Which line adds to the gradient, and is that line reached?",
    "no gradient": "When this input grows a little, what happens to the output?",
    "sign": "Where does a minus come in?",
    "rng changes it": "Which line uses rng, and what must it do where dropout is off?",
    "nearly": "Which small number, or which type, comes in?",
    "number of axes": "Which line counts axes, or asks how many there are?",
    "some cases": "What is special there?",
    "some entries": "What is special about them?",
    "nan": LINE, "inf": LINE,
}


def told(checking, stop):
    """Return the texts of a Report on what ended a check, as a dict."""
    derivation = [say(text) for text in checking.subject.derivation(checking.stage)]
    if stop.finding:
        story = Story(checking, stop)
        where, question, code = story.where(), story.question(), story.code()
        cause, example = story.cause() or short_formula(derivation), story.example()
    else:
        cause = f"{refitted(stop, checking)} {stop.cause}".strip() or say(
            NO_CAUSE if stop.failure else ALL_SAID)
        where, question, example = stop.where, stop.question, None
        code = stop.failure and checking.trial and beside(
            checking, stop.failure.code, stop.failure.target,
            Watch(checking.formula, checking.stage, checking.trial).names())
    return dict(state=state_of(checking, stop), where=sentence(where), question=tidy(question),
                example=example, hints=(sentence(cause), sentence(code or "") or say(NO_CODE),
                                        "\n".join(derivation)))


def state_of(checking, stop):
    """Tell in one sentence what is right and what is wrong."""
    right = checking.stage == "backward" and stop.tensor != "output"
    if checking.stage == "function" or not (right or stop.finding):
        return ""
    if not stop.finding:
        return say("Right: {right}.", right=say("forward"))
    if not right:
        return say("Wrong: {wrong}.", wrong=say("forward"))
    wrong = kinds_in(row for row in checking.rows.values() if row.verdict == "WRONG")
    return say("Right: {right}. Wrong: {wrong}.", right=say("forward"), wrong=listed(wrong, 3))


def beside(checking, mine, target, names):
    """Return a sentence with the student's line beside the formula's line for `target`, or ""."""
    formula = checking.formula
    right = formula.code_of(target)
    files = {function.__code__.co_filename for function in functions_of(checking.student)}
    if not right or not mine:
        return ""
    right = in_his_names(right, names, names_in(files), formula.made_of)
    if any(ast.unparse(node) == right for file in files for node in ast.walk(tree_of(file))
           if isinstance(node, ast.expr)):
        return ""                                                      # it stands there already
    return say("Your line is {code}.", code=f"`{mine}`") + " " + say(
        "The formula has {right} there.", right=f"`{right}`")


def in_his_names(code, names, used, made_of):
    """Return code with the student's names, or with what a name is made of that he has not."""
    try:
        named = ast.unparse(Named(names, used, made_of).visit(ast.parse(code)))
    except SyntaxError:
        return code
    return named if len(named) <= max(LONG, len(code)) else code


def short_formula(derivation):
    """Return a sentence with the formula that a derivation begins with, if it is one short line."""
    formula = FIRST.match(derivation[0])[0]                            # type: ignore[index]
    short = re.match(r"\w+ = .*", formula) and len(formula) <= LONG
    return say("No single cause is known. The formula is {formula}", formula=formula) if (
        short) else say(NO_CAUSE)


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
    made_of : what stands in the place of a name that the student does not have
    """

    def __init__(self, mine, used, made_of):
        self.mine, self.used, self.made_of = mine, used, made_of

    def visit_Name(self, node):
        if node.id in self.mine:
            return ast.Name(self.mine[node.id])
        unknown = node.id in self.made_of and node.id not in self.used
        return self.visit(copy.deepcopy(self.made_of[node.id])) if unknown else node

    def visit_Call(self, node):
        """Leave out what the formula does for the type alone."""
        self.generic_visit(node)
        return node.args[0] if ast.unparse(node.func) == "np.float64" else node


class Story:
    """Everything that a report tells of wrong numbers.

    edit : what gives the student's numbers, or None
    spot : the first value of the student's code that is wrong, or None
    mine : {name in the formula: name in the student's code}
    trial, got, want : the smallest case that shows the mistake, the student's array, the right one
    """

    def __init__(self, checking, stop):
        self.checking, self.finding, self.diagnosis = checking, stop.finding, stop.diagnosis
        self.edit, self.seen = self.finding.edit, self.finding.seen
        name = self.finding.wrong[0]
        self.trial = min((t for t in self.finding.trials if is_wrong(t, [name])), key=lambda t: (
            -len(t.case.options), t.expected[name].size < 4, t.expected[name].size))
        self.watch = Watch(checking.formula, self.finding.stage, self.trial, self.finding.wrong,
                           self.edit)
        self.spot = self.watch.spot()
        self.mine = self.watch.names() if self.edit else {}
        self.got, self.want = observed(self.trial, name)
        if self.spot:
            self.got, self.want = self.spot.got, self.spot.want
        self.is_empty = bool(self.seen) and self.seen[0] in ("nan", "inf")

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
        if not spot or not spot.sure or self.is_empty or not (spot.right or self.edit):
            return ""                                                  # of nan, a line is named
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
        if spot.doubt:
            where += say(" Or {name} in line {line} already.",
                         name=f"`{spot.doubt[2]}`", line=spot.doubt[1])
        elif spot.helper:
            where += say(" Or what {name} is given.", name=f"`{spot.helper}`")
        return where if width(where) <= WIDTH else where.replace(code, f"\n{code}")

    def question(self):
        """Return what was measured of the numbers, and the question."""
        return " ".join(filter(None, map(sentence, (self.measured(), self.asked()))))

    def measured(self):
        """Return a sentence on how the student's numbers differ, or ""."""
        if self.seen:
            rest = FIRST.sub("", self.seen[1], count=1).strip()        # the example shows nan
            return rest if self.is_empty and rest else self.seen[1]
        if said := measured(self.finding.stage, self.trial, self.got, self.want):
            return said
        known = self.edit or self.diagnosis == "wrong"
        return FIRST.match("" if known else self.finding.why)[0]       # type: ignore[index]

    def asked(self):
        """Return the question itself."""
        seen, edit = self.seen, self.edit
        no_line = self.is_empty and not FIRST.sub("", seen[1], count=1)
        if seen and seen[0] in SEEN and not no_line and not (edit and edit.known):
            into = seen[0] == "zero" and self.finding.wrong[0].startswith("grad_")
            return say(SEEN["no gradient" if into else seen[0]])
        return say(question_of(edit) if edit else SEEN.get(self.diagnosis, HAND))

    def cause(self):
        """Return the sentences that name the cause, or ""."""
        edit = self.edit
        if edit is None:
            if self.diagnosis == "zero":
                part, *_ = self.finding.wrong[0].removesuffix(".grad").rpartition(".")
                return say("{part}.backward adds to it: is it called?", part=part) if part else ""
            rest = "" if self.diagnosis == "wrong" else FIRST.sub("", self.finding.why, count=1)
            return rest.strip() or self.unknown()
        if edit.known:
            return say(edit.known)
        is_option = edit.key.endswith("not passed on")
        piece = edit.piece if is_option else self.in_his_names(edit.piece)
        if is_option and self.passes(edit):
            return say("{option} is passed on, and what is in it has no effect. The mistake stands"
                       " where it is made: look at the arguments there.", option=f"`{piece}`")
        codes = [f"`{self.in_his_names(after)}`" for _, after in edit.pieces
                 if after != "pass" and not edit.kind.is_device]
        said = say(edit.kind.sentence, piece=f"`{piece}`")
        return say("{key}: your numbers are those of {codes}." if codes else "{key}.",
                   key=said, codes=listed(codes, 2) if codes else "")

    def passes(self, edit):
        """Tell whether the student's code passes on the option that an edit leaves out."""
        def given(trees):
            return {ast.unparse(node.func).removesuffix(".forward") for tree in trees
                    for node in ast.walk(tree) if isinstance(node, ast.Call)
                    and edit.piece in [option.arg for option in node.keywords]}

        right = given(ast.parse(before) for before, _ in edit.pieces)
        return right <= given(map(tree_of, {key[0] for key in self.watch.mine}))

    def unknown(self):
        """Return a sentence on the first value that may be wrong, or ""."""
        other = self.watch.unknown()
        if not other:
            key = self.watch.last_right()
            return say("The last value that is right on the way is {name} in line {line}. Compute"
                       " the next one by hand.", name=f"`{key[2]}`", line=key[1]) if key else ""
        key = self.watch.last_right(other, self.watch.mine[other].when[0])
        return say("{name} in line {line} is right. Compute {other} in line {number} by hand.",
                   name=f"`{key[2]}`", line=key[1], other=f"`{other[2]}`", number=other[1]) if (
            key) else say("Compute {other} in line {number} by hand.", other=f"`{other[2]}`",
                          number=other[1])

    def code(self):
        """Return a sentence with the wrong code and the right one, in the student's names."""
        sure = self.spot and not self.spot.doubt
        if self.edit is None:
            return beside(self.checking, self.spot.code, self.spot.key[2],
                          self.watch.names()) if sure else ""
        is_there = sure and any({*PART.findall(after)} <= {*PART.findall(self.spot.code)}
                                for _, after in self.edit.pieces)
        line = say(" in line {number}", number=self.spot.key[1]) if is_there else ""
        shown = [say("`{before}` left out" if after == "pass" else
                     "`{after}` where `{before}` is right",
                     before=self.in_his_names(before), after=self.in_his_names(after))
                 for before, after in self.edit.pieces]
        return say("Your numbers{line} are those of {codes}.", line=line, codes=listed(shown, 2))

    def in_his_names(self, code):
        """Return code with the student's names."""
        return in_his_names(code, self.mine, self.watch.names_used(), self.checking.formula.made_of)
