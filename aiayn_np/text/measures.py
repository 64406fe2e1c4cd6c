"""The record of a step of a training on text, and the validation loss."""

from dataclasses import dataclass
from typing import Any

from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from .batches import Batches
from .words import Windows


@dataclass
class TextProgress:
    """One step.

    loss : without smoothing, in nats per target token, so that exp(loss) is the perplexity
    tokens : of source and target in the batch          seconds : since the start of the training
    validation_loss : of the model; None between validations
    averaged_loss, bleu : of the average of the model's last states; None between validations
    """

    step: int
    loss: float
    tokens: int
    rate: float
    seconds: float
    validation_loss: float | None = None
    averaged_loss: float | None = None
    bleu: float | None = None
    solved = False  # no field: a training on text never ends before its last step

    @property
    def measured(self) -> bool:
        """Tell whether the model was validated after this step."""
        return self.validation_loss is not None

    def told(self) -> str:
        """Return the measured numbers, as the end of a line."""
        line = ""
        if self.measured:
            line += f"; validation loss {self.validation_loss:.3f}, averaged"
            line += f" {self.averaged_loss:.3f}"
        if self.bleu is not None:
            line += f", BLEU {self.bleu:.2f}"
        return line


@dataclass
class WordsProgress:
    """One step of a language model.

    loss : in nats per token            tokens : of the batch
    validation : nats per character of the average of the model's last states, on text that is held
        back; None between validations
    """

    step: int
    loss: float
    tokens: int
    rate: float
    seconds: float
    validation: float | None = None
    sample = ""  # the text that the model wrote when it was validated; no field
    solved = False  # nor this: a training on text never ends before its last step

    @property
    def measured(self) -> bool:
        """Tell whether the model was validated after this step."""
        return self.validation is not None

    def told(self) -> str:
        """Return the measured numbers, as the end of a line, and the sample."""
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
