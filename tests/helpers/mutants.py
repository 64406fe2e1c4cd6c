"""Mutants: one change each in the syntax tree of a module, planted into the live function."""

import ast
import dataclasses
import importlib
import inspect
import os
import re
import signal
from functools import cached_property

from mutation_operators import changes, is_validation

TIME_LIMIT = 60  # seconds for one mutant: a loop without end is killed
MEMORY_LIMIT = 4 << 30  # bytes for one mutant
NOT_PLANTED = "not planted"
DECLARATIONS = r"add_\w*options?|parser"  # of the command line: words, types and defaults


@dataclasses.dataclass
class Mutant:
    """One change: `container[key] = new` (or an attribute) in the syntax tree of a module."""

    module: str  # aiayn_np.softmax
    function: str  # Softmax.forward
    line: str  # the source line, without its comment
    mutation: str  # old -> new
    tree: ast.Module = dataclasses.field(repr=False)
    definition: ast.FunctionDef = dataclasses.field(repr=False)
    edit: tuple = dataclasses.field(repr=False)

    @property
    def key(self):
        file = self.module.removeprefix("aiayn_np.").replace(".", "/")
        return file, self.function, self.line, self.mutation


def mutants_of(source, module):
    """All mutants of the functions and methods of a module, each with a key of its own."""
    tree, lines, count = ast.parse(source), source.splitlines(), {}
    for name, definition in functions(tree):
        for container, key, node, new in changes(definition):
            line = lines[node.lineno - 1].split("  #")[0].strip()
            edit = (container, key, new)
            text = f"{first_line(node)} -> {first_line(new) or 'nothing'}"
            mutant = Mutant(module, name, line, text, tree, definition, edit)
            count[mutant.key] = count.get(mutant.key, 0) + 1
            if count[mutant.key] > 1:
                mutant.mutation += f"  ({count[mutant.key]})"
            yield mutant


def first_line(node):
    """The source of a piece of syntax, of an `if` without its body."""
    return ast.unparse(node).partition("\n")[0]


def functions(node, prefix=""):
    """(qualified name, definition) of functions and methods, but for the checks of input."""
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from functions(child, f"{child.name}.")
        elif isinstance(child, ast.FunctionDef) and not (
                is_validation(child) or re.fullmatch(DECLARATIONS, child.name)):
            yield prefix + child.name, child


def plant(mutant):
    """Give the live function the changed code and defaults, wherever it has been imported to."""
    container, key, new = mutant.edit
    if isinstance(container, list):
        container[key] = new
    else:
        setattr(container, key, new)
    live = importlib.import_module(mutant.module)
    for name in mutant.function.split("."):
        live = vars(live)[name]
    live = getattr(live, "__func__", live)  # of a class method
    live = getattr(live, "fget", live)      # of a property
    live = live.func if isinstance(live, cached_property) else inspect.unwrap(live)
    if "__class__" in live.__code__.co_freevars:            # its cell is there where super is named
        mutant.definition.body.append(ast.Expr(ast.Name("super", ast.Load())))
    live.__code__ = code_of(mutant)
    arguments, scope = mutant.definition.args, live.__globals__
    live.__defaults__ = tuple(value(d, scope) for d in arguments.defaults)
    live.__kwdefaults__ = {
        a.arg: value(d, scope) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d
    }


def code_of(mutant):
    """The compiled function of a mutant."""
    code = compile(ast.fix_missing_locations(mutant.tree), mutant.module, "exec")
    for name in mutant.function.split("."):
        code = next(c for c in code.co_consts if inspect.iscode(c) and c.co_name == name)
    return code


def value(expression, scope):
    return eval(compile(ast.Expression(expression), "default", "eval"), scope)


def in_a_fork(function, seconds=None):
    """What function() returns as text, run in a child for so many seconds at most; None for
    nothing, "crash" for a death."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        import resource  # where there is a fork

        signal.setitimer(signal.ITIMER_REAL, seconds or TIME_LIMIT)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
        try:
            os.write(writing, (function() or "").encode())
        except BaseException as error:
            os.write(writing, f"crash: {error!r}".encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return f"crash: {status}" if status else text or None


def killer(mutant, check, seconds=None):
    """The test that fails for this mutant, by check() in a child; None when it survives."""
    def run():
        try:
            plant(mutant)
        except Exception as error:
            return f"{NOT_PLANTED}: {error!r}"
        return check()
    by = in_a_fork(run, seconds)
    if by and by.startswith(NOT_PLANTED):
        raise RuntimeError(f"{by} {mutant.key}")
    return by
