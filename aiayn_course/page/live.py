"""A page that runs a trained model in the browser: one HTML file, with no network.

The model's layers are described by the names of their classes and attributes. The scripts in the
folder page/ have classes of the same names, so the page builds the same model from the description
and the numbers. The file layers.json lists these classes with their attributes. A layer that is
not in the list raises NotRunnable with its name.
"""

import base64
import hashlib
import json
import re
import zlib
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from aiayn_np.decoding.greedy import greedy_decode
from aiayn_np.dropout import Dropout
from aiayn_np.module import Module, Parameter, leaves
from aiayn_np.transformer import Transformer

PAGE = Path(__file__).parent  # the folder of the scripts, the style and the words
IMPORT = re.compile(r'^import .*?"\./([\w.]+)";\n', re.MULTILINE)  # of a module in that folder
LESSONS = {"1": "01_attention_is_a_soft_look_up", "4": "04_the_backward_pass_of_attention",
           "6": "06_many_heads", "8": "08_positions", "10": "10_training_the_copy_task"}
LAYERS = json.loads((PAGE / "layers.json").read_text(encoding="utf-8"))  # class: its attributes
TOLD = ("exact_match", "held_out", "steps", "seconds")  # of metrics.json, no names of files
MOST = 12_000_000  # characters of base64 in a page
LEARNS = 64_000  # numbers of a model that learns in less than a minute


class NotRunnable(ValueError):
    """A model or a task that the page cannot run; the message says why."""


def live_page(model: Transformer, task: dict, examples: list[str], *, title: str | dict = '',
              lessons: str = '', metrics: dict | None = None, telling: list[int] | None = None,
              answers: dict[str, str] | None = None) -> str:
    """Return the page of a model, in English and in Chinese.

    Parameters
    ----------
    model : Transformer
    task : dict of the values that vocabulary.js needs: "tokens", "pad", "bos", "eos", "max_length",
        and for text the rules of `cutting.rules_of`
    examples : sequences that the page shows first
    title : the heading, one for both languages or {"en": ..., "zh": ...}; "" describes the model's
        work. Text between two stars is underlined
    lessons : the address of the lessons' pages, such as "../lessons/"; the Chinese pages are in its
        folder zh. "" names the lessons without a link
    metrics : the dict of metrics.json, for the sentence about the model and for the footer
    telling : heads of the decoder's last layer without which the first answer changes
    answers : {German: English} for numbers below 1000, with which a page of number words tells
        whether an answer is right

    Returns the HTML text. Raises NotRunnable for a layer that the page does not know, and for too
    many weights. Raises ValueError for `lessons` that a browser would run as a program.
    """
    values: list[np.ndarray] = []
    check_runnable(model)
    tree = described(model, values, {})
    words = json.loads((PAGE / "words.json").read_text(encoding="utf-8"))
    titles = title if isinstance(title, dict) else {
        lang: title or title_of(task, texts) for lang, texts in words.items()}
    data = dict(
        title=titles, task=task, model=tree, words=words,
        lessons=addresses_of(lessons),
        examples=examples, telling=telling or [], answers=answers,
        metrics={name: metrics[name] for name in TOLD if name in metrics} if metrics else {},
        learns=learner_of(model, task),
        parameters=size_of(model),
    )
    plain = re.sub(r"\*(.+?)\*", r"\1", titles["en"])
    return filled(data, words["en"], title=escape(plain), weights=packed(values),
                  picture=first_picture(model, task, examples, words["en"]),
                  no_script_zh=words["zh"]["no_script"])


def learner_of(model, task):
    """Return {"tree", "size", "own"} of the model that learns in the page; None for other tasks.

    It has the size of `model` where its training takes less than a minute, else it is a small one.
    """
    if task["name"] not in ("copy", "reverse", "sort"):
        return None
    options = dict(max_len=20, P_drop=0.0, rng=np.random.default_rng(0))
    small = Transformer(13, N=1, d_model=32, d_ff=64, h=4, **options)
    runs = {type(layer) for _, layer in leaves(small, Module)}         # those with a backward
    own = {type(layer) for _, layer in leaves(model, Module)} <= runs and size_of(model) <= LEARNS
    if own:
        layers = model.encoder.layers
        small = Transformer(13, N=len(layers), d_model=model.d_model, h=model.h,
                            d_ff=layers[0].feed_forward.linear_1.d_out, **options)
    return dict(tree=described(small, [], {}), size=size_of(small), own=own)


def size_of(model):
    """Return how many numbers a model has."""
    return sum(parameter.value.size for parameter in model.parameters())


