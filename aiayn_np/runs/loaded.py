"""A model with its task, in use: text in, text out."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..decoding.generation import generate, perplexity
from ..plotting.figures import plot_attention, plot_attention_grid, side_by_side
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


class Loaded:
    """A model with its task, of a run or from a folder of Hugging Face.

    A task turns text into ids, and ids into text. What else a subclass can do depends on the model.
    Its `example(src)` is the batch for a trace, and `drawings(src)` yields (name, function that
    draws into `fig`, or into a new Figure, and returns it). Its `explained(src, most)` returns (the
    source (T_src,) or None, the number of ids that are read at first, [(ids that are read, position
    that writes, id that is written), ...]).
    """

    note = ""  # a line that warns the user
    metrics: Path | None = None  # the file of a run's measurements
    ends = 0  # number of marks that the task sets at the end of a text
    drawings: Any

    def __init__(self, model: Any, task: Any) -> None:
        self.model, self.task = model, task
        self.loss = LabelSmoothedCrossEntropy(0.0, pad=task.pad)       # for a trace

    def trained(self) -> Any:
        """Return the model."""
        return self.model

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

    def pictures(self, *sources: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield (name, Figure) of the attention: for a source (1, T), or several side by side."""
        for parts in zip(*map(self.drawings, sources)):
            names, draw = zip(*parts)
            yield names[0], draw[0]() if len(draw) == 1 else side_by_side(draw)

    def maps(self, *ids: np.ndarray) -> tuple[dict, dict]:
        """Return (maps, masks) of one row of ids, {name of the attention: array} each."""
        _, cache = self.model.forward(*ids)
        return ({name: weights[0] for name, weights in attention_maps(cache).items()},
                {name: allowed[0] for name, allowed in attention_masks(cache).items()})


