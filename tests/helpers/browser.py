"""Chromium, for the tests that use a page as a reader does.

They run where Playwright is installed and finds a Chromium: `pip install playwright`, and
`apt install chromium` or `playwright install chromium`.
"""

import os
import shutil
from contextlib import ExitStack, contextmanager

import pytest

api = pytest.importorskip("playwright.sync_api")
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def chromium():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                 None)
    options = dict(executable_path=found) if found else {}
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with ExitStack() as stack:
        playwright = stack.enter_context(api.sync_playwright())
        try:
            browser = playwright.chromium.launch(args=["--no-sandbox"] * as_root, **options)
        except api.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        stack.callback(browser.close)
        yield browser


@pytest.fixture
def visit(chromium):
    """visit(path, address) opens the page; what it asks for or complains of fails the test."""
    with ExitStack() as stack:
        def visit(path, address="", **options):
            return stack.enter_context(opened(chromium, path, address, **options))

        yield visit


@contextmanager
def opened(chromium, path, address, **options):
    context = chromium.new_context(**dict(viewport=WIDE, color_scheme="light") | options)
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri() + address)
    yield page
    context.close()
    assert {url.split("#")[0] for url in asked} == {path.as_uri()}
    assert complaints == []
