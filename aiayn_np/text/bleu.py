"""BLEU, the score of Sec. 6.1, computed by sacreBLEU.

BLEU counts words, so the text must be split into words. Chinese, Japanese and Thai have no spaces
between words: their tokenizer is "zh" or "char". The signature names the tokenizer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from .extra import extra

TOKENIZERS = ("13a", "zh", "char")  # none of them needs a network or another package


@dataclass
class Score:
    """A score from 0 to 100. Only scores with the same `signature` can be compared.

    signature : sacreBLEU's text about how the score was counted
    note : the reason why the score means nothing for these translations; "" if it has a meaning
    """

    score: float
    signature: str
    note: str = ""

    def __str__(self):
        return f"BLEU {self.score:.2f} ({self.signature}){self.note and '; '}{self.note}"


def bleu(translations: Iterable[str], references: Iterable[str], *,
         tokenize: str = "13a") -> Score:
    """Return BLEU of translations, with one reference for each.

    For runs of 1, 2, 3 and 4 words, count over the whole corpus the share of the runs that the
    references contain too. BLEU is the geometric mean of the four shares, times a penalty if the
    translations are shorter than the references.

    tokenize : a name of TOKENIZERS

    Raises ValueError for another number of references and for an unknown tokenizer. Raises
    ImportError without the extra `text`.
    """
    translations, references = list(translations), list(references)
    if len(translations) != len(references):
        raise ValueError("translations and references must be as many, got"
                         f" {len(translations)} and {len(references)}")
    if not translations:
        raise ValueError("there must be at least one translation, got none")
    if tokenize not in TOKENIZERS:
        raise ValueError(f"tokenize must be one of {', '.join(TOKENIZERS)}, got {tokenize!r}")
    metric = extra("sacrebleu").metrics.BLEU(tokenize=tokenize)
    found = metric.corpus_score(translations, [references])
    note = "" if found.totals[-1] else "no translation has four words, and without them BLEU is 0"
    return Score(found.score, str(metric.get_signature()), note)
