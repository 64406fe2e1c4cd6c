"""A pipeline: a trained model with its task, which turns a text into a result.

A task turns text into ids, and ids into text. Our own runs have pipelines, and real models too.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..decoding.generation import generate, perplexity
from ..plotting.figures import plot_attention, plot_attention_grid, save_figure
from ..plotting.maps import attention_maps, attention_masks
from ..text.bleu import Score, bleu
from ..text.pictures import plot_translation
from ..text.translation import cut, decode, translate
from ..training.loss import LabelSmoothedCrossEntropy

KINDS = {  # file name -> stack and name of the attention in a picture, and the title
    "encoder_self": ("encoder", "self_attention", "Encoder self-attention"),
    "decoder_self": ("decoder", "self_attention", "Decoder self-attention (masked)"),
    "cross": ("decoder", "cross_attention", "Encoder-decoder attention"),
}


class Pipeline:
    """A model with its task, with the methods that the commands call.

    loss : the loss that `trace` shows; None for the loss of the training
    """

    uses: tuple[str, ...] = ()  # commands that work with this model
    loss: Any = None
    pictures: Any  # function of one source (1, T): yields (name, Figure) of its attention
    ends = 0  # number of marks that the task sets at the end of a text

    def __init__(self, task: Any, model: Any) -> None:
        self.task, self.model = task, model

    def source(self, text: str) -> np.ndarray:
        """Return the ids (1, T) of a text; raise ValueError if the model has too few positions."""
        src = self.task.source(text)
        if src.shape[1] > self.model.max_len:
            raise ValueError(f"a sequence must have at most {self.model.max_len - self.ends} tokens"
                             f" for this run, got {src.shape[1] - self.ends}")
        return src

    def remark(self, src: np.ndarray) -> str:
        """Return a note on a source (1, T) longer than all of the training, else ""."""
        n, most = src.shape[1] - self.ends, self.task.max_length
        return f"note: {n} tokens, trained on at most {most}" if n > most else ""

    def source_tokens(self, src: np.ndarray) -> list:
        """Return a label for each id of one source (1, T)."""
        return self.task.tokens(src[0])

    def draw_attention(self, src: np.ndarray, folder: str | Path, prefix: str = "") -> list[Path]:
        """Save the pictures of the attention for one source (1, T); return the paths."""
        paths = []
        for name, figure in self.pictures(src):
            paths.append(Path(folder) / f"{prefix}attention_{name}.png")
            save_figure(figure, paths[-1], dpi=120)
        return paths

    def maps(self, *ids: np.ndarray) -> tuple[dict, dict]:
        """Return (maps, masks) of one row of ids, {name of the attention: array} each."""
        _, cache = self.model.forward(*ids)
        return ({name: weights[0] for name, weights in attention_maps(cache).items()},
                {name: allowed[0] for name, allowed in attention_masks(cache).items()})


class SourcePipeline(Pipeline):
    """A model that reads a source and writes a target."""

    uses: tuple[str, ...] = ("decode", "attend", "why", "trace", "export")
    ends = 1

    def decode(self, src: np.ndarray, max_len: int | None = None, *, beam: int = 1,
               alpha: float = 0.6) -> np.ndarray:
        """Return output ids for source ids: greedy if `beam` is 1, else by beam search."""
        return decode(self.model, src, self.task, beam, alpha, max_len)

    def score(self, lines: Sequence[str], references: Sequence[str]) -> Score:
        """Return the BLEU of some outputs, with the tokenizer of the task."""
        return bleu(lines, references, tokenize=getattr(self.task, "tokenize", "13a"))

    def answered(self, src: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return a batch of one source (1, T); the target is the model's own output."""
        out = self.decode(src)
        return src, np.concatenate([[[self.task.bos]], out[:, :-1]], axis=1), out

    def attention(self, src: np.ndarray) -> tuple[list, list, dict, dict]:
        """Return (source tokens, tokens that the decoder reads, maps, masks) of one source (1, T).

        The decoder reads the model's own output.
        """
        _, tgt, _ = self.answered(src)
        return self.source_tokens(src), self.task.tokens(tgt[0]), *self.maps(src, tgt)


