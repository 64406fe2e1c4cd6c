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
import linecache
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aiayn_np.module import Module

from ..exercise import SUBJECTS
from .calling import NOT_STUDENTS, Stop
from .comparing import is_numbers, same
from .explaining import is_wrong, predict
from .operands import names_in, statement_at, tree_of

Key = tuple[str, int, str]  # file, line, name; "" is what a function returns
ARGUMENT = 0  # the line of what a function is given
CALLED = "__init__", "forward", "backward", "step"
MOST = 3000  # values that are kept of one run
OTHERS = (*NOT_STUDENTS, "<edit>", str(Path(contextlib.__file__).parent))


class Spot(NamedTuple):
    """The first value of a student's code that is wrong, and the last right one before it.

    sure : whether it is known that no loop made a wrong value before it
    doubt : the key of a value that its line uses and that may be wrong already, or None
    got, want : the student's array and the right one, in the smallest case
    """

    key: Key
    right: Key | None
    sure: bool
    doubt: Key | None
    case: Any
    got: np.ndarray
    want: np.ndarray

    @property
    def helper(self):
        """Return the student's function that holds the line, or "" if the check calls it."""
        within = [node.name for node in ast.walk(tree_of(self.key[0]))
                  if isinstance(node, ast.FunctionDef)
                  and node.lineno <= self.key[1] <= (node.end_lineno or 0)]
        return within[-1] if within and within[-1] not in (*SUBJECTS, *CALLED) else ""

    @property
    def code(self):
        """Return the student's statement in one line."""
        statement = statement_at(*self.key[:2])
        last = (statement and statement.end_lineno) or self.key[1]
        return " ".join(linecache.getline(self.key[0], n).strip()
                        for n in range(self.key[1], last + 1))


class Values(list):
    """Copies of the values of one variable; `when` counts the order in which all were got."""

    def __init__(self):
        super().__init__()
        self.when: list[int] = []


def values_of(function, mine, watched=None, helpers=False, to_the_end=True):
    """Run a function, and return {(file, line, name): Values}.

    The options are those of Tracer. A run that a Stop ends has no values, if it must go
    `to_the_end`.
    """
    tracer, before = Tracer(mine, watched or {}, helpers), sys.gettrace()
    sys.settrace(tracer.called)
    try:
        function()
    except Stop:
        if to_the_end:
            return {}
    finally:
        sys.settrace(before)
    return tracer.values


class Tracer:
    """The values that the variables of watched functions get while they run.

    mine : tells by its file's name whether a function is watched
    watched : {name: a function that returns an array}, such as gradients that are added to
    helpers : whether other classes and functions that the first one calls are watched too; a wrong
        value in them may come from what they are given
    """

    def __init__(self, mine, watched, helpers):
        self.mine, self.watched, self.helpers = mine, watched, helpers
        self.values: dict[Key, Values] = {}
        self.counted, self.open_calls = itertools.count(), list[str]()
        self.home_of = functools.lru_cache(home_of)
        self.last = {name: get().tobytes() for name, get in watched.items()}

    def called(self, frame, event, argument):
        """Return the function that Python calls at each line of a call; None for no watched one."""
        file = frame.f_code.co_filename
        if not self.mine(file):
            return None
        home = self.home_of(file, frame.f_code.co_firstlineno) or frame.f_code.co_name
        if not self.helpers and home not in [*self.open_calls, home][:1]:
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
    """One call of a watched function, from its arguments to what it returns."""

    def __init__(self, tracer, frame):
        self.tracer, self.frame = tracer, frame
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
            self.tracer.open_calls.pop()
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
        for name, get in self.tracer.watched.items():
            if self.tracer.last[name] != get().tobytes():
                self.tracer.last[name] = get().tobytes()
                self.keep(name, get())

    def keep(self, name, value):
        """Keep a value that the last line made."""
        self.tracer.keep(self.frame.f_code.co_filename, self.line, name, value)


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


def home_of(file, line):
    """Return the name of the class or function at the top of a file that holds a line, or None."""
    return next((node.name for node in tree_of(file).body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef))
                 and node.lineno <= line <= (node.end_lineno or line)), None)


def first_double(function):
    """Return the key of the first array of float64 that a function's student makes, or None."""
    values = values_of(function, of_the_student, helpers=True)
    found = [(some.when[i], key) for key, some in values.items()
             for i, x in enumerate(some) if x.ndim and x.dtype == np.float64 and key[1] != ARGUMENT]
    return min(found)[1] if found else None


def of_the_student(file):
    """Tell whether a file is the student's, and no one of ours, of NumPy or of Python."""
    return not file.startswith(OTHERS)


