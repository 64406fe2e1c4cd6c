"""The record of a step of a training on text, and the validation loss."""

from dataclasses import dataclass
from typing import Any

from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from .batches import Batches
from .language import Windows


@dataclass
class PairProgress:
    """The record of a step.

    loss : without smoothing, in nats per target token, so that exp(loss) is the perplexity
    tokens : in the batch, source and target          seconds : since the start of the training
    validation_loss : loss of the model; None between validations
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
    solved = False  # not a field: a training on text takes all its steps

    @property
    def measured(self) -> bool:
        """Tell whether the model was validated after this step."""
        return self.validation_loss is not None

    def told(self) -> str:
        """Return the validation losses and BLEU as the end of a progress line."""
        line = ""
        if self.measured:
            line += f"; validation loss {self.validation_loss:.3f}, averaged"
            line += f" {self.averaged_loss:.3f}"
        if self.bleu is not None:
            line += f", BLEU {self.bleu:.2f}"
        return line


@dataclass
class LanguageProgress:
    """The record of a step of a language model.

    loss : in nats per token            tokens : number of tokens in the batch
    validation : nats per character of the average of the model's last states, on the held-out text;
        None between validations
    """

    step: int
    loss: float
    tokens: int
    rate: float
    seconds: float
    validation: float | None = None
    sample = ""  # text that the model wrote at the validation; not a field
    solved = False  # not a field either: a training on text takes all its steps

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