class Translator(Loaded):
    """A model that reads a source and writes a target."""

    ends = 1

    def decode(self, src: np.ndarray, max_len: int | None = None, *, beam: int = 1,
               alpha: float = 0.6) -> np.ndarray:
        """Return output ids for source ids: greedy if `beam` is 1, else by beam search."""
        return decode(self.model, src, self.task, beam, alpha, max_len)

    def lines(self, texts: Sequence[str], **options: Any) -> list[str]:
        """Return the model's output for each line; options as in `translate`."""
        return translate(self.model, self.task.vocabulary, texts, **options)

    def fitting(self, line: str, number: int) -> tuple[str, str]:
        """Return (a line cut to the model's positions, a remark if the line was cut, else "")."""
        line, was_cut = cut(self.model, self.task.vocabulary, line)
        return line, (f"warning: line {number} is cut: the model takes {self.model.max_len} tokens"
                      " with the end mark" if was_cut else "")

    def score(self, lines: Sequence[str], references: Sequence[str]) -> Score:
        """Return the BLEU of some outputs, with the tokenizer of the task."""
        return bleu(lines, references, tokenize=self.task.tokenize)

    def answered(self, src: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return a batch of one source (1, T); the target is the model's own output."""
        out = self.decode(src)
        return src, np.concatenate([[[self.task.bos]], out[:, :-1]], axis=1), out

    example: Any = answered  # the batch for a trace

    def explained(self, src: np.ndarray, most: int) -> tuple:
        _, (tgt,), (out,) = self.answered(src)
        return src[0], 1, [(tgt[: n + 1], n, token) for n, token in enumerate(out)]

    def translation_attention(self, src: np.ndarray) -> tuple[list, list, np.ndarray, np.ndarray]:
        """Return (source tokens, written tokens, weights, mask) of the last layer.

        weights : (h, T_tgt, T_src), attention of written tokens to source tokens
        """
        _, tgt_in, out = self.answered(src)
        maps, masks = self.maps(src, tgt_in)
        last = [name for name in maps if "cross_attention" in name][-1]
        return self.source_tokens(src), self.task.tokens(out[0]), maps[last], masks[last]

    def drawings(self, src: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield a picture of the last layer's attention over the source."""
        source, written, weights, allowed = self.translation_attention(src)
        layer = len(self.model.decoder.layers)
        title = (f"Encoder-decoder attention, layer {layer}: row = token that is written next,"
                 " column = what is looked at for it")
        yield "cross", partial(plot_translation, weights, written, source, allowed=allowed,
                               title=title)


class SymbolTranslator(Translator):
    """A model of a toy task."""

    def lines(self, texts: Sequence[str], *, watch: Callable = iter, **options: Any) -> list[str]:
        """Return the model's output for each text; the output for an empty text is empty."""
        return [self.task.text(self.decode(self.source(text), **options)[0])
                if text.strip() else "" for text in watch(texts)]

    def fitting(self, line: str, number: int) -> tuple[str, str]:
        """Return (the line, a remark if it is long, else ""); ValueError if it is too long."""
        return line, self.remark(self.source(line)) if line.strip() else ""

    def example(self, src: np.ndarray) -> tuple:
        """Return a batch of one source (1, T); the target is the right output."""
        return self.task.examples_of([src[0, :-1]])

    def drawings(self, src: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield a picture of every layer and head for each kind of attention.

        The decoder reads the model's own output.
        """
        _, tgt, _ = self.answered(src)
        src_tokens, tgt_tokens = self.source_tokens(src), self.task.tokens(tgt[0])
        maps, masks = self.maps(src, tgt)
        for kind, (stack, attention, title) in KINDS.items():
            chosen = {n: w for n, w in maps.items() if n.startswith(stack) and attention in n}
            if chosen:                                                 # this kind keeps maps
                queries = src_tokens if stack == "encoder" else tgt_tokens
                keys = src_tokens if kind != "decoder_self" else tgt_tokens
                title = f"{title}, task {self.task.name}: row = reader, column = what it reads"
                yield kind, partial(plot_attention_grid, chosen, queries, keys, masks=masks,
                                    title=title)


class Reader(Loaded):
    """A model that reads one text, such as a language model."""

    def drawings(self, src: np.ndarray) -> Iterator[tuple[str, Any]]:
        """Yield a picture of every head for each layer."""
        tokens, (maps, masks) = self.source_tokens(src), self.maps(src)
        for layer, (name, weights) in enumerate(maps.items(), 1):
            title = f"{self.task.name}, layer {layer}: row = reader, column = what it reads"
            yield f"layer_{layer}", partial(plot_attention, weights, tokens, tokens,
                                            allowed=masks[name], title=title)


class Writer(Reader):
    """A language model, which goes on with a text."""

    def example(self, src: np.ndarray) -> tuple:
        """Return (inputs, None, targets) of one text (1, T): each target is the next token."""
        if src.shape[1] < 2:
            raise ValueError("a text must hold at least two tokens: each is what should come out"
                             f" after those before it, got {src.shape[1]}")
        return src[:, :-1], None, src[:, 1:]

    def explained(self, src: np.ndarray, most: int) -> tuple:
        text, n = list(src[0]), src.shape[1]
        text += generate(self.model, src[0], steps=most, temperature=0, eos=self.task.ends or None)
        return None, n, [(np.array(text[:i]), i - 1, text[i]) for i in range(n, len(text))]

    def written(self, ids: np.ndarray, *, steps: int, **options: Any) -> Iterator[int]:
        """Yield at most `steps` tokens that the model writes after ids (T,); ends after an end.

        Where the positions are used up, the model starts again from the last half of max_len.

        options : options of `generate`
        """
        check_sizes(steps=steps)
        text, most = list(ids), self.model.max_len
        while steps > 0:
            near = np.array(text if len(text) < most else text[-max(1, most // 2):])
            for token in generate(self.model, near, steps=min(steps, most - len(near)),
                                  eos=self.task.ends or None, **options):
                text.append(token)
                steps -= 1
                yield token
                if token in self.task.ends:
                    return

    def surprise(self, text: str, watch: Callable = iter) -> str:
        """Return a line on the perplexity of a text, for a token and for a character."""
        ids = self.task.source(text)[0]
        value, count = perplexity(self.model, ids, watch=watch)
        characters = len(text) - len(self.task.text(ids[:1]))          # the first token is given
        return (f"perplexity {value:.2f} for each of {count:,} tokens,"
                f" {value ** (count / characters):.2f} for each of {characters:,} characters")
