"""Chromium, for the tests that use a page as a reader does.

They run where Playwright is installed and finds a Chromium: `pip install playwright`, and
`apt install chromium` or `playwright install chromium`.
"""

import os
import shutil
from contextlib import ExitStack

import pytest

api = pytest.importorskip("playwright.sync_api")


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
