"""Recipes: how a run makes its model, and how the model learns. They are chosen by the options."""

from typing import Any

from ..module import Module, Parameter
from ..training.optimizer import Adam, warmup_rate
from ..transformer import Transformer
from ..variants.choices import CHOICES, keywords
from ..variants.models import LanguageModel, llama
from ..variants.optimizers import AdamW, cosine_rate

SIZES = ("N", "d_model", "d_ff", "h", "P_drop", "max_len", "h_kv")  # options of the model
DECAY = 0.1  # weight decay of a model like Llama, as in Touvron et al., 2023


class Recipe:
    """The paper's recipe: a Transformer, Adam, and the rate of Eq. (3).

    options : the options of a run
    """

    def __init__(self, options: dict) -> None:
        self.options = options
        self.sizes = {name: options[name] for name in SIZES if options.get(name) is not None}
        self.variants = keywords({name: options[name] for name in CHOICES if name in options})

    def model(self, vocab_size: int, rng: Any) -> Any:
        """Make a new model."""
        return Transformer(vocab_size, **self.sizes, **self.variants, rng=rng)

    def optimizer(self, model: Any, parameters: list[Parameter]) -> Adam:
        """Make the optimizer of a model that trains some of its Parameters."""
        return Adam(parameters)

    def rate(self, step: int, last: int) -> float:
        """Return the learning rate of a step; `last` is the number of the last step."""
        o = self.options
        return warmup_rate(step, d_model=o["d_model"], scale=o["rate_scale"],
                           warmup_steps=o["warmup_steps"])


class LanguageRecipe(Recipe):
    """A language model of the paper's encoder layers, or of a variant's."""

    def model(self, vocab_size: int, rng: Any) -> LanguageModel:
        return LanguageModel(vocab_size, **self.sizes, layer=self.variants["encoder_layer"],
                             positions=self.variants["positions"], pad=None, rng=rng)


class LlamaRecipe(Recipe):
    """A language model like Llama, an AdamW that lets matrices decay, and a cosine."""

    def model(self, vocab_size: int, rng: Any) -> LanguageModel:
        return llama(vocab_size, **self.sizes, rng=rng)

    def optimizer(self, model: Any, parameters: list[Parameter]) -> Adam:
        return AdamW(parameters, beta_2=0.95, decay=DECAY,
                     decayed=[p for p in parameters if p.value.ndim > 1])

    def rate(self, step: int, last: int) -> float:
        warmup_steps = self.options["warmup_steps"]
        return cosine_rate(step, last, peak=super().rate(warmup_steps, last),
                           warmup_steps=warmup_steps)


def trained_part(model: Module, only: list[str] | None) -> list[Parameter]:
    """Return the Parameters whose names contain one of some words; None for all Parameters."""
    found = [p for name, p in model.named_parameters()
             if only is None or any(word in name for word in only)]
    if not found:
        names = ", ".join(dict(model.named_parameters()))
        raise ValueError(f"only must be in the names of some parameters, got {' '.join(only or ())}"
                         f"; they are {names[:300]}")
    return found
