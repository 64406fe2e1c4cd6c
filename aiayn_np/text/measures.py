"""The record of a step of a training on text, and the validation loss."""

from dataclasses import dataclass

from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from ..transformer import Transformer
from .batches import Batches


@dataclass
class TextProgress:
    """One step.

    loss : without smoothing, in nats per target token, so that exp(loss) is the perplexity
    tokens : of source and target in the batch          seconds : since the start of the training
    validation_loss : of the model; None between validations
    averaged_loss, bleu, chrf : of the average of the model's last states; None between validations
    """

    step: int
    loss: float
    tokens: int
    rate: float
    seconds: float
    validation_loss: float | None = None
    averaged_loss: float | None = None
    bleu: float | None = None
    chrf: float | None = None

    @property
    def measured(self) -> bool:
        """Whether the model was validated after this step."""
        return self.validation_loss is not None


def loss_on(model: Transformer, batches: Batches, ranks: Alone = ALONE) -> float:
    """Cross-entropy without smoothing per target token, over all batches of an epoch.

    Each of the ranks computes some of the batches.
    """
    criterion, nats, count = LabelSmoothedCrossEntropy(0.0, pad=model.pad), 0.0, 0
    for step in ranks.part(range(1, batches.per_epoch + 1)):
        src, tgt_in, tgt_out = batches.batch(step)
        loss, cache = criterion.forward(model(src, tgt_in), targets=tgt_out)
        nats, count = nats + float(loss) * cache.count, count + cache.count
    return ranks.total(nats) / ranks.total(count)
