"""The page of a model that is too large to run in it: its maps were computed before."""

import json

import numpy as np
import pytest
from browser import chromium, visit  # noqa: F401
from html_pages import data_of
from hugging_face import GOLDEN
from real_models import make_bert, make_gpt2
from test_live_browser import settled

from aiayn_course.cli.main import main
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.runs.open import open_run

pytestmark = pytest.mark.slow
TEXTS = {"gpt2": ["the cat", "a bird and"], "bert": ["Paris is the [MASK] of [MASK]", "a b c"],
         "marian": ["5 9 7", "4 6 8 10"]}
SHOWN = """() => Object.fromEntries(kinds.flatMap((kind) =>
  [...Array(layer_count(kind)).keys()].map((layer) => {
    const { path, cache } = attended(thoughts[0], kind, layer);
    return [path, cache.weights.map(({ rows, columns, data }) => [rows, columns, ...data])];
  })))"""


@pytest.fixture(params=list(TEXTS))
def model(request, tmp_path, rng):
    """(the folder of a small random model, its texts)"""
    folder = tmp_path / request.param
    if request.param == "gpt2":
        make_gpt2(folder, rng)
    elif request.param == "bert":
        make_bert(folder)
    else:
        folder = GOLDEN / "marian"
    return folder, TEXTS[request.param]


def test_the_page_shows_the_maps_that_numpy_computes(model, visit, tmp_path):  # noqa: F811
    folder, texts = model
    path = tmp_path / "page.html"
    assert main(["explore", str(folder), *texts, "--out", str(path)]) == 0
    run, page = open_run(folder), visit(path)
    settled(page)
    for number, text in enumerate(texts):
        page.locator("#examples button").nth(number).click()
        settled(page)
        src = run.task.source(text)
        if run.command == "generate":
            tokens = run.written(src[0], steps=12, temperature=0, rng=np.random.default_rng(0))
            ids = np.append(src[0], [int(token) for token in tokens])[None, :-1]
            logits, cache = run.forward(ids)
        elif run.command == "fill":
            logits, cache = run.forward(src)
        else:
            _, tgt, _ = run.example(src)
            logits, cache = run.trained().forward(src, tgt)
        maps = {name.replace("stack.encoder", "decoder").removesuffix(".attention.weights"): w[0]
                for name, w in attention_maps(cache).items()}
        found = page.evaluate(SHOWN)
        assert set(found) == set(maps)
        for name, heads in found.items():
            for got, want in zip(heads, maps[name], strict=True):
                assert got[:2] == [*want.shape]
                np.testing.assert_allclose(got[2:], want.ravel(), rtol=0, atol=1e-6)
        best = run.task.tokens([int(logits[0, page.evaluate("best_place()")].argmax())])[0]
        assert page.locator(".best tbody th").first.inner_text() == best
    for hidden in ("#why", "#shares", "#figure", "#what-if", "#next", "#source"):
        assert not page.locator(hidden).is_visible()
    if run.command == "fill":
        assert page.locator("#kind option").count() == 1


def test_a_layer_that_the_page_does_not_know_gets_maps_of_what_the_model_wrote(
        visit, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    assert main(["train", "copy", "--attention", "rotary", "--N", "1", "--steps", "30"]) == 0
    assert main(["explore", "runs/copy", "3 1 4", "--out", "page.html"]) == 0
    run, page = open_run(tmp_path / "runs" / "copy"), visit(tmp_path / "page.html")
    settled(page)
    assert page.locator("#written strong").inner_text() == run.task.text(
        run.decode(run.task.source("3 1 4"))[0])
    src, written = run.task.source("3 1 4"), run.decode(run.task.source("3 1 4"))[0]
    tgt = np.array([[run.task.bos, *written[:-1]]])
    found = page.evaluate("[...attended(thoughts[0]).cache.weights[0].data]")
    maps = attention_maps(run.trained().forward(src, tgt)[1])
    want = maps["decoder.layers.0.cross_attention.attention.weights"][0, 0]
    np.testing.assert_allclose(found, want.ravel(), rtol=0, atol=1e-6)


def test_an_address_of_another_page_and_hostile_tokens_stay_text(visit, tmp_path):  # noqa: F811
    folder = make_bert(tmp_path / "bert")
    words = (folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(words.replace("\na\n", "\n<img>\n"), encoding="utf-8")
    path = tmp_path / "page.html"
    assert main(["explore", str(folder), "b c", "--out", str(path)]) == 0
    page = visit(path, "#src=b+c&kind=cross&layer=9&query=50")
    settled(page)
    note = page.locator("#address-note").inner_text()
    assert all(part in note for part in ("kind=cross", "layer=9"))
    assert page.locator("img").count() == 0
    data = data_of(path.read_text(encoding="utf-8"))
    assert json.dumps(data["recorded"][0]["maps"]) == "null"
