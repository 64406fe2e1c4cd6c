"""Measure the figures of real-models.md: differences to transformers, and speed side by side.

    python docs/measure_real_models.py                    the table; a few minutes
    python docs/measure_real_models.py --speed gpt2       its speeds alone, of one family
    python docs/measure_real_models.py --loading gpt2     a file of the usual size: memory, time
    python docs/measure_real_models.py --export RUN       a training on text as a Marian model

Needs torch and transformers. Small random models in float64 are compared number by number. Speed is
that of random models of the usual sizes in float32, one thread each, in rounds: here, transformers,
here, and so on. The table has two speeds. Tokens in a second of the processor are the median of the
rounds, which other programs disturb least. Tokens in a second of the clock are the best round.
"""

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if __name__ == "__main__":  # one thread, before a library of matrices is loaded
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
from safetensors.numpy import load_file

from aiayn_np import greedy_decode
from aiayn_np.decoding.generation import generate
from aiayn_np.models import load_bert, load_gpt2, load_llama, load_marian
from aiayn_np.models.marian import EPS
from aiayn_np.models.marian_export import export_marian
from aiayn_np.runs.open import open_run
from aiayn_np.text.batches import arrays
from aiayn_np.text.bleu import bleu
from aiayn_np.text.translation import similar
from aiayn_np.variants.layer_options import set_eps

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from hugging_face import batch, compute, exact, make

LOADERS = {"marian": load_marian, "gpt2": load_gpt2, "bert": load_bert, "llama": load_llama}
USUAL = {
    "marian": dict(vocab_size=58101, d_model=512, encoder_layers=6, decoder_layers=6,
                   encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_attention_heads=8,
                   decoder_attention_heads=8, pad_token_id=58100, decoder_start_token_id=58100,
                   max_position_embeddings=512, forced_eos_token_id=None),
    "gpt2": dict(vocab_size=50257, n_positions=1024, n_embd=768, n_layer=12, n_head=12),
    "bert": dict(vocab_size=30522, max_position_embeddings=512, hidden_size=768,
                 num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
    "llama": dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                  num_attention_heads=9, num_key_value_heads=3, head_dim=64,
                  max_position_embeddings=2048),
}
TOKENS, ROUNDS = 40, 7


def differences(family):
    """Return (largest relative difference of logits, of gradients) over five random models."""
    worst = np.zeros(2)
    for seed in range(5):
        with tempfile.TemporaryDirectory() as folder:
            model, rng = make(family, folder, seed=seed), np.random.default_rng(seed)
            exact(family, model)
            loaded = LOADERS[family](folder)
            config = json.loads((Path(folder) / "config.json").read_text())
        inputs, real = batch(family, config, rng)
        got, cache = loaded.forward(*inputs.values())
        cotangent = rng.standard_normal(got.shape) * real[..., None]
        want, gradients = compute(family, model, inputs, real, cotangent)
        loaded.model.zero_grad()
        loaded.backward(cotangent, cache)
        mine, largest = loaded.gradients(), max(np.abs(g).max() for g in gradients.values())
        worst = np.maximum(worst, [
            np.abs(got - want)[real].max() / np.abs(want).max(),
            max(np.abs(mine[n] - g).max() / max(np.abs(g).max(), 1e-4 * largest)
                for n, g in gradients.items())])
    return worst


def speeds(family):
    """Return (tokens in a second of the processor, of the clock), here and in transformers."""
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        model = make(family, folder, dtype="float32", **USUAL[family])
        loaded = LOADERS[family](folder)
    ids = np.arange(100, 116)[None]
    exactly = dict(max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False, num_beams=1)

    def ours():
        if family in ("gpt2", "llama"):
            return list(generate(loaded.model, ids[0], steps=TOKENS, temperature=0))
        if family == "bert":
            return [loaded.logits(np.tile(ids, (1, 8))) for _ in range(2)]
        return greedy_decode(loaded.model, ids, bos=loaded.bos, eos=loaded.pad, max_len=TOKENS)

    def theirs():
        with torch.inference_mode():
            if family == "bert":
                given = torch.tensor(np.tile(ids, (1, 8)))
                return [model(given) for _ in range(2)]
            return model.generate(torch.tensor(ids), eos_token_id=None, **exactly)

    count = 256 if family == "bert" else TOKENS
    taken: list[list] = [[], []]
    for _ in range(ROUNDS):
        for kept, run in zip(taken, (ours, theirs)):
            started = time.process_time(), time.perf_counter()
            run()
            kept.append((time.process_time() - started[0], time.perf_counter() - started[1]))
    return [(count / statistics.median(cpu for cpu, _ in kept), count / min(s for _, s in kept))
            for kept in taken]


LOAD = """
import os, sys, threading, time
import numpy, safetensors, aiayn_np.models as pretrained

def status(name):
    with open("/proc/self/status") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith(name))

def watch():
    while not done.wait(0.002):
        peaks.append(status("RssAnon"))

base, whole, peaks, done = status("RssAnon"), status("VmRSS"), [], threading.Event()
thread = threading.Thread(target=watch)
thread.start()
started = time.process_time()
loaded = getattr(pretrained, f"load_{sys.argv[1]}")(sys.argv[2])
seconds = time.process_time() - started
done.set()
thread.join()
peaks.append(status("RssAnon"))
print(max(peaks) - base, status("VmHWM") - whole, seconds)
"""


