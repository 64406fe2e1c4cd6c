"""Watch a student's code run, and find the line and the name that hold a value.

`values_of` runs the student's code and keeps each new number or array that a variable gets. `Kept`
does the same with the right formula, and with the formula that has the student's mistake in it. A
variable of the student that holds the same values is the same thing, whatever its name.
"""

import ast
import contextlib
import copy
import functools
import itertools
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..exercise import SUBJECTS
from ..language import say
from .calling import forget
from .comparing import digest_of, is_numbers, same
from .edits import made
from .explaining import observed, predict
from .failing import NOT_STUDENTS
from .operands import source_of, statement_at, tree_of
from .stop import Stop

Key = tuple[str, int, str]  # file, line, name; "" is what a function returns
TURNED, REVERSED, ORDER, ANOTHER = range(4)  # kinds of proposals
MEET = "In a @ b the last axis of a meets the last but one of b."
ARGUMENT = 0  # the line of what a function is given
CALLED = "__init__", "forward", "backward", "step"  # by a check
MOST = 3000  # values that are kept of one run
OTHERS = (*NOT_STUDENTS, "<edit>", "<string>", str(Path(contextlib.__file__).parent))


class Spot(NamedTuple):
    """The first value of a student's code that is wrong, and the last right one before it.

    doubt : the key of a value that its line uses and that may be wrong already, or None
    got, want : the student's array and the right one
    """

    key: Key
    right: Key | None
    doubt: Key | None
    got: np.ndarray
    want: np.ndarray

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
    """Copies of the values that one variable had; `when` numbers them among those of all."""

    def __init__(self):
        super().__init__()
        self.when: list[int] = []


def values_of(function, watched=None):
    """Run a student's function, to its end or to a Stop, and return {(file, line, name): Values}.

    watched : {name: a function that returns an array}, such as gradients that are added to
    """
    log, before = Log(watched or {}), sys.gettrace()
    forget()
    sys.settrace(log.called)
    try:
        with contextlib.suppress(Stop):
            function()
    finally:
        sys.settrace(before)
    return log.values


class Log:
    """The values that a student's variables get, and arrays that change then.

    Only the class or function that is called first is watched: what a helper computes is wrong if
    the helper is given what is wrong.
    """

    def __init__(self, watched):
        self.watched, self.values, self.home = watched, dict[Key, Values](), ""
        self.counted, self.home_of = itertools.count(), functools.lru_cache(home_of)
        self.last = {name: digest_of(get()) for name, get in watched.items()}

    def called(self, frame, event, argument):
        """Return the function that Python calls at each line of a call; None for no watched one."""
        if frame.f_code.co_filename.startswith(OTHERS):
            return None
        home = self.home_of(frame.f_code)
        self.home = self.home or home
        seen: dict[str, bytes] = {}
        line = ARGUMENT  # the line that ran last: it made what is new

        def step(frame, event, argument):
            nonlocal line
            for name, value in frame.f_locals.items():
                self.look(frame, line, name, value, seen)
            for name, get in self.watched.items():
                self.look(frame, line, name, get(), self.last)
            if event == "return" and frame.f_code.co_name[0] != "<":   # no generator
                for part in argument if isinstance(argument, (tuple, list)) else [argument]:
                    self.look(frame, line, "", part, {})
            line = frame.f_lineno
            return step

        return step(frame, "call", None) if home == self.home else None

    def look(self, frame, line, name, value, seen):
        """Keep a copy of a value that is new, if it is numbers and there are not too many."""
        if is_numbers(value) and seen.get(name) != (digest := digest_of(value)):
            seen[name] = digest
            if (number := next(self.counted)) < MOST:
                some = self.values.setdefault((frame.f_code.co_filename, line, name), Values())
                some.append(np.array(value))
                some.when.append(number)


