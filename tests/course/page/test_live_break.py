"""Can you break it: what each cut does beside Python, what is said of it, and what is sent."""

import copy
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from browser import api, settled
from javascript import changed, without_future_mask
from test_live_browser import model_of

from aiayn_np import greedy_decode

pytestmark = pytest.mark.slow
CHANGES = {"positions": dict(positions=False), "scale": dict(factor=4), "mask": dict(causal=False)}
MUTE = "mute:{}.layers.{}.{}_attention:{}"
HEADS = [MUTE.format(stack, layer, name, head) for stack, name in (
    ("encoder", "self"), ("decoder", "self"), ("decoder", "cross"))
    for layer in (0, 1) for head in (0, 1)]


def changes_of(cut):
    _, path, head = cut.split(":") if ":" in cut else (None, None, None)
    return CHANGES.get(cut) or dict(muted=[dict(path=path, head=int(head))])


def answer(run, model, text):
    ids = greedy_decode(model, run.task.source(text), bos=run.task.bos, eos=run.task.eos,
                        keep=False)[0]
    return run.task.text(ids)


@pytest.fixture
def broken(visit, path):
    """The page of the cuts of 3 1 4 1 5, with all of them counted."""
    page = visit(path, "#mode=break&src=3+1+4+1+5")
    settled(page)
    api.expect(page.locator("#break-about")).not_to_contain_text("Counting")
    return page


def cut(page, name):
    page.locator(f"[id='cut-{name}']").click()
    settled(page)


def needed_in_python(run, text):
    model = model_of(run)
    right = answer(run, model, text)
    return {one for one in HEADS
            if answer(run, changed(copy.deepcopy(model), changes_of(one)), text) != right}


def test_the_heads_that_it_cannot_do_without_are_those_of_python(broken, run):
    for text in ("3 1 4 1 5", "0 5", "2 2 3 0 1 4"):
        broken.get_by_role("textbox", name="You type").fill(text)
        settled(broken)
        api.expect(broken.locator("#break-about")).not_to_contain_text("Counting")
        found = broken.evaluate("head_cuts().filter((name) => counted_of.changed.get(name))")
        assert set(found) == needed_in_python(run, text)
        said = broken.locator("#break-about").inner_text()
        assert said.startswith(f"12 heads write the answer to {text}")
        assert (f"without {len(found)} of them" in said) == bool(found)


@pytest.mark.parametrize("name", [*CHANGES, HEADS[0], HEADS[5], HEADS[11]])
def test_a_cut_writes_what_python_writes_and_the_sentence_tells_of_one_token(
        broken, run, name, monkeypatch):
    text = "3 1 4 1 5"
    cut(broken, name)
    if name == "mask":
        without_future_mask(monkeypatch)
    other = changed(model_of(run), changes_of(name))
    wrote = broken.locator(".answer-panel .unseen").inner_text()
    first, place = broken.evaluate("[thoughts[1].steps.map((s) => s.token), changed_place()]")
    assert run.task.text(first) == wrote
    if len(wrote.split()) < 8:
        assert wrote == answer(run, other, text)
    monkeypatch.undo()
    was = model_of(run)
    right = [*run.task.source(answer(run, was, text))[0]]
    shares = []
    for model, ids in ((was, right), (other, first)):
        if name == "mask" and model is other:
            without_future_mask(monkeypatch)
        tgt = np.array([[run.task.bos, *ids[:place]]])
        row = model.forward(run.task.source(text), tgt)[0][0, place]
        shares.append(np.exp(row - row.max())[right[place]] / np.exp(row - row.max()).sum())
    token = {run.task.eos: "end"}.get(right[place]) or run.task.text([right[place]])
    before, after = (f"{share:.2f}" for share in shares)
    says = broken.locator("#break-why").inner_text()
    if first[place] == right[place]:
        assert says.startswith(f"Its probability of “{token}” at place {place + 1} goes from"
                               f" {before} to {after}.")
    else:
        assert says.startswith(f"At place {place + 1} it was {before} sure of “{token}”; now it"
                               f" gives it {after}, and writes “")
    assert ("later tokens do not exist yet" in says) == (name == "mask")
    count = sum(a != b for a, b in zip(right[:-1], [*first, *[-1] * 9], strict=False))
    said = broken.locator("#break-says").inner_text()
    wrong, rows = broken.locator(".wrong-one").count(), broken.locator(".line").count()
    assert (f"{wrong} of {rows} tokens change" in said) == bool(count)
    assert wrong == sum(a != b for a, b in zip([*right, *[-1] * 9], [*first, *[-1] * 9],
                                               strict=False) if (a, b) != (-1, -1))
    cut(broken, name)                                                  # and back
    assert broken.evaluate("thoughts.length") == 1


