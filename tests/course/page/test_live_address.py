"""Addresses that open the page at a place: what they name, what is left out, and the lessons'."""

import re

import pytest
from javascript import VARIANTS, node, packed, random_model
from pages import ROOT

from aiayn_course.cli.pages import PAGES, new_run
from aiayn_course.page.live_page import task_of

pytestmark = pytest.mark.slow
TOKENS = ["<pad>", "<bos>", "<eos>", "0", "1", "a:b", "&=#", "</script>", "\u2028"]
READ = """
function main({ tree, weights, task, addresses }) {
  const model = build(tree, Float64Array.from(weights));
  const vocabulary = vocabulary_of(task);
  const page = { model, tokens: task.tokens };
  return addresses.map((address) => {
    const { place, wrong } = read_address(address, page);
    const { ids, unknown } = vocabulary.source(place.text ?? "");
    return { place, wrong, length: ids.length, unknown };
  });
}
"""
WRITE = "const main = (views) => views.map(address_of);"
AS_TRAINED = dict(factor=1, positions=True, causal=True, muted=[])
PATHS = ["encoder.layers.0.self_attention", "decoder.layers.1.cross_attention"]


def read(model, addresses):
    """What the page makes of addresses."""
    task = dict(tokens=TOKENS, pad=0, bos=1, eos=2)
    data = dict(task=task, addresses=addresses)
    return node(READ, packed(model) | data)


@pytest.fixture
def model(rng):
    return random_model(VARIANTS[0], len(TOKENS), rng)


NONE = dict(tried=[], summed=[])


def test_an_address_names_a_place(model):
    texts = ["src=0+1&kind=decoder_self&layer=0&head=2&query=1&key=0&box=7&sum=1&sum=0",
             "mode=learn&task=sort&seed=9&step=120", "tour=positions&what-if=positions", ""]
    look, learn, tour, nothing = read(model, texts)
    assert look["place"] == dict(text="0 1", kind="decoder_self", layer=0, head=2, query=1, key=0,
                                 changes=AS_TRAINED, tried=[], summed=[1, 0], box=7, mode="look")
    assert learn["place"] == dict(mode="learn", task="sort", seed=9, step=120, changes=AS_TRAINED,
                                  **NONE)
    assert tour["place"] == dict(tour="positions", changes=AS_TRAINED | dict(positions=False),
                                 **NONE, mode="break")
    assert nothing["place"] == dict(changes=AS_TRAINED, **NONE)
    assert [one["wrong"] for one in (look, learn, tour, nothing)] == [[]] * 4


ONE_CHANGE = {
    "mask": dict(causal=False), "positions": dict(positions=False), "scale": dict(factor=8**0.5),
    f"mute:{PATHS[0]}:2": dict(muted=[dict(path=PATHS[0], head=2)]),
}


def test_an_address_makes_one_change_and_leaves_out_a_second_one(model):
    for what_if, change in ONE_CHANGE.items():
        (found,) = read(model, [f"what-if={what_if}&what-if=mask&what-if=positions"])
        assert found["place"] == dict(changes=AS_TRAINED | change, **NONE, mode="break")
        assert found["wrong"] == ["what-if=mask", "what-if=positions"]


def test_the_address_of_a_view_gives_the_view_back(model):
    views = []
    for n, text in enumerate(["", "0 1", "</script> & = # + %", "שלום\u2028\n", *TOKENS] * 3):
        one = AS_TRAINED | [{}, *ONE_CHANGE.values()][n % 5]
        mode = ["break", "look", "learn"][n % 3]
        view = dict(text=text, mode=mode, changes=one, **NONE)
        view |= {"learn": dict(task="copy", seed=3, step=n, changes=AS_TRAINED),
                 "break": dict(tried=["scale", f"mute:{PATHS[1]}:1"][: n % 3]),
                 "look": dict(kind="cross", layer=1, head=2, query=4, key=5, box=3,
                              summed=[4, 0][: n % 3])}[mode]
        views.append(view)
    addresses = node(WRITE, views)
    for view, address, found in zip(views, addresses, read(model, addresses), strict=True):
        assert re.fullmatch(r"[\w\-.*+%&=:]+", address)
        assert (found["place"], found["wrong"]) == (view, [])


