"""The bytes of a picture, with fonts for labels in any script."""

import io
import re
import unicodedata
import warnings

# fonts for characters that matplotlib's own font lacks, if they are installed
FALL_BACKS = [
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "PingFang SC", "Hiragino Sans GB", "Heiti TC", "Microsoft YaHei",
    "SimHei", "Yu Gothic", "Malgun Gothic", "Arial Unicode MS", "Noto Sans Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Symbols 2",
    "Segoe UI Symbol", "Apple Symbols", "STIXGeneral",
]


def picture_of(fig, dpi, kind="png", **colours):
    """Return the bytes of a picture. One warning names the characters that no font has."""
    import matplotlib

    content = io.BytesIO()
    with warnings.catch_warnings(record=True) as told:
        warnings.filterwarnings("always", "Glyph ")
        with_fall_backs(fig).savefig(content, format=kind, dpi=dpi, **colours)
    missing = [w for w in told if str(w.message).startswith("Glyph ")]
    for other in (w for w in told if w not in missing):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if missing:
        codes = sorted({int(str(w.message).split()[1]) for w in missing})
        warnings.warn(f"no font has {''.join(map(chr, codes[:10]))}: a picture shows boxes. Install"
                      " one for the script, such as Noto Sans CJK for Chinese (package"
                      " fonts-noto-cjk), and remove matplotlib's list of fonts, fontlist-*.json in"
                      f" {matplotlib.get_cachedir()}", stacklevel=3)
    return content.getvalue()


def with_fall_backs(fig):
    """Return the picture; its texts use the fonts of FALL_BACKS after their own font.

    No font can draw half a character; a box with a question mark stands for it.
    """
    from matplotlib.font_manager import fontManager
    from matplotlib.text import Text

    installed = {font.name for font in fontManager.ttflist}
    families = [family for family in FALL_BACKS if family in installed]
    for text in fig.findobj(Text):
        if not text.get_text().isascii():
            text.set_text(re.sub("[\ud800-\udfff]", "\ufffd", in_utf_8(text.get_text())))
            text.set_fontfamily(list(dict.fromkeys([*text.get_fontfamily(), *families])))
    return fig


def in_utf_8(text: str) -> str:
    """Return a text with UTF-8 for the bytes that Python could not decode in this locale.

    In the locale C, Python reads every byte of a command line or of a file's name beyond ASCII as
    half a character. Bytes that are not UTF-8 stay halves.
    """
    return re.sub("[\udc80-\udcff]+", lambda halves: halves[0].encode(
        "ascii", "surrogateescape").decode("utf-8", "surrogateescape"), text)


def few_colours(png):
    """Return the bytes of a PNG with at most 256 colours, about a third of the size."""
    from PIL import Image

    file = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(file, "png", optimize=True)
    return file.getvalue()


def downwards(token):
    """Return a label below a column; Chinese and Japanese run downwards, without a word mark."""
    text = str(token)
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    return "\n".join(text.lstrip("_▁Ġ")) if wide else text
