"""The run of a training on text: what `Run` is for toy tasks, with a vocabulary in its folder."""

import math
import sys
from pathlib import Path

from ..loss import LabelSmoothedCrossEntropy
from ..maps import attention_maps, attention_masks
from ..processes import make_team
from ..run import Run
from ..training import token_nats
from .batches import Batches, arrays
from .bleu import bleu
from .corpus import Corpus
from .pictures import plot_text_training, plot_translation
from .task import TextTask, encoded, longest
from .training import TextProgress, loss_on, train_text
from .translation import translate
from .vocabulary import Vocabulary

VOCABULARY = "vocabulary.model"


class TextRun(Run):
    """Model, vocabulary, optimizer and generator of a training on text.

    config : what Run has, and "files" (paths of the sentence pairs), "digest" of their text,
        "examples" (lines of the validation set, to be looked at)
    """

    name = "text"
    record = TextProgress

    def make_task(self):
        """The task, with the vocabulary that lies in the folder."""
        vocabulary = Vocabulary.load(self.folder / VOCABULARY)
        return TextTask(vocabulary, self.config["train"]["max_length"])

    def prepare(self, corpus=None):
        """Read the pairs (or take a Corpus) and make batches of them; return notes on them.

        Raises OSError, and ValueError where the files are not those that the run began with.
        """
        corpus = corpus or Corpus.read(self.config["files"], self.config["seed"])
        if corpus.digest != self.config["digest"]:
            raise ValueError("sentence pairs must be those that the run began with, got others in "
                             + " and ".join(filter(None, self.config["files"].values())))
        options, vocabulary = self.config["train"], self.task.vocabulary
        training, _ = encoded(vocabulary, corpus.training, options["max_length"])
        held_out, self.validation = encoded(vocabulary, corpus.validation, self.model.max_len)
        if not training or not held_out:
            raise ValueError(f"there must be pairs of at most {options['max_length']} tokens for"
                             f" training, got {len(training)}, and of at most {self.model.max_len}"
                             f" for validation, got {len(held_out)}")
        if (needed := longest(training)) > options["tokens"]:
            raise ValueError(f"tokens must be at least those of the longest sentence, {needed},"
                             f" got tokens={options['tokens']}")
        self.batches = Batches(training, options["tokens"], self.config["seed"])
        self.validation_batches = Batches(held_out, max(options["tokens"], longest(held_out)), 0)
        criterion = LabelSmoothedCrossEntropy(options["eps_ls"], pad=self.task.pad)
        self.team = make_team(self.model, criterion, options["workers"],
                              options.get("workers_as", "threads"), token_nats)
        left_out = [("training", len(corpus.training) - len(training), options["max_length"]),
                    ("validation", len(corpus.validation) - len(held_out), self.model.max_len)]
        return corpus.notes + [f"{n} pairs for {what} are left out: a side has more than {most}"
                               " tokens, or none" for what, n, most in left_out if n]

    @property
    def steps(self):
        """The last step."""
        return max(1, round(self.config["train"]["epochs"] * self.batches.per_epoch))

    @property
    def solved(self):
        """A translation is never finished before its last step."""
        return False

    def train(self):
        """Take steps from the last one on, and yield a TextProgress of each; measured at the end of
        every epoch and of the training."""
        o = self.config["train"]
        steps = train_text(
            self.team, self.batches, steps=self.steps, **self.training_state,
            average_every=o["average_every"], warmup_steps=o["warmup_steps"],
            rate_scale=o["rate_scale"],
        )
        for progress in steps:
            if progress.step % self.batches.per_epoch == 0 or progress.step == self.steps:
                self.measure(progress)
            yield progress

    def measure(self, progress):
        """Losses on the validation set, and BLEU of the average of the last states."""
        average = self.trained()
        progress.validation_loss = loss_on(self.model, self.validation_batches)
        progress.averaged_loss = loss_on(average, self.validation_batches)
        epoch = -(-progress.step // self.batches.per_epoch)
        if epoch % self.config["train"]["bleu_every"] == 0 or progress.step == self.steps:
            progress.bleu = self.bleu(average).score

    def bleu(self, model, **options):
        """Bleu of a model's translations of the validation set; options as of `translate`."""
        sources, references = zip(*self.validation)
        return bleu(translate(model, self.task.vocabulary, sources, **options), references)

    def finish(self, seconds):
        """Measure what came out, and write metrics.json.

        BLEU of the validation set is counted for the last state and for the average of the last
        ones, greedy, and for the average with the paper's beam search.
        """
        last, average = self.history[-1], self.trained()
        found = {"last state, greedy": self.bleu(self.model)}
        found["average, greedy"] = self.bleu(average)
        found["average, beam 4, alpha 0.6"] = self.bleu(average, beam=4, alpha=0.6)
        tokens = int(sum(p.tokens for p in self.history))
        self.save_metrics(
            epochs=self.config["train"]["epochs"], pairs=len(self.batches.pairs),
            validation_pairs=len(self.validation), validation_loss=last.validation_loss,
            averaged_loss=last.averaged_loss, perplexity=math.exp(last.averaged_loss),
            bleu={name: round(b.score, 2) for name, b in found.items()},
            signature=found["average, greedy"].signature, tokens=tokens, seconds=seconds,
            tokens_per_second=round(tokens / max(last.seconds, 1e-9)), peak_memory=peak_memory(),
        )
        return found

    def report(self, found):
        """Lines on the outcome, and a few translations."""
        yield f"step {self.optimizer.t}, BLEU of {len(self.validation)} validation pairs:"
        yield from (f"  {b.score:5.2f}  {name}" for name, b in found.items())
        yield f"  {found['average, greedy'].signature}\n"
        sources, references = zip(*self.validation[:3])
        lines = zip(sources, translate(self.trained(), self.task.vocabulary, sources), references)
        for source, translation, reference in lines:
            yield f"source     {source}\nmodel      {translation}\nreference  {reference}\n"

    def example(self, src):
        """A batch of one source (1, T), and the model's own translation as what should come out."""
        out = self.decode(src)[0]
        return arrays([(src[0], out)])

    def translation_attention(self, src):
        """(source tokens, tokens written, weights (h, T_tgt, T_src), allowed) of the last layer."""
        _, tgt_in, tgt_out = self.example(src)
        _, cache = self.trained().forward(src, tgt_in)
        name = [n for n in attention_maps(cache) if "cross_attention" in n][-1]
        weights, allowed = attention_maps(cache)[name][0], attention_masks(cache)[name][0]
        return self.task.tokens(src[0]), self.task.tokens(tgt_out[0]), weights, allowed

    def draw_attention(self, src, folder, prefix=""):
        """Save a picture of what the last layer looks at in the source; return its path."""
        source, written, weights, allowed = self.translation_attention(src)
        layer = len(self.model.decoder.layers)
        title = (f"Encoder-decoder attention, layer {layer}: row = token that is written next,"
                 " column = what is looked at for it")
        path = Path(folder) / f"{prefix}attention_cross.png"
        fig = plot_translation(weights, written, source, allowed=allowed, title=title)
        fig.savefig(path, dpi=120)
        return [path]

    def test_sources(self, n=5):
        """At most n sources (1, T) of the validation set."""
        return [self.task.source(line) for line in self.config["examples"][:n]]

    def draw_loss(self):
        """Save loss and BLEU against the steps; return the path."""
        path = self.folder / "loss.png"
        plot_text_training(self.history, title="Training on sentence pairs").savefig(path, dpi=120)
        return path


def peak_memory():
    """Bytes that this process has held at most; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