def next_step(checking, trial, target):
    """Return (code, {name in the formula: the student's}, is_there) of the formula's next step.

    It `is_there` if it makes `target`. Else it is the first line of the formula whose value the
    student's code does not hold. The code is "" if there is none.
    """
    formula, stage = checking.subject.formulas[checking.stage], checking.stage
    mine, names = values_of(lambda: run_of(checking, trial), of_the_student, to_the_end=False), {}
    right = values_of(lambda: predict(formula, stage, trial), "<edit>".__eq__)
    made = {name: ast.unparse(code) for name, code in formula.made_of.items()}
    made |= {ast.unparse(node.target).removeprefix("self."): ast.unparse(node.value)
             for node in ast.walk(formula.tree) if isinstance(node, ast.AugAssign)}
    layer = getattr(trial, "layer", None)  # a part makes values that the student's code need not
    has_parts = layer is not None and any(isinstance(x, Module) for x in vars(layer).values())

    def held(x):
        return next((key[2] for key, some in mine.items() if any(same(v, x) for v in some)), None)
    for (_, line, name), some in right.items():
        if name and some[-1].size > 1:
            if own := held(some[-1]):
                names[name] = own
            elif line != ARGUMENT and name in made and not (target in made or has_parts):
                return made[name], names, False
    if target in made or has_parts:
        return made.get(target, ""), names, True
    ends = [node.value for node in ast.walk(formula.tree) if isinstance(node, ast.Return)]
    if stage == "forward":
        return ast.unparse(ends[-1] or ast.Constant(None)), names, False
    missing = [ast.unparse(value) for node in ends if isinstance(node, ast.Dict)
               for key, value in zip(node.keys, node.values)
               if held(trial.expected.get(getattr(key, "value", ""), 0)) is None]
    return (missing or [""])[0], names, False


def run_of(checking, trial):
    """Run the student's code of the stage that is checked."""
    if checking.stage == "function":
        checking.student_on(trial.case)
    elif checking.stage == "forward":
        trial.forward()
    else:
        trial.backward(trial.forward()[1])


def right_results(trial):
    """List the right results of a trial, in a fixed order."""
    return [np.asarray(x) for x in (getattr(trial, "want", ()), *trial.expected.values())
            if is_numbers(x)]