def first_picture(model, task, examples, words):
    """Return an SVG for readers without scripts: where the first head looks, for one answer."""
    ids = {token: i for i, token in enumerate(task["tokens"])}
    symbols = examples[0].split() if examples and isinstance(model, Transformer) else []
    if not 0 < len(symbols) < model.max_len or not {*symbols} <= {*ids}:
        return ""
    src = np.array([[*(ids[symbol] for symbol in symbols), task["eos"]]])
    answer = greedy_decode(model, src, bos=task["bos"], eos=task["eos"], keep=False)
    _, cache = model.forward(src, np.array([[task["bos"], *answer[0, :-1]]]))
    weights = cache.decoder.layers[-1].cross_attention.attention.weights[0, 0]
    rows = [*symbols, words["token_end"]], [task["tokens"][i] for i in answer[0]]
    tokens = [f'<text x="{80 * i + 40}" y="{30 + 180 * n}">{escape(token)}</text>'
              for n, row in enumerate(rows) for i, token in enumerate(row)]
    curves = [f'<path d="M{80 * j + 40} 40C{80 * j + 40} 115 {80 * i + 40} 115 {80 * i + 40} 190"'
              f' stroke-width="{12 * weights[i, j]:.1f}"/>'
              for i in range(len(rows[1])) for j in range(len(rows[0])) if weights[i, j] > 0.02]
    return (f'<svg viewBox="0 0 {80 * max(map(len, rows))} 230" role="img" text-anchor="middle">'
            f'<title>{escape(words["flow_name"])}</title><g fill="currentColor">{"".join(tokens)}'
            f'</g><g fill="none" stroke="#b87400">{"".join(curves)}</g></svg>')


def addresses_of(lessons):
    """Return {number: address} of the lessons' pages; {} if `lessons` is "".

    >>> addresses_of("../lessons")["8"]
    '../lessons/08_positions.html'
    """
    if (scheme := urlsplit(lessons).scheme) not in ("", "http", "https", "file"):
        raise ValueError("lessons must be the address of a folder, or begin with http, https or"
                         f" file, got {scheme}:")
    folder = lessons.removesuffix("/")
    return {number: f"{folder}/{name}.html" for number, name in LESSONS.items() if lessons}


def title_of(task, words):
    """Return a sentence about a model's work, in one language."""
    things = words["things_digits" if len(task["tokens"]) <= 13 else "things_numbers"]
    named = words.get(f"title_{task['name']}", words["page_title"])
    return named.format(name=task["name"], things=things)


def joined(name, seen=None):
    """Return the text of a module after those that it imports, each once, in the order in which a
    browser runs them, without the words import and export. `seen` has the names that stand there.
    """
    seen = seen if seen is not None else set()
    seen.add(name)
    text = (PAGE / name).read_text(encoding="utf-8")
    before = [joined(other, seen) for other in IMPORT.findall(text) if other not in seen]
    return "".join(before) + re.sub("^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)


def check_runnable(model: Module) -> None:
    """Raise NotRunnable for a layer that the scripts do not have, for a replaced forward, and for
    more weights than a page can have.
    """
    package = Module.__module__.split(".")[0]
    for path, layer in leaves(model, Module):
        cls = type(layer)
        if cls.__module__.split(".")[0] != package or (
                cls.__name__ not in LAYERS and cls is not Dropout):
            raise NotRunnable(f"it has no {cls.__name__} in JavaScript")
        if "forward" in vars(layer):
            raise NotRunnable(f"{path}.forward was replaced in Python")
    if (size := -(-4 * size_of(model) // 3) * 4) > MOST:               # float32 as base64
        raise NotRunnable(f"its weights are {size / 1e6:.1f} MB of base64, a page holds"
                          f" {MOST / 1e6:.0f} MB")


def described(node, values, places):
    """Return a layer as plain data {"class", "formula", parts}; add its parameters to `values`.

    places : {id of a Parameter: its description}, so that a shared Parameter is stored once
    """
    if isinstance(node, Parameter):
        if id(node) not in places:
            at = sum(value.size for value in values)
            places[id(node)] = dict(shape=node.value.shape, at=at)
            values.append(node.value)
        return places[id(node)]
    if isinstance(node, (list, tuple)):
        return [described(child, values, places) for child in node]
    if not isinstance(node, Module):
        return node
    parts = {name: described(getattr(node, name), values, places)
             for name in LAYERS[type(node).__name__]}
    return {"class": type(node).__name__, "formula": node.formula} | parts


def filled(data, words, **others):
    """Return the filled template, with a policy that allows only its own script and style."""
    parts = {name: escape(word) for name, word in words.items()} | others | dict(
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        style=(PAGE / "page.css").read_text(encoding="utf-8"),
        script='"use strict";\n' + joined("page.js"),
    )
    parts["policy"] = (f"default-src 'none'; script-src {digest(parts['script'])};"
                       f" style-src {digest(parts['style'])}; base-uri 'none'; form-action 'none'")
    template = marked((PAGE / "page.html").read_text(encoding="utf-8"), words)
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)
    return page.encode("utf-8", "replace").decode()                    # half a surrogate pair: "?"


def marked(template, words):
    """Return the template with an attribute at each word, for drawing.js to find the word."""
    keys = "|".join(words)
    labelled = re.sub(rf'aria-label="\{{\{{({keys})\}}\}}"', r'\g<0> data-say-label="\1"', template)
    return re.sub(rf'(?<!")\{{\{{({keys})\}}\}}', r'<span data-say="\1">\g<0></span>', labelled)


def kept(numbers):
    """Return numbers as float32 with 20 of its 24 bits: the relative error is at most 5e-7."""
    bits = numbers.astype("<f4").view("<u4")
    return ((bits + 8) & ~np.uint32(15)).view("<f4")


def packed(values):
    """Return the numbers of a model in base64, as `unpacked` in thinking.js reads them.

    The bytes of equal place stand together, since those of signs and exponents deflate well.
    """
    numbers = kept(np.concatenate([a.ravel() for a in values]))
    planes = numbers.view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def digest(text):
    """Return the hash of a script or a style, as a content security policy needs it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
