"""Test vectors: files against which a program in any language is held.

`write_vectors` writes a file for each case, with inputs, outputs and gradients. The other program
reads the inputs, and writes files of the same names with its own outputs and gradients.
`compare_vectors` says which tensors agree, and names the mistakes behind the wrong ones.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files import replacing
from .tensors import kind_of, read_tensors, write_tensors
from .vector_cases import cases, tensors_of

COMPUTED = ("output.", "grad.")  # by the other program


def write_vectors(folder: str | Path) -> None:
    """Write all cases, manifest.json and README.md into a folder, over files of these names."""
    folder, lines = Path(folder), []
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        tensors = {name: x.astype(case["dtype"]) if x.dtype.kind == "f" else x
                   for name, x in tensors_of(case).items()}
        write_tensors(folder / f"{case['name']}.safetensors", tensors)
        del case["inputs"], case["layer"]                              # the tensors say it
        case["tensors"] = [{"name": name, "role": name.split(".")[0], "dtype": kind_of(x),
                            "shape": x.shape} for name, x in tensors.items()]
        lines.append(json.dumps(case))
    small = read_tensors(folder / "scaled_dot_product_attention_01.safetensors")
    worked = "\n".join(f"{name:<15} {x.tolist()}" for name, x in small.items())
    readme = Path(__file__).with_name("vectors.md").read_text(encoding="utf-8")
    for name, text in (("manifest.json", "[\n{}\n]\n".format(",\n".join(lines))),
                       ("README.md", readme.replace("{worked}", worked))):
        with replacing(folder / name) as file:
            file.write(text.encode())


def difference(case: dict[str, Any], x: np.ndarray, right: np.ndarray) -> tuple[float, str]:
    """Return the largest error of a tensor, relative to the largest number or 1, and its fault.

    The fault is the first wrong entry, or what does not fit; "" if the tensor agrees.
    """
    if (x.dtype.kind == "f") != (right.dtype.kind == "f"):
        return np.inf, f"must be of {kind_of(right)}, got {kind_of(x)}"
    if x.shape != right.shape:
        return np.inf, f"must have shape {right.shape}, got {x.shape}"
    short = "f" in (x.dtype.char, right.dtype.char)
    same = (x == right) | (np.isnan(x) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, abs(x.astype(float) - right))
    error[np.isnan(error)] = np.inf
    error /= max(1, abs(right[np.isfinite(right)]).max(initial=0))
    wrong = ~(error <= case["tolerance"]["float32" if short else "float64"])
    if not wrong.any():
        return error.max(initial=0), ""
    at = tuple(np.argwhere(wrong)[0].tolist())
    return error.max(), f"{list(at) if at else 'it'} is {x[at]:.9g}, must be {right[at]:.9g}"


class Pair(NamedTuple):
    """A tensor of the other program, x, beside the right one; `fault` as in `difference`."""

    case: dict[str, Any]
    name: str
    x: np.ndarray
    right: np.ndarray
    error: float
    fault: str


@dataclass
class Comparison:
    """The comparison of a folder; true if some tensors were compared, and all of them agree.

    parts : {component: (number of its tensors, the pairs that were compared)}
    causes : {component: names of the mistakes that give its wrong numbers}
    problems : sentences on files and tensors that could not be compared
    """

    parts: dict[str, tuple[int, list[Pair]]]
    causes: dict[str, list[str]]
    problems: list[str]

    def __bool__(self) -> bool:
        pairs = [pair for _, part in self.parts.values() for pair in part]
        return bool(pairs) and not self.problems and not any(pair.fault for pair in pairs)

    def __str__(self) -> str:
        lines, counts = [f"{'component':<31}compared    largest error"], np.zeros(3, int)
        for component, (asked, part) in self.parts.items():
            wrong = [pair for pair in part if pair.fault]
            counts += asked, len(part), len(wrong)
            if part:
                lines.append(f"{component:<31}{f'{len(part)} of {asked}':<12}"
                             f"{max(pair.error for pair in part):.0e}"
                             f"{f'  WRONG: {len(wrong)}' if wrong else ''}")
            first = {pair.name: pair for pair in wrong[::-1]}          # of each tensor
            lines += [f"  {p.case['name']} {name}: {p.fault}" for name, p in sorted(first.items())]
            lines += [f"  {cause}" for cause in self.causes[component]]
        asked, compared, bad = counts
        more = f", and {len(self.problems)} could not be compared" if self.problems else ""
        return "\n".join([*lines, *self.problems, f"{compared} of {asked} tensors compared,"
                          f" {compared - bad} agree, {bad} are wrong{more}"])


def compare_vectors(folder: str | Path, theirs: str | Path, *,
                    bugs: Iterable[Any] = ()) -> Comparison:
    """Compare the files in `theirs` with those of the same names in `folder`, tensor by tensor.

    bugs : objects whose `explains(pairs)` names the bug that gives the wrong numbers of a
        component, or returns ""
    """
    parts: dict[str, tuple[int, list[Pair]]] = {}
    files, bugs = {path.stem: path for path in sorted(Path(theirs).glob("*.safetensors"))}, [*bugs]
    causes, problems = {}, []
    for case in cases():
        right, got = read_tensors(Path(folder) / f"{case['name']}.safetensors"), {}
        try:
            if path := files.pop(case["name"], None):
                got = read_tensors(path)
        except ValueError as error:
            problems.append(str(error))
        names = [name for name in right if name.startswith(COMPUTED)]
        asked, part = parts.get(case["component"], (0, []))
        part += [Pair(case, name, got[name], right[name],
                      *difference(case, got[name], right[name])) for name in names if name in got]
        parts[case["component"]] = asked + len(names), part
        problems += [f"{path}: {name} is not as in the case" for name in got if name not in names
                     and not np.array_equal(got[name], right.get(name, np.nan))]
    problems += [f"{path}: no case has this name" for path in files.values()]
    for component, (_, part) in parts.items():
        named = filter(None, (bug.explains(part) for bug in bugs))
        hints = (hint_of(pair) for pair in part if pair.fault)
        causes[component] = [*named] or [*filter(None, hints)][:1]
    return Comparison(parts, causes, problems)


def hint_of(pair):
    """Name the mistake that gives the numbers of a wrong tensor, or return ""."""
    case, name, x, right, *_ = pair
    with np.errstate(over="ignore"):
        short = x.astype(np.float32)
    if x.ndim > 1 and not all(difference(case, x, y)[1] for y in (right.mT, right.T)):
        return f"{name} is transposed"
    if np.array_equal(x, short) and not difference(case, short, right)[1]:
        return f"{name} was computed in float32, where float64 was meant"
    return ""
