"""Programs that are wrong at random: one operation of the library is edited, as by a slip."""

import ast
import importlib
import inspect
import textwrap
from dataclasses import dataclass

import numpy as np

from aiayn_course.lab.zoo.bug import planted

ROOMS = ("softmax", "masking", "attention", "linear", "multi_head", "feed_forward", "embedding",
         "positional_encoding", "layer_norm", "dropout", "add_norm", "encoder", "decoder",
         "transformer", "training.loss", "training.optimizer", "variants.rotary",
         "variants.grouped", "variants.gated", "variants.norms", "variants.optimizers")
OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
         ast.Gt: ast.LtE, ast.Lt: ast.GtE, ast.Eq: ast.NotEq, ast.BitAnd: ast.BitOr}


def methods():
    """(class, name, tree of the source) of every method that may be edited."""
    for room in ROOMS:
        module = importlib.import_module(f"aiayn_np.{room}")
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == module.__name__:
                for name, function in vars(kind).items():
                    if inspect.isfunction(function) and not name.startswith("__"):
                        source = textwrap.dedent(inspect.getsource(function))
                        if "super()" not in source:
                            yield kind, name, ast.parse(source)


def edits(node):
    """The expressions that may stand in the place of a node."""
    if isinstance(node, ast.BinOp):
        if type(node.op) in OTHER:
            yield ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
        if isinstance(node.op, ast.MatMult):
            yield ast.BinOp(node.right, node.op, node.left)
        else:
            yield from (node.left, node.right)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        yield ast.Compare(node.left, [OTHER[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from (ast.Constant(node.value + 1), ast.Constant(2 * node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield node.value
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        yield node.args[0]


class Put(ast.NodeTransformer):
    """Put one expression in the place of another."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


@dataclass
class Edit:
    """One edit of a method of the library, to be planted as a bug of the zoo is."""

    text: str
    kind: type
    methods: dict

    def plant(self):
        return planted(self.kind, self.methods)


def random_edit(rng):
    """Draw an edit."""
    choices = [(kind, name, tree, k, new) for kind, name, tree in methods()
               for k, node in enumerate(ast.walk(tree)) for new in edits(node)]
    kind, name, tree, k, new = choices[rng.integers(len(choices))]
    old = list(ast.walk(tree))[k]
    text = f"{kind.__name__}.{name}: {ast.unparse(old)} -> {ast.unparse(new)}"
    wrong, scope = ast.fix_missing_locations(Put(old, new).visit(tree)), {}
    module = vars(importlib.import_module(kind.__module__))
    exec(compile(wrong, text, "exec"), module, scope)
    return Edit(text, kind, {name: scope[name]})


def rounded(rng, x):
    """The numbers of a right program: rounded in another order, perhaps in float32."""
    if x.dtype.kind != "f":
        return x
    x = np.asarray(x * (1 + 1e-15 * rng.uniform(-1, 1, x.shape)))
    return x.astype(np.float32) if rng.random() < 0.3 else x
