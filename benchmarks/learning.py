"""How long the live page learns until a task is solved, in each browser that is installed.

    python benchmarks/learning.py                     copy, reverse and sort, five seeds each
    python benchmarks/learning.py copy --seeds 1      a part

It needs Node.js, npm, and Chromium or Firefox, on Linux. Close other programs first.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from tables import table

TASKS = ("copy", "reverse", "sort")
BROWSERS = {"chrome": ("chromium", "chromium-browser", "google-chrome"),
            "firefox": ("firefox", "firefox-esr")}            # puppeteer's name: programs
DRIVE = """
const puppeteer = require("puppeteer-core");
const { readFileSync, readdirSync } = require("fs");
const [browser_name, executablePath, address] = process.argv.slice(2);

/** Seconds of processor time of each process below this one. */
function processors() {
  const all = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
      return [{ pid, parent: stat[1], seconds: (Number(stat[11]) + Number(stat[12])) / 100 }];
    } catch {
      return []; // it has ended
    }
  });
  const mine = new Set([String(process.pid)]);
  for (let before = -1; before < mine.size;) {
    before = mine.size;
    for (const { pid, parent } of all) if (mine.has(parent)) mine.add(pid);
  }
  return Object.fromEntries(
    all.filter(({ pid }) => mine.has(pid)).map(({ pid, seconds }) => [pid, seconds]));
}

(async () => {
  const args = browser_name === "chrome" ? ["--no-sandbox"] : [];
  const options = { browser: browser_name, executablePath, args, headless: true };
  const browser = await puppeteer.launch({ ...options, protocolTimeout: 600000 });
  const page = await browser.newPage();
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector("#learn-maps .map"));
  const [before, began] = [processors(), performance.now()];
  await page.evaluate("learn_on()");
  let solved = null;
  while (!(solved = await page.evaluate("going || stepping ? null : learner.solved ?? -1")))
    await new Promise((resume) => setTimeout(resume, 100));
  const seconds = (performance.now() - began) / 1000;
  const grown = Object.entries(processors()).map(([pid, all]) => all - (before[pid] ?? 0));
  const said = { steps: solved, seconds, processor: Math.max(...grown) };
  const version = await browser.version();
  await browser.close();
  process.stdout.write(JSON.stringify({ version, ...said }));
})().catch((error) => { console.error(error); process.exit(1); });
"""


def measure(tasks, seeds):
    """{browser: {task: [{"steps", "seconds", "processor"} of each seed]}}."""
    found: dict[str, dict[str, list]] = {}
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        for seed, task in itertools.product(range(1, seeds + 1), tasks):
            for browser, said in learned(folder, f"task={task}&seed={seed}"):
                found.setdefault(browser, {}).setdefault(task, []).append(said)
    return found


def prepare(folder):
    """Write a page, the script that drives a browser, and what it needs."""
    from aiayn_course.cli.main import main

    main(["train", "copy", "--steps", "1", "--out", f"{folder}/run"])
    main(["explore", f"{folder}/run", "3 1 4 1 5", "--out", f"{folder}/page.html"])
    (folder / "drive.js").write_text(DRIVE, encoding="utf-8")
    command = ["npm", "install", "--prefix", str(folder), "--silent", "puppeteer-core@24"]
    subprocess.run(command, check=True)


def learned(folder, place):
    """Yield (browser, what it said), one after the other, at a place of the page."""
    for name, programs in BROWSERS.items():
        if program := next(filter(None, map(shutil.which, programs)), None):
            address = f"file://{folder}/page.html#mode=learn&{place}"
            done = subprocess.run(["node", "drive.js", name, program, address], cwd=folder,
                                  check=True, stdout=subprocess.PIPE, text=True)
            said = json.loads(done.stdout)
            yield said.pop("version").split(".")[0].replace("/", " "), said


def section(figures):
    """The findings, as Markdown."""
    rows = []
    for browser, tasks in figures.items():
        for task, all_of in tasks.items():
            medians = [np.median([one[name] for one in all_of])
                       for name in ("steps", "processor", "seconds")]
            worst = max(one["seconds"] for one in all_of)
            rows.append([f"{browser}, {task}", *(f"{x:.0f}" for x in (*medians, worst))])
    seeds = max(len(all_of) for tasks in figures.values() for all_of in tasks.values())
    return "\n\n".join([
        "The page that `explore` writes learns a task from nothing (N = 1, d_model = 32, lists of"
        " up to six digits), until it writes each of 500 unseen lists without a mistake. The"
        f" figures are medians over seeds 1 to {seeds}. *Processor* is the time of the page's"
        " process alone, in seconds. *Clock* is what a reader waits.",
        table(["", "steps", "processor", "clock", "clock, slowest seed"], rows)])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("tasks", nargs="*", default=list(TASKS), help=", ".join(TASKS))
    p.add_argument("--seeds", type=int, default=5)
    args = p.parse_args()
    print(section(measure(args.tasks, args.seeds)))


if __name__ == "__main__":
    main()
