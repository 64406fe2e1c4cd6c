"""Every numbered step of the pages on the paper is a line of NumPy that holds; errors are named."""

import ast
import copy
import itertools
import re
from collections import Counter

import numpy as np
import pytest
from pages import ROOT

from aiayn_course.exercises import derivation
from aiayn_course.exercises.derivation import Example, check_derivation, draw, read

PAGES = sorted((ROOT / "docs" / "paper").glob("*.md"))
NO_DERIVATION = {"cost", "index"}  # numbered lists of other things
CELL = re.compile(r"```\{code-cell\} python3\n:tags: \[hide-cell\]\n\n(.*?)```", re.DOTALL)


def calls(page):
    """(text, given) of every call of check_derivation on a page."""
    found = []
    for code in CELL.findall(page.read_text(encoding="utf-8")):
        exec(code.replace("from aiayn_course.exercises.derivation import check_derivation", ""),
             {"check_derivation": lambda text, **given: found.append((text, given))})
    return found


DERIVATIONS = {f"{page.stem} {k}": call
               for page in PAGES for k, call in enumerate(calls(page))}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.slow) if name == "multi_head 0" else name
    for name in DERIVATIONS])
def test_every_line_of_a_page_holds(name):
    text, given = DERIVATIONS[name]
    report = check_derivation(text, **given)
    assert report, report


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem not in NO_DERIVATION],
                         ids=lambda page: page.stem)
def test_every_numbered_step_has_its_line(page):
    source = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    steps = Counter(re.findall(r"(?m)^(\d+)\. ", source))
    lines = Counter(step for text, _ in calls(page) for step in set(re.findall(r"# (\d+)$", text,
                                                                               re.MULTILINE)))
    assert lines == steps


def swapped(letters, one, other):
    return letters.translate(str.maketrans(one + other, other + one))


def changes(node):
    """(rule, expression) for every error that the rules plant at one node of a syntax tree."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, (ast.Add, ast.Sub)):
            other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield "sign", ast.BinOp(node.left, other, node.right)
            yield "missing term", node.left
            yield "missing term", node.right
        if isinstance(node.op, (ast.Mult, ast.Div, ast.Pow)):
            yield "lost factor", node.left
        if isinstance(node.op, ast.Mult):
            yield "lost factor", node.right
        if isinstance(node.op, ast.MatMult):
            yield "transposed product", ast.BinOp(node.right, ast.MatMult(), node.left)
            yield "transposed product", ast.BinOp(ast.Attribute(node.left, "T"), ast.MatMult(),
                                                  node.right)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield "transposed product", node.value
    if isinstance(node, ast.keyword) and node.arg == "axis":
        yield "index", ast.keyword("axis", ast.Constant(1 - node.value.value))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        operands, out = node.value.split("->")
        for one, other in itertools.combinations(sorted(set(operands) - {","}), 2):
            yield "index", ast.Constant(f"{operands}->{swapped(out, one, other)}")
            first, comma, rest = operands.partition(",")
            yield "index", ast.Constant(f"{swapped(first, one, other)}{comma}{rest}->{out}")


class Plant(ast.NodeTransformer):
    """Put one expression in the place of a node; nodes are counted as ast.walk counts them."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def planted(line):
    """(rule, wrong line) of every error that the rules plant in a line."""
    tree = ast.parse(line)
    right = ast.unparse(tree)
    for k, node in enumerate(ast.walk(tree)):
        for rule, change in changes(node):
            changed = copy.deepcopy(tree)
            old = next(itertools.islice(ast.walk(changed), k, None))
            wrong = ast.unparse(Plant(old, change).visit(changed))
            if wrong != right:
                yield rule, wrong


def planted_in(text):
    """(rule, number of the line, text with the error) of every error planted in the steps."""
    rows = text.splitlines()
    for k, row in enumerate(rows):
        if row.strip() and isinstance(ast.parse(row.strip()).body[0], ast.Expr):
            for rule, wrong in planted(row.partition("  #")[0].strip()):
                yield rule, k + 1, "\n".join([*rows[:k], wrong, *rows[k + 1:]])


def is_an_error(text, wrong, line, given):
    """Whether a planted change moves a number of its line; u.T @ v is u @ v for vectors."""
    sides = []
    for lines in (text, wrong):
        rows = read(lines, given)
        names = dict.fromkeys(" ".join(v for v in given.values() if isinstance(v, str)).split())
        sizes = {name: 7 - k for k, name in enumerate(names)}
        random = np.random.default_rng(1).standard_normal
        example = Example({"np": np, **sizes, **draw(given, sizes, random)})
        example.definitions = {row.name: row.sides[0] for row in rows if row.name}
        (row,) = [row for row in rows if row.number == line]
        try:
            sides.append([np.asarray(example.value_of(side)) for side in row.sides])
        except (ValueError, IndexError):
            return True
    return any(a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9)
               for a, b in zip(*sides))


