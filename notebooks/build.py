"""Build the notebooks from their sources: NN_name.py becomes NN_name.ipynb, executed.

    pip install -e '.[notebooks]'
    python notebooks/build.py              all of them
    python notebooks/build.py 01 03        some
    python notebooks/build.py find         exercises/find_the_bug, made in the same way
    python notebooks/build.py --text 01    only its text has changed: its outputs are kept
    python notebooks/build.py --pictures   new pictures, too, where no text and no number has changed
    python notebooks/build.py --zh         the Chinese ones, with the outputs of the English ones;
                                           git does not keep them
    python notebooks/build.py --zh --new 01    begin a Chinese source: the text is still English

A source is a plain Python script in the "percent" format of jupytext. The notebook is made again
from nothing each time, by a fresh kernel, and written only if every cell ran, without a word on
stderr. Cell numbers and metadata are the same on every machine. The kernel computes with one
thread, so that what it prints does not depend on the number of cores. A notebook keeps digests of
the committed results that it draws, so that a picture of older ones is seen. The first cell of a
lesson installs the package where it is missing: from the address `Repository` under
`[project.urls]` in pyproject.toml, if there is one.
lesson_marks.py says what the marks in a text mean.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import chinese
import lesson_marks
import predictions
from cells import METADATA, nbformat, notebook_of
from needs import needed

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
FOLDER = Path(__file__).resolve().parent
FIGURES = FOLDER.parent / "figures"
SOURCES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
OTHERS = [FOLDER / "exercises" / "find_the_bug.py"]


def lesson_of(script):
    """The notebook of a lesson's script, not executed, with the marks of its text in metadata."""
    notebook = notebook_of(script)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell["source"], shown = lesson_marks.text_cell(cell.source)
            cell["metadata"] = nbformat.from_dict(shown)
    if drawn := drawn_by(script):
        notebook.metadata["drawn"] = drawn
    return notebook


def drawn_by(script):
    """{file of figures, or lesson of populations.json: digest} of the results that a lesson draws.

    Where a lesson shows whole figures, the committed picture counts, too: it is drawn anew where
    only the drawing has changed.
    """
    names = set(re.findall(r"\.\./figures/(\w+)\.json", script))
    kinds = ["json", "png"] if ".figure()" in script else ["json"]
    paths = [FIGURES / f"{name}.{kind}" for name in names for kind in kinds]
    found = {path.name: path.read_bytes() for path in paths}
    populations = json.loads((FIGURES / "populations.json").read_text(encoding="utf-8"))
    for number in re.findall(r"population\((?:[\w.\[\]]+, )?(\d+)", script):
        found[f"populations.json {number}"] = json.dumps(populations[number]).encode()
    return {name: hashlib.sha256(found[name]).hexdigest()[:8] for name in sorted(found)}


def client():
    """The class of nbclient that does not number the cells which check predictions."""
    class Client(needed("nbclient").NotebookClient):
        async def async_execute_cell(self, cell, *arguments, **options):
            numbered = not predictions.is_check(cell)
            await super().async_execute_cell(cell, *arguments, store_history=numbered, **options)
            self.code_cells_executed -= not numbered

    return Client