class Kept(ast.NodeTransformer):
    """A formula, with an edit in it or not, that keeps every array on its way.

    values : {(name, line): its values, in the order of the runs}; a piece of code without a name is
        called "", and has a number below 0 in place of a line
    """

    def __init__(self, formula):
        right = getattr(formula, "formula", formula)
        self.values, self.by_itself = dict[tuple[str, int], list](), right.by_itself
        self.last, self.counted = dict[str, bytes](), itertools.count()
        with right.replaced(getattr(formula, "parts", [])) as tree:
            tree = self.visit(copy.deepcopy(tree))
        self.function = made(ast.fix_missing_locations(tree), right.function, _keep=self.keep,
                             _look=self.look)

    def __call__(self, *args, **options):
        return self.function(*args, **options)

    def generic_visit(self, node: Any) -> Any:
        super().generic_visit(node)
        if isinstance(node, (ast.BinOp, ast.Call, ast.Compare)):
            return ast.Call(ast.Name("_keep", ast.Load()), [
                ast.Constant(""), ast.Constant(-next(self.counted)), node], [])
        begins = isinstance(node, ast.FunctionDef)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.FunctionDef)):
            (look,) = ast.parse(f"_look({node.lineno}, locals(), {begins})").body
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                return [node, look]
            node.body.insert(0, look)
        return node

    def look(self, line, names, begins):
        """Keep each variable that has changed; each call begins anew."""
        if begins:
            self.last.clear()
        for name, value in names.items():
            if is_numbers(value) and (digest := digest_of(value)) != self.last.get(name):
                self.last[name] = digest
                self.keep(name, line, value)

    def keep(self, name, line, value):
        """Keep a copy of a value, and return the value."""
        if is_numbers(value):
            self.values.setdefault((name, line), []).append(np.array(value))
        return value


def kept_of(formula, stage, trial):
    """Return {(name, line): values} of what a formula computes in one trial."""
    predict(kept := Kept(formula), stage, trial)
    return kept.values


def home_of(code):
    """Return the name of the class or function at the top of a file that holds some code."""
    return next((node.name for node in tree_of(code.co_filename).body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef))
                 and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)), code.co_name)


def first_double(function):
    """Return the key of the first array of float64 that a function's student makes, or None."""
    found = [(some.when[i], key) for key, some in values_of(function).items()
             for i, x in enumerate(some) if x.ndim and x.dtype == np.float64 and key[1] != ARGUMENT]
    return min(found)[1] if found else None


class Watch:
    """The student's values of one stage and one trial beside those of the formula.

    mine : {key: Values}
    right, changed : {(name, line): values} of the formula and of the edited one
    good : the keys that hold what the right formula computes on its way
    """

    def __init__(self, formula, stage, trial, wrong=(), edit=None):
        self.stage, self.trial, self.wrong = stage, trial, wrong
        self.piece = edit.piece if edit else ""
        self.mine = values_of(trial.runner(stage), {
            f"{name}.grad": lambda p=p, name=name: np.asarray(p.grad) - trial.start[name]
            for name, p in trial.parameters.items()} if stage == "backward" else {})
        self.right = kept_of(formula, stage, trial)
        self.changed = kept_of(edit, stage, trial) if edit else self.right
        results = [[x] for x in trial.expected.values() if is_numbers(x)]
        self.good = {key for some in (*self.right.values(), *results) for key in self.keys(some)}

    def keys(self, wanted):
        """Return the student's keys that hold the `wanted` values."""
        if max((x.size for x in wanted), default=0) < 2:
            return []
        return [key for key, some in self.mine.items()
                if len(some) == len(wanted) and all(map(same, some, wanted))]

    def spot(self):
        """Return the Spot at which the student's values go wrong, or None."""
        found, either = list[tuple](), {key for (name, _), some in self.changed.items()
                                        if name == self.piece != "" for key in self.keys(some)}
        for changed, right in self.values_that_differ():
            keys = self.keys(changed)
            either.update(keys)
            found += [next((when, key, got, want) for when, got, want in zip(
                self.mine[key].when, changed, right) if not same(got, want))
                for key in keys if key[1] != ARGUMENT and key not in self.good]
        if not found:
            return None
        first, key, got, want = min(found, key=lambda each: each[0])
        return Spot(key, self.last_right(key, first, either), self.doubt(key, first), got, want)

    def values_that_differ(self):
        """Return [(changed values, right ones)] of what an edit changes, or of wrong results.

        The results are left out if a line runs more often or less often than in the right formula.
        """
        pairs = [(some, self.right.get(key, [])) for key, some in self.changed.items() if key[0]]
        if all(len(some) == len(right) for some, right in pairs):
            pairs += [([got], [want]) for got, want in (
                observed(self.trial, t) for t in self.wrong if t in self.trial.expected)]
        return [(some, right) for some, right in pairs
                if len(some) == len(right) and not all(map(same, some, right))]

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
        def is_used(key):
            return any(key[2] in names_of(statement_at(*good[:2]))
                       and self.mine[good].when[0] > self.mine[key].when[0]
                       for good in self.good if good[1] != ARGUMENT)
        new = [key for key, some in self.mine.items() if key[2] and key[1] != ARGUMENT
               and key not in self.good and some[0].size > 1
               and isinstance(statement_at(*key[:2]), (ast.Assign, ast.AugAssign))]
        return min((key for key in new if not is_used(key)), key=lambda key: self.mine[key].when[0],
                   default=None)

    def names(self):
        """Return {name of the formula: the student's only name for the same values}.

        A name that means another thing in the formula is none for it.
        """
        found: dict[str, set] = {}
        for (name, _), some in self.changed.items():
            mine = {key[2] for key in self.keys(some)}
            found[name] = found.get(name, mine - {""}) & mine
        only = {name: name if name in mine else mine.pop() for name, mine in found.items()
                if name and (len(mine) == 1 or name in mine)}
        return {name: mine for name, mine in only.items()
                if mine not in found or only.get(mine) == mine}


