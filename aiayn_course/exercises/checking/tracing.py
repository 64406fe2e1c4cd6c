"""Watch a student's code run, and find the line and the name that hold a value.

`values_of` runs a function and keeps each new number or array that a variable gets. The same is
done with the right formula, and with the formula that has the student's mistake in it. A variable
of the student that holds the same values in every case is the same thing, whatever its name.
"""

import ast
import contextlib
import copy
import functools
import itertools
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..exercise import SUBJECTS
from .comparing import is_numbers, same
from .explaining import observed, predict
from .failing import NOT_STUDENTS
from .operands import names_in, source_of, statement_at, tree_of
from .stop import Stop

Key = tuple[str, int, str]  # file, line, name; "" is what a function returns
ARGUMENT = 0  # the line of what a function is given
CALLED = "__init__", "forward", "backward", "step"
MOST = 3000  # values that are kept of one run
OTHERS = (*NOT_STUDENTS, "<edit>", str(Path(contextlib.__file__).parent))


class Spot(NamedTuple):
    """The first value of a student's code that is wrong, and the last right one before it.

    sure : whether it is known that no loop made a wrong value before it
    doubt : the key of a value that its line uses and that may be wrong already, or None
    got, want : the student's array and the right one
    """

    key: Key
    right: Key | None
    sure: bool
    doubt: Key | None
    got: np.ndarray
    want: np.ndarray

    @property
    def helper(self):
        return helper_of(*self.key)

    @property
    def code(self):
        """Return the student's statement in one line."""
        return source_of(*self.key[:2])


def helper_of(file, line, _):
    """Return the student's function that holds a line, or "" if the check calls it."""
    within = ["", *(node.name for node in ast.walk(tree_of(file))
                    if isinstance(node, ast.FunctionDef)
                    and node.lineno <= line <= (node.end_lineno or 0))]
    return within[-1] if within[-1] not in (*SUBJECTS, *CALLED) else ""


class Values(list):
    """Copies of the values of one variable; `when` counts the order in which all were got."""

    def __init__(self):
        super().__init__()
        self.when: list[int] = []


def values_of(function, is_watched, watched=None):
    """Run a function, to its end or to a Stop, and return {(file, line, name): Values}.

    is_watched : tells by its file's name whether a function is watched
    watched : {name: a function that returns an array}, such as gradients that are added to
    """
    log, before = Log(is_watched, watched or {}), sys.gettrace()
    sys.settrace(log.called)
    try:
        with contextlib.suppress(Stop):
            function()
    finally:
        sys.settrace(before)
    return log.values


class Log:
    """The values that variables get while functions run, and arrays that change then.

    Only the class or function that is called first is watched: what a helper computes is wrong if
    the helper is given what is wrong.
    """

    def __init__(self, is_watched, watched):
        self.is_watched, self.watched = is_watched, watched
        self.values: dict[Key, Values] = {}
        self.counted, self.open_calls = itertools.count(), list[str]()
        self.home_of = functools.lru_cache(home_of)
        self.last = {name: get().tobytes() for name, get in watched.items()}

    def called(self, frame, event, argument):
        """Return the function that Python calls at each line of a call; None for no watched one."""
        home = self.is_watched(frame.f_code.co_filename) and self.home_of(frame.f_code)
        if not home or home not in [*self.open_calls, home][:1]:
            return None
        self.open_calls.append(home)
        return Call(self, frame).step

    def keep(self, file, line, name, value):
        """Keep a copy of a value, if it is numbers and there are not too many."""
        number = next(self.counted)
        if is_numbers(value) and number < MOST:
            some = self.values.setdefault((file, line, name), Values())
            some.append(np.array(value))
            some.when.append(number)


