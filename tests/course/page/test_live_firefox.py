"""The page in another browser: Firefox computes what NumPy computes, and can be used."""

import json
import os
import shutil
import subprocess

import pytest
from javascript import CASES, SHARES, SOLVE, VARIANTS, packed, random_model
from npm import installed
from test_live_forward import agree, cases_of
from test_live_shares import agree as shares_agree

from aiayn_np import CopyTask

pytestmark = pytest.mark.slow
DRIVE = """
const puppeteer = require("puppeteer-core");
const { readFileSync } = require("fs");
const [firefox, address, file] = process.argv.slice(2);
(async () => {
  const options = { browser: "firefox", executablePath: firefox, headless: true };
  const browser = await puppeteer.launch({ ...options, protocolTimeout: 500000 });
  try {
    const page = await browser.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.setViewport({ width: 360, height: 740 });
    await page.goto(`${address}#mode=look`);
    await page.waitForSelector("#app[aria-busy='false']");
    await page.focus("#source");
    await page.evaluate(() => document.getElementById("source").select());
    await page.keyboard.type("5 0 3 1");
    await page.waitForFunction(() => document.querySelector("#written strong").innerText);
    await new Promise((done) => setTimeout(done, 2000));
    const found = await page.evaluate(() => [
      document.querySelector("#written strong").innerText,
      document.documentElement.scrollWidth,
      document.querySelectorAll("#grids td.weight").length,
    ]);
    await page.evaluate(() => { document.getElementById("figure").open = true; });
    await page.waitForSelector("#box-0");
    await page.focus("#box-1");
    await page.keyboard.press("Enter");
    found.push(await page.evaluate(() => document.querySelector("#box h3").innerText));
    const asked = JSON.parse(readFileSync(file, "utf8"));
    for (const code of asked) found.push(await page.evaluate(code));
    process.stdout.write(JSON.stringify({ found, errors }));
  } finally {
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exit(1); });
"""


def test_firefox_computes_and_shows_the_same(path, run, tmp_path, rng):
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    assert firefox, "this test needs Firefox"
    installed(tmp_path, "puppeteer-core@24")
    model = random_model(VARIANTS[0], 13, rng)
    cases = cases_of(CopyTask(), 100, rng)
    data = [packed(model) | dict(cases=some) for some in (cases, cases[:5])]
    given = json.dumps([f"(() => {{ {script} return main({json.dumps(one)}); }})()"
                        for script, one in zip((SOLVE + CASES, SHARES), data)])
    (tmp_path / "data.json").write_text(given, encoding="utf-8")
    (tmp_path / "drive.js").write_text(DRIVE, encoding="utf-8")
    command = [shutil.which("node"), "drive.js", firefox, path.as_uri(), "data.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=550,
                          env=os.environ | {"HOME": str(tmp_path)}, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["errors"] == []
    answer, width, cells, box, solved, made = told["found"]
    agree(model, cases, solved)
    shares_agree(model, cases[:5], made)
    assert (answer, cells, box) == ("1 3 0 5", 5 * 5, "Positional Encoding")
    assert width <= 360
