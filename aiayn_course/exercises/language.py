"""Say the texts of the exercises in English, or in Chinese from the catalogue chinese.json.

    >>> from aiayn_course.exercises.language import say, speaking
    >>> say("{subject} returns nothing.", subject="causal")
    'causal returns nothing.'
    >>> with speaking("zh"):
    ...     say("{subject} returns nothing.", subject="causal")
    'causal 什么也没有返回。'

The English text is the key of the Chinese text. Each inserted value has a name, because languages
differ in their order of words. A text that is missing in the catalogue stays English.
"""

import contextlib
import contextvars
import functools
import json
import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiayn_np.text.columns import width

LANGUAGES = "en", "zh"
CATALOGUE = Path(__file__).with_name("chinese.json")  # {English: Chinese}
FIELD = re.compile(r"\{(\w+)\}")
FULL = r"[\u3001-\u3011\uff01-\uff1f\u201c\u201d]"  # punctuation that needs no space beside it
WIDE = rf"(?:{FULL}|[\u4e00-\u9fff])"
NEEDLESS = re.compile(rf" +(?={FULL})|(?<={FULL}) +|(?<={WIDE}) +(?={WIDE})")
WIDTH = 100  # columns of a report
# A piece of a Chinese text that stays in one line: spaces, or a character, or what stands between
# Chinese words (a formula, code), with the punctuation that belongs to it.
LETTER = "[^ \u4e00-\u9fff（“）”，。：；？！、]"
PIECE = re.compile(rf" +|[（“]*(?:[\u4e00-\u9fff]|{LETTER}(?: |{LETTER}){{0,98}}(?<! )(?!{LETTER})"
                   rf"|{LETTER}+)?[）”，。：；？！、]*")
# Names of mistakes and of tensors that follow a pattern.
PATTERNS = (
    "{function} left out", "{other} instead of {function}",
    "{option} not passed on", "{name} is fixed",
)

chosen: contextvars.ContextVar[str | None] = contextvars.ContextVar("language", default=None)


def spoken() -> str:
    """Return the language of the innermost `speaking`, or of the system."""
    return chosen.get() or of_the_system()


def of_the_system():
    """Return "zh" for Chinese, else "en". AIAYN_LANG decides; if it is not set, the locale does."""
    names = "AIAYN_LANG", "LC_ALL", "LC_MESSAGES", "LANG"
    first = next(filter(None, map(os.environ.get, names)), "")
    return "zh" if first.lower().startswith("zh") else "en"


@contextlib.contextmanager
def speaking(name: str | None) -> Iterator[None]:
    """Use a language in a `with` block, in this thread alone. None changes nothing.

    Raises
    ------
    ValueError for a language other than "en" and "zh"
    """
    if name not in (None, *LANGUAGES):
        raise ValueError(say("language must be en or zh, got {name}", name=repr(name)))
    token = chosen.set(name or chosen.get())
    try:
        yield
    finally:
        chosen.reset(token)


@functools.cache
def catalogue():
    """Read {English: Chinese} from the catalogue."""
    return json.loads(CATALOGUE.read_text(encoding="utf-8"))


def say(text: str, **values: Any) -> str:
    """Return a text in the user's language, with each {name} replaced by its value."""
    chinese = spoken() == "zh"
    if chinese:
        text = catalogue().get(text, text)
    if values:
        text = FIELD.sub(lambda field: str(values.get(field[1], field[0])), text)
    return tidy(text) if chinese else text


def say_name(text: str) -> str:
    """Translate the name of a mistake or tensor as `say` does, also if it follows a pattern."""
    if spoken() == "en" or text in catalogue():
        return say(text)
    for pattern in PATTERNS:
        if match := re.fullmatch(FIELD.sub(r"(?P<\1>.+)", pattern), text):
            return say(pattern, **{n: say_name(value) for n, value in match.groupdict().items()})
    return text


def tidy(text):
    """Remove spaces beside full-width punctuation and between Chinese words, but not in code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:                                            # it quotes half of a code
        return text
    marked = NEEDLESS.sub("", "".join(
        part if i % 2 == 0 else f"`{i}`" for i, part in enumerate(parts)))
    return re.sub(r"`(\d+)`", lambda code: f"`{parts[int(code[1])]}`", marked)


def listed(names, most=4):
    """Join names into a phrase; after the first `most` names, count the rest."""
    more = [say("{count} more", count=len(names) - most)] if len(names) > most + 1 else names[most:]
    shown = [*names[:most], *more]
    return shown[0] if len(shown) == 1 else say(
        "{first} and {last}", first=say(", ").join(shown[:-1]), last=shown[-1])


def wrapped(text: str) -> list[str]:
    """Break a text into lines of at most WIDTH columns."""
    return [line for long in text.splitlines()
            for line in (in_chinese(long) if spoken() == "zh" else textwrap.wrap(long, WIDTH))]


def in_chinese(text):
    """Break a Chinese text into lines, which may end after every character."""
    if not re.search(WIDE, text):
        return textwrap.wrap(text, WIDTH)
    lines = [""]
    for piece in PIECE.findall(text):
        if width(lines[-1] + piece.rstrip()) > WIDTH:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]
