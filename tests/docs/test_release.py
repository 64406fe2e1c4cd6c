"""One version everywhere, extras that exist, and workflows that the schema allows."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from pages import ROOT

from aiayn_np import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
NEWEST = re.search(r"^## (\S+) \((.*)\)$", CHANGELOG, re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_changelog_decides_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert NEWEST[1] == __version__
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == __version__


@pytest.mark.skipif(not shutil.which("grep"), reason="the rule of the workflow is a line of bash")
@pytest.mark.parametrize(("heading", "tag", "passes"), [
    ("## 0.1.0 (2026-12-01)", "v0.1.0", True),
    ("## 0.1.0 (not yet released)", "v0.1.0", False),
    ("## 0.1.0 (2026-12-01)", "v0.1.1", False),
    ("## 0.2.0 (2026-12-02)\n\n## 0.1.0 (2026-12-01)", "v0.1.0", False),
    ("## 0.1.0rc1 (2026-12-01)", "v0.1.0", False),
])
def test_a_tag_is_released_if_it_is_the_newest_entry_with_a_date(tmp_path, heading, tag, passes):
    (rule,) = re.findall(r"run: (grep .*)", (ROOT / ".github/workflows/release.yml").read_text())
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\n- A change.\n")
    run = subprocess.run(["bash", "-eo", "pipefail", "-c", rule], cwd=tmp_path,
                         env=os.environ | {"GITHUB_REF_NAME": tag})
    assert (run.returncode == 0) == passes


def test_the_rule_for_tags_reads_our_changelog():
    """The newest heading is of the form that the rule looks for, or says that it waits."""
    assert NEWEST[2] == "not yet released" or re.fullmatch(r"\d{4}-\d\d-\d\d", NEWEST[2])


@pytest.mark.slow
def test_the_workflows_are_as_their_schema_wants_them():
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema",
               "vendor.github-workflows", *map(str, WORKFLOWS)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert len(WORKFLOWS) >= 3
    assert run.returncode == 0, run.stdout


def packages(extra):
    """What an extra installs, by the names of packages; extras in it are followed."""
    found = set()
    for requirement in EXTRAS[extra]:
        if inner := re.fullmatch(r"aiayn-np\[(.*)\]", requirement):
            found |= set().union(*map(packages, inner[1].split(",")))
        else:
            found.add(re.match(r"[\w-]+", requirement)[0])
    return found


def test_the_extras_are_named_after_what_a_person_wants():
    wanted = {"test", "dev", "notebooks", "text", "mpi", "torch", "pretrained", "docs", "all"}
    assert wanted <= set(EXTRAS)
    assert packages("all") == packages("notebooks") | packages("text") | packages("pretrained")


def test_every_extra_that_is_named_anywhere_exists():
    named = {}
    tops = [top for top in ROOT.iterdir() if top.name not in (".venv", "build", "dist", "site")]
    for path in (path for top in tops for path in ([top] if top.is_file() else top.rglob("*.*"))):
        if path.suffix in (".py", ".md", ".yml", ".ipynb", ".toml"):
            text = path.read_text(encoding="utf-8")
            for found in re.findall(r"(?:aiayn-np|(?<=[\"' ])\.|\.whl)\[([a-z,]+)\]", text):
                named.update(dict.fromkeys(found.split(","), path))
            for found in re.findall(r"\bextra\(.*, of=\"(\w+)\"\)", text):
                named[found] = path
    assert {"text", "notebooks", "torch", "pretrained", "mpi", "test", "dev", "docs"} <= set(named)
    assert set(named) <= set(EXTRAS), named
