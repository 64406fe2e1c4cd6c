"""Measure the tables of since-2017.md: today's parts against the older ones.

    python docs/measure_since_2017.py           all of it, about 10 minutes of one processor
    python docs/measure_since_2017.py --pairing    trained weights, run in the other pairing
    python docs/measure_since_2017.py --seeds 1 --steps 100     a look at it, in less than a minute

One model of the new parts is trained, and then others in which one part is replaced, with the same
seeds, batches, learning rates and number of steps. Each is trained on the text of `train words`
(nats per character of the text that is held back), and to write a sequence of symbols once more
(share of sequences that are right to the last token, also longer ones than it was trained on).
"Settled" is how much the last fifth of the training changed the result.
"""

import argparse
import json
import os
import time
from functools import partial
from pathlib import Path

if __name__ == "__main__":  # one thread, before a library of matrices is loaded
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np

from aiayn_np import (
    Embedding,
    LabelSmoothedCrossEntropy,
    LayerNorm,
    LearnedPositionalEncoding,
    ReLU,
    ScaledDotProductAttention,
    SinusoidalPositionalEncoding,
)
from aiayn_np.decoding.generation import GrowingText
from aiayn_np.module import leaves
from aiayn_np.text.language import Characters, Windows, read_text, training_part
from aiayn_np.variants.activations import GELU, FeedForward
from aiayn_np.variants.models import LanguageModel, LlamaLayer
from aiayn_np.variants.optimizers import AdamW, cosine_rate, matrices
from aiayn_np.variants.rotary import NoPositions, RotaryPositions