class Watch:
    """The student's values of one stage beside those of the formula, in three of the trials."""

    def __init__(self, checking, stage, trials, wrong, edit=None):
        self.stage, self.wrong = stage, [trial for trial in trials if is_wrong(trial, wrong)]
        self.trials = self.wrong[:2] + [trial for trial in trials if trial not in self.wrong][:1]
        self.formula = checking.subject.formulas[stage]
        self.students = [self.student(checking, trial) for trial in self.trials]
        self.of_shape: dict[tuple, list] = {}
        for key, some in self.students[0].items():
            self.of_shape.setdefault((len(some), some[0].shape), []).append(key)
        self.right = [self.formulas(self.formula, trial) for trial in self.trials]
        self.changed = self.right if edit is None else [
            self.formulas(edit, trial) for trial in self.trials]

    def student(self, checking, trial):
        """Return the student's values in one trial."""
        with contextlib.suppress(Stop):
            if self.stage == "function":
                return values_of(lambda: checking.student_on(trial.case), of_the_student)
            if self.stage == "forward":
                return values_of(trial.forward, of_the_student)
            _, cache = trial.forward()
            watched = {f"{name}.grad": (lambda p=p, name=name: np.asarray(
                p.grad) - trial.start[name]) for name, p in trial.parameters.items()}
            return values_of(lambda: trial.backward(cache), of_the_student, watched)
        return {}

    def formulas(self, formula, trial):
        """Return {(name, n): [values]} of the formula in one trial, n for its nth line."""
        found = values_of(lambda: predict(formula, self.stage, trial), "<edit>".__eq__)
        lines: dict[str, int] = {}
        values = {}
        for (_, _, name), some in found.items():
            lines[name] = lines.get(name, -1) + 1
            values[name, lines[name]] = some
        return values

    def keys(self, wanted):
        """Return the student's keys that hold the `wanted` values, a list for each trial."""
        if max((x.size for some in wanted for x in some), default=0) < 2 or not wanted[0]:
            return []
        return [key for key in self.of_shape.get((len(wanted[0]), wanted[0][0].shape), ()) if all(
            len(mine.get(key, ())) == len(some) and all(map(same, mine.get(key, ()), some))
            for mine, some in zip(self.students, wanted))]

    def holding(self, values, name):
        """Return the student's keys that hold what the formula calls `name`."""
        return self.keys([some.get(name, ()) for some in values])

    def spot(self, tensors):
        """Return the Spot at which the student's values go wrong, or None.

        tensors : {name: [(got, want) in each trial]} of the wrong results
        """
        wrong, right, unseen = {}, {}, False
        for name in self.changed[0]:
            changed, good = ([some.get(name, []) for some in every]
                             for every in (self.changed, self.right))
            if name[0] and list(map(len, changed)) != list(map(len, good)):
                unseen = True
            elif name[0] and not all(
                    same(x, y) for a, b in zip(changed, good) for x, y in zip(a, b)):
                wrong[name], right[name] = changed, good
        for name, pairs in tensors.items():
            wrong[name, -1] = [[np.asarray(got)] for got, _ in pairs]
            right[name, -1] = [[want] for _, want in pairs]
        found, good, both = [], self.good(), set[Key]()
        for name, values in wrong.items():
            for key in self.keys(values):
                if key in good:                                        # it may be either
                    both.add(key)
                if key[1] == ARGUMENT or key in both:
                    continue
                pairs = [(when, trial.case, got, want) for trial, mine, a, b in zip(
                    self.trials, self.students, values, right[name])
                         for when, got, want in zip(mine[key].when, a, b)
                         if trial in self.wrong and not same(got, want)]
                if pairs:
                    found.append((min(when for when, *_ in pairs), key, name[1] >= 0, pairs))
        if not found:
            return None
        first, key, inside, pairs = min(found, key=lambda each: each[0])
        _, *smallest = min(pairs, key=lambda pair: np.size(pair[3]))
        return Spot(key, self.last_right(good - both, key, first), inside or not unseen,
                    self.doubt(key, good, first), *smallest)

    def doubt(self, key, good, first):
        """Return the key of a value that a line uses and that may be wrong already, or None.

        Of each name that the line uses it is the last value before. What a cache holds besides the
        output is none of the output's.
        """
        mine, statement = self.students[0], statement_at(*key[:2]) or ast.Pass()
        if self.stage == "forward" and isinstance(statement, ast.Return) and isinstance(
                statement.value, ast.Tuple):
            statement = statement.value.elts[0]
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        before = sorted((max(n for n in some.when if n < first), k) for k, some in mine.items()
                        if k[2] in used and k[1] != key[1] and some.when[0] < first)
        last = {k[2]: k for _, k in before}
        return next((k for k in last.values() if k[1] != ARGUMENT and k not in good
                     and mine[k][0].size > 1 and k not in self.as_good()), None)

    def as_good(self):
        """Return the student's keys that hold 1 / a right value, or the sum where it is a mean."""
        def keys(other):
            return {key for name in self.right[0] for key in self.keys([
                [other(x, trial) for x in some.get(name, ())]
                for some, trial in zip(self.right, self.trials)])}

        with np.errstate(all="ignore"):
            sums = keys(lambda x, trial: x * trial.grad_y.shape[-1]) if (
                self.stage == "backward" and np.ndim(self.trials[0].grad_y)) else set()
            return sums | keys(lambda x, trial: 1 / x)

    def good(self):
        """Return the student's keys that hold what the right formula computes on its way."""
        named = ([some.get(name, ()) for some in self.right] for name in self.right[0] if name[0])
        results = [[[x] for x in every] for every in zip(*map(right_results, self.trials))]
        return {key for wanted in [*named, *self.without_names, *results]
                for key in self.keys(wanted)}

    @functools.cached_property
    def without_names(self):
        """Return the values of each piece of the right formula, a list for each trial."""
        kept = [Kept(self.formula) for _ in self.trials]
        for one, trial in zip(kept, self.trials):
            predict(one, self.stage, trial)
        return [[one.values[n] for one in kept] for n in kept[0].values]

    def last_right(self, good, key, first):
        """Return the key of `good` that got its value last before time `first`, or None."""
        mine = self.students[0]
        before = [k for k in good if k[2] and k[1] not in (ARGUMENT, key[1])
                  and mine[k].when[0] < first and (first == math.inf or not self.is_copy(k))]
        return max(before, key=lambda k: mine[k].when[0], default=None)

    def is_copy(self, key):
        """Tell whether a line only gives another name to values that the student has already."""
        if any(key not in some for some in self.students):             # it did not run in all cases
            return False
        equal = self.keys([some[key] for some in self.students])
        return key != min(equal, key=lambda k: self.students[0][k].when[0])

    def unknown(self):
        """Return the student's first key that may be wrong, or None.

        The right formula does not have its values, and no value that is right is made of it.
        """
        mine, good = self.students[0], self.good()
        used = {node.id for key in good for node in ast.walk(statement_at(*key[:2]) or ast.Pass())
                if key[1] and isinstance(node, ast.Name)}
        new = [key for key, some in mine.items() if key[2] and key[1] and key not in good
               and key[2] not in used and some[0].size > 1
               and isinstance(statement_at(*key[:2]), ast.Assign)
               and not isinstance(statement_at(*key[:2]).value, (ast.Name, ast.Attribute))]
        return min(new, key=lambda key: mine[key].when[0], default=None)

    def names_used(self):
        """Return all names of variables in the student's files."""
        return names_in({key[0] for key in self.students[0]})

    def names(self):
        """Return {name of the formula: the student's only name for the same values}."""
        found: dict[str, set] = {}
        for name, n in self.changed[0]:
            mine = {key[2] for key in self.holding(self.changed, (name, n))} - {""}
            found[name] = found.get(name, mine) & mine
        return {name: name if name in mine else mine.pop() for name, mine in found.items()
                if name and (len(mine) == 1 or name in mine)}
