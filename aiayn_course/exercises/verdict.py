"""The answer to something that a reader has guessed or measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """An answer: true if the reader is right. It is shown as its message."""

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.message