@pytest.mark.parametrize("wrong", [
    "foo=1", "__proto__=1", "constructor=x", "step=-1", "step=2.5", "step=", "step=2000",
    "step=1e1", "state=0", "kind=self", "layer=2", "layer=x", "head=3", "side=1", "query=99999",
    "mode=train", "task=words", "seed=1000", "tour=3", "tour=toString", "guess=1", "written=2",
    "tried=foo", "tried=mute:constructor:0", "sum=60", "sum=x",
    "key=60", "box=-1", "token=encoder", "token=memory:1", "token=decoder:60", "token=encoder:1:2",
    "what-if=", "what-if=foo", "what-if=__proto__", "what-if=toString",
    "what-if=scale:", "what-if=scale:2", "what-if=mute", "what-if=mute:constructor:0",
    f"what-if=mute:{PATHS[0]}:3", "what-if=mute:encoder.layers.0:0", f"what-if=mute:{PATHS[0]}",
    f"what-if=even:{PATHS[0]}:0:0",
    "what-if=replace:0:9", f"what-if=mute:{PATHS[0]}:1:1", "src=" + "1 " * 1001,
    "<img src=x>=1", "what-if=</script>", "%=1", "step=%E0%A4",
])
def test_what_is_wrong_is_left_out_and_named(model, wrong):
    (found,) = read(model, [f"src=1&{wrong}&what-if=mask"])
    assert len(found["wrong"]) == 1
    assert found["place"] == dict(text="1", changes=AS_TRAINED | dict(causal=False), **NONE,
                                  mode="break")


LINK = re.compile(r"\]\(((?:\.\./)?docs/live/(\w+)\.html(?:#([^)\s]*))?)\)")


def links():
    """[(file, page, address)] of every link to a live page, in the lessons and on all pages."""
    files = sorted([*ROOT.glob("notebooks/*.py"), *ROOT.glob("notebooks/*.md")])
    return [(path.stem, page, address) for path in files
            for _, page, address in LINK.findall(path.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The runs of the pages that the lessons open, before their training."""
    folder = tmp_path_factory.mktemp("live")
    return {page: new_run(page, folder / page) for page in PAGES}


def wrong_links(runs, found):
    """[(file, page, what is wrong)] of links."""
    wrong = [(file, page, "no such page") for file, page, _ in found if page not in runs]
    for name, run in runs.items():
        here = [(file, address) for file, page, address in found if page == name]
        data = dict(task=task_of(run), addresses=[address for _, address in here])
        for (file, _), got in zip(here, node(READ, packed(run.model) | data), strict=True):
            wrong += [(file, name, one) for one in [*got["wrong"], *got["unknown"]]]
    return wrong


def test_seven_lessons_send_the_reader_to_a_page():
    assert {file[:2] for file, _, _ in links()} >= {"01", "03", "05", "06", "08", "11", "14"}


def test_every_link_of_the_lessons_names_a_place_of_its_page(runs):
    assert wrong_links(runs, links()) == []


def test_a_link_to_what_a_page_does_not_have_is_found(runs):
    found = [("a", "copy", "src=3+1&what-if=mask"), ("b", "copy", "src=3+1&what-if=masks"),
             ("c", "copy", "src=3+1x"), ("d", "reverse", "src=3"), ("e", "sort", "src=3"),
             ("f", "reverse", "src=3&what-if=replace:2:5"),
             ("g", "number_words", "src=vier&layer=1"),
             ("h", "number_words", "src=vier+hundert+sieben+und+zwanzig&kind=cross&head=3")]
    assert wrong_links(runs, found) == [
        ("e", "sort", "no such page"), ("b", "copy", "what-if=masks"), ("c", "copy", "1x"),
        ("f", "reverse", "what-if=replace:2:5"), ("g", "number_words", "layer=1")]
