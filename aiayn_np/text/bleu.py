"""BLEU, the measure of Sec. 6.1, as sacreBLEU counts it."""

from dataclasses import dataclass

from .extra import extra


@dataclass
class Bleu:
    """A score from 0 to 100, and the `signature`: how it was counted, without which two scores
    cannot be compared."""

    score: float
    signature: str

    def __str__(self):
        return f"BLEU {self.score:.2f} ({self.signature})"


def bleu(translations, references):
    """BLEU of translations, one reference for each.

    The geometric mean of the shares of runs of 1 to 4 words that the reference has too, over the
    whole corpus, times a penalty if the translations are shorter than the references.

    Raises ValueError for other numbers of references, ImportError without the extra `text`.
    """
    translations, references = list(translations), list(references)
    if len(translations) != len(references):
        raise ValueError("translations and references must be as many, got"
                         f" {len(translations)} and {len(references)}")
    if not translations:
        raise ValueError("there must be at least one translation, got none")
    metric = extra("sacrebleu").metrics.BLEU()
    score = metric.corpus_score(translations, [references]).score
    return Bleu(score, str(metric.get_signature()))
