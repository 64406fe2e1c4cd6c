"""Three pages that run a trained model in the browser: copy, reverse, and number words.

    python docs/make_live_pages.py [FOLDER] [--lessons ADDRESS]

It trains the three models, which takes two to four minutes on two cores, and writes copy.html,
reverse.html and number_words.html into the folder (default: docs/live). They hold weights, so they
are not committed; the site is built with them. `aiayn-np lessons FOLDER --pages` makes them beside
the lessons.
"""

import argparse
from pathlib import Path

from aiayn_course.cli.pages import make_pages

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "live")
    parser.add_argument("--lessons", default="", metavar="ADDRESS",
                        help="where the lessons are as pages, the Chinese ones in its folder zh:"
                             " ../pages/ on the site (default: they are named only)")
    arguments = parser.parse_args()
    make_pages(arguments.folder, arguments.lessons)
    print(arguments.folder)
