"""BLEU, the measure of Sec. 6.1, and chrF beside it, as sacreBLEU counts them.

BLEU counts words, so it has to know what a word is. Chinese, Japanese and Thai have no spaces
between words, and each script has its own punctuation. So the tokenizer is chosen by the script of
the references, and the signature names the tokenizer. chrF counts characters and needs none.
"""

import importlib.util
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .extra import extra

TOKENIZERS = ("13a", "intl", "zh", "char", "ja-mecab")  # none of them needs a network
MECAB = ("MeCab", "ipadic")  # the packages that ja-mecab needs
ALPHABETS = {"LATIN", "CYRILLIC", "GREEK"}  # their punctuation is that of 13a
NO_SPACES = {"THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
KANA = {"HIRAGANA", "KATAKANA"}


@dataclass
class Score:
    """A score from 0 to 100. Only scores with the same `signature` can be compared.

    signature : how the score was counted, as sacreBLEU writes it
    note : why the score says nothing of these translations; "" if it does
    """

    name: str
    score: float
    signature: str
    note: str = ""

    def __str__(self):
        return f"{self.name} {self.score:.2f} ({self.signature}){self.note and '; '}{self.note}"


def bleu(translations: Iterable[str], references: Iterable[str], *,
         tokenize: str | None = None) -> Score:
    """BLEU of translations, one reference for each.

    For runs of 1, 2, 3 and 4 words, count over the whole corpus which share of them the references
    contain too. BLEU is the geometric mean of the four shares, times a penalty if the translations
    are shorter than the references.

    tokenize : a name of TOKENIZERS; None is the choice of `tokenizer_for` for the references

    Raises ValueError if there are not as many references, and for an unknown tokenizer; ImportError
    without the extra `text`, or without the packages of the tokenizer.
    """
    translations, references = as_many(translations, references)
    tokenize = tokenize or tokenizer_for(references)
    check_tokenizer(tokenize)
    return scored("BLEU", extra("sacrebleu").metrics.BLEU(tokenize=tokenize), translations,
                  references)


def chrf(translations: Iterable[str], references: Iterable[str]) -> Score:
    """Return chrF, which counts the runs of 1 to 6 characters shared with the references.

    Raises ValueError and ImportError as `bleu`.
    """
    return scored("chrF", extra("sacrebleu").metrics.CHRF(), *as_many(translations, references))


def scored(name, metric, translations, references):
    """Return the Score of a metric of sacreBLEU."""
    found = metric.corpus_score(translations, [references])
    short = name == "BLEU" and not found.totals[-1]
    note = "no translation has four words, and without them BLEU is 0: see chrF" if short else ""
    return Score(name, found.score, str(metric.get_signature()), note)


def as_many(translations, references):
    """Both as lists of one length, at least 1."""
    translations, references = list(translations), list(references)
    if len(translations) != len(references):
        raise ValueError("translations and references must be as many, got"
                         f" {len(translations)} and {len(references)}")
    if not translations:
        raise ValueError("there must be at least one translation, got none")
    return translations, references


def check_tokenizer(name: str | None) -> None:
    """Raise ValueError for an unknown tokenizer, and ImportError for one that is not installed."""
    if name is not None and name not in TOKENIZERS:
        raise ValueError(f"bleu_tokenize must be one of {', '.join(TOKENIZERS)}, got {name!r}")
    extra("sacrebleu")
    if name == "ja-mecab" and not mecab_is_installed():
        raise ImportError("ja-mecab is not installed: pip install 'sacrebleu[ja]'")


def mecab_is_installed():
    """Say whether the packages that split Japanese into words are installed."""
    return all(importlib.util.find_spec(name) for name in MECAB)


def tokenizer_for(lines: Iterable[str]) -> str:
    """Return the name of the tokenizer for a text, by the script of most of its letters.

    A text with Kana is Japanese, even if most of its letters are Chinese.
    """
    counts = scripts(lines)
    if sum(counts[name] for name in KANA) > 0.1 * counts.total():
        return "ja-mecab" if mecab_is_installed() else "char"
    script = max(counts, key=counts.__getitem__, default=None)         # None for emoji only
    if script is None or script in NO_SPACES:
        return "char"
    if script == "CJK":
        return "zh"
    return "13a" if script in ALPHABETS else "intl"


def scripts(lines):
    """Return the number of letters of each script, by the first word of the Unicode names."""
    counts: Counter = Counter()
    for character, n in Counter(c for line in lines for c in line).items():
        if character.isalpha():
            counts[unicodedata.name(character, "UNNAMED").split()[0]] += n
    return counts