def execute(notebook):
    """Run every cell in a fresh kernel, and check what is said of its predictions.

    RuntimeError for a cell that writes on stderr.
    """
    notebook.cells = predictions.with_checks(notebook)
    environment = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"} | ONE_THREAD
    environment["AIAYN_LANG"] = "en"
    client()(
        notebook, timeout=600, startup_timeout=600, kernel_name="python3", record_timing=False,
        coalesce_streams=True, extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute(env=environment)
    drawn = {key: value for key, value in notebook.metadata.items() if key == "drawn"}
    notebook.metadata = nbformat.from_dict(METADATA | drawn)           # not the kernel's version
    notebook.cells = predictions.without_checks(notebook.cells)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{cell['id']} writes on stderr: {output['text']}")
    return notebook


def settled(before, notebook):
    """The notebook; with the outputs of `before` if its code, its results and its prints are those.

    Each release of matplotlib writes the same pictures in other bytes, and git would keep them all.
    """
    def said(notebook):
        return notebook.metadata.get("drawn"), [
            (ast.dump(ast.parse(c.source)), [o.get("text") or o.data.get("text/plain")
                                             for o in c.outputs if o.output_type != "error"])
            for c in notebook.cells if c.cell_type == "code"]

    same = said(before) == said(notebook) and predictions.measured(before) == (
        predictions.measured(notebook))
    return with_outputs_of(before, notebook) if same else notebook


def with_outputs_of(before, notebook):
    """The notebook with the outputs of `before`, whose code is the same; ValueError where not.

    Code is the same where it is parsed to the same tree: comments and empty lines do not count.
    """
    old, new = ([c for c in n.cells if c.cell_type == "code"] for n in (before, notebook))
    before_tree, tree = ([ast.dump(ast.parse(c.source)) for c in cells] for cells in (old, new))
    if before_tree != tree:
        raise ValueError("its code has changed too: build it without --text")
    if before.metadata.get("drawn") != notebook.metadata.get("drawn"):
        raise ValueError("the results that it draws have changed: build it without --text")
    if predictions.measured(before) != predictions.measured(notebook):
        raise ValueError("what its predictions measure has changed: build it without --text")
    for was, cell in zip(old, new):
        cell["outputs"], cell["execution_count"] = was.outputs, was.execution_count
        kept = {key: value for key, value in was.metadata.items() if key == "given"}
        cell["metadata"] = nbformat.from_dict(kept) | cell.metadata
    return notebook


def main(chosen, text=False, pictures=False):
    sources = [s for s in SOURCES + OTHERS if not chosen or s.stem.split("_")[0] in chosen]
    for source in sources:
        started = time.perf_counter()
        notebook, target = lesson_of(source.read_text(encoding="utf-8")), source.with_suffix(".ipynb")
        before = nbformat.read(target, as_version=4) if target.exists() else None
        notebook = with_outputs_of(before, notebook) if text else execute(notebook)
        if before and not pictures:
            notebook = settled(before, notebook)
        nbformat.write(notebook, target)
        print(f"{target.name}  {time.perf_counter() - started:.1f} s"
              f"  {target.stat().st_size / 1000:.0f} kB", flush=True)
    return 0 if sources else "no notebook of that name"


def main_chinese(chosen, new=False):
    """Build the Chinese notebooks of `chosen`, and list every cell that is out of step."""
    found = []
    for source in [s for s in SOURCES if not chosen or s.stem.split("_")[0] in chosen]:
        english, ours = source.read_text(encoding="utf-8"), chinese.source(source)
        if new and not ours.exists():
            ours.write_text(chinese.skeleton(english), encoding="utf-8")
        if not ours.exists():
            found.append(f"zh/{ours.name}: there is none")
            continue
        text = ours.read_text(encoding="utf-8")
        wrong = chinese.faults(english, text) + chinese.two_ways(text)
        found += [f"zh/{ours.name}: {line}" for line in wrong]
    for page, english in chinese.pages().items() if not chosen else ():
        texts = [path.read_text(encoding="utf-8") for path in (english, page)]
        wrong = chinese.page_faults(*texts) + chinese.two_ways(texts[1])
        found += [f"{page.relative_to(FOLDER.parent)}: {line}" for line in wrong]
    if not found:
        chinese.write(chinese.CHINESE, chinese.DEEPER)
    return "\n".join(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", nargs="*", help="such as 01, or find; none: all")
    parser.add_argument("--text", action="store_true", help="only text has changed: run nothing")
    parser.add_argument("--pictures", action="store_true",
                        help="new pictures too where no text and no number has changed")
    parser.add_argument("--zh", action="store_true", help="the Chinese edition: run nothing")
    parser.add_argument("--new", action="store_true", help="with --zh: begin sources there are not")
    arguments = parser.parse_args()
    if arguments.zh:
        sys.exit(main_chinese(arguments.number, arguments.new) or 0)
    sys.exit(main(arguments.number, arguments.text, arguments.pictures))
