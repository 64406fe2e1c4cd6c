"""Mutation: change one thing in a layer's forward or backward, and see a test fail.

    python tests/helpers/mutation.py [FILE ...] [--list]        FILE: softmax, variants/norms, ...
    python tests/helpers/mutation.py --machinery [--sample 12] [--seed 0]

A process that has imported the package and the tests forks once for each mutant; the child gives
the function in question its changed code and runs the tests of its file, quickest first, until one
fails. Who survives has to be in mutation_survivors.json, with the reason why it is equivalent.

Of the machinery around the layers (decoding, batches, estimates, the command line) a sample is
taken, the same one for the same seed.

Not mutated: docstrings, checks of input (`check_...` calls and conditions that only raise, which
test_bad_inputs.py and test_checks.py are for), class attributes, strings and None.
"""

import argparse
import importlib
import inspect
import json
import os
import sys
import tempfile
import time
import zlib
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from _pytest.runner import runtestprotocol
from mutants import TIME_LIMIT, in_a_fork, killer, mutants_of

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "aiayn_np"
SURVIVORS = TESTS / "helpers" / "mutation_survivors.json"
CORE = (
    "softmax", "masking", "dropout", "attention", "linear", "multi_head", "feed_forward",
    "embedding", "positional_encoding", "layer_norm", "add_norm", "encoder", "decoder",
    "transformer", "reductions", "training/loss", "training/optimizer",
)
NO_LAYERS = ("__init__", "choices")
VARIANTS = tuple(
    f"variants/{path.stem}"
    for path in sorted(PACKAGE.glob("variants/*.py")) if path.stem not in NO_LAYERS
)
FILES = CORE + VARIANTS
DECODED = ("decoding", "kv_cache", "beam_search", "hooks_in_decoding", "generation")
MACHINERY = {  # file -> the tests that its mutants have to fear
    **{f"decoding/{name}": DECODED
       for name in ("greedy", "beam", "kv_cache", "conditions", "generation")},
    "text/batches": ("text_batches", "text_training"),
    "runs/estimates": ("text_training", "text_run", "refusals"),
    "cli/grade": ("grading_ends", "grading_files", "grading", "language"),
    "cli/exchange": ("exchange",),
    "cli/zoo": ("zoo",),
    **{f"cli/{name}": ("cli", "text_run", "refusals") for name in ("common", "train")},
    "cli/translate": ("cli", "text_run", "refusals", "pretrained_runs"),
    "cli/progress": ("cli", "text_run", "text_training"),
    "cli/main": ("cli", "text_run", "refusals", "grading_ends", "animation"),
}
SAMPLE = 12  # mutants of each of these files
TESTED_IN = {
    "windows": ("relative_position",),
    "encoder": ("encoder", "pre_norm"),
    "transformer": ("transformer", "pre_norm"),
    "layer_options": ("activations",),
    "embeddings": ("activations", "embeddings", "pretrained", "generation"),
    "masked": ("masked", "pretrained"),
}
LAWS = ("protocol", "stress")  # over every layer: those with the name of one of the file's classes
WHOLE_MODEL = ("paper", "transformer")  # asked when a file's own tests let a mutant live
NOT_ASKED = ("fresh_processes", "whatever_d_k", "_learns_")  # long: processes, samples, training


class KillSuite:
    """A pytest plugin: instead of running the collected tests, run them against every mutant."""

    def __init__(self, mutants, note):
        self.mutants, self.note, self.results = mutants, note, []

    def pytest_runtestloop(self, session):
        self.items = {item.nodeid: item for item in session.items}
        seconds = self.durations()
        last: dict = {}  # function -> the test that killed its previous mutant
        for mutant in self.mutants:
            chosen = suite(mutant.module, self.items, seconds)
            found = last.get(mutant.function)
            ordered = ([found] if found in chosen else []) + chosen
            begin = time.perf_counter()
            limit = TIME_LIMIT + 5 * sum(seconds[nodeid] for nodeid in ordered)
            by = killer(mutant, lambda ordered=ordered: self.first_failure(ordered), limit)
            last[mutant.function] = by
            self.results.append((mutant, by, time.perf_counter() - begin))
            self.note(mutant, by)
        return True

    def durations(self):
        """{test: seconds} without a mutant; every one of them has to pass."""
        modules = dict.fromkeys(mutant.module for mutant in self.mutants)
        asked = {nodeid: 0 for nodeid in self.items if not any(n in nodeid for n in NOT_ASKED)}

        def run_all():
            for nodeid in dict.fromkeys(n for m in modules for n in suite(m, self.items, asked)):
                begin = time.perf_counter()
                if self.first_failure([nodeid]):
                    raise AssertionError(f"{nodeid} fails without any mutant")
                seconds[nodeid] = time.perf_counter() - begin
            return json.dumps(seconds)
        seconds: dict = {}
        text = in_a_fork(run_all, 10 * TIME_LIMIT)
        if not text or text.startswith("crash"):
            raise RuntimeError(text)
        return json.loads(text)

    def first_failure(self, nodeids):
        for nodeid in nodeids:
            reports = runtestprotocol(self.items[nodeid], log=False, nextitem=None)
            if any(report.failed for report in reports):
                return nodeid
        return None