def loading(family, **options):
    """Load a file in a fresh process of Linux, and return (its bytes, memory at most by them, the
    same with the mapped file, seconds of the processor). The memory is that beyond a bare import.
    """
    with tempfile.TemporaryDirectory() as folder:
        make(family, folder, dtype="float32", **options)
        size = (Path(folder) / "model.safetensors").stat().st_size
        ran = subprocess.run([sys.executable, "-c", LOAD, family, folder], check=True,
                             capture_output=True, text=True)
    peak, mapped, seconds = map(float, ran.stdout.split())
    return size, peak / size, mapped / size, seconds


def exported(run_folder):
    """Return figures of a training on text as a Marian model, which transformers has opened.

    Our model is compared with Marian's eps and, in the figures named "own", with its own: the
    largest difference of a logit on the references of the validation set, and how many of its
    greedy translations are the same, token by token and (with our own eps) as text.
    """
    run = open_run(run_folder)
    sources, references = zip(*run.task.data.lines)
    ids = run.task.vocabulary.encode(sources), run.task.vocabulary.encode(references)
    with tempfile.TemporaryDirectory() as place:
        tokenizer, theirs, found = opened_there(run, Path(place))
    assert [row.tolist() for row in ids[0]] == tokenizer(list(sources)).input_ids
    found |= dict(captions=len(sources), logits=0.0, own_logits=0.0, tokens=0, own_tokens=0)
    models = {"": set_eps(copy.deepcopy(run.trained()), EPS), "own_": run.trained()}
    written: dict[str, list] = {"here": [""] * len(sources), "there": [""] * len(sources)}
    for group in similar(ids[0], 50):
        some = arrays([(ids[0][i], ids[1][i]) for i in group])[:2]
        for name, ours in models.items():
            difference, here, there = compared(run, ours, theirs, *some)
            found[f"{name}logits"] = max(found[f"{name}logits"], difference)
            found[f"{name}tokens"] += sum(a == b for a, b in zip(here, there))
        for i, a, b in zip(group, here, there):
            written["here"][i] = run.task.vocabulary.decode(a)
            written["there"][i] = tokenizer.decode(b, skip_special_tokens=True)
    found["own_text"] = sum(a == b for a, b in zip(*written.values()))
    return found | {f"BLEU {n}": bleu(text, list(references)).score for n, text in written.items()}


def opened_there(run, place):
    """Return (tokenizer, model of transformers, what the export says, is it read to the bit)."""
    from transformers import MarianMTModel, MarianTokenizer

    lines = export_marian(run.trained(), run.task, place)
    first, second = load_file(place / "model.safetensors"), load_marian(place).state()
    same = set(first) == set(second) and all(np.array_equal(second[n], a) for n, a in first.items())
    return (MarianTokenizer.from_pretrained(place), MarianMTModel.from_pretrained(place).eval(),
            dict(export=lines, same_bits=same))


def compared(run, ours, theirs, src, tgt):
    """Return (largest difference of a logit, our greedy tokens, theirs) for a batch of sources."""
    import torch

    pad, eos = run.task.pad, run.task.eos
    given = dict(input_ids=torch.tensor(src), attention_mask=torch.tensor(src != pad).long())
    most = min(src.shape[1] + 50, ours.max_len - 1)
    with torch.inference_mode():
        want = theirs(**given, decoder_input_ids=torch.tensor(tgt)).logits.numpy()
        there = theirs.generate(**given, num_beams=1, do_sample=False, max_new_tokens=most)
    here = greedy_decode(ours, src, bos=run.task.bos, eos=eos, max_len=most)
    difference = float(np.abs(ours(src, tgt) - want)[tgt != pad].max())
    return difference, *([trimmed(row, eos) for row in rows.tolist()]
                         for rows in (here, there[:, 1:]))


def trimmed(ids, eos):
    """Return ids up to the first eos."""
    return ids[: ids.index(eos)] if eos in ids else ids


def table(family):
    """Return a line of the table."""
    logits, gradients = differences(family)
    return f"logits {logits:.0e}  gradients {gradients:.0e}  {speed(family)}"


def speed(family):
    """Write the speeds in a line."""
    (cpu, wall), (their_cpu, their_wall) = speeds(family)
    return (f"tokens in a second of the processor: {cpu:.1f} here, {their_cpu:.1f} transformers,"
            f" ratio {cpu / their_cpu:.2f}; of the clock: {wall:.1f}, {their_wall:.1f}, ratio"
            f" {wall / their_wall:.2f}")


def loaded_in(family):
    """Write the cost of loading the usual size in a line: the largest memory and the most and the
    fewest seconds of five loads."""
    (size, *_), *_ = found = [loading(family, **USUAL[family]) for _ in range(5)]
    _, ratios, mapped, seconds = zip(*found)
    return (f"{size / 1e6:.0f} MB, at most {max(ratios):.2f} times as much memory,"
            f" {max(mapped):.2f} times with the mapped file, {min(seconds):.1f} to"
            f" {max(seconds):.1f} s of the processor")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", nargs="*", choices=LOADERS)
    parser.add_argument("--loading", nargs="*", choices=LOADERS)
    parser.add_argument("--export", type=Path, metavar="RUN")
    args = parser.parse_args()
    if args.export:
        for name, value in exported(args.export).items():
            print(name, value)
        return
    chosen = {speed: args.speed, loaded_in: args.loading, table: []}
    command = next(command for command, names in chosen.items() if names is not None)
    for name in chosen[command] or LOADERS:
        print(f"{name:7}", command(name), flush=True)


if __name__ == "__main__":
    main()
