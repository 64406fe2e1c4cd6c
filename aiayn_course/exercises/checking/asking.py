"""What a report says before it gives an answer: where it shows, what was measured, and a question.

The mistake is known as an edit of the right formula, and its effect as numbers. The question is
made from both, in the names and lines of the student's code where `tracing` finds them. It names
neither the cause nor the right code: a student asks for these by `hint=1` and `hint=2`.
"""

import ast
import copy
import math
import re

import numpy as np

from aiayn_np.text.columns import width

from ..language import say, tidy
from .comparing import same
from .example import Example
from .explaining import has, observed
from .fitting import refitted
from .measuring import measured
from .operands import functions_of, names_in, tree_of
from .questions import HAND, SEEN, question_of
from .report import WIDTH, kinds_in, listed
from .tracing import Watch, next_step

FIRST = re.compile(r".*?(\.(?= )|。|$)", re.DOTALL)  # the first sentence
NO_CODE = "Here no piece of your code can be set beside the right one: hint=3 gives the derivation."
NO_CAUSE = "No single cause is known. Compare each of your steps with the derivation: hint=3."
ALL_SAID = "What is wrong stands in the report. hint=3 gives the derivation."
LONG = 80  # columns of a line that is quoted


def told(subject, checking, stop):
    """Return the texts of a Report on what ended a check, as a dict."""
    derivation = [say(text) for text in subject.derivation(checking.stage)]
    state = state_of(checking, stop)
    if checking.finding is None:
        rest = stop.cause or ("" if stop.where else FIRST.sub("", stop.message, count=1)).strip()
        where = stop.where or stop.message.removesuffix(rest)
        cause = f"{refitted(stop, checking)} {rest}".strip()
        code = beside(checking, checking.trial, stop.code, stop.target[0]) if stop.by_error else ""
        return dict(state=state, where=sentence(where), question=sentence(stop.question),
                    hints=(sentence(cause or say(NO_CAUSE if stop.by_error else ALL_SAID)),
                           code or say(NO_CODE), "\n".join(derivation)))
    story = Story(checking, checking.finding, stop.diagnosis)
    cause = f"{sentence(story.cause())} {stop.cause}".strip() or short_formula(derivation)
    question = tidy(" ".join(filter(None, map(sentence, (story.measured(), story.question())))))
    return dict(state=state, where=sentence(story.where()), question=question,
                hints=(cause, sentence(story.code()) or say(NO_CODE),
                       "\n".join(derivation)), example=story.example())


def beside(checking, trial, mine, target=""):
    """Return a sentence with the student's line beside the next step of the formula, or ""."""
    right, names, is_there = next_step(checking, trial, target) if trial else ("", {}, False)
    if not right:
        return ""
    files = {function.__code__.co_filename for function in functions_of(checking.student)}
    made = checking.subject.formulas[checking.stage].made_of
    right = in_his_names(right, names, names_in(files), made)
    if any(ast.unparse(node) == right for file in files for node in ast.walk(tree_of(file))
           if isinstance(node, ast.expr)):
        return ""                                                      # it stands there already
    said = say("The formula has {right} there." if is_there else "Of the formula's steps, the first"
               " whose result your code does not have is {right}.", right=f"`{right}`")
    return f"{say('Your line is {code}.', code=f'`{mine}`')} {said}" if mine else said


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


def sentence(text):
    """Return a text that ends with one full stop, or with its question mark."""
    text = tidy(text).rstrip(". 。")
    return text if not text or text.endswith(("?", "？", ":")) else text + say(".")


