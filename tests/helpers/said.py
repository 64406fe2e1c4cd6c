"""All English texts that the exercises say, in the order of the source: chinese.json holds them.

Most stand where they are said, `say("...")`. The others are constants of the same module, or texts
of the exercises, of their cases and mistakes, and of the bugs.
"""

import ast
import importlib
import re
from pathlib import Path

import numpy as np

from aiayn_course import exercises
from aiayn_course.exercises import EXERCISES, language, yours
from aiayn_course.exercises.checking import asking, comparing, errors, kinds
from aiayn_course.exercises.checking.function_check import FunctionCheck
from aiayn_course.exercises.checking.layer_check import PARTS, SIZES
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.mystery import models
from aiayn_course.exercises.topics import questions
from aiayn_course.lab.zoo import BUGS

FOLDER = Path(exercises.__file__).parent
FILES = sorted([*FOLDER.rglob("*.py"), *FOLDER.parent.glob("cli/*.py")])
CODE = re.compile(r"(\w+ ?((= ?[\w.]+ ?)+|\([\d, ]*\))(, )?)+|return .*|")  # the same in Chinese
OTHERS = (  # that no rule below finds
    "ok", "WRONG", "not looked at", "output", "loss", "gradient of the logits", "True and False",
    "integers", "real numbers", "factor", "not readable", "memory", "missing", "exits", "too slow",
    "error", "inf", "stops", "values after each step", "gradients after each step",
    *comparing.COUNTED.values(),
    *(text for what, _, why in SIZES for text in (what, why)),
    *(text for what, _, why in PARTS for text in (what, why)), comparing.NEARLY,
    *(control.hint for control in yours.CONTROLS.values()),
)


def texts():
    """Every text that is said, once; not what is only code."""
    found = [*OTHERS, *language.PATTERNS, *in_source(), *of_the_errors(), *of_the_exercises(),
             *of_the_mistakes(), *of_the_bugs()]
    return [text for text in dict.fromkeys(found) if not CODE.fullmatch(text)]


def in_source():
    """What the files say themselves, and the names of mistakes in them."""
    for path in FILES:
        name = ".".join(path.relative_to(FOLDER.parents[1]).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield from of_a_call(node, module)
            if isinstance(node, ast.Tuple):
                yield from of_a_tuple(node)


def of_a_call(node, module):
    """What `say` is given, and the name of a mistake that an error is given."""
    function = ast.unparse(node.func)
    if function in ("say", "say_name"):
        yield from strings(node.args[0], module)
    if function in ("Stop", "Refused"):
        yield from strings(node.args[0], module)


def of_a_tuple(node):
    """Names of mistakes, in a tuple with what is said of them."""
    if any(isinstance(n, ast.Call) and ast.unparse(n.func) == "say" for n in node.elts):
        yield from (text for n in node.elts[:3] for text in strings(n))


def strings(node, module=None):
    """The strings that an expression may be: written there, as a choice, or as a constant."""
    if isinstance(node, ast.IfExp):
        return [*strings(node.body, module), *strings(node.orelse, module)]
    if module and isinstance(node, ast.Name) and node.id.isupper():
        return [getattr(module, node.id)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def of_the_errors():
    """What is said to errors of Python and NumPy."""
    for _, *words in errors.RULES:
        yield from filter(None, words)
    yield from (*questions.ASKED, *asking.SEEN.values())
    for kind in kinds.KINDS:
        yield from (kind.key, kind.question, kind.sentence)
    yield from (kinds.HAND, errors.SHAPES)


def of_the_exercises():
    """Names, questions, hints, cases, and the names of what is compared."""
    for exercise in EXERCISES.values():
        yield from (exercise.name, exercise.title, exercise.asks)
    for subject in SUBJECTS.values():
        yield from subject.hints
        for case in subject.cases(np.random.default_rng(0)):
            yield from filter(None, (case.what, case.why))
        if subject.kind == "function":
            checking = FunctionCheck(subject, subject.reference, 0)
            names = {name for case in checking.cases for name in checking.trial_of(case).expected}
            yield from (name for name in names if not re.search(r"\d", name))


def of_the_mistakes():
    """What is known of each formula: the names of mistakes, and what a teacher says."""
    for subject in SUBJECTS.values():
        for formula in subject.formulas.values():
            yield from (text for _, _, *known in formula.known for text in known)
            yield from (text for known in formula.whys.items() for text in known)


def of_the_bugs():
    """What the models of find_the_bug may have."""
    yield from models.TOOLS.values()
    for number in (*models.ORDER, *models.DECOYS):
        if bug := BUGS.get(number):
            told = bug.what, bug.formula, bug.caught_by
            yield from (bug.name, *told) if number in models.ORDER else (bug.name,)
    yield from models.STATEMENTS.data.values()