def test_what_is_sent_holds_the_cuts_the_squares_and_what_is_left(broken, run):
    needed = needed_in_python(run, "3 1 4 1 5")
    held = next(one for one in HEADS if one not in needed)
    breaking = next(one for one in HEADS if one in needed)
    text = broken.locator("#break-send span").last
    cut(broken, held)
    assert text.inner_text() == f"✂ 🟩🟩🟩🟩🟩 find all {len(needed)}"
    cut(broken, breaking)
    squares = broken.evaluate("""real_tokens(thoughts[0]).map((id, t) =>
      id === real_tokens(thoughts[1])[t] ? "🟩" : "🟥").join("")""")
    assert "🟥" in squares
    left = len(needed) - 1
    told = f"find the other {left}" if left else "all found"
    assert text.inner_text() == f"✂✂ {squares} {told}"
    said = broken.locator("#break-says").inner_text()
    assert f"Found 1 of {len(needed)}. Cuts so far: 2." in said
    broken.get_by_role("button", name="Its numbers").click()
    settled(broken)
    path, head = breaking.split(":")[1:]
    assert broken.evaluate("[attended(thought_now()).path, view.head]") == [path, int(head)]


def test_the_cut_strand_is_dashed_and_others_are_as_wide_as_their_weights(broken):
    cut(broken, HEADS[11])
    gone = broken.locator(".strand.gone")
    assert gone.get_attribute("data-cut") == HEADS[11]
    assert len(set(gone.locator("path").evaluate_all(
        "all => all.map((one) => one.getAttribute('stroke-width'))"))) == 1
    widths, weights = broken.evaluate(f"""() => {{
      const strand = document.querySelector('[data-cut="{HEADS[10]}"]');
      const [map] = at(shown(thought_now()).cache,
        "decoder.layers.1.cross_attention").attention.weights;
      return [[...strand.children].map((one) => one.getAttribute("stroke-width")),
              [...map.data].filter((weight) => weight >= THIN)];
    }}""")
    order = np.argsort(weights, kind="stable")
    assert (np.diff([float(widths[i]) for i in order]) >= 0).all()
    assert len(widths) == len(weights) > 3


@pytest.mark.parametrize("address", [
    f"mode=break&src=3+1+4&tried=scale&tried={HEADS[3]}&what-if={HEADS[3]}",
    "mode=learn&src=4+0+1&task=sort&seed=7&step=2", "mode=look&src=5+0+3&kind=cross&layer=0&head=1"
    "&query=1&key=2&box=3&what-if=positions&lang=zh", "mode=break&src=3+1&tour=positions"])
def test_a_saved_moment_opens_where_it_was_saved(visit, path, tmp_path, address):
    page = visit(path, f"#{address}")
    settled(page)
    page.wait_for_function("() => !going && view.step === (learner?.optimizer.t ?? 0)")
    before = page.evaluate("address_of(view)")
    assert set(address.split("&")) <= set(before.split("&"))
    for n in range(2):                                                 # a moment of a moment, too
        with page.expect_download() as found:
            page.locator("#save").click()
        file = tmp_path / f"moment{n}.html"
        shutil.copy(found.value.path(), file)
        page = visit(file)
        settled(page)
        page.wait_for_function("() => !going && view.step === (learner?.optimizer.t ?? 0)")
        assert page.evaluate("address_of(view)") == before
    assert abs(file.stat().st_size - path.stat().st_size) < 2000


def test_a_link_is_offered_only_where_there_is_an_address(visit, path, chromium):
    page = visit(path, "#mode=break&src=3+1+4")
    settled(page)
    assert not page.get_by_role("link", name="Copy link").is_visible()
    handler = partial(SimpleHTTPRequestHandler, directory=str(path.parent))
    handler.log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/{path.name}#mode=break&src=3+1+4")
        settled(page)
        cut(page, "positions")
        for button, pattern in (("Copy link", "http://127.*#mode=break&src=3.*what-if=positions"),
                                ("Send this to a friend", "✂ [🟩🟥]{3} .* http://127.*tried=")):
            page.locator(f"text={button}").first.click()
            api.expect(page.locator("#address-note")).to_contain_text("opied")
            assert re.match(pattern, page.evaluate("navigator.clipboard.readText()"))
        context.close()
        server.shutdown()
