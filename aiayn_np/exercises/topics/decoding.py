"""Exercise 13: greedy decoding, one token at a time, for a whole batch."""

import numpy as np

from ...decoding import greedy_decode
from ...masking import not_padding
from ..exercise import Case, exercise, function
from ..scripted import BOS, EOS, ScriptedModel

EXERCISE = exercise(
    13, "decoding", "Greedy decoding", section="3.1, 6.1", lesson="5.7, 10.9", minutes=30,
    asks="a loop that feeds the model its own output, with rows that end at different times",
)


def greedy(model, src, *, bos, eos, max_len=None, rule=None):
    """The right loop, without a cache of keys and values; `rule` changes one thing of it."""
    ignored = max_len is None or rule == "ignored"
    limit = min(src.shape[1] + 50, model.max_len) if ignored else max_len
    start = model.pad if rule == "start" else bos
    limit = {"too long": limit + 1, "too short": limit - 1, "short": src.shape[1]}.get(rule, limit)
    memory, _ = model.encode(src)
    allowed = not_padding(src, model.pad)
    tgt, ended = np.full((len(src), 1), start), np.zeros(len(src), dtype=bool)
    for _ in range(limit):
        seen = np.ones_like(allowed) if rule == "no mask" else allowed
        logits, _ = model.decode(tgt, memory, memory_allowed=seen)
        logits = logits[:, 0] if rule == "first" else logits[:, -1]
        token = logits.argmin(axis=-1) if rule == "argmin" else logits.argmax(axis=-1)
        if rule not in ("goes on", "never ends"):
            filling = {"eos again": eos, "zeros": 0}.get(rule, model.pad)
            token = np.where(ended, filling, token)
        tgt = np.concatenate([tgt, token[:, None]], axis=1)
        ended |= token == eos
        if rule != "never ends" and (ended.any() if rule == "any" else ended.all()):
            break
    if rule == "filled":
        tgt = np.pad(tgt, ((0, 0), (0, limit + 1 - tgt.shape[1])), constant_values=model.pad)
    if rule == "no eos":
        tgt = np.where(tgt == eos, model.pad, tgt)
    return tgt if rule == "bos" else tgt[:, 1:]


def decoded(it, case):
    """What it decodes with the scripted model of this case."""
    return {"ids": it(ScriptedModel(**case.options["model"]), *case.inputs,
                      bos=BOS, eos=EOS, **case.options["call"])}


DECODING = function(
    EXERCISE, greedy_decode,
    "Encode once. Begin with a column of bos. Then again and again: decode, take the logits of the"
    " last position, argmax, append.",
    "Keep a boolean array `ended`, one entry a row. A row that has ended gets model.pad; the loop"
    " ends when all have, or after max_len tokens. Pass the mask of the source:"
    " memory_allowed=not_padding(src, model.pad).",
    "In the loop:\ntoken = np.where(ended, model.pad, logits[:, -1].argmax(axis=-1))\n"
    "tgt = np.concatenate([tgt, token[:, None]], axis=1)\nended |= token == eos\n"
    "Leave it if ended.all(), and return tgt[:, 1:], without bos. max_len=None stands for"
    " min(T_src + 50, model.max_len).",
    run=decoded, oracle=greedy,
)


@DECODING.tried_on
def cases(rng):
    src = np.array([[5, 6, 7, 4, 8], [6, 4, 0, 0, 0], [8, 8, 5, 0, 0]])

    def case(what, call, special=False, **model):
        pad = model.get("pad", 0)
        inputs = (np.where(src == 0, pad, src),)
        return Case(what, None, inputs, dict(model=model, call=call), dict(B=3, T=5), special)
    return [
        case("rows that end at different times", {}),
        case("max_len = 3", dict(max_len=3)),
        case("pad = 3", {}, pad=3, special=True),
        case("a row that never ends", {}, endless=True, special=True),
        case("a model with 9 positions, and a row that never ends", {}, endless=True, max_len=9,
             special=True),
    ]


def known(key, why, rule):
    """Know the loop with one rule changed."""
    def wrong(model, src, *, bos, eos, max_len=None):
        return greedy(model, src, bos=bos, eos=eos, max_len=max_len, rule=rule)
    wrong.__doc__ = why
    DECODING.mistake("function", key)(wrong)


known("eos ignored", "Nothing ends: after eos the rows go on, up to max_len. Stop when every row"
      " has its eos.", "never ends")
known("tokens after eos", "A row goes on after its eos. It must be filled up with model.pad.",
      "goes on")
known("eos repeated", "A row is filled up with eos. After the first eos it must be model.pad.",
      "eos again")
known("pad is fixed", "A row that has ended is filled up with 0. The id of padding is model.pad.",
      "zeros")
known("stops at the first eos", "The loop ends with the first row that ends. It must go on until"
      " all have: all, not any.", "any")
known("bos returned", "The output begins with bos. Return it without: tgt[:, 1:].", "bos")
known("max_len ignored", "max_len has no effect. No more than max_len tokens may come, eos or not.",
      "ignored")
known("filled up to max_len", "The output has always max_len columns. It must be as long as its"
      " longest row.", "filled")
known("eos removed", "eos is replaced by model.pad. A row ends with its eos.", "no eos")
known("bos missing", "The target begins with model.pad. It must begin with bos, as in training.",
      "start")
known("mask forgotten", "Padding in the source is looked at: pass"
      " memory_allowed=not_padding(src, model.pad).", "no mask")
known("wrong position", "The token is taken from the first position. The logits of the last one"
      " predict what comes next: logits[:, -1].", "first")
known("argmin", "The least probable token is taken: argmax.", "argmin")
known("one token too many", "The output may be one token longer than max_len. bos does not count.",
      "too long")
known("one token too few", "The output is one token shorter than max_len. bos does not count.",
      "too short")
known("max_len by default", "By default it ends after T_src tokens. It must be T_src + 50, or what"
      " the model has positions for.", "short")
