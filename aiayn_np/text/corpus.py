"""The sentence pairs for training and validation, read from files."""

from dataclasses import dataclass

from .pairs import digest_of, hold_out, read_table, read_two_files


@dataclass
class Corpus:
    """Pairs of lines for training and for validation.

    notes : sentences about the pairs that were left out or held out
    digest : a digest of all the text, by which a resumed run recognises it
    """

    training: list
    validation: list
    notes: list
    digest: str

    @classmethod
    def read(cls, files: dict, seed: int) -> "Corpus":
        """Read the pairs of files.

        files : dict of paths, "pairs" or "source" and "target". The names of validation files have
            "validation_" in front. Without validation files, pairs are held out at random.
        seed : the seed that draws the held-out pairs

        Raises OSError, and ValueError that names file and line.
        """
        notes: list[str] = []
        training = read(files, "", notes)
        if any(files.get(name) for name in files if name.startswith("validation_")):
            validation = read(files, "validation_", notes)
        else:
            training, validation, known = hold_out(training, seed)
            notes.append(f"{len(validation)} pairs, drawn at random, are held out for validation")
            if known:
                notes.append(f"{known} more pairs with the same source sentences are left out")
        text = "".join("\t".join((*pair, "\n")) for pair in training + validation)
        counts = f"{len(training)} + {len(validation)}\n"
        return cls(training, validation, notes, digest_of((counts + text).encode()))


def read(files, prefix, notes):
    """Read the pairs of the files whose names begin with `prefix`; add a note on skipped pairs."""
    table, source, target = (files.get(prefix + name) for name in ("pairs", "source", "target"))
    if bool(table) == bool(source or target) or bool(source) != bool(target):
        flag = "--" + prefix.replace("_", "-")
        raise ValueError(f"sentence pairs must be given by {flag}pairs, or by {flag}source and"
                         f" {flag}target together")
    pairs, empty = read_table(table) if table else read_two_files(source, target)
    if empty:
        notes.append(f"{empty} lines of {table or source} are left out: one side is empty")
    return pairs
