"""Chromium and axe, for the tests that use a page as a reader does."""

from contextlib import ExitStack

import pytest


@pytest.fixture(scope="module")
def chromium():
    from browser import started

    with started() as browser:
        yield browser


@pytest.fixture
def visit(chromium):
    """visit(path, address) opens the page; what it asks for or complains of fails the test."""
    from browser import opened

    with ExitStack() as stack:
        yield lambda *place, **options: stack.enter_context(opened(chromium, *place, **options))


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script that finds what keeps a reader out."""
    from npm import installed

    folder = installed(tmp_path_factory.mktemp("npm"), "axe-core@4")
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
