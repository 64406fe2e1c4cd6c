"""Exercise 13: greedy decoding, one token at a time, for a whole batch."""

import numpy as np

from aiayn_np.decoding.greedy import greedy_decode
from aiayn_np.masking import not_padding

from ..exercise import Case, exercise, function
from .scripted import ScriptedModel

EXERCISE = exercise(
    13, "decoding", "Greedy decoding", section="3.1, 6.1", lesson="5.7, 10.9", minutes=30,
    asks="a loop that feeds the model its own output, with rows that end at different times",
)


def decoded(it, case):
    """Decode with the scripted model of a case."""
    model = ScriptedModel(**case.options["model"])
    try:
        ids = it(model, *case.inputs, bos=model.bos, eos=model.eos, **case.options["call"])
    except (IndexError, UnboundLocalError, ValueError):
        if case.options["call"].get("max_len") != 0:                   # the package refuses 0, too
            raise
        ids = case.inputs[0][:, :0]
    return {"ids": ids, "rows encoded": np.array(max(model.encoded, len(case.inputs[0])))}


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
    run=decoded,
)


@DECODING.tried_on
def cases(rng):
    src = np.array([[5, 6, 7, 4, 8], [6, 4, 0, 0, 0], [8, 8, 5, 0, 0]])

    def case(what, call, special=False, source=src, why="", **model):
        pad = model.get("pad", 0)
        inputs = (np.where(source == 0, pad, source),)
        return Case(what, None, inputs, dict(model=model, call=call), dict(B=3, T=5), special, why)
    return [
        case("rows that end at different times", {}, max_len=12),
        case("max_len = 3", dict(max_len=3), max_len=12),
        case("sources that are all padded", {}, max_len=12,
             source=np.pad(src, ((0, 0), (0, 1)))[[1, 2, 0, 2, 1]]),
        case("bos = 7, eos = 1", {}, bos=7, eos=1, max_len=12),
        case("pad = 3", {}, pad=3, special=True),
        case("pad = 3, eos = 0", {}, pad=3, eos=0, special=True),
        case("bos = pad = 0", {}, bos=0, special=True),
        case("one source of one token", {}, special=True, source=src[:1, :1]),
        case("one source with padding", {}, special=True, source=src[1:2]),
        case("max_len = 1", dict(max_len=1), special=True),
        case("a source that holds eos", {}, source=np.where(src == 4, 2, src), special=True),
        case("equal logits", {}, ties=True, special=True,
             why="Of equal logits the first one counts, as argmax takes it."),
        case("sources that are nothing but padding", {}, special=True, source=0 * src[:2]),
        case("max_len = 0", dict(max_len=0), special=True),
        case("a model that writes pad and bos", {}, odd=True, special=True),
        case("a row that never ends", {}, endless=True, special=True,
             source=np.pad(src, ((0, 0), (0, 1)))),
        case("max_len = 60, and a row that never ends", dict(max_len=60), True, endless=True),
        case("a model with 9 positions, and a row that never ends", {}, endless=True, max_len=9,
             special=True),
    ]


DECODE = "logits, _ = model.decode(tgt, memory, memory_allowed=memory_allowed)"
ALLOWED, LAST = "not_padding(src, model.pad)", "logits[:, -1]"
TOKEN = "np.where(ended, model.pad, logits[:, -1].argmax(axis=-1))"
STOP, ANSWER = "if ended.all():\n    break", "tgt[:, 1:]"
ENDED = "ended | (token == eos)"
APPEND = "tgt = np.concatenate([tgt, token[:, None]], axis=1)"
FIXED = "is a fixed number here. It is an argument, and may be any id."