def names_of(statement):
    """Return the names of variables that a statement reads."""
    return {node.id for node in ast.walk(statement or ast.Pass())
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def fitting_array(checking, failure):
    """Return a sentence on the array that belongs into a matrix product that stops, or "".

    Only what makes a value of the right formula is said, and only if nothing else makes one. The
    value that the formula calls as the line calls the product comes first.
    """
    is_product = failure and failure.is_product and min(x.ndim for x in failure.arrays) > 1
    if not is_product or checking.stage == "function":
        return ""
    trial, target = checking.trial, failure.target
    if target == "" and checking.stage == "backward" and failure.place < len(trial.moving):
        target = f"grad_{trial.moving[failure.place]}"
    right = kept_of(checking.formula, checking.stage, trial)
    named = [x for (name, _), some in right.items() if name == target for x in some]
    named += [x for name, x in trial.expected.items() if name == target]
    for wanted in named, [x for some in right.values() for x in some]:
        found = {kind: said for kind, said, a, b in proposals(failure.found, failure.scope)
                 if any(same(product(a, b), value) for value in wanted)}
        if found:
            return found.popitem()[1] if len(found) == 1 else ""
    return ""


def proposals(found, scope):
    """Yield (kind, sentence, a, b) for what may stand in a matrix product of two arrays."""
    (one, x), (other, y) = ((code, x) for code, x in found if isinstance(x, np.ndarray))
    for code, a, b in (one, x.mT, y), (other, x, y.mT):
        turned = say("Here the .mT of {codes} is too much." if code.endswith(".mT") else
                     "Here {codes} must be transposed, .mT.", codes=f"`{code}`")
        yield TURNED, f"{turned} {say(MEET)}", a, b
    for code, a, b in (one, x.T.mT, y), (other, x, y.T.mT):
        if max(a.ndim, b.ndim) > 2:                                    # K_T = K.T, lines before
            yield REVERSED, say("All axes of {code} are reversed, as .T does it. .mT swaps the last"
                                " two alone.", code=f"`{code}`"), a, b
    yield ORDER, say("{one} and {other} belong in the other order.", one=f"`{one}`",
                     other=f"`{other}`") + f" {say(MEET)}", y, x
    for name, z in scope.items():
        for code, a, b, old in (one, z, y, x), (other, x, z, y):
            if z.ndim > 1 and not any(np.array_equal(z, some) for some in (old, old.T, old.mT)):
                yield ANOTHER, say("Here {name} belongs, where {code} stands.", name=f"`{name}`",
                                   code=f"`{code}`"), a, b


def product(a, b):
    """Return a @ b, or nan if the shapes do not fit."""
    try:
        return a @ b
    except (ValueError, TypeError):
        return np.nan
