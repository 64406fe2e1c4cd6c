"""Whether an answer is the student's own: what it imports, what it calls, what it changes.

It looks for the short ways only. The installed package holds every solution, and nothing here can
keep anyone from reading it.
"""

import ast
import inspect
import sys
from types import FunctionType, ModuleType

from .exercise import EXERCISES, SUBJECTS

ALWAYS = {"Cache", "Module", "Parameter", "check_gradients"}
CHECKS = {"aiayn_np.exercises.check", "aiayn_np.exercises.train_with"}
MODULES = {"aiayn_np", "aiayn_np.exercises"}
GIVEN = {  # what an exercise hands out besides, as the first lines of its file do
    "attention": {"Mask", "Softmax"},
    "multi-head": {"Linear", "ScaledDotProductAttention"},
    "feed-forward": {"Linear"},
    "encoder layer": {"AddNorm", "MultiHeadAttention", "PositionwiseFeedForward"},
    "decoding": {"not_padding"},
}
WATCHED = ("aiayn_np", "numpy", "builtins", "math", "copy", "inspect")


def refused(tree, exercise):
    """A sentence for the first name of the library in the code that is not given; or None."""
    given, known = ALWAYS | GIVEN.get(exercise, set()), aliases(tree)
    allowed = {f"aiayn_np.{name}" for name in given} | CHECKS
    for node in ast.walk(tree):
        for name in names_of(node, known):
            if name not in MODULES and not any(f"{name}.".startswith(f"{a}.") for a in allowed):
                line = getattr(node, "lineno", "?")
                return (f"line {line} takes {name} from the library; this exercise gives"
                        f" {', '.join(sorted(given))}")
    return None


def aliases(tree):
    """{name in the code: module of the library} of `import aiayn_np as name`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if ours(a.name):
                    found[a.asname or "aiayn_np"] = a.name if a.asname else "aiayn_np"
        if isinstance(node, ast.ImportFrom) and ours(node.module):
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names
                      if a.name == "exercises"}
    return found


def names_of(node, known):
    """The dotted names of the library that one node of the code asks for."""
    if isinstance(node, ast.Import):
        return [a.name for a in node.names if ours(a.name)]
    if isinstance(node, ast.ImportFrom) and ours(node.module):
        return [f"{node.module}.{a.name}" for a in node.names]
    if isinstance(node, ast.Attribute):
        parts, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            parts, value = [value.attr, *parts], value.value
        if isinstance(value, ast.Name) and value.id in known:
            return [".".join([known[value.id], *parts])]
    return []


def ours(module):
    return (module or "").split(".")[0] == "aiayn_np"


class Watch:
    """A context that notes when code from `files` calls a right answer, however it got it."""

    def __init__(self, exercise, files):
        self.files, self.used, self.code = files, [], {}
        for name in EXERCISES[exercise].objects:
            reference = SUBJECTS[name].reference
            methods = vars(reference).values() if inspect.isclass(reference) else [reference]
            for method in methods:
                if isinstance(method, FunctionType):
                    self.code[method.__code__] = name

    def __enter__(self):
        sys.setprofile(self.called)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def called(self, frame, event, arg):
        """Python calls this at every call: a right answer below the student's code is noted."""
        if event == "call" and frame.f_code in self.code:
            name, caller = self.code[frame.f_code], frame.f_back
            while caller is not None and caller.f_code.co_filename not in self.files:
                caller = caller.f_back
            if caller is not None:
                self.used.append(name)


def state():
    """{dotted name: object} of all that must stay what it is while an answer is graded."""
    found: dict[str, object] = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.split(".")[0] in WATCHED:
            found |= {f"{name}.{n}": thing for n, thing in vars(module).items()}
    for name, thing in list(found.items()):
        if inspect.isclass(thing) and ours(thing.__module__):
            found |= {f"{name}.{n}": part for n, part in vars(thing).items()}
        if isinstance(thing, FunctionType) and ours(thing.__module__):
            found |= {f"{name}.{n}": getattr(thing, n) for n in ("__code__", "__defaults__")}
    for name, subject in SUBJECTS.items():
        found[f"SUBJECTS[{name!r}]"] = subject
        found |= {f"{name}.{n}": part for n, part in vars(subject).items()}
    return found


def changed(before):
    """The names in a state that are something else by now."""
    now = state()
    return [name for name, thing in before.items() if now.get(name, changed) is not thing]
