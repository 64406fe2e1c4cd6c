"""It learns before your eyes: the buttons, the way back beside Python, and what is said of it."""

import numpy as np
import pytest
from browser import PHONE, api, settled
from html_pages import untrained_run
from test_live_training import examples, gradients_of_scores, small

from aiayn_course.cli.main import main
from aiayn_np import LabelSmoothedCrossEntropy, ReverseTask

pytestmark = pytest.mark.slow
RUN = """const run = (work) => {
  for (;;) { const { value, done } = work.next(); if (done) return value; }
};"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The page of a run whose own size would learn too long: a small model learns there."""
    run = untrained_run(tmp_path_factory.mktemp("runs") / "large")
    assert main(["explore", str(run.folder), "3 1 4 1 5"]) == 0
    return run.folder / "explore.html"


@pytest.fixture
def page(visit, large):
    page = visit(large, "#mode=learn&src=3+1+4+1+5")
    settled(page)
    page.locator("#learn-maps .map").first.wait_for()
    return page


def model_in(page):
    """The page's small model, in Python; its numbers are stored in Python's order."""
    model = small(np.random.default_rng(0))
    values, at = np.array(page.evaluate("[...learner.values]")), 0
    for parameter in model.parameters():
        size = parameter.value.size
        parameter.value[...] = values[at : at + size].reshape(parameter.value.shape)
        at += size
    assert at == len(values) == 21408
    return model


def step(page, count=1):
    for _ in range(count):
        before = page.evaluate("learner.losses.length")
        page.locator("#learn-step").click()
        page.wait_for_function(f"() => learner.losses.length === {before + 1} && !stepping")
    page.wait_for_function("() => !stepping")


def test_learn_pause_one_step_start_again_and_another_seed(page):
    first = page.evaluate("[...learner.values]")
    assert "21,408 numbers, all drawn" in page.locator("#learn-about").inner_text()
    step(page, 2)
    assert page.locator("#learn-heading").inner_text().startswith("It has practised on 64 lists")
    page.get_by_role("button", name="▶ Learn").click()
    page.wait_for_function("() => learner.optimizer.t > 4")
    page.get_by_role("button", name="‖ Pause").click()
    page.wait_for_function("() => !going && !stepping")
    steps = page.evaluate("learner.optimizer.t")
    page.wait_for_timeout(300)
    assert page.evaluate("[learner.optimizer.t, view.step]") == [steps, steps]
    settled(page)
    assert f"seed=1&step={steps}" in page.url
    after = page.evaluate("[...learner.values]")
    page.get_by_role("button", name="Start again").click()
    page.wait_for_function("() => learner.optimizer.t === 0")
    assert page.evaluate("[...learner.values]") == first
    page.evaluate(f"learn_on({steps})")                                # the same draws again
    page.wait_for_function("() => !going && !stepping")
    assert page.evaluate("[...learner.values]") == after
    page.get_by_role("button", name="Another seed").click()
    page.wait_for_function("() => view.seed === 2 && learner.seed === 2")
    assert page.evaluate("[...learner.values]") != first
    page.locator("#learn-task").select_option("sort")
    page.wait_for_function("() => learner.task.name === 'sort'")
    assert page.evaluate("learner.task.example([5, 3, 4]).targets") == [3, 4, 5, 2]


def test_it_has_the_size_of_the_run_where_that_learns_within_a_minute(visit, path, page):
    assert "The trained one has 232,768" in page.locator("#learn-about").inner_text()
    page = visit(path, "#mode=learn")
    settled(page)
    assert "It is as large as the trained one" in page.locator("#learn-about").inner_text()
    layers, head, count = page.evaluate("""[learner.model.encoder.layers.length,
      learner.model.decoder.layers[0].self_attention.h, learner.values.length]""")
    model = small(np.random.default_rng(0), N=2, h=2)
    assert (layers, head) == (2, 2)
    assert count == sum(one.value.size for one in model.parameters()) < 64_000