N, D_MODEL, D_FF, H, T = 2, 48, 96, 8, 32
PEAK, WARMUP, DECAY = 4e-3, 100, 0.1
STEPS, ROWS = {"words": 800, "copy": 600}, {"words": 8, "copy": 24}
SYMBOLS, TRAINED, LONGEST, SEP, END, PAD = 6, 6, 12, 6, 7, 8
NEW = "all new parts"
SETTINGS = {  # name: (the part, options of `made`)
    NEW: ("", {}),
    "sinusoids": ("positions", {"positions": SinusoidalPositionalEncoding}),
    "learned": ("positions", {"positions": LearnedPositionalEncoding}),
    "layer norm": ("norm", {"norm": LayerNorm}),
    "ReLU": ("feed-forward", {"activation": ReLU}),
    "GELU": ("feed-forward", {"activation": GELU}),
    "h_kv = h / 4": ("heads of keys", {"h_kv": H // 4}),
    "h_kv = 1": ("heads of keys", {"h_kv": 1}),
}

class LayerNormLayer(LlamaLayer):
    """A LlamaLayer with layer norms."""

    stack_norm = LayerNorm


def layer(positions, norm, activation, d_model, d_ff, h, **options):
    """Make a LlamaLayer, and replace its parts that a setting names."""
    made = (LlamaLayer if norm is None else LayerNormLayer)(d_model, d_ff, h, **options)
    if norm is not None:
        made.norm_1, made.norm_2 = norm(d_model), norm(d_model)
    if activation is not None:                          # two matrices instead of three
        made.feed_forward = FeedForward(d_model, 3 * d_ff // 2, activation=activation(),
                                        rng=options["rng"])
    if positions is not NoPositions:
        made.self_attention.attention = ScaledDotProductAttention()
    return made


def made(vocab_size, seed, max_len, *, positions=NoPositions, norm=None, activation=None,
         h_kv=None):
    """Make a model of the new parts, but for those that are given."""
    return LanguageModel(
        vocab_size, N=N, d_model=D_MODEL, d_ff=D_FF, h=H, P_drop=0.0, max_len=max_len, pad=None,
        layer=partial(layer, positions, norm, activation, h_kv=h_kv), embedding=Embedding,
        positions=positions, rng=np.random.default_rng(seed)).astype(np.float32)


def trained(model, steps, batch_of, criterion, score, seed):
    """Train with AdamW and the cosine schedule; return the score after 4/5 and after all steps."""
    optimizer, rng, scores = AdamW(model, beta_2=0.95, decay=DECAY, decayed=matrices(model)), (
        np.random.default_rng([seed, 1])), []
    for step in range(1, steps + 1):
        ids, targets = batch_of(rng)
        optimizer.zero_grad()
        logits, cache = model.forward(ids)
        _, loss_cache = criterion.forward(logits, targets=targets)
        model.backward(criterion.backward(1.0, loss_cache), cache)
        optimizer.step(cosine_rate(step, steps, peak=PEAK, warmup_steps=WARMUP, least=0.01))
        if step in (steps * 4 // 5, steps):
            scores.append(score(model))
    return scores


def on_words(options, seed, steps):
    """Return (a model trained on the text, windows that are held back, its two scores)."""
    text = read_text(None)
    cut, vocabulary = len(training_part(text)), Characters(text)
    training = Windows(vocabulary.encode(text[:cut]), T, ROWS["words"])
    held_out = Windows(vocabulary.encode(text[cut:])[:20_000], T, 64)
    criterion = LabelSmoothedCrossEntropy(0.0, pad=-1)

    def score(model):
        return float(np.mean([criterion(model(ids), targets=targets) for ids, targets in map(
            held_out.batch, range(1, held_out.per_epoch))]))

    model = made(len(vocabulary), seed, T, **options)
    return model, held_out, trained(model, steps, training.draw, criterion, score, seed)


def words(options, seed, steps):
    """Return the nats per character of the text that is held back."""
    model, held_out, (before, after) = on_words(options, seed, steps)
    kept, ids = GrowingText(model), held_out.batch(1)[0][:1]
    kept.next_logits(ids)
    size = sum(x[:, :, : attention.T].nbytes for attention in (
        layer.self_attention for layer in kept.encoder.layers) for x in attention.kept)
    return dict(nats=after, settled=after - before, kept=size / ids.size,
                parameters=sum(p.value.size for p in model.parameters()))


def copies(lengths, rng):
    """Draw (ids, targets) of symbols, SEP, the same symbols and END; the second part counts."""
    most = max(lengths)
    rows = np.full((len(lengths), 2 * most + 2), PAD)
    targets = rows.copy()
    for row, target, n in zip(rows, targets, lengths):
        symbols = rng.integers(SYMBOLS, size=n)
        row[: 2 * n + 2] = [*symbols, SEP, *symbols, END]
        target[n : 2 * n + 1] = row[n + 1 : 2 * n + 2]
    return rows[:, :-1], targets[:, :-1]


def copy(options, seed, steps):
    """Return the share of sequences that are copied without a mistake, by their length."""
    tests = {n: copies([n] * 100, np.random.default_rng(n)) for n in range(1, LONGEST + 1)}

    def right(model, n):
        ids, targets = tests[n]
        return float(((model(ids).argmax(axis=-1) == targets) | (targets == PAD)).all(1).mean())

    def score(model):
        return [right(model, n) for n in tests]

    def batch(rng):
        return copies(rng.integers(1, TRAINED + 1, size=ROWS["copy"]), rng)

    model = made(PAD + 1, seed, 2 * LONGEST + 2, **options)
    criterion = LabelSmoothedCrossEntropy(0.0, pad=PAD)
    before, after = trained(model, steps, batch, criterion, score, seed)
    return dict(exact=after, settled=after[TRAINED - 1] - before[TRAINED - 1])


def measured(seeds, steps, out):
    """Return {task: {setting: [result of each seed]}}, written to `out` as they come."""
    found = {task: {name: [] for name in SETTINGS} for task in ("words", "copy")}
    for seed in range(seeds):
        started = time.process_time()
        for name, (_, options) in SETTINGS.items():
            found["words"][name].append(words(options, seed, steps or STEPS["words"]))
            found["copy"][name].append(copy(options, seed, steps or STEPS["copy"]))
        print(f"# seed {seed}: {time.process_time() - started:.0f} s", flush=True)
        if out:
            out.write_text(json.dumps(found))
    return found


def pairing():
    """Yield lines: the logits of trained weights in the other pairing, position by position."""
    model, held_out, (_, after) = on_words({}, 0, STEPS["words"])
    ids, targets = held_out.batch(1)
    want = model(ids)
    for _, layer in leaves(model, RotaryPositions):
        layer.interleaved = True
    got = model(ids)
    error = (np.linalg.norm(got - want, axis=-1) / np.linalg.norm(want, axis=-1)).mean(axis=0)
    same = (got.argmax(axis=-1) == want.argmax(axis=-1)).mean(axis=0)
    for t in (0, 1, 2, 8, T - 1):
        yield (f"position {t}: logits wrong by {100 * error[t]:.1f} %, the best token is the same"
               f" in {100 * same[t]:.0f} % of the windows")
    loss = LabelSmoothedCrossEntropy(0.0, pad=-1)(got, targets=targets)
    yield f"nats per character: {after:.3f}, in the other pairing {loss:.3f}"


def verdict(differences):
    """Say whether the seeds' differences count: all of one sign, and twice their error."""
    d = np.array(differences)
    error = d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else np.inf
    one_sign = (d > 0).all() or (d < 0).all()
    return "a difference" if one_sign and abs(d.mean()) > 2 * error else (
        "no difference at this size")


def spread(values, digits):
    return f"{np.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def tables(found):
    """Yield the lines of the page's two tables."""
    yield "| part | | nats per character | less the new parts | | settled | parameters |"
    yield "|---|---|---|---|---|---|---|"
    base = [r["nats"] for r in found["words"][NEW]]
    for name, results in found["words"].items():
        nats = [r["nats"] for r in results]
        less = [a - b for a, b in zip(nats, base)]
        compared = f"{np.mean(less):+.3f} | {verdict(less)}" if name != NEW else " | "
        settled = np.median([r["settled"] for r in results])
        yield (f"| {SETTINGS[name][0]} | {name} | {spread(nats, 3)} | {compared} | {settled:+.3f} |"
               f" {results[0]['parameters']:,} |")
    yield ""
    at = [TRAINED, TRAINED + 1, TRAINED + 2, TRAINED + 3, LONGEST]
    yield "| part | | " + " | ".join(f"{n} symbols" for n in at) + " | settled |"
    yield "|---|---|" + "---|" * len(at) + "---|"
    for name, results in found["copy"].items():
        cells = [spread([100 * r["exact"][n - 1] for r in results], 0) for n in at]
        settled = np.median([r["settled"] for r in results])
        yield f"| {SETTINGS[name][0]} | {name} | " + " | ".join(cells) + f" | {settled:+.2f} |"
    yield ""
    for name in (NEW, "h_kv = h / 4", "h_kv = 1"):
        yield f"{name}: {found['words'][name][0]['kept']:.0f} bytes are kept for a token"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of every training")
    parser.add_argument("--pairing", action="store_true", help="this alone")
    parser.add_argument("--json", type=Path, help="write all numbers into this file, too")
    args = parser.parse_args()
    if args.pairing:
        print(*pairing(), sep="\n")
        raise SystemExit
    result = measured(args.seeds, args.steps, args.json)
    if args.json:
        args.json.write_text(json.dumps(result))
    print(*tables(result), sep="\n")
