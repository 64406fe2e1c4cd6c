"""Damaged runs: a command refuses one by name, or does what it did with the run as it was."""

import io
import json

import numpy as np
import pytest
from hostile import Place, problem
from marks import LINUX
from sentences import sentences
from test_command_lines import TEXT, TINY

pytestmark = [LINUX, pytest.mark.slow]
COUNT = 100  # damaged files
ODD = [None, [], {}, -1, 0, 1, 2**70, -2**70, 1e308, "", "x", "9" * 5000, True, [None], {"a": []},
       [[[]]], "copy", "text"]
COMMANDS = {"toy": ["decode", "toy", "1 2 3"], "text": ["translate", "text", "lines"]}
LATER = {"toy": ["train", "copy", "--resume", "--out", "toy", "--steps", "3"],
         "text": ["train", "text", "--resume", "--out", "text", "--epochs", "0.3"]}


def prepare(place):
    """Two runs; {name: {file: bytes}} and what the commands print of them."""
    place.write("pairs.tsv", "".join(f"{a}\t{b}\n" for a, b in sentences(100)))
    place.write("lines", "eins\nzwei drei\n")
    flat = [[word for pair in options.items() for word in pair] for options in (TINY, TEXT)]
    for argv in (["train", "copy", *flat[0], "--out", "toy"],
                 ["train", "text", "--pairs", "pairs.tsv", *flat[1], "--out", "text"]):
        done = place.run(*argv)
        assert done["code"] == 0, done["err"]
    good = {name: {p.name: p.read_bytes() for p in (place.work / name).iterdir()}
            for name in COMMANDS}
    return good, {name: place.run(*argv)["out"] for name, argv in COMMANDS.items()}


def damaged_bytes(data, rng):
    """Bytes with some flipped, lost, doubled, zeroed, or of something else."""
    data = bytearray(data)
    at = int(rng.integers(len(data)))
    match int(rng.integers(6)):
        case 0:
            for i in rng.integers(len(data), size=rng.integers(1, 5)):
                data[i] ^= 1 << int(rng.integers(8))
        case 1:
            del data[at:]
        case 2:
            del data[at : at + int(rng.integers(1, 5000))]
        case 3:
            data[at : at + 500] = bytes(500)
        case 4:
            data[at:at] = rng.bytes(int(rng.integers(1, 500)))
        case _:
            data[:] = rng.bytes(int(rng.integers(0, 2000)))
    return bytes(data)


def nested(value, rng):
    """A random dict inside a value, and a key of it."""
    while True:
        inner = [v for v in value.values() if isinstance(v, dict) and v]
        if not inner or rng.random() < 0.4:
            return value, list(value)[rng.integers(len(value))]
        value = inner[rng.integers(len(inner))]


def damaged_header(data, rng):
    """A whole checkpoint with an odd part in its header, or with an odd array."""
    with np.load(io.BytesIO(data)) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    if rng.random() < 0.6:
        inside, key = nested(header, rng)
        if rng.random() < 0.2:
            del inside[key]
        else:
            inside[key] = ODD[rng.integers(len(ODD))]
    else:
        name = list(arrays)[rng.integers(len(arrays))]
        a = arrays[name]
        odd = [a * np.nan, a.astype(complex), a[..., None], a.ravel()[:1], a.astype("U8"), a > 0,
               a.astype(np.float16), np.array(np.inf, a.dtype), a[:0], None]
        arrays[name] = odd[rng.integers(len(odd))]
        if arrays[name] is None:
            del arrays[name]
    out = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(out, header=text, **arrays)
    return out.getvalue()


def damage(files, rng):
    """(name of a file, its new bytes or None for lost)"""
    name = ["model.npz", "model.npz", "model.npz", "history.csv", "metrics.json",
            "vocabulary.model"][rng.integers(6)]
    name = name if name in files else "model.npz"
    if rng.random() < 0.05:
        return name, None
    if name == "model.npz" and rng.random() < 0.5:
        return name, damaged_header(files[name], rng)
    return name, damaged_bytes(files[name], rng)


def restore(place, run, files):
    """The run's folder as it was."""
    for path in (place.work / run).iterdir():
        if path.name not in files:
            path.unlink()
    for name, data in files.items():
        path = place.work / run / name
        if not path.exists() or path.read_bytes() != data:
            place.write(f"{run}/{name}", data)


def hunt(place, rng):
    """(how many damaged files were refused, list of problems)"""
    good, wanted = prepare(place)
    problems, refused = [], 0
    for n in range(COUNT):
        run = list(COMMANDS)[rng.integers(2)]
        name, data = damage(good[run], rng)
        if data is None:
            (place.work / run / name).unlink()
        else:
            place.write(f"{run}/{name}", data)
        for argv in (COMMANDS[run], LATER[run]):
            done = place.run(*argv)
            refused += done["code"] != 0 and argv is COMMANDS[run]
            what = problem(argv, done)
            changed = argv is COMMANDS[run] and done["code"] == 0 and done["out"] != wanted[run]
            if changed or what:
                problems.append(f"{n}: {run}/{name}: {what or 'another result'}"
                                f" {done['err'][-300:]}")
        restore(place, run, good[run])
    return refused, problems


def test_a_damaged_run_is_refused_or_gives_what_it_gave(seed):
    with Place() as place:
        refused, problems = hunt(place, np.random.default_rng(seed))
    assert not problems, "\n\n".join(problems[:20])
    assert refused > COUNT / 3
