"""A text for a language model: its files, its vocabularies, and windows of it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from .pairs import read_lines
from .vocabulary import SPACE, Vocabulary

HELD_BACK = 10  # the last one of so many parts is for validation


def read_text(files: Sequence[str | Path] | None) -> str:
    """Return the texts of files, one after another; None takes Python's own help texts.

    Raises OSError, and ValueError that names the file and line that is not UTF-8.
    """
    if files is None:
        from pydoc_data.topics import topics

        return "\n".join(topics.values())
    return "".join(f"{line}\n" for path in files for line in read_lines(path))


def training_part(text: str) -> str:
    """Return the part of a text that is for training."""
    return text[: len(text) - len(text) // HELD_BACK]


class Characters:
    """The characters of a text as a vocabulary; the ids follow the order of Unicode."""

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = "".join(sorted(set(characters)))
        self.ids = {character: i for i, character in enumerate(self.characters)}
        self.known = {*self.characters}

    def __len__(self):
        return len(self.characters)

    def encode(self, text: str) -> np.ndarray:
        """Return the ids (T,) of a text; raise ValueError for an unknown character."""
        check_known(text, self.known)
        return np.array([self.ids[character] for character in text], dtype=int)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids."""
        return "".join(self.characters[i] for i in ids)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the characters of ids, for labels; a space is an underscore."""
        return [repr(self.characters[i])[1:-1].replace(" ", "_") for i in ids]


class Pieces:
    """A vocabulary of the characters of a text and of strings that are frequent in it.

    Decoding the ids of a text gives back the same text, with every space and line feed. Ids are
    those of SentencePiece minus one: its id 0 is for unknown characters, which are refused here.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary, self.processor = vocabulary, vocabulary.processor
        pieces = (self.processor.id_to_piece(i) for i in range(1, len(vocabulary)))
        self.known = {piece.replace(SPACE, " ") for piece in pieces if len(piece) == 1}

    @classmethod
    def train(cls, text: str, size: int) -> "Pieces":
        """Learn at most `size` pieces from the training part of a text, and all its characters.

        Control characters, such as line feeds and tabs, are pieces of their own. Raises ValueError
        with SentencePiece's reason, or for characters that decoding would not give back.
        """
        characters = sorted({*text} - {" "})
        pieces = cls(Vocabulary.train(
            training_part(text).split("\n"), size, pad_id=-1, bos_id=-1, eos_id=-1, unk_id=0,
            user_defined_symbols=[c for c in characters if not c.isprintable()],
            required_chars="".join(c for c in characters if c.isprintable()),
            add_dummy_prefix=False, remove_extra_whitespaces=False,
            allow_whitespace_only_pieces=True))
        if lost := sorted({*text} - pieces.known):
            raise ValueError(f"a text must hold no {lost[0]!r} for a vocabulary of pieces, which"
                             f" cannot give it back, got one at {text.index(lost[0]) + 1}")
        return pieces

    def __len__(self):
        return len(self.vocabulary) - 1

    def encode(self, text: str) -> np.ndarray:
        """Return the ids (T,) of a text; raise ValueError for an unknown character."""
        check_known(text, self.known)
        return np.array(self.processor.encode(text), dtype=int) - 1

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids."""
        return self.processor.decode([int(i) + 1 for i in ids])

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids, for labels; a space is an underscore."""
        return [repr(piece)[1:-1] for piece in self.vocabulary.pieces(i + 1 for i in ids)]


def check_known(text, characters):
    """Refuse a text with characters that are not among `characters`."""
    if unknown := sorted({*text}.difference(characters), key=text.index):
        others = f" and {len(unknown) - 1} other unknown ones" if unknown[1:] else ""
        raise ValueError("a text must hold only characters of the training text, got"
                         f" {unknown[0]!r} at {text.index(unknown[0]) + 1}{others}")


class LanguageTask:
    """The task of continuing a text; it has no source, and no id is padding.

    vocabulary : turns text into ids and back      max_length : tokens of a window
    """

    name = "words"
    pad = -1
    ends: tuple[int, ...] = ()  # the ids that end a text, of some real models

    def __init__(self, vocabulary: Any, max_length: int, vocab_size: int | None = None) -> None:
        self.vocabulary, self.max_length = vocabulary, max_length
        self.vocab_size = len(vocabulary) if vocab_size is None else vocab_size

    def source(self, text: str) -> np.ndarray:
        """Return the ids (1, T) of a text; raise ValueError for an empty text."""
        ids = self.vocabulary.encode(text)
        if not len(ids):
            raise ValueError(f"a text must hold at least one token, got {text!r}")
        return ids[None].astype(int)

    def text(self, ids: Iterable[int]) -> str:
        """Return the text of ids."""
        return self.vocabulary.decode(ids)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return a label for each id."""
        return self.vocabulary.pieces(ids)


class Windows:
    """Windows of T tokens of a text, ids (n,). The targets of a window are the T tokens one later.

    The windows of `batch` lie one after another; `loss_on` takes them for step 1, 2, ... The rest
    of the text after the last window is not used. `draw` takes windows from anywhere.

    every : 2 leaves out every other window of `batch`
    """

    def __init__(self, ids: np.ndarray, T: int, rows: int, every: int = 1) -> None:
        check_sizes(T=T, rows=rows)
        if len(ids) <= T:
            raise ValueError(f"each part of the text must be longer than a window of max_length={T}"
                             f" tokens, got a part of {len(ids)} tokens: take a longer text, or"
                             " shorter windows")
        self.ids, self.T, self.rows = ids, T, rows
        self.starts = np.arange(0, len(ids) - T, every * T)

    @property
    def per_epoch(self) -> int:
        """Return the number of batches."""
        return -(-len(self.starts) // self.rows)

    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return batch 1, 2, ...: (ids, targets), each (B, T)."""
        return self.at(self.starts[(step - 1) * self.rows : step * self.rows])

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return a batch (ids, targets) of windows that begin anywhere."""
        return self.at(rng.integers(len(self.ids) - self.T, size=self.rows))

    def at(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (ids, targets) of the windows that begin at `starts`."""
        places = starts[:, None] + np.arange(self.T)                   # (B, T)
        return self.ids[places], self.ids[places + 1]
