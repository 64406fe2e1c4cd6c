"""Three pages that run a trained model in the browser: copy, reverse, and number words.

    python docs/make_live_pages.py [FOLDER] [--lessons ADDRESS]

It trains the three models, which takes two to three minutes on two cores, and writes copy.html,
reverse.html and number_words.html into the folder (default: docs/live). They hold weights, so they
are not committed; the site is built with them.
"""

import argparse
import tempfile
from pathlib import Path

from aiayn_np.cli.main import main
from aiayn_np.text.number_words import write_number_words

MOST = 1_700_000  # bytes of a page: it can be mailed
SENTENCES = ["vier hundert sieben und zwanzig", "drei und zwanzig tausend vier hundert zwölf",
             "neunzehn", "hundert tausend eins"]


def train_options(folder):
    """The arguments of `train` for each page, by its name."""
    training, validation, *_ = write_number_words(folder / "number_words")
    text = ["text", "--preset", "numbers", "--pairs", str(training), "--validation-pairs",
            str(validation)]
    return {"copy": ["copy"], "reverse": ["reverse"], "number_words": text}


def make_pages(out, lessons):
    """Train and write every page; return their paths. SystemExit where one fails or is too big."""
    with tempfile.TemporaryDirectory() as name:
        for page, options in train_options(Path(name)).items():
            run, path = str(Path(name) / page), out / f"{page}.html"
            sources = SENTENCES if page == "number_words" else []
            explore = ["explore", run, *sources, "--out", str(path), "--lessons", lessons]
            if main(["train", *options, "--out", run]) or main(explore):
                raise SystemExit(f"{page} could not be made")
            if path.stat().st_size > MOST:
                raise SystemExit(f"{path} must have at most {MOST} bytes,"
                                 f" got {path.stat().st_size}")
    return sorted(out.glob("*.html"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "live")
    parser.add_argument("--lessons", default="", metavar="ADDRESS",
                        help="where the lessons are as pages, the Chinese ones in its folder zh:"
                             " ../pages/ on the site (default: they are named only)")
    arguments = parser.parse_args()
    for made in make_pages(arguments.folder, arguments.lessons):
        print(f"{made.stat().st_size:>9,} bytes  {made}")
