"""What the marks in the text of a lesson mean: comments, which no page shows.

Two cut out what belongs to one edition alone, from the mark to the next `<!-- end -->`; the copies
that `aiayn-np lessons` writes are made so. Behind a link, the third says what stands there instead.
The fourth stands behind the result of the cells above; students get all before it folded:

    <!-- repository only --> …     <!-- teachers only --> …     [label](page)<!-- else: words -->
    At the end all 500 are right. <!-- result -->

Three make the slides, each in a paragraph of its own. A slide is what follows its mark, up to the
next. The first line is its title, which stands below that of the section; it may be empty. What the
slide shows comes after it, a click for each line, or for a table. After a backslash there is no click, and `[code]`, `[print]` and `![]` stand for what the cells have: slides.py says of which.
A prediction begins a slide for its answer without a mark; `answer` has its title.

    <!-- slide: The title
    the first line
    the next one, with\\
    [print] -->

    <!-- answer: The title, and lines -->

    <!-- say: A note for the speaker -->

`# %% show=[1, 3]` begins a cell of code of which `[code]` has two lines; `show=[[1, 2], [4]]` has a
click for each block, and a cell with `show=false` is in no deck.
"""

import re

import predictions

ON_SLIDES = re.compile(r"<!-- (say|slide|answer):? ?(.*?) ?-->", re.DOTALL)


def text_cell(text):
    """The text and the metadata of a cell of text, from its source."""
    source, metadata = without_slides(text)
    asked = predictions.prediction_of(source)
    return predictions.folded(source), metadata | ({"prediction": asked} if asked else {})


def without_slides(text):
    """The text without what only slides show, and that as {"slides": [[paragraph, kind, words]]}."""
    kept, found = [], []
    for block in text.split("\n\n"):
        mark = ON_SLIDES.fullmatch(block.strip())
        if mark:
            words = predictions.one_line(mark[2]) if mark[1] == "say" else mark[2]
            found.append([len(kept), mark[1], words])
        else:
            kept.append(block)
    return "\n\n".join(kept), {"slides": found} if found else {}


def parts_of(cell):
    """Yield what a cell of text has for a deck, in order: ("heading", title), ("text", Markdown),
    and its marks."""
    blocks, at = cell.source.split("\n\n"), 0
    for end, kind, words in [*cell.metadata.get("slides", ()), (None, "", "")]:
        for block in blocks[at:end]:
            title, _, rest = block.partition("\n") if block.startswith("## ") else ("", "", block)
            yield from [("heading", title[3:])] * bool(title)
            yield "text", re.sub(r"^>.*\n?", "", rest, flags=re.MULTILINE).strip()
        yield from [(kind, words)] * bool(kind)
        at = len(blocks) if end is None else end
