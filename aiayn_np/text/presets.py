"""The options of a training and their defaults, for each task."""

from typing import Any

COMMON: dict[str, Any] = dict(  # for every training
    seed=0, dtype="float32", accumulate=1, positions="sinusoidal", norm="post")
SYMBOLS: dict[str, Any] = COMMON | dict(  # for a training on symbols
    steps=4000, batch_size=64, symbols=10, max_length=10, N=2, d_model=64, d_ff=256, h=4,
    P_drop=0.0, eps_ls=0.1, warmup_steps=100, rate_scale=0.2, attention="scaled-dot")
LANGUAGE: dict[str, Any] = COMMON | dict(  # for a training on a text
    steps=2000, batch_size=16, max_length=64, N=2, d_model=128, d_ff=512, h=4, P_drop=0.0,
    eps_ls=0.0, warmup_steps=200, rate_scale=0.5, vocab_size=None, like=None, h_kv=None,
    only=None)
PAIRS: dict[str, Any] = COMMON | dict(  # for a training on sentence pairs, with a preset
    preset="small", max_length=100, eps_ls=0.1, tokenize="13a", normalization="identity",
    character_coverage=1.0, attention="scaled-dot", only=None)

PRESETS: dict[str, dict] = {
    # vocab_size: pieces; tokens: positions of a batch on each side; the others as in Table 3
    "tiny": dict(vocab_size=2000, N=2, d_model=128, d_ff=512, h=4, P_drop=0.1, tokens=1500,
                 warmup_steps=400, rate_scale=0.5, epochs=10.0),
    "small": dict(vocab_size=4000, N=3, d_model=256, d_ff=512, h=4, P_drop=0.1, tokens=1500,
                  warmup_steps=1000, rate_scale=0.7, epochs=12.0),
    "medium": dict(vocab_size=8000, N=4, d_model=384, d_ff=1536, h=6, P_drop=0.1, tokens=3000,
                   warmup_steps=2000, rate_scale=0.7, epochs=15.0),
    "base": dict(vocab_size=37000, N=6, d_model=512, d_ff=2048, h=8, P_drop=0.1, tokens=25000,
                 warmup_steps=4000, rate_scale=1.0, epochs=20.0),
    # for the corpora that come with the library, number_words.py and chinese_phrases.py
    "numbers": dict(vocab_size=200, N=1, d_model=64, d_ff=256, h=4, P_drop=0.1, tokens=1000,
                    warmup_steps=150, rate_scale=0.3, epochs=10.0),
    "phrases": dict(vocab_size=300, N=1, d_model=64, d_ff=256, h=4, P_drop=0.1, tokens=1000,
                    warmup_steps=150, rate_scale=0.3, epochs=16.0),
}
DEFAULTS: dict[str, dict] = dict.fromkeys(("copy", "reverse", "sort"), SYMBOLS) | dict(
    text=PAIRS | PRESETS["small"], words=LANGUAGE)