def test_it_learns_from_lists_that_the_test_does_not_have(page):
    unseen, lists, wrong = page.evaluate(f"""() => {{
      {RUN}
      const drawn = Array.from({{ length: 30 }}, () => learner.task.batch(32, learner.rng)).flat();
      const wrong = drawn.filter(({{ src }}) => learner.task.held.has(src.slice(0, -1).join()));
      return [learner.task.unseen.map(String), drawn.map(({{ src }}) => src.length), wrong.length];
    }}""")
    assert len(set(unseen)) == 500
    assert set(lists) == {2, 3, 4, 5, 6, 7}
    assert wrong == 0
    assert page.evaluate(f"() => {{ {RUN} return run(learner.is_solved()); }}") is False


@pytest.mark.parametrize("steps", [0, 12])
def test_the_way_back_is_that_of_python(page, steps):
    if steps:
        page.evaluate(f"learn_on({steps})")
        page.wait_for_function("() => !going && !stepping && learner.optimizer.t > 0")
    page.get_by_role("button", name="What should have happened?").click()
    page.locator(".loss-of").first.wait_for()
    model, task = model_in(page), ReverseTask(max_length=6)
    (example,) = examples(*task.examples_of([task.source("3 1 4 1 5")[0, :-1]]))
    src, tgt, targets = (np.array([example[name]]) for name in ("src", "tgt", "targets"))
    logits, cache = model.forward(src, tgt)
    criterion = LabelSmoothedCrossEntropy(0.1)
    loss, kept = criterion.forward(logits, targets=targets)
    found = page.evaluate("""() => {
      const { loss, losses, shares, cache } = pass_of(learner.task.example(list_typed()));
      const scores = attention_paths(learner.model).map(
        (path) => at(cache, path).attention.grad_scores.map((g) => [...g.data]));
      const weights = cache.decoder.layers[0].cross_attention.attention.weights;
      return { loss, losses, shares, scores, weights: weights.map((w) => [...w.data]),
               grads: [...learner.grads] };
    }""")
    assert found["loss"] == pytest.approx(loss, abs=1e-9)
    assert np.mean(found["losses"]) == pytest.approx(loss, abs=1e-9)
    p = np.exp(kept.log_p[0])[range(6), targets[0]]
    np.testing.assert_allclose(found["shares"], p, rtol=0, atol=1e-9)
    weights = cache.decoder.layers[0].cross_attention.attention.weights[0]
    np.testing.assert_allclose(np.ravel(found["weights"]), weights.ravel(), rtol=0, atol=1e-9)
    model.zero_grad()
    model.backward(criterion.backward(1.0, kept), cache)
    grads = np.concatenate([one.grad.ravel() for one in model.parameters()])
    np.testing.assert_allclose(found["grads"], grads, rtol=0, atol=1e-9)
    wanted = gradients_of_scores(model, example)
    for got, want in zip(found["scores"], wanted, strict=True):
        np.testing.assert_allclose(np.ravel(got), want.ravel(), rtol=0, atol=1e-9)
    # what is drawn and said: minus the gradient of the scores of encoder-decoder attention
    head, query = page.evaluate("[chosen.head, chosen.query]")
    cross = -wanted[2]
    assert np.abs(cross).sum(-1).argmax() == 6 * head + query         # the row that moves most
    assert page.locator(".loss-of").all_text_contents() == [f"{one:.2f}" for one in found["losses"]]
    row = cross[head, query]
    strong = np.abs(row) > 0.06 * np.abs(cross[head]).max()
    assert page.locator("#learn-picture .curve.more").count() == ((row > 0) & strong).sum()
    assert page.locator("#learn-picture .curve.less").count() == ((row < 0) & strong).sum()
    names = [*"31415", "end"]
    for name, key in (("more", row.argmax()), ("less", row.argmin())):
        if abs(row[key]) > 0.3 * np.abs(row).max():
            told = f"“{names[key]}”" + (f" (place {key + 1})" if key < 5 else "")
            assert page.locator(f"#learn-says b.{name}").inner_text().startswith(told)
    dots = page.locator(f"#learn-head-{head} circle")
    most = np.abs(cross).max()
    assert dots.count() == (np.abs(cross[head]) >= 0.02 * most).sum()
    radii = sorted(float(r) for r in dots.evaluate_all(
        "all => all.map((one) => one.getAttribute('r'))"))
    assert radii[-1] == pytest.approx(1.5 + 8 * np.sqrt(np.abs(cross[head]).max() / most), abs=0.06)


