"""The three pages that the lessons open: small models, trained and shown."""

import tempfile
from pathlib import Path

from aiayn_np.cli.common import UsageError
from aiayn_np.cli.parser import parsed
from aiayn_np.cli.train import trained
from aiayn_np.text.extra import extra

from ..data.number_words import small_number_words, write_number_words

PAGES = ("copy", "reverse", "number_words")
MINUTES = 4  # the longest time of the training, on two cores
MOST = 5_000_000  # bytes of a page that can be mailed
TITLES = {"number_words": {"en": "This model *translates* German number words into English",
                           "zh": "这个模型把德语数词*译成英语*"}}
SENTENCES = {"number_words": ["zwei hundert drei", "vier hundert sieben und zwanzig",
                              "drei und zwanzig tausend vier hundert zwölf", "neunzehn"]}
ANSWERS = {"number_words": small_number_words}


def train_options(folder: Path) -> dict[str, list[str]]:
    """Return the options of `train` for each page; write the number words into `folder`."""
    training, validation, *_ = write_number_words(folder)
    text = ["text", "--preset", "numbers", "--pairs", str(training), "--validation-pairs",
            str(validation)]
    return dict(zip(PAGES, (["copy"], ["reverse"], text), strict=True))


def make_pages(out: Path, lessons: str = "") -> None:
    """Train the models and write their pages into a folder; lessons: as in `live_page`.

    Raises UsageError for a page that is too large to be mailed, ImportError before any training if
    the extra `text` is missing, and KeyboardInterrupt after an interrupted training.
    """
    from ..page.live_page import most_telling_first, write_live_page

    for package in ("sentencepiece", "sacrebleu"):                     # for the number words
        extra(package)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        for page, options in train_options(Path(name) / "pairs").items():
            run = trained(parsed(["train", *options, "--out", f"{name}/{page}"]), stays=False)
            if not run:
                raise KeyboardInterrupt
            sources = ([run.task.source(text) for text in SENTENCES.get(page, [])]
                       or run.training.examples(20))
            path = write_live_page(run, out / f"{page}.html", most_telling_first(run, sources),
                                   lessons=lessons, title=TITLES.get(page, ""),
                                   answers=ANSWERS[page]() if page in ANSWERS else None)
            if path.stat().st_size > MOST:
                raise UsageError(f"{path} must have at most {MOST:,} bytes, got"
                                 f" {path.stat().st_size:,}")