class SymbolPipeline(SourcePipeline):
    """A model of a toy task."""

    def lines(self, texts: Sequence[str], *, beam: int = 1, alpha: float = 0.6,
              watch: Callable = iter) -> list[str]:
        """Return the model's output for each text; the output for an empty text is empty."""
        return [self.task.text(self.decode(self.source(text), beam=beam, alpha=alpha)[0])
                if text.strip() else "" for text in watch(texts)]

    def fitting(self, line: str, number: int) -> tuple[str, str]:
        """Return (a line that `lines` takes, a remark if the line is long, else "").

        number : number of the line, for the remark
        """
        return line, self.remark(self.source(line)) if line.strip() else ""

    def example(self, src: np.ndarray) -> tuple:
        """Return a batch of one source (1, T); the target is the right output."""
        return self.task.examples_of([src[0, :-1]])

    def pictures(self, src: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield a picture of every layer and head for each kind of attention."""
        src_tokens, tgt_tokens, maps, masks = self.attention(src)
        for kind, (stack, attention, title) in KINDS.items():
            chosen = {n: w for n, w in maps.items() if n.startswith(stack) and attention in n}
            if chosen:                                                 # this kind keeps maps
                queries = src_tokens if stack == "encoder" else tgt_tokens
                keys = src_tokens if kind != "decoder_self" else tgt_tokens
                title = f"{title}, task {self.task.name}: row = reader, column = what it reads"
                yield kind, plot_attention_grid(chosen, queries, keys, masks=masks, title=title)


class PairPipeline(SourcePipeline):
    """A translator of sentences, with a vocabulary."""

    def lines(self, texts: Sequence[str], **options: Any) -> list[str]:
        """Return the translations of lines; options as in `translate`."""
        return translate(self.model, self.task.vocabulary, texts, **options)

    def fitting(self, line: str, number: int) -> tuple[str, str]:
        """Return (a line cut to the model's positions, a remark if the line was cut, else "")."""
        line, was_cut = cut(self.model, self.task.vocabulary, line)
        return line, (f"warning: line {number} is cut: the model takes {self.model.max_len} tokens"
                      " with the end mark" if was_cut else "")

    def example(self, src: np.ndarray) -> tuple:
        """Return a batch of one source (1, T); the target is the model's own translation."""
        return self.answered(src)

    def translation_attention(self, src: np.ndarray) -> tuple[list, list, np.ndarray, np.ndarray]:
        """Return (source tokens, written tokens, weights, mask) of the last layer.

        weights : (h, T_tgt, T_src), attention of written tokens to source tokens
        """
        _, tgt_in, out = self.answered(src)
        maps, masks = self.maps(src, tgt_in)
        last = [name for name in maps if "cross_attention" in name][-1]
        return self.source_tokens(src), self.task.tokens(out[0]), maps[last], masks[last]

    def pictures(self, src: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield a picture of the last layer's attention over the source."""
        source, written, weights, allowed = self.translation_attention(src)
        layer = len(self.model.decoder.layers)
        title = (f"Encoder-decoder attention, layer {layer}: row = token that is written next,"
                 " column = what is looked at for it")
        yield "cross", plot_translation(weights, written, source, allowed=allowed, title=title)


class LanguagePipeline(Pipeline):
    """A language model, which goes on with a text.

    eos : the id that ends a text; None if no id does
    """

    uses: tuple[str, ...] = ("generate", "perplexity", "attend", "trace")
    loss = LabelSmoothedCrossEntropy(0.0, pad=-1)

    def __init__(self, task: Any, model: Any, *, eos: int | None = None) -> None:
        super().__init__(task, model)
        self.eos = eos

    def attention(self, src: np.ndarray) -> tuple[list, list, dict, dict]:
        """Return (tokens, tokens, maps, masks) of one text (1, T)."""
        return self.source_tokens(src), self.source_tokens(src), *self.maps(src)

    def pictures(self, src: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield a picture of every head for each layer."""
        tokens, _, maps, masks = self.attention(src)
        for layer, (name, weights) in enumerate(maps.items(), 1):
            title = f"{self.task.name}, layer {layer}: row = reader, column = what it reads"
            yield f"layer_{layer}", plot_attention(weights, tokens, tokens, allowed=masks[name],
                                                   title=title)

    def example(self, src: np.ndarray) -> tuple:
        """Return (inputs, None, targets) of one text (1, T): each target is the next token."""
        if src.shape[1] < 2:
            raise ValueError("a text must hold at least two tokens: each is what should come out"
                             f" after those before it, got {src.shape[1]}")
        return src[:, :-1], None, src[:, 1:]

    def written(self, ids: np.ndarray, *, steps: int, **options: Any) -> Iterator[int]:
        """Yield at most `steps` tokens that the model writes after ids (T,).

        options : options of `generate`
        """
        return generate(self.model, ids, steps=steps, eos=self.eos, **options)

    def surprise(self, text: str, watch: Callable = iter) -> str:
        """Return a line on the perplexity of a text."""
        value, count = perplexity(self.model, self.task.source(text)[0], watch=watch)
        return f"perplexity {value:.2f} for each of {count:,} tokens"


class OwnLanguagePipeline(LanguagePipeline):
    """Our own language model. It may write more tokens than it has positions."""

    def written(self, ids: np.ndarray, *, steps: int, **options: Any) -> Iterator[int]:
        """Yield `steps` tokens that the model writes after ids (T,); options as in `generate`.

        The model starts from the last tokens, at most max_len // 2 of them. When all positions are
        used, it starts again from the last max_len // 2 tokens.
        """
        check_sizes(steps=steps)
        model, text = self.model, list(ids)
        half = max(1, model.max_len // 2)
        while steps > 0:
            near = np.array(text[-half:])
            for token in generate(model, near, steps=min(steps, model.max_len - len(near)),
                                  **options):
                text.append(token)
                steps -= 1
                yield token

    def surprise(self, text: str, watch: Callable = iter) -> str:
        """Return a line on the perplexity of a text, for a token and for a character."""
        ids = self.task.source(text)[0]
        value, count = perplexity(self.model, ids, watch=watch)
        characters = len(text) - len(self.task.text(ids[:1]))          # the first token is given
        return (f"perplexity {value:.2f} for each of {count:,} tokens,"
                f" {value ** (count / characters):.2f} for each of {characters:,} characters")
