"""Labels in any script: matplotlib's font first, then fonts of this system for the rest."""

import functools
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAST_RESORT = "LastResort"  # a font of boxes


def set_fonts(fig: "Figure") -> None:
    """Give each text of a picture the fonts that have its characters.

    It warns, once for each picture, of characters that no font of this system has.
    """
    from matplotlib.text import Text

    nowhere = set()
    for text in fig.findobj(Text):
        default = text.get_fontproperties().get_family()
        lacking = lacking_in(default_file(tuple(default)), text.get_text())
        if lacking:
            families, left = families_with(frozenset(lacking))
            text.set_fontfamily([*default, *families])
            nowhere |= left
    if nowhere:
        shown = "".join(sorted(nowhere)[:10])
        warnings.warn(f"no font of this system has {shown}: a picture shows boxes. Install a font"
                      " for the script, such as Noto Sans CJK for Chinese (package fonts-noto-cjk)"
                      " and remove matplotlib's list of fonts, fontlist-*.json in"
                      f" {cache_folder()}", stacklevel=4)


def cache_folder():
    import matplotlib

    return matplotlib.get_cachedir()


@functools.cache
def default_file(families):
    """The file of the font that matplotlib takes first."""
    from matplotlib.font_manager import FontProperties, findfont

    return findfont(FontProperties(family=list(families)))


@functools.cache
def characters_of(file):
    """The code points of a font; none of one that cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def lacking_in(file, text):
    """The characters of a text that a font has not."""
    have = characters_of(file)
    return {c for c in text if ord(c) not in have and not c.isspace()}


@functools.cache
def families_with(characters):
    """(names of fonts that together have the characters, those that none has)."""
    from matplotlib.font_manager import fontManager

    families, left = [], set(characters)
    for font in sorted(fontManager.ttflist, key=preference):
        if not left:
            break
        if LAST_RESORT not in Path(font.fname).name:
            found = left - lacking_in(font.fname, "".join(left))
            if found:
                families.append(font.name)
                left -= found
    return families, left


def preference(font):
    """Upright fonts of usual weight and without serifs come first."""
    return (font.style != "normal", font.weight not in (400, "normal", "regular"),
            "Sans" not in font.name, font.name, font.fname)
