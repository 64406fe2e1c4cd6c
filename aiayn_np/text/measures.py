"""The record of a step of a training on text, and the validation loss."""

from dataclasses import dataclass
from typing import Any

from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from .batches import Batches
from .language import Windows


@dataclass
class TextProgress:
    """The record of a step.

    loss : without smoothing, in nats per target token, so that exp(loss) is the perplexity
    tokens : in the batch, on all sides           seconds : since the start of the training
    """

    step: int
    loss: float
    tokens: int
    rate: float
    seconds: float
    solved = None  # no field, and never said: a training on text takes all its steps


@dataclass
class PairProgress(TextProgress):
    """The record of a step of a translator.

    validation_loss : loss of the model; None between validations
    averaged_loss, bleu : of the average of the model's last states; None between validations
    """

    validation_loss: float | None = None
    averaged_loss: float | None = None
    bleu: float | None = None

    @property
    def measured(self) -> bool:
        """Tell whether the model was validated after this step."""
        return self.validation_loss is not None

    def told(self) -> str:
        """Return the validation losses and BLEU as the end of a progress line."""
        if not self.measured:
            return ""
        return (f"; validation loss {self.validation_loss:.3f}, averaged"
                f" {self.averaged_loss:.3f}, BLEU {self.bleu:.2f}")


@dataclass
class LanguageProgress(TextProgress):
    """The record of a step of a language model.

    validation : nats per character of the average of the model's last states, on the held-out text;
        None between validations
    """

    validation: float | None = None
    sample = ""  # text that the model wrote at the validation; not a field

    @property
    def measured(self) -> bool:
        """Tell whether the model was validated after this step."""
        return self.validation is not None

    def told(self) -> str:
        """Return the validation loss and the sample as the end of a progress line."""
        if not self.measured:
            return ""
        return (f"; held back: {self.validation:.3f} nats per character\n"
                f"  it writes: {' '.join(self.sample.split())}")


def loss_on(model: Any, batches: Batches | Windows, ranks: Alone = ALONE) -> float:
    """Return the cross-entropy per target token, without smoothing, over all batches of an epoch.

    Each of the ranks computes some of the batches.
    """
    pad = -1 if model.pad is None else model.pad
    criterion, nats, count = LabelSmoothedCrossEntropy(0.0, pad=pad), 0.0, 0
    for step in ranks.part(range(1, batches.per_epoch + 1)):
        *inputs, targets = batches.batch(step)
        loss, cache = criterion.forward(model(*inputs), targets=targets)
        nats, count = nats + float(loss) * cache.count, count + cache.count
    return ranks.total(nats) / ranks.total(count)
