"""Code with one edit at random, as by a slip: of an answer, or of a method of the library."""

import ast
import copy
import importlib
import inspect
import sys
import textwrap
from dataclasses import dataclass

import numpy as np

from aiayn_course.lab.zoo.bug import planted

ROOMS = ("softmax", "masking", "attention", "linear", "multi_head", "feed_forward", "embedding",
         "positional_encoding", "layer_norm", "add_norm", "encoder", "decoder", "transformer",
         "training.loss", "training.optimizer", "variants.rotary", "variants.grouped",
         "variants.gated", "variants.norms")
WRAPS = ("np.clip({}, -50, 0)", "np.squeeze({})", "np.where({0} == 0, 1, {0})", "({}).T", "-({})",
         "np.abs({})", "np.array({}, dtype=object)", "list({})", "({}, {})", "None", "({})[0]",
         "{}.astype(int)", "np.float32({})", "np.empty_like({})", "({})[..., None]", "str({})")
ARRAYS = (ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.Subscript)


def edited_at_random(text, draw):
    """Return code with one edit in a method: a line, operands, an operator, a number, a wrap."""
    tree = ast.parse(text)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
                 and n.name != "__init__"]
    function = draw.choice(functions)
    nodes = [n for line in function.body for n in ast.walk(line)]
    names = [n.id for n in nodes if isinstance(n, ast.Name)]
    node = draw.choice([n for n in nodes if isinstance(n, (ast.expr, ast.stmt))])
    if isinstance(node, ast.BinOp) and draw.random() < 0.5:
        node.left, node.right = node.right, node.left
    elif isinstance(node, ast.BinOp):
        node.op = draw.choice([ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.MatMult()])
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        node.value = draw.choice([-2, -1, 0, 1, 2, 0.5, 1e9])
    elif isinstance(node, ast.Call) and len(node.args) > 1 and draw.random() < 0.5:
        draw.shuffle(node.args)
    elif isinstance(node, ast.Name) and draw.random() < 0.4:
        node.id = draw.choice(names)
    elif isinstance(node, ast.stmt) and node in function.body:
        function.body.remove(node)
        function.body.append(ast.Pass())
    elif isinstance(node, ARRAYS) and not isinstance(getattr(node, "ctx", None), ast.Store):
        code = ast.unparse(node)
        wrapped = ast.parse(draw.choice(WRAPS).replace("{0}", "{}").replace("{}", code)).body[0]
        node.__class__, node.__dict__ = wrapped.value.__class__, vars(copy.deepcopy(wrapped.value))
    return ast.unparse(tree)


@dataclass
class Edit:
    """A wrong version of a method, to be planted as a bug of the zoo is."""

    text: str
    kind: type
    methods: dict

    def plant(self):
        return planted(self.kind, self.methods)


def methods_that_run(calls):
    """[(class, name, the keys of `calls` that run it)] of the methods in the rooms.

    calls : {key: a function without arguments}
    """
    ran = {}
    for key, call in calls.items():
        codes = ran[key] = set()
        sys.setprofile(lambda frame, event, _, codes=codes: codes.add(frame.f_code))
        try:
            call()
        finally:
            sys.setprofile(None)
    modules = [importlib.import_module(f"aiayn_np.{room}") for room in ROOMS]
    kinds = [kind for module in modules for kind in vars(module).values()
             if inspect.isclass(kind) and kind.__module__ == module.__name__]
    found = [(kind, name, [key for key, codes in ran.items() if f.__code__ in codes])
             for kind in kinds for name, f in vars(kind).items()
             if inspect.isfunction(f) and not name.startswith("__")]
    return [method for method in found if method[2]]


def edit_of(kind, name, draw):
    """Edit a method of the library at random."""
    right = ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(vars(kind)[name]))))
    wrong, scope = edited_at_random(right, draw), {}
    lines = [pair for pair in zip(right.splitlines(), wrong.splitlines()) if pair[0] != pair[1]]
    text = f"{kind.__name__}.{name}: {lines[:1]}"
    module = sys.modules[kind.__module__]
    exec(compile(wrong, text, "exec"), {"np": np} | vars(module), scope)
    return Edit(text, kind, {name: scope[name]})