@pytest.mark.parametrize("steps", [0, 60])
def test_a_step_on_the_list_makes_its_answer_as_much_likelier_as_is_said(page, steps):
    if steps:
        page.evaluate(f"learn_on({steps})")
        page.wait_for_function("() => !going && !stepping && view.step > 9", timeout=300000)
    page.get_by_role("button", name="What should have happened?").click()
    page.locator(".loss-of").first.wait_for()
    before = page.evaluate("pass_of(learner.task.example(list_typed())).shares")
    page.locator("#learn-step").click()
    page.wait_for_function("() => before_step && !stepping")
    page.locator("#learn-sure .was").first.wait_for()
    after = page.evaluate("pass_of(learner.task.example(list_typed())).shares")
    times = np.prod(after) / np.prod(before)
    assert times > 1
    assert page.evaluate("[learner.optimizer.t, learner.losses.length]") == [steps, steps]
    assert f"the right answer is {times:.2f} times as likely" in (
        page.locator("#learn-says").inner_text())
    rows = page.locator("#learn-sure tr").all_inner_texts()
    assert [row.split("\t")[-1] for row in rows] == [
        f"{was:.2f} → {now:.2f}" for was, now in zip(before, after, strict=True)]
    assert page.locator("#learn-sure .was").count() == 6


def test_each_attention_and_each_row_has_its_own_picture(page):
    page.get_by_role("button", name="What should have happened?").click()
    for kind, keys in (("encoder_self", [*"31415", "end"]), ("decoder_self", ["start", *"51413"]),
                       ("cross", [*"31415", "end"])):
        page.locator("#learn-kind").select_option(kind)
        page.wait_for_function(f"() => chosen.kind === '{kind}'")
        assert page.locator("#learn-picture .key text").all_text_contents() == keys
        page.locator("#learn-query-2").press("Enter")
        assert page.evaluate("[chosen.query, document.activeElement.id]") == [2, "learn-query-2"]
        assert page.locator("#learn-picture .query.lit").count() == 1
        page.locator("#learn-head-3").click(position=dict(x=5, y=5))
        assert page.evaluate("chosen.head") == 3
        assert page.locator("#learn-says").inner_text().endswith(".")


def test_the_curve_of_the_loss_and_the_answer_change_while_it_learns(page):
    seen = set()
    page.get_by_role("button", name="▶ Learn").click()
    for _ in range(12):
        page.wait_for_timeout(250)
        seen.add((page.locator("#learn-picture .query text").first.text_content(),
                  page.locator(".loss-line").get_attribute("points")))
    page.get_by_role("button", name="‖ Pause").click()
    page.wait_for_function("() => !going && !stepping")
    assert len(seen) > 3
    api.expect(page.locator("#learn-about")).to_contain_text("ms for a step of 32 lists")
    losses = page.evaluate("learner.losses")
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_it_is_solved_when_every_unseen_list_is_written(page):
    """A task of one symbol is solved soon: the same code, a list of a few lists."""
    page.evaluate("""() => {
      learner.task.unseen = [[3, 3, 3]];
      Object.defineProperty(learner, "is_solved", { value: function* () { return true; } });
    }""")
    page.get_by_role("button", name="▶ Learn").click()
    page.wait_for_function("() => learner.solved", timeout=120000)
    page.wait_for_function("() => !going && !stepping")
    api.expect(page.locator("#learn-about")).to_contain_text("Solved after 25 steps and")
    page.get_by_role("button", name="✂ Now break a trained one").click()
    settled(page)
    assert page.locator("#break-picture .panel").count() == 7


def test_on_a_phone_the_page_scrolls_while_it_learns(visit, path):
    """Between two breaths of the page lie slices: a click is answered while it learns."""
    page = visit(path, "#mode=learn", viewport=PHONE)
    settled(page)
    page.locator("#learn-go").click()
    page.wait_for_function("() => learner.optimizer.t > 1")
    page.locator("#learn-slow").click()
    api.expect(page.locator("#learn-slow")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="The numbers").click()              # it rests there
    settled(page)
    assert page.evaluate("going") is False
    assert page.evaluate("document.body.dataset.mode") == "look"