def suite(module, items, seconds):
    """The tests that a module's mutants have to fear: its own, its laws, then the whole model.

    `seconds` holds those to choose from, with their durations: the quickest come first.
    """
    tests = tests_of(module)
    defined = [n for n, c in vars(importlib.import_module(module)).items()
               if inspect.isclass(c) and c.__module__ == module]
    own, whole = [], []
    for nodeid in sorted(seconds, key=lambda nodeid: seconds[nodeid]):
        tested = items[nodeid].path.stem.removeprefix("test_")
        of = getattr(items[nodeid], "callspec", None)
        if tested in tests or (tested in LAWS and of and of.params.get("name") in defined):
            own.append(nodeid)
        elif tested in WHOLE_MODEL:
            whole.append(nodeid)
    return own if file_of(module) in MACHINERY else own + whole


def file_of(module):
    """aiayn_np.decoding.beam -> decoding/beam"""
    return module.removeprefix("aiayn_np.").replace(".", "/")


def tests_of(module):
    """Names of the files of tests that are a module's own."""
    stem = module.rsplit(".", 1)[-1]
    return MACHINERY.get(file_of(module)) or TESTED_IN.get(stem, (stem,))


def run(mutants, note=lambda mutant, by: None):
    """[(mutant, the test that killed it or None, seconds)]"""
    plugin = KillSuite(mutants, note)
    modules = {m.module for m in mutants}
    names = {name for module in modules for name in tests_of(module)}
    if any(file_of(module) not in MACHINERY for module in modules):
        names |= {*WHOLE_MODEL, *LAWS}
    paths = sorted(str(p) for name in names for p in TESTS.glob(f"*/test_{name}.py"))
    options = ["-o", "addopts=", "-m", "not slow", "--tb=native", "-q", "-p", "no:cacheprovider"]
    pytest.main([*options, "--no-summary", *paths], plugins=[plugin])
    return plugin.results


def mutants_in(files, sample=SAMPLE, seed=0):
    """All mutants of the files of layers; of each file of the machinery so many, chosen by their
    text, so that a change elsewhere does not change the choice."""
    for file in files:
        source = (PACKAGE / f"{file}.py").read_text(encoding="utf-8")
        found = list(mutants_of(source, "aiayn_np." + file.replace("/", ".")))
        if file in MACHINERY:
            chosen = sorted(found, key=lambda m: zlib.crc32(f"{seed} {m.key}".encode()))[:sample]
            found = [mutant for mutant in found if mutant in chosen]
        yield from found


def judge(results, files):
    """(new survivors, listed ones that no longer survive), both as keys.

    Of the machinery, what is not in the sample that was run is not asked for.
    """
    listed = [tuple(s[k] for k in ("file", "function", "line", "mutation"))
              for s in json.loads(SURVIVORS.read_text(encoding="utf-8"))]
    alive = [mutant.key for mutant, by, _ in results if by is None]
    asked = {mutant.key for mutant, *_ in results}
    gone = [key for key in listed if key[0] in files and key not in alive
            and (key in asked or key[0] not in MACHINERY)]
    return [key for key in alive if key not in listed], gone


def table(results):
    """Lines: mutants, killed, survivors and seconds of each file, and of all."""
    lines = [f"{'file':<30}{'mutants':>8}{'killed':>8}{'survive':>8}{'seconds':>9}"]
    files = dict.fromkeys(mutant.key[0] for mutant, _, _ in results)
    for file in [*files, "all"]:
        rows = [r for r in results if file in (r[0].key[0], "all")]
        alive = sum(by is None for _, by, _ in rows)
        counts = f"{len(rows):>8}{len(rows) - alive:>8}{alive:>8}"
        lines.append(f"{file:<30}{counts}{sum(s for *_, s in rows):>9.1f}")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="softmax, variants/norms, ...")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--machinery", action="store_true", help="a sample of what is no layer")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each of its files")
    parser.add_argument("--seed", type=int, default=0, help="of this sample")
    options = parser.parse_args(arguments)
    files = options.files or (MACHINERY if options.machinery else FILES)
    if unknown := set(files) - {*FILES, *MACHINERY}:
        parser.error(f"no such file: {', '.join(sorted(unknown))}; there are"
                     f" {', '.join([*FILES, *MACHINERY])}")
    mutants = list(mutants_in(files, options.sample, options.seed))
    if options.list:
        print(*(" | ".join(m.key) for m in mutants), f"{len(mutants)} mutants", sep="\n")
        return 0
    done: list = []

    def note(mutant, by):
        done.append(by)
        counts = f"{len(done)}/{len(mutants)}, {done.count(None)} alive"
        print(f"\r{counts}, {mutant.key[0]:<30}", end="", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)                                               # a mutant may write anywhere
        results = run(mutants, note)
        os.chdir(TESTS)
    new, gone = judge(results, files)
    print(file=sys.stderr)
    print(*table(results), sep="\n")
    for title, keys in (("new survivor", new), ("listed, but killed or gone", gone)):
        print(*(f"{title}: {' | '.join(key)}" for key in keys), sep="\n", end="\n" if keys else "")
    return 1 if new or gone or len(results) < len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())
