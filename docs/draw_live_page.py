"""Take the six pictures of docs/live-page.md from the page of a run, in Chromium.

    aiayn-np train reverse
    python docs/draw_live_page.py runs/reverse

It writes docs/_static/live/*.png, at most 120 kB each, and needs `pip install playwright pillow`.
"""

import argparse
import io
import shutil
import sys
import tempfile
from pathlib import Path

try:
    from PIL import Image
    from playwright.sync_api import sync_playwright
except ImportError as missing:
    sys.exit(f"draw_live_page.py: {missing}; pip install playwright pillow")

from aiayn_course.cli.main import main

FOLDER = Path(__file__).parent / "_static" / "live"
MOST = 120_000  # bytes of a picture
SOURCE = "8 7 0 6 2"
TYPED = f"src={SOURCE.replace(' ', '+')}"
CUT = "mute:decoder.layers.1.cross_attention:1"
VIEWS = {  # name: width, height, dark, address, and what is clicked
    "picture": (1280, 720, False, f"mode=break&{TYPED}&tried={CUT}&what-if={CUT}", []),
    "learn": (1280, 720, False, "mode=learn&src=3+1+4+1+5&step=180", []),
    "way_back": (1280, 720, False, "mode=learn&src=3+1+4+1+5&step=60", ["#learn-back"]),
    "after_a_step": (1280, 720, True, "mode=learn&src=3+1+4+1+5&step=60",
                     ["#learn-back", "#learn-step"]),
    "numbers": (1280, 720, False, f"mode=look&{TYPED}&kind=cross&layer=1&head=1&query=3", []),
    "phone": (390, 844, False, f"mode=break&{TYPED}&tried=positions&what-if=positions", []),
}


def picture_of(page, address, clicks):
    """Return the page at an address as a PNG, once it is drawn and its clicks are answered."""
    page.goto(address)
    page.locator("#app[aria-busy='false']").wait_for(state="attached")
    for click in [None, *clicks]:
        if click:
            page.locator(click).click()
        page.wait_for_timeout(1000)
        page.wait_for_function("""() => !going && !stepping
            && (view.mode !== "break" || counted_of.done)""", timeout=300_000)
    return page.screenshot()


def small(data):
    """Return a PNG with as many colours as `MOST` bytes hold."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    for colours in (200, 128, 64, 32, 16):
        file = io.BytesIO()
        found = image.quantize(colours, Image.Quantize.MAXCOVERAGE, kmeans=1)
        found.save(file, "PNG", optimize=True)
        if file.tell() <= MOST:
            break
    return file.getvalue()


def draw(run):
    """Write all pictures; return their paths."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "explore.html"
        if main(["explore", str(run), SOURCE, "3 1 4 1 5", "1 4 4", "--out", str(path)]):
            raise SystemExit(f"{run} has no page")
        options = dict(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        browser = playwright.chromium.launch(**options)
        for name, (width, height, dark, place, clicks) in VIEWS.items():
            page = browser.new_page(viewport=dict(width=width, height=height),
                                    color_scheme="dark" if dark else "light")
            data = picture_of(page, f"{path.as_uri()}#{place}&lang=en", clicks)
            (FOLDER / f"{name}.png").write_bytes(small(data))
        browser.close()
    return [FOLDER / f"{name}.png" for name in VIEWS]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="the folder of a training")
    for made in draw(parser.parse_args().run):
        print(f"{made.stat().st_size:>6,} bytes  {made}")
