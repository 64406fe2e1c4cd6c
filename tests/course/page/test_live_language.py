"""The page of a language model: its numbers beside NumPy's, and what it writes in Chromium."""

import numpy as np
import pytest
from browser import settled
from html_pages import data_of
from javascript import SHARES, node, packed, rounded, solved
from test_live_browser import lines

from aiayn_course.cli.main import main
from aiayn_np.decoding.generation import generate
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.proofs.probing import randomise
from aiayn_np.reading import shares
from aiayn_np.runs.run import Run
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

pytestmark = pytest.mark.slow
TEXT = "a cat sat on a mat\na dog dug in a log\nthe cat and the dog ran\n" * 8


@pytest.mark.parametrize("options", [{}, dict(layer=PreNormEncoderLayer)], ids=["post", "pre"])
def test_page_and_numpy_agree(options, rng):
    model = LanguageModel(11, N=2, d_model=24, d_ff=40, h=3, max_len=20, pad=None, rng=rng,
                          **options)
    model = rounded(randomise(model, rng))
    texts = [rng.integers(11, size=n).tolist() for n in (1, 4, 9)]
    ends = dict(bos=None, eos=None, max_len=6)
    cases = [dict(src=text, tgt=text, ends=ends, changes={}) for text in texts]
    made_of = node(SHARES, packed(model) | dict(cases=cases))
    for text, got, made in zip(texts, solved(model, cases), made_of, strict=True):
        logits, cache = model.forward(np.array([text]))
        np.testing.assert_allclose(got["logits"], logits.ravel(), rtol=0, atol=1e-9)
        for ours, want in zip(got["weights"], attention_maps(cache).values(), strict=True):
            np.testing.assert_allclose(np.ravel(ours), want.ravel(), rtol=0, atol=1e-9)
        written = generate(model, np.array(text), steps=6, temperature=0, rng=rng)
        assert got["tokens"] == [int(token) for token in written]
        for t, ours in enumerate(made):
            want = shares(model, None, np.array(text[: t + 1]))
            assert (ours["token"], ours["source"]) == (want.token, [])
            np.testing.assert_allclose(ours["target"][: t + 1], want.target, rtol=0, atol=1e-9)
            np.testing.assert_allclose(ours["biases"], want.biases, rtol=0, atol=1e-9)


def typed(page, text):
    page.get_by_role("textbox", name="You type").fill(text)
    settled(page)


@pytest.fixture(scope="module", params=[[], ["--vocab-size", "40"]], ids=["characters", "pieces"])
def words(request, tmp_path_factory):
    """A run of a few steps on a small text, and its page."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "my.txt").write_text(TEXT, encoding="utf-8")
    small = ["--N", "1", "--d-model", "16", "--d-ff", "32", "--h", "2", "--max-length", "16"]
    run, page = str(folder / "run"), str(folder / "page.html")
    assert main(["train", "words", "--text", str(folder / "my.txt"), "--steps", "30", *small,
                 *request.param, "--out", run]) == 0
    assert main(["explore", run, "a cat", "the dog", "--out", page]) == 0
    return Run.open(run), folder / "page.html"


def test_it_writes_what_the_command_writes(words, visit):
    run, path = words
    page = visit(path, "#mode=look")
    settled(page)
    assert data_of(path.read_text(encoding="utf-8"))["examples"] == ["a cat", "the dog"]
    for text in ("a cat", "the d", "g", "a cat sat on a mat and the dog ran"):
        typed(page, text)
        ids = run.task.source(text)[0][-8:]                            # half of the positions
        model = rounded(run.trained())
        steps = min(32, model.max_len - len(ids) + 1)
        tokens = list(generate(model, ids, steps=steps - 1, temperature=0,
                               rng=np.random.default_rng(0)))
        assert page.evaluate("thoughts[0].src") == ids.tolist()
        assert page.evaluate("thoughts[0].steps.map((s) => s.token)")[:-1] == tokens
    assert "Only the last 8 tokens are read" in page.locator("#source-note").inner_text()
    typed(page, "a 日 cat")
    assert page.locator("#source-note").inner_text().startswith("Left out, because")


def test_it_has_the_parts_that_exist(words, visit):
    page = visit(words[1], "#mode=look&src=a+cat&kind=cross&head=1&what-if=mask&what-if=positions")
    settled(page)
    assert "kind=cross" in page.locator("#address-note").inner_text()
    assert page.locator("#kind option").count() == 1
    assert not page.locator("#figure").is_visible()
    assert len(lines(page)) == 2                                       # as trained, and changed
    assert page.locator("#written .tokens button").first.is_visible()
    page.locator("#shares summary").click()
    page.locator("#shares-table table").wait_for()
    assert " of its logit comes from " in page.locator("#because").inner_text()
    page.get_by_role("button", name="中文").click()
    assert page.locator("h1").inner_text() == "这个模型接着往下写文字"
