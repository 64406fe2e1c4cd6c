"""Draw marian.png, gpt2.png and bert.png: maps of the three families, from folders made here.

    python docs/draw_real_models.py

Nothing is downloaded. Three small models learn the number words in a minute or two, are written as
folders of Hugging Face, and are opened again. The same code draws downloaded models.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from aiayn_course.data.number_words import number_words, write_number_words
from aiayn_np import Adam, LabelSmoothedCrossEntropy, attention_maps, attention_masks
from aiayn_np.models import load_bert, load_gpt2
from aiayn_np.models.bert import Bert
from aiayn_np.models.gpt2 import GPT2
from aiayn_np.models.marian_export import export_marian
from aiayn_np.plotting.figures import plot_attention, save_figure
from aiayn_np.runs.open import open_run
from aiayn_np.runs.start import start_run
from aiayn_np.training.tasks import padded

FOLDER = Path(__file__).parent
SENTENCE = "zwei hundert drei und fünfzig"
STEPS, ROWS = 500, 64
MASK = 5  # an id of the words below: 0 is padding, 1 an unknown word, 2 begins, 3 ends
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[CUT]", "[MASK]"]


def words():
    """Return (English lines as lists of ids, the words)."""
    lines = [english.replace("-", " ").replace(",", "").split()
             for _, english in number_words().training]
    known = SPECIAL + sorted({word for line in lines for word in line})
    ids = {word: i for i, word in enumerate(known)}
    return [[2, *(ids[word] for word in line), 3] for line in lines], known


def learn(model, batch):
    """Take steps of Adam on (ids, targets) of `batch`."""
    adam, criterion = Adam(model.parameters()), LabelSmoothedCrossEntropy(0.0)
    for _ in range(STEPS):
        ids, targets = batch()
        model.zero_grad()
        logits, cache = model.forward(ids)
        loss, loss_cache = criterion.forward(logits, targets=targets)
        model.backward(criterion.backward(1.0, loss_cache), cache)
        adam.step(0.002)
    print(f"{type(model).__name__}: loss {loss:.2f}", file=sys.stderr)


def make_gpt2(folder, lines, known, rng):
    """Make a small GPT-2 that writes numbers."""
    made = GPT2.new(dict(vocab_size=len(known), n_layer=2, n_embd=64, n_head=4, n_positions=40,
                         resid_pdrop=0.0), rng)

    def batch():
        ids = padded([lines[i] for i in rng.integers(len(lines), size=ROWS)])
        return ids[:, :-1], ids[:, 1:]

    learn(made.model, batch)
    made.save(folder)


def make_bert(folder, lines, known, rng):
    """Make a small BERT that guesses one masked word in five."""
    made = Bert.new(dict(
        vocab_size=len(known), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, max_position_embeddings=40, hidden_dropout_prob=0.0,
        layer_norm_eps=1e-6), rng)

    def batch():
        ids = padded([lines[i] for i in rng.integers(len(lines), size=ROWS)])
        hidden = (ids > MASK) & (rng.random(ids.shape) < 0.2)
        hidden[0, 1] = True
        return np.where(hidden, MASK, ids), np.where(hidden, ids, 0)

    learn(made.model, batch)
    made.save(folder)


def make_marian(folder, work):
    """Export the translator of the number words."""
    write_number_words(work / "numbers")
    files = dict(pairs=work / "numbers" / "training.tsv", source=None, target=None,
                 validation_pairs=work / "numbers" / "validation.tsv", validation_source=None,
                 validation_target=None)
    run, _ = start_run(work / "run", "text", files, preset="numbers")
    list(run.train())
    folder.mkdir()
    for line in export_marian(run.trained(), run.task, folder):
        print(line, file=sys.stderr)


def main():
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        lines, known = words()
        make_marian(work / "marian", work)
        make_gpt2(work / "gpt2", lines, known, rng)
        make_bert(work / "bert", lines, known, rng)
        loaded = open_run(work / "marian")
        source, written, weights, allowed = loaded.translation_attention(
            loaded.source(SENTENCE))
        draw("marian", weights, written, source, allowed, 1)
        text = ["[CLS]", "two", "hundred", "and", "fifty", "three", "[SEP]"]
        masked = ["[CLS]", "two", "[MASK]", "and", "fifty", "three", "[SEP]"]
        for family, load, shown in (("gpt2", load_gpt2, text), ("bert", load_bert, masked)):
            src = np.array([[known.index(word) for word in shown]])
            logits, cache = load(work / family).forward(src)
            maps, masks = attention_maps(cache), attention_masks(cache)
            last = list(maps)[-1]
            draw(family, maps[last][0], shown, shown, masks[last][0], len(maps))
            if family == "bert":
                guess = known[int(logits[0, 2].argmax())]
                print(f"BERT puts {guess} for the mask", file=sys.stderr)


def draw(family, weights, queries, keys, allowed, layer):
    """Save the head of a layer (h, T_q, T_k) that decides most, readable on a telephone too."""
    head = int(weights.max(axis=-1).mean(axis=-1).argmax())
    titles = [f"layer {layer}, head {head + 1}"]
    fig = plot_attention(weights[head], queries, keys, allowed=allowed[0], titles=titles)
    fig.set_size_inches(3.7, 3.7)
    save_figure(fig, FOLDER / f"{family}.png", dpi=150)


if __name__ == "__main__":
    main()