def state_of(checking, stop):
    """Tell in one sentence what is right and what is wrong."""
    if checking.stage == "function":
        return ""
    right = checking.stage == "backward" and stop.tensor != "output"
    if checking.finding is None:
        return say("Right: {right}.", right=say("forward")) if right else ""
    if not right:
        return say("Wrong: {wrong}.", wrong=say("forward"))
    wrong = kinds_in(row for row in checking.rows.values() if row.verdict == "WRONG")
    return say("Right: {right}. Wrong: {wrong}.", right=say("forward"), wrong=listed(wrong, 3))


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

    def __init__(self, checking, finding, diagnosis):
        self.checking, self.finding, self.diagnosis = checking, finding, diagnosis
        self.edit = finding.explanation and finding.explanation.edit
        self.watch = Watch(checking, finding.stage, finding.trials, finding.wrong, self.edit)
        pairs = {name: [observed(t, name) for t in self.watch.trials if has(t, name)]
                 for name in finding.wrong}
        self.spot = self.watch.spot({name: some for name, some in pairs.items()
                                     if len(some) == len(self.watch.trials)})
        self.mine = self.watch.names() if self.edit else {}
        if self.spot:
            self.trial = next(t for t in finding.trials if t.case is self.spot.case)
            self.got, self.want = self.spot.got, self.spot.want
        else:
            name = finding.wrong[0]
            self.trial = min((t for t in finding.trials if has(t, name) and not same(
                *observed(t, name))), key=lambda t: np.size(observed(t, name)[1]))
            self.got, self.want = observed(self.trial, name)

    def example(self):
        """Return the Example of the first wrong value, in the smallest case, or None."""
        name = (self.spot and self.spot.key[2]) or self.finding.wrong[0]
        ids = np.asarray(self.want).dtype.kind == "i" and np.ndim(self.got) == 2 and (
            len(self.got) == len(self.want) and min(np.size(self.got), np.size(self.want)) > 0)
        return Example.of(name, self.trial.case.what, self.got, self.want) if ids or (
            np.shape(self.got) == np.shape(self.want)) else None

    def where(self):
        """Return a sentence on the student's line that holds the first wrong value, or ""."""
        spot, seen = self.spot, self.finding.seen
        if not spot or not spot.sure or (seen and seen[0] in ("nan", "inf")):
            return ""                                                  # what is seen names a line
        if not (spot.right or self.edit):
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
        if spot.doubt:
            where += say(" Or {name} in line {line} already.",
                         name=f"`{spot.doubt[2]}`", line=spot.doubt[1])
        elif spot.helper:
            where += say(" Or what {name} is given.", name=f"`{spot.helper}`")
        return where if width(where) <= WIDTH else where.replace(code, f"\n{code}")

    def measured(self):
        """Return a sentence on the numbers, or ""."""
        finding = self.finding
        if finding.seen:
            said = finding.seen[1]
            rest = FIRST.sub("", said, count=1).strip()                # the example shows nan
            return rest if finding.seen[0] in ("nan", "inf") and rest else said
        if said := measured(finding.stage, self.trial, self.got, self.want):
            return said
        known = finding.explanation or self.diagnosis == "wrong"
        return FIRST.match("" if known else finding.why)[0]            # type: ignore[index]

    def question(self):
        """Return the question."""
        seen, explanation = self.finding.seen, self.finding.explanation
        no_line = seen and seen[0] in ("nan", "inf") and not FIRST.sub("", seen[1], count=1)
        if seen and seen[0] in SEEN and not no_line and not (explanation and explanation.known):
            into = seen[0] == "zero" and self.finding.wrong[0].startswith("grad_")
            return say(SEEN["no gradient" if into else seen[0]])
        if not explanation:
            return say(SEEN.get(self.diagnosis, HAND))
        return say(question_of(self.edit))

    def cause(self):
        """Return the sentences that name the cause."""
        edit = self.edit
        if edit is None:
            rest = "" if self.diagnosis == "wrong" else FIRST.sub("", self.finding.why, count=1)
            return rest.strip() or ("" if self.diagnosis == "zero" else self.last_right())
        if edit.known:
            return say(edit.known)
        codes = [f"`{self.in_his_names(after)}`" for _, after in edit.pieces
                 if after != "pass" and not edit.kind.is_device]
        is_option = edit.key.endswith("not passed on")
        piece = edit.piece if is_option else self.in_his_names(edit.piece)
        if is_option and self.passes(edit):
            return say("{option} is passed on, and what is in it has no effect. The mistake stands"
                       " where it is made: look at the arguments there.", option=f"`{piece}`")
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
        return right <= given(map(tree_of, {key[0] for key in self.watch.students[0]}))

    def last_right(self):
        """Return a sentence on the last value that is right on the way, or ""."""
        key = self.watch.last_right(self.watch.good(), ("", 0, ""), math.inf)
        other = self.watch.unknown()
        if key and other:
            return say("{name} in line {line} is right. Compute {other} in line {number} by"
                       " hand.", name=f"`{key[2]}`", line=key[1],
                       other=f"`{other[2]}`", number=other[1])
        return say("The last value that is right on the way is {name} in line {line}. Compute the"
                   " next one by hand.", name=f"`{key[2]}`", line=key[1]) if key else ""

    def code(self):
        """Return a sentence with the wrong code and the right one, in the student's names."""
        sure = self.spot and not self.spot.doubt
        if self.edit is None:
            return beside(self.checking, self.trial, *(
                (self.spot.code, self.spot.key[2]) if sure else ("",)))
        line = say(" in line {number}", number=self.spot.key[1]) if sure else ""
        shown = [say("`{before}` left out" if after == "pass" else
                     "`{after}` where `{before}` is right",
                     before=self.in_his_names(before), after=self.in_his_names(after))
                 for before, after in self.edit.pieces]
        return say("Your numbers{line} are those of {codes}.", line=line, codes=listed(shown, 2))

    def in_his_names(self, code):
        """Return code with the student's names."""
        return in_his_names(code, self.mine, self.watch.names_used(), self.watch.formula.made_of)
