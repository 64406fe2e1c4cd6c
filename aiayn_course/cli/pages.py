"""The three pages that the lessons open: small models, trained and shown."""

import tempfile
from pathlib import Path

from aiayn_np.cli.common import UsageError, note
from aiayn_np.cli.train import interruptible, print_results, take_steps
from aiayn_np.runs.run import Run
from aiayn_np.runs.start import start_run
from aiayn_np.text.extra import extra

from ..data.number_words import small_number_words, write_number_words

PAGES = ("copy", "reverse", "number_words")
MINUTES = 4  # the longest time of the training, on two cores
MOST = 5_000_000  # bytes of a page that can be mailed
TITLE = {"en": "This model *translates* German number words into English",
         "zh": "这个模型把德语数词*译成英语*"}
SENTENCES = ["zwei hundert drei", "vier hundert sieben und zwanzig",
             "drei und zwanzig tausend vier hundert zwölf", "neunzehn"]


def new_run(page: str, folder: Path) -> Run:
    """Return a new run for a page; the number words are written beside its folder."""
    if page != "number_words":
        return start_run(folder, page)[0]
    paths = write_number_words(folder.with_name("pairs"))
    files = dict(zip(("pairs", "validation_pairs"), paths))
    return start_run(folder, "text", files, preset="numbers")[0]


def make_pages(out: Path, lessons: str = "") -> None:
    """Train the models and write their pages into a folder; lessons: as in `live_page`.

    Raises UsageError for a page that is too large to be mailed, and ImportError before any training
    if the extra `text` is missing. An interruption raises KeyboardInterrupt.
    """
    from ..page.live_page import most_telling_first, write_live_page

    for package in ("sentencepiece", "sacrebleu"):                     # for the number words
        extra(package)
    note(f"three models are trained for the pages: at most {MINUTES} minutes on two cores")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, interruptible():
        for page in PAGES:
            run = new_run(page, Path(name) / page)
            take_steps(run)
            print_results(run)
            loaded = run.loaded()
            texts = SENTENCES if page == "number_words" else []
            sources = [run.task.source(text) for text in texts] or run.task.examples(20)
            path = write_live_page(
                loaded, out / f"{page}.html", most_telling_first(loaded, sources), lessons=lessons,
                title=TITLE if texts else "", answers=small_number_words() if texts else None)
            if (size := path.stat().st_size) > MOST:
                raise UsageError(f"{path} must have at most {MOST:,} bytes, got {size:,}")