class Call:
    """One call of a watched function: its arguments, its lines, its result."""

    def __init__(self, log, frame):
        self.log, self.frame = log, frame
        self.seen: dict[str, tuple] = {}
        self.line = ARGUMENT  # the line that ran last: it made what is new
        self.look()
        self.line = frame.f_lineno

    def step(self, frame, event, argument):
        """Keep what the last line made, and at the end what the function returns."""
        self.look()
        if event == "return":
            parts = argument if isinstance(argument, (tuple, list)) else [argument]
            for part in parts if frame.f_code.co_name[0] != "<" else ():  # no generator
                self.keep("", part)
            self.log.open_calls.pop()
        self.line = frame.f_lineno
        return self.step

    def look(self):
        """Keep each variable, and each watched array, that has changed."""
        for name, value in [*self.frame.f_locals.items()]:
            if is_numbers(value):
                digest = np.shape(value), np.asarray(value).tobytes()
                if self.seen.get(name) != digest:
                    self.seen[name] = digest
                    self.keep(name, value)
        for name, get in self.log.watched.items():
            if self.log.last[name] != get().tobytes():
                self.log.last[name] = get().tobytes()
                self.keep(name, get())

    def keep(self, name, value):
        """Keep a value that the last line made."""
        self.log.keep(self.frame.f_code.co_filename, self.line, name, value)


class Kept(ast.NodeTransformer):
    """The right formula, which keeps every array on its way, also one that has no name.

    values : {number of a piece of code: its values, in the order of the runs}
    """

    def __init__(self, formula):
        self.values, self.by_itself = dict[int, list](), formula.by_itself
        names = {**vars(sys.modules[formula.function.__module__]), "_keep": self.keep}
        tree = self.visit(copy.deepcopy(formula.tree))
        exec(compile(ast.fix_missing_locations(tree), "<edit>", "exec"), names)
        self.function = names[formula.function.__name__]

    def __call__(self, *args, **options):
        return self.function(*args, **options)

    def generic_visit(self, node):
        super().generic_visit(node)
        if not isinstance(node, (ast.BinOp, ast.Call, ast.Compare)):
            return node
        number = len(self.values)
        self.values[number] = []
        return ast.Call(ast.Name("_keep", ast.Load()), [ast.Constant(number), node], [])

    def keep(self, number, value):
        """Keep a copy of a value, and return the value."""
        if isinstance(value, (np.ndarray, float)):
            self.values[number].append(np.array(value))
        return value


def home_of(code):
    """Return the name of the class or function at the top of a file that holds some code."""
    return next((node.name for node in tree_of(code.co_filename).body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef))
                 and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)), code.co_name)


def first_double(function):
    """Return the key of the first array of float64 that a function's student makes, or None."""
    found = [(some.when[i], key) for key, some in values_of(function, of_the_student).items()
             for i, x in enumerate(some) if x.ndim and x.dtype == np.float64 and key[1] != ARGUMENT]
    return min(found)[1] if found else None


def of_the_student(file):
    """Tell whether a file is the student's, and no one of ours, of NumPy or of Python."""
    return not file.startswith(OTHERS)


def of_the_formula(formula, stage, trial):
    """Return {(name, n): [values]} of a formula in one trial, n for its nth line."""
    found = values_of(lambda: predict(formula, stage, trial), "<edit>".__eq__)
    lines: dict[str, int] = {}
    values = {}
    for (_, _, name), some in found.items():
        lines[name] = lines.get(name, -1) + 1
        values[name, lines[name]] = some
    return values


def on_the_way(formula, stage, trial, found):
    """List all that a formula computes in one trial: what has a name, what has none, results."""
    predict(kept := Kept(formula), stage, trial)
    results = [[x] for x in trial.expected.values() if is_numbers(x)]
    return [*(some for (name, _), some in found.items() if name), *kept.values.values(), *results]