@DECODING.right(
    "function",
    (TOKEN, "logits[:, -1].argmax(axis=-1)", "tokens after eos", "A row goes on after its eos. It"
     " must be filled up with model.pad."),
    (TOKEN, TOKEN.replace("model.pad", "eos"), "eos repeated", "A row is filled up with eos. After"
     " the first eos it must be model.pad."),
    ("pad is fixed", "The id of padding is model.pad, and not always 0."),
    (ANSWER, "tgt[:, :-1]", "bos returned", "bos is returned, and the last token cut away. Return"
     " tgt[:, 1:]."),
    (ANSWER, "tgt", "bos returned", "The output begins with bos. Return it without: tgt[:, 1:]."),
    ("max_len is None", "not max_len", "0 taken for None", "`not max_len` holds for 0, too: ask"
     " whether max_len is None."),
    (ENDED, f"{ENDED} | (token == model.pad)", "stops at pad", "A row ends with its first pad. Only"
     " eos ends a row: a model may write pad before."),
    *((f"{LAST}.argmax(axis=-1)", f"np.where(np.isin(np.arange(model.vocab_size), {ids}), -np.inf,"
       f" {LAST}).argmax(axis=-1)", "pad never taken", "pad is never taken. The most probable token"
       " counts, whichever it is.") for ids in ("[model.pad]", "[model.pad, bos]")),
    ("max_len is None", "True", "max_len ignored", "max_len has no effect. No more than max_len"
     " tokens may come, eos or not."),
    (STOP, "pass", "filled up to max_len", "The output has always max_len columns: it is filled up,"
     " or the loop does not stop when all rows have ended. It must be as long as its longest"
     " row."),
    (ANSWER, "np.where(tgt == eos, model.pad, tgt)[:, 1:]", "eos removed", "eos is replaced by"
     " model.pad. A row ends with its eos."),
    (ANSWER, "np.where(tgt == eos, model.pad, tgt)[:, 1 : tgt.shape[1] - ended.all()]",
     "eos removed", "A row ends before its eos. Its eos belongs to it."),
    (APPEND, "tgt = token[:, None]", "prefix lost", "The new token takes the place of all before"
     " it. It must be appended: the model needs the whole prefix."),
    (DECODE, f"memory, _ = model.encode(src)\n{DECODE}", "encoded in every step", "The source does"
     " not change, and neither does its memory: encode once, before the loop."),
    ((APPEND, STOP), ("pass", f"{STOP}\n{APPEND}"), "eos removed", "The loop ends before the last"
     " token is appended, so that the longest row has no eos: append first."),
    (ANSWER, "np.concatenate([tgt[:, 1:-1], np.where(ended, tgt[:, -1], eos)[:, None]], axis=1)",
     "eos at the end", "A row that is cut off at max_len gets an eos. It must stay as the model"
     " wrote it."),
    (ANSWER, "tgt[:1, 1:]", "one row only", "Only the first row is returned."),
    ("bos is fixed", f"bos {FIXED}"), ("eos is fixed", f"eos {FIXED}"),
    (ALLOWED, f"~{ALLOWED}", "mask inverted", "The mask is the wrong way round: True must mean that"
     " a token is real."),
    *((f"{LAST}.argmax(axis=-1)", f"logits.argmax(axis=1)[:, {i}]", "wrong axis", "argmax runs over"
       " the positions. The token is the largest along the vocabulary, the last axis.")
      for i in (0, -1)),
    ("model.decode(tgt, memory, memory_allowed=memory_allowed)",
     "model.decode(tgt[:, -1:], memory, memory_allowed=memory_allowed)", "last token only", "Only"
     " the last token is given to the model. It needs all of them, from bos on."),
    *(("min(src.shape[1] + 50, model.max_len)", code, "max_len by default", "By default it ends"
       " after another number of tokens. It must be T_src + 50, or what the model has positions"
       " for.")
      for code in ("src.shape[1]", "model.max_len", "min(50, model.max_len)")),
)
def right_decoding(model, src, *, bos, eos, max_len=None):
    if max_len is None:
        max_len = min(src.shape[1] + 50, model.max_len)
    memory, _ = model.encode(src)
    memory_allowed = not_padding(src, model.pad)
    tgt, ended = np.full((len(src), 1), bos), np.full(len(src), False)
    for _ in range(max_len):
        logits, _ = model.decode(tgt, memory, memory_allowed=memory_allowed)
        token = np.where(ended, model.pad, logits[:, -1].argmax(axis=-1))
        tgt = np.concatenate([tgt, token[:, None]], axis=1)
        ended = ended | (token == eos)
        if ended.all():
            break
    return tgt[:, 1:]
