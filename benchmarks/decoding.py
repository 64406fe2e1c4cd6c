"""Seconds per token in greedy decoding, with kept keys and values or with the whole prefix."""

import time

import numpy as np
from common import Config, our_model
from compare import contestants, quartiles, ratio, rounds
from tables import spread, table, times

TITLE = "Decoding a sequence"
QUICK = {"n": 3}
CONFIG = Config(vocab_size=32, d_model=64, h=4, d_ff=256, N=2, B=1, T=128)
NAMES = ["ours, kept", "ours, whole prefix", "PyTorch, whole prefix"]
POSITIONS, WINDOW = (16, 32, 64, 128), 8  # the mean of the WINDOW tokens that end at a position
BATCHES = (1, 16)


def measure(*, n=15, batches=BATCHES):
    """{B: {name: {"ms": {position: quartiles}, "total", "total_ratio", "same_tokens"}}}.

    ms are of a token of the whole batch; ratios are over the times of kept keys and values.
    """
    return {str(B): measure_batch(B, n) for B in batches}


def measure_batch(B, n):
    with contestants("decoding", NAMES, B=B) as team:
        said = rounds(team, n, 1, warm_up=1)
    ms = {name: 1e3 * np.array([block[0]["seconds"] for block in said[name]]) for name in said}
    kept = ms[NAMES[0]]
    return {name: {
        "ms": {str(p): quartiles(at(x, p)) for p in POSITIONS},
        "total": quartiles(x.sum(axis=1)), "total_ratio": ratio(x.sum(axis=1), kept.sum(axis=1)),
        "same_tokens": said[name][0][0]["tokens"] == said[NAMES[0]][0][0]["tokens"],
    } for name, x in ms.items()}


def at(x, position):
    """Mean of the last WINDOW tokens up to a position, for each round."""
    return x[:, position - WINDOW : position].mean(axis=1)


def work(what, threads, B):
    """Yield {}, and then for every decoding the seconds of each token, and the tokens."""
    src = np.random.default_rng(1).integers(1, CONFIG.vocab_size, (B, CONFIG.T))
    start = in_torch if what.startswith("PyTorch") else in_numpy
    yield {}
    while True:
        next_token = start(what, src, threads)
        tokens, seconds = [np.ones(B, int)], []
        for _ in range(CONFIG.T):
            started = time.perf_counter()
            tokens.append(next_token(tokens[-1]))
            seconds.append(time.perf_counter() - started)
        yield {"seconds": seconds, "tokens": np.array(tokens).tolist()}


def in_numpy(what, src, threads=1):
    """A function from the tokens (B,) at a position to those that follow, greedily."""
    from aiayn_np.decoding.kv_cache import KVCacheDecoder, RecomputingDecoder

    way = KVCacheDecoder if what == "ours, kept" else RecomputingDecoder
    decoding = way(our_model(CONFIG), src)
    return lambda tokens: decoding.next_logits(tokens).argmax(axis=-1)


def in_torch(what, src, threads=1):
    """The same with torch.nn.Transformer. It keeps nothing, so it gets the whole prefix."""
    import torch
    from in_torch import started

    torch.set_num_threads(threads)
    model = started(CONFIG).eval()
    later = torch.ones(CONFIG.T, CONFIG.T, dtype=torch.bool).triu(1)
    with torch.inference_mode():
        memory = model.stacks.encoder(model.embed(torch.from_numpy(src)))
    prefix = torch.empty((len(src), 0), dtype=torch.long)

    def next_token(tokens):
        nonlocal prefix
        with torch.inference_mode():
            prefix = torch.cat([prefix, torch.from_numpy(tokens)[:, None]], dim=1)
            T = prefix.shape[1]
            y = model.stacks.decoder(model.embed(prefix), memory, tgt_mask=later[:T, :T],
                                     tgt_is_causal=True)
            return (y[:, -1] @ model.E.weight.T).argmax(dim=-1).numpy()

    return next_token


def section(figures):
    """The findings, as Markdown."""
    parts = ["Greedy decoding of 128 tokens, one thread: V 32, d_model 64, h 4, N 2, source of 128"
             " tokens, float32. The time of a token is that of the whole batch, the mean of the 8"
             " tokens up to the position. `greedy_decode` keeps the keys and values of earlier"
             " tokens. `torch.nn.Transformer` keeps none, so it decodes the whole prefix for each"
             f" token. {same_tokens(figures)}"]
    for B, found in figures.items():
        head = [f"B = {B}: ms of a token at position", *map(str, POSITIONS), "128 tokens, ms",
                "times as long as kept"]
        rows = [[name, *(spread(f["ms"][str(p)]) for p in POSITIONS), spread(f["total"]),
                 times(f["total_ratio"])] for name, f in found.items()]
        parts.append(table(head, rows))
    kept = [found["ours, kept"]["ms"] for found in figures.values()]
    growth = max(ms["128"][1] / ms["16"][1] for ms in kept)
    least = min(found["ours, whole prefix"]["total_ratio"][1] for found in figures.values())
    most = max(found["ours, whole prefix"]["total_ratio"][1] for found in figures.values())
    parts.append(f"With kept keys and values token 128 takes at most {growth:.2f} times as long as"
                 f" token 16, and all 128 take {least:.1f} to {most:.1f} times less than the same"
                 " layers on the whole prefix.")
    return "\n\n".join(parts)


def same_tokens(figures):
    """A sentence that says whether all decoded the same tokens."""
    others = {name for found in figures.values() for name, f in found.items()
              if not f["same_tokens"]}
    return f"Other tokens come from {', '.join(sorted(others))}." if others else (
        "All give the same tokens.")