class Watch:
    """The student's values of one stage and one trial beside those of the formula.

    mine : {key: Values}
    right, changed : {(name, n): Values} of the formula and of the edited one
    good : the keys that hold what the right formula computes on its way
    """

    def __init__(self, formula, stage, trial, wrong=(), edit=None):
        self.stage, self.trial, self.wrong = stage, trial, wrong
        self.piece = edit.piece if edit else ""
        self.mine = values_of(trial.runner(stage), of_the_student, watched_in(trial, stage))
        self.right, self.changed = (of_the_formula(some, stage, trial)
                                    for some in (formula, edit or formula))
        self.good = {key for wanted in on_the_way(formula, stage, trial, self.right)
                     for key in self.keys(wanted)}

    def keys(self, wanted):
        """Return the student's keys that hold the `wanted` values."""
        if max((x.size for x in wanted), default=0) < 2:
            return []
        return [key for key, some in self.mine.items()
                if len(some) == len(wanted) and all(map(same, some, wanted))]

    def spot(self):
        """Return the Spot at which the student's values go wrong, or None."""
        wrong, unseen = self.values_that_differ()
        found = list[tuple]()
        either = {key for (name, _), some in self.changed.items()
                  if name == self.piece != "" for key in self.keys(some)}  # at the wrong place
        for (_, n), (changed, right) in wrong.items():
            for key in self.keys(changed):
                either |= {key} & self.good
                if key[1] != ARGUMENT and key not in self.good:
                    when, got, want = next(
                        (when, got, want) for when, got, want in zip(
                            self.mine[key].when, changed, right) if not same(got, want))
                    found.append((when, key, n >= 0 or not unseen, got, want))
        if not found:
            return None
        first, key, sure, got, want = min(found, key=lambda each: (
            bool(helper_of(*each[1])), each[0]))
        return Spot(key, self.last_right(key, first, either), sure, self.doubt(key, first), got,
                    want)

    def values_that_differ(self):
        """Return {name: (changed, right)}, and whether the edit changes how often a line runs."""
        wrong, unseen = {}, False
        for name, changed in self.changed.items():
            right = self.right.get(name, [])
            unseen |= bool(name[0]) and len(changed) != len(right)
            if name[0] and len(changed) == len(right) and not all(map(same, changed, right)):
                wrong[name] = changed, right
        for tensor in set(self.wrong) & set(self.trial.expected):
            got, want = observed(self.trial, tensor)
            if not same(got, want):
                wrong[tensor, -1] = [got], [want]
        return wrong, unseen

    def doubt(self, key, first):
        """Return the key of a value that a line uses and that may be wrong already, or None.

        Of each name that the line uses it is the last value before. What a cache holds besides the
        output is none of the output's.
        """
        statement = statement_at(*key[:2]) or ast.Pass()
        if self.stage == "forward" and isinstance(statement, ast.Return) and isinstance(
                statement.value, ast.Tuple):
            statement = statement.value.elts[0]
        used = names_of(statement)
        before = sorted((max(n for n in some.when if n < first), k)
                        for k, some in self.mine.items()
                        if k[2] in used and k[1] != key[1] and some.when[0] < first)
        last = {k[2]: k for _, k in before}
        return next((k for k in last.values() if k[1] != ARGUMENT and k not in self.good
                     and self.mine[k][0].size > 1), None)

    def last_right(self, key=("", 0, ""), first=math.inf, either=()):
        """Return the key of a right value that was got last before time `first`, or None."""
        before = [k for k in self.good.difference(either) if k[2] and k[1] not in (ARGUMENT, key[1])
                  and self.mine[k].when[0] < first]
        return max(before, key=lambda k: self.mine[k].when[0], default=None)

    def unknown(self):
        """Return the student's first key that may be wrong, or None.

        The right formula does not have its values, and no value that is right is made of it.
        """
        mine = self.mine
        new = [key for key, some in mine.items() if key[2] and key[1] and key not in self.good
               and some[0].size > 1 and is_made(statement_at(*key[:2]))]
        return min((key for key in new if not any(
            key[2] in names_of(statement_at(*other[:2])) and mine[other].when[0] > mine[key].when[0]
            for other in self.good if other[1])), key=lambda key: mine[key].when[0], default=None)

    def names_used(self):
        """Return all names of variables in the student's files."""
        return names_in({key[0] for key in self.mine})

    def names(self):
        """Return {name of the formula: the student's only name for the same values}."""
        found: dict[str, set] = {}
        for (name, _), some in self.changed.items():
            mine = {key[2] for key in self.keys(some)}
            found[name] = found.get(name, mine - {""}) & mine
        return {name: name if name in mine else mine.pop() for name, mine in found.items()
                if name and (len(mine) == 1 or name in mine)}


def watched_in(trial, stage):
    """Return {name: a function that returns what backward added to this gradient}."""
    return {f"{name}.grad": lambda p=p, name=name: np.asarray(p.grad) - trial.start[name]
            for name, p in trial.parameters.items()} if stage == "backward" else {}


def names_of(statement):
    """Return the names of variables that a statement reads."""
    return {node.id for node in ast.walk(statement or ast.Pass())
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def is_made(statement):
    """Tell whether a statement computes a value, and does not only give it a name."""
    return isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.Assign)
                                                   and not isinstance(statement.value,
                                                                      (ast.Name, ast.Attribute)))

