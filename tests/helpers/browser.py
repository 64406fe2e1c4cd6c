"""Chromium, for the tests that use a page as a reader does.

They run where Playwright is installed and finds a Chromium: `pip install playwright`, and
`apt install chromium` or `playwright install chromium`.
"""

import os
import shutil
from contextlib import contextmanager

import pytest

api = pytest.importorskip("playwright.sync_api")
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def started():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                 None)
    options = dict(executable_path=found) if found else {}
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(args=["--no-sandbox"] * as_root, **options)
        except api.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@contextmanager
def opened(chromium, path, address="", **options):
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


def settled(page):
    """Wait until what is typed in a live page is drawn, and the address bar names it."""
    page.locator("#app[aria-busy='false']").wait_for(state="attached")
    page.wait_for_function("() => location.hash === element('link').hash")


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.wait_for_timeout(50)                                          # "toggle" comes later