def not_named(some, monkeypatch):
    """(errors among these changes, those that are not named at their line)."""
    monkeypatch.setattr(derivation, "smallest", lambda *a: a[3:5])     # the search takes time
    errors, missed = 0, []
    for text, given, (rule, line, wrong) in some:
        if is_an_error(text, wrong, line, given):
            errors += 1
            false = check_derivation(wrong, **given).first_false
            if false is None or false.number != line:
                missed.append((rule, wrong.splitlines()[line - 1]))
    return errors, missed


def all_changes(names=DERIVATIONS):
    return [(text, given, change) for text, given in map(DERIVATIONS.get, names)
            for change in planted_in(text)]


@pytest.mark.slow
def test_every_planted_error_is_named_at_its_line(monkeypatch):
    errors, missed = not_named(all_changes(), monkeypatch)
    assert errors > 400
    assert len(missed) <= 0.05 * errors, missed


def test_the_first_false_line_is_named_with_the_smallest_example():
    report = check_derivation("""
        w = np.exp(s) / np.exp(s).sum()

        d(g @ w, s)
        g @ d(w, s)
        g * w - g @ w       # w is lost
        w * (g - g @ w)
    """, s="n", g="n")
    assert not report
    assert report.first_false.number == 6
    assert "n = 2\n" in report.example                                 # with n = 1, w is 1
    assert "g * w - g @ w is\n" in report.first_false.verdict
    assert len(report.lines) == 4                                      # what follows is not told
    report = check_derivation("x.sum() == 2 * x.sum()", x="n")
    assert "n = 1\n" in report.example
    assert check_derivation("d(x**2, x) == 2 * np.diag(x)", x="n")


@pytest.mark.parametrize(("line", "says"), [
    ("x == q", "NameError"), ("x @ y == 0", "ValueError"), ("x == np.ones(n + 1)", "is"),
    ("np.log(-x**2) == 0", "nan"), ("d(np.var(x), x) == 0", "complex step"),
    ("d(d(x, x), x) == 0", "no d within y"), ("d(x[0], x[1]) == 0", "needs the name"),
])
def test_a_line_that_says_nothing_right_is_false(line, says):
    report = check_derivation(f"x == x\n{line}", x="n", y="m")
    assert report.first_false.number == 2
    assert says in repr(report)


@pytest.mark.parametrize(("text", "says"), [
    ("y = x", "neither"), ("x", "neither"), ("x\n\nx", "neither"), ("x = 1\nx == 1", "second"),
    ("d = 1", "second"), ("n = x.sum()\nn == x.sum()", "second"), ("for i in x: i", "must be"),
])
def test_what_compares_nothing_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        check_derivation(text, x="n")


def test_a_size_of_the_name_d_is_refused():
    with pytest.raises(ValueError, match="d, which is the derivative"):
        check_derivation("d(x.sum(), x) == 1", x="d")


@pytest.mark.parametrize("size", ["4*n", "T,", "2"])
def test_a_size_that_is_no_word_is_refused(size):
    with pytest.raises(ValueError, match="by a word"):
        check_derivation("x == x", x=size)


@pytest.mark.parametrize("line", ["d(z @ z, z) != 2 * z", "z @ z >= 0", "0 == z < 1"])
def test_only_equations_are_compared(line):
    with pytest.raises(ValueError, match="line 1 must compare by =="):
        check_derivation(line, z="n")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("line", ["np.sqrt(a**2) == a", "d(np.maximum(a, 0), a) == 1"])
def test_a_number_is_tried_with_both_signs(line, seed):
    assert not check_derivation(line, a="", seed=seed)


def test_what_nothing_was_compared_with_is_told():
    report = check_derivation("""
        p = np.exp(z) / np.exp(z).sum()
        p.sum() == 1

        p - t
    """, z="n", t="n")
    assert report
    assert [line.verdict for line in report.lines] == ["definition", "holds", "begins"]


def test_a_line_that_cannot_be_computed_is_not_called_false():
    report = check_derivation("norm = np.linalg.norm(z)\nd(norm, z) == z / norm", z="n")
    assert not report
    assert "ERROR" in repr(report)
    assert "Line 2 cannot be computed" in repr(report)
    assert "is false" not in repr(report)


def test_a_small_part_that_misleads_the_complex_step_is_noticed():
    line = "d(x @ x + 1e-6 * np.abs(x).sum(), x) == 2 * x"
    assert "Line 1 cannot be computed" in repr(check_derivation(line, x="n"))
