"""One version everywhere, extras that exist, and workflows that the schema allows."""

import re
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
NEWEST = re.search(r"^## \[(\S+)\] - (.*)$", CHANGELOG, re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_changelog_decides_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert NEWEST[1] == __version__
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == __version__


def test_an_action_is_pinned_to_a_commit_and_says_its_version():
    used = re.findall(r"uses: (.*)", "".join(path.read_text("utf-8") for path in WORKFLOWS))
    pinned = re.compile(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+")
    assert len(used) > 10
    assert [line for line in used if not pinned.fullmatch(line)] == []


@pytest.mark.slow
def test_the_workflows_are_as_their_schema_wants_them():
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema",
               "vendor.github-workflows", *map(str, WORKFLOWS)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert len(WORKFLOWS) >= 3
    assert run.returncode == 0, run.stdout
