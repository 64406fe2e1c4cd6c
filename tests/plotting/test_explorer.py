"""The attention explorer as text: what is in the file, and what is refused."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from html_pages import data_of, untrained_run

from aiayn_np.cli.main import main
from aiayn_np.plotting import explorer as module
from aiayn_np.plotting.explorer import MASKED, SCALE, Attention, explore, explorer, write_explorer
from aiayn_np.plotting.figures import CMAP
from aiayn_np.runs.run import Run

TEMPLATE = Path(module.__file__).with_name("explorer.html").read_text(encoding="utf-8")
HOSTILE = ["<bos>", "</script>", "</noscript>", "<!--", "&amp;", "\"'", "{{tables}}", "🙂", "שלום",
           "", " ", "\n", "\u2028", "\\", "\ud83d", "<img onerror=alert(1)>"]


def random_weights(rng, *shape, allowed=True):
    """Rows that sum to 1 over what is allowed, or of zeros where nothing is."""
    weights = rng.random(shape) * allowed
    total = weights.sum(-1, keepdims=True)
    return weights / (total + (total == 0))


class Tables(HTMLParser):
    """The tables of a page as lists of rows of texts; cells that span more are repeated."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.span, self.cell = [], 1, None
        self.feed(re.search(r"<noscript>(.*?)</noscript>", page, re.S)[1])

    def handle_starttag(self, tag, attrs):
        self.end_cell()
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.cell, self.span = "", int(dict(attrs).get("colspan", 1))

    def handle_endtag(self, tag):
        self.end_cell()

    def handle_data(self, text):
        if self.cell is not None:
            self.cell += text

    def end_cell(self):
        if self.cell is not None:
            self.tables[-1][-1] += [self.cell.removesuffix("\n")] * self.span
        self.cell = None


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained_run(tmp_path_factory.mktemp("runs") / "a")


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_holds_the_weights_to_three_digits(rng):
    weights = random_weights(rng, 3, 4, 5).astype(np.float32)
    data = data_of(explore(weights, list("abcd"), list("vwxyz"), title="Mine"))
    ((attention,),) = (example["attentions"] for example in data["examples"])
    assert (data["title"], data["scale"], data["masked"]) == ("Mine", SCALE, MASKED)
    assert (attention["queries"], attention["keys"]) == (list("abcd"), list("vwxyz"))
    (stored,) = attention["layers"]
    np.testing.assert_array_equal(stored, np.rint(weights.astype(float) * SCALE))
    np.testing.assert_allclose(np.divide(stored, SCALE), weights, atol=0.5 / SCALE + 1e-9)


def test_one_head_may_come_without_its_axis(rng):
    weights = random_weights(rng, 2, 3)
    assert explore(weights, "ab", "xyz") == explore(weights[None], "ab", "xyz")


@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (3, 4, 4), (1, 4)])
def test_a_masked_cell_is_not_a_weight_of_zero(rng, shape):
    allowed = rng.random(shape) < 0.5
    weights = random_weights(rng, 3, 4, 4, allowed=allowed)
    weights[0, :, 0] *= np.broadcast_to(allowed, weights.shape)[0, :, 0] * 0   # zeros, not masked
    data = data_of(explore(weights, "abcd", "abcd", allowed=allowed))
    stored = np.array(data["examples"][0]["attentions"][0]["layers"][0])
    np.testing.assert_array_equal(stored != MASKED, np.broadcast_to(allowed, stored.shape))
    assert (stored[np.broadcast_to(allowed, stored.shape)] >= 0).all()


def test_the_plain_tables_hold_every_sequence_kind_layer_head_and_cell(rng):
    allowed = np.tri(3, dtype=bool)
    maps = [random_weights(rng, 2, 3, 3, allowed=allowed) for _ in range(2)]
    self_attention = Attention("Self", "abc", "abc", maps, [allowed, allowed], "self")
    cross = Attention("Cross", "abc", "wxyz", [random_weights(rng, 2, 3, 4)], kind="cross")
    page = explorer([("first", [self_attention, cross]), ("second", [cross])])
    tables = Tables(page).tables
    assert len(tables) == 4
    for table, keys, weights, mask in [
        (tables[0], "abc", maps[0], allowed), (tables[1], "abc", maps[1], allowed),
        (tables[2], "wxyz", cross.maps[0], None), (tables[3], "wxyz", cross.maps[0], None),
    ]:
        for i, head in enumerate(weights):
            top, *rest = table[4 * i : 4 * i + 4]
            assert top == [f"head {i + 1}", *keys]
            assert [row[0] for row in rest] == list("abc")
            for q, row in enumerate(rest):
                for k, text in enumerate(row[1:]):
                    masked = mask is not None and not mask[q, k]
                    assert text == "×" if masked else abs(int(text) - 100 * head[q, k]) <= 0.56
        assert len(table) == 8
    for heading in ("first", "second", "Self", "Cross"):
        assert f">{heading}</h" in page


def test_no_token_name_or_title_leaves_its_place(rng):
    n = len(HOSTILE)
    attention = Attention("</h3>", HOSTILE, HOSTILE, [random_weights(rng, 1, n, n)])
    for title in ("plain", *HOSTILE):
        page = explorer([(title, [attention])], title=title)
        page.encode("utf-8")
        assert page.count("<script") == 2
        for closing in ("</script>", "</noscript>", "</html>"):
            assert page.count(closing) == TEMPLATE.count(closing)
        assert "<img" not in page
        data = data_of(page)
        assert data["title"] == data["examples"][0]["name"] == title
        assert data["examples"][0]["attentions"][0]["keys"] == HOSTILE
        (table,) = Tables(page).tables
        for token, shown in zip(HOSTILE, table[0][1:], strict=True):
            visible = token if token.strip() else repr(token)
            assert shown == visible.encode("utf-8", "replace").decode()
        named = re.search(r"<title>(.*?)</title>", page, re.S)[1]
        assert html.unescape(named) == title.encode("utf-8", "replace").decode()


def test_the_page_asks_nothing_of_a_network(run):
    page = explorer(run.explorer_examples(run.test_sources(2)))
    for word in ("http:", "https:", "//cdn", "src=", "@import", "url(", "<link", "<iframe",
                 "fetch(", "XMLHttpRequest", "innerHTML", "eval("):
        assert word not in page
    (policy,) = re.findall(r'Content-Security-Policy"\s+content="([^"]*)"', page)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    assert page.startswith("<!DOCTYPE html>")
    assert "{{" not in page


def test_its_colours_are_those_of_the_pictures():
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    block = re.search(r"const CIVIDIS = `(.*?)`", TEMPLATE, re.S)[1].split()
    last = len(block) - 1
    assert [f"#{c}" for c in block] == [to_hex(colormaps[CMAP](i / last)) for i in range(last + 1)]


@pytest.mark.parametrize("peaked", [0.1, 100.0])
def test_eight_long_sequences_of_the_default_model_stay_below_300_kB(rng, peaked):
    tokens, allowed = [*"0123456789", "<eos>"], np.tri(11, dtype=bool)
    attentions = [
        Attention(name, tokens, tokens, [random_rows(rng, peaked, mask) for _ in range(2)],
                  [mask, mask], name)
        for name, mask in [("encoder_self", allowed | True), ("decoder_self", allowed),
                           ("cross", allowed | True)]
    ]
    page = explorer([(" ".join(tokens), attentions)] * 8)
    assert len(page.encode()) < 300_000


def random_rows(rng, peaked, allowed):
    """Weights (4, T, T) that are all alike where `peaked` is large, and few where it is small."""
    weights = rng.dirichlet(np.full(len(allowed), peaked), (4, len(allowed))) + 1e-9
    weights *= allowed
    return weights / weights.sum(-1, keepdims=True)


# ---- what is refused -----------------------------------------------------------------------------

GOOD = np.full((2, 3, 4), 0.25)


def spoilt(value):
    weights = GOOD.copy()
    weights[1, 2, 0] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "allowed", "message"),
    [
        (GOOD[0, 0], None, r"weights must have shape \(h, T_q, T_k\), each at least 1, got \(4,\)"),
        (GOOD[None], None, r"each at least 1, got \(1, 2, 3, 4\)"),
        (GOOD[:0], None, r"each at least 1, got \(0, 3, 4\)"),
        (GOOD[:, :2], None, r"\(h, 3, 4\) for 3 query tokens and 4 key tokens, got \(2, 2, 4\)"),
        (GOOD[:, :, :3], None, r"\(h, 3, 4\) for 3 query tokens and 4 key tokens, got \(2, 3, 3\)"),
        (spoilt(1.01), None, r"weights must lie in \[0, 1\], got 0.25 to 1.01"),
        (spoilt(-0.01), None, r"weights must lie in \[0, 1\], got -0.01 to 0.25"),
        (spoilt(np.nan), None, r"weights must be finite, got nan at \(1, 2, 0\)"),
        (spoilt(np.inf), None, r"weights must be finite, got inf at \(1, 2, 0\)"),
        (GOOD, np.ones((4, 3), bool), r"shape \(2, 3, 4\), got \(4, 3\)"),
        (GOOD, np.ones((1, 2, 3, 4), bool), r"shape \(2, 3, 4\), got \(1, 2, 3, 4\)"),
        (GOOD, np.tri(3, 4, dtype=bool), "weights must be 0 where allowed is False, got 0.25"),
    ],
)
def test_wrong_arrays_are_refused(weights, allowed, message):
    with pytest.raises(ValueError, match=message):
        explore(weights, "abc", "wxyz", allowed=allowed)


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match="weights must be real numbers, got bool"):
        explore(GOOD > 0, "abc", "wxyz")
    with pytest.raises(TypeError, match="allowed must be a boolean array, True = may attend, got"):
        explore(GOOD, "abc", "wxyz", allowed=np.ones((3, 4)))


def test_a_page_without_maps_is_refused():
    for examples in ([], [("a", [])]):
        with pytest.raises(ValueError, match="must hold at least one attention map each, got"):
            explorer(examples)
    with pytest.raises(ValueError, match="maps must hold at least one layer, got none"):
        explorer([("a", [Attention("A", "abc", "wxyz", [])])])
    with pytest.raises(ValueError, match="masks must be one for each of 1 layers, got 0"):
        explorer([("a", [Attention("A", "abc", "wxyz", [GOOD], [])])])


def test_rounding_of_float32_is_no_error():
    weights = np.array([[[1 + 1e-6, 0.0], [-1e-7, 1.0]]], dtype=np.float32)
    assert data_of(explore(weights, "ab", "ab"))["examples"][0]["attentions"][0]["layers"] == [
        [[[SCALE, 0], [0, SCALE]]]
    ]


def test_a_page_that_cannot_be_made_leaves_the_old_one(tmp_path):
    path = tmp_path / "page.html"
    good = [("a", [Attention("A", "abc", "wxyz", [GOOD])])]
    assert write_explorer(path, good, title="one") == path
    before = path.read_bytes()
    assert before == explorer(good, title="one").encode()
    with pytest.raises(ValueError, match="finite"):
        write_explorer(path, [("a", [Attention("A", "abc", "wxyz", [spoilt(np.nan)])])])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---- the command ---------------------------------------------------------------------------------


def test_explore_shows_the_maps_of_the_models_own_output(run, tmp_path, capsys):
    path = tmp_path / "deep" / "page.html"
    argv = ["explore", str(run.folder), "3 1 2", "7", "--static", "--out", str(path)]
    assert main(argv) == 0
    assert capsys.readouterr().out == f"{path}\n"
    data = data_of(path.read_text(encoding="utf-8"))
    assert data["title"] == "Attention of a Transformer, task reverse"
    for text, example in zip(["3 1 2", "7"], data["examples"], strict=True):
        src_tokens, tgt_tokens, maps, masks = run.attention(run.task.source(text))
        assert example["name"].startswith(f"{text} → ")
        kinds = {a["kind"]: a for a in example["attentions"]}
        assert list(kinds) == ["encoder_self", "decoder_self", "cross"]
        assert kinds["cross"]["queries"] == kinds["decoder_self"]["keys"] == tgt_tokens
        assert kinds["cross"]["keys"] == kinds["encoder_self"]["queries"] == src_tokens
        stored = [layer for a in example["attentions"] for layer in a["layers"]]
        order = ["encoder", "decoder.layers.0.self", "decoder.layers.1.self", "cross"]
        names = [n for part in order for n in maps if part in n]
        assert len(stored) == len(names) == 6
        for layer, name in zip(stored, names):
            want = np.where(masks[name], np.rint(maps[name].astype(float) * SCALE), MASKED)
            np.testing.assert_array_equal(layer, want)
    assert (np.array(kinds["decoder_self"]["layers"]) == MASKED).any()


def test_without_sequences_it_shows_some_of_the_test_set_and_the_longest(run, capsys):
    assert main(["explore", str(run.folder), "--static"]) == 0
    path = run.folder / "explore.html"
    assert capsys.readouterr().out == f"{path}\n"
    names = [example["name"] for example in data_of(path.read_text("utf-8"))["examples"]]
    sources = [name.split(" → ")[0] for name in names]
    test = [run.task.text(row) for row in run.task.test(2000)[0]]
    assert len(set(sources)) == 5
    assert set(sources) <= set(test)
    assert max(map(len, test)) == len(sources[0])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["{run}", "1", "3 x"], "every symbol must be one of 0 to 9, got 'x'"),
        (["{run}", " "], "at least one symbol"),
        (["{run}", "1 " * 70], "at most 61 tokens for this run, got 70"),
        (["{run}", "1", "--out", "{tmp}/file/x.html"], "file"),
        (["{run}", "1", "--out", "{tmp}"], "--out must be a file, got the folder {tmp}"),
        (["{tmp}/none"], "none/model.npz: No such file"),
    ],
)
def test_a_wrong_request_is_one_clear_line_and_changes_nothing(
    run, tmp_path, capsys, argv, message
):
    (tmp_path / "file").write_text("")
    places = {"run": run.folder, "tmp": tmp_path}
    before = sorted(tmp_path.rglob("*")), sorted(run.folder.iterdir())
    assert main(["explore", *(a.format(**places) for a in argv)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message.format(**places) in err
    assert err.startswith("aiayn-np: error: ")
    assert err.count("\n") == 1
    assert before == (sorted(tmp_path.rglob("*")), sorted(run.folder.iterdir()))


def test_kinds_without_maps_are_left_out_and_none_at_all_is_refused(run, monkeypatch, capsys):
    src_tokens, tgt_tokens, maps, masks = run.attention(run.task.source("3 1"))
    kept = {name: weights for name, weights in maps.items() if "cross" in name}
    monkeypatch.setattr(Run, "attention", lambda self, src: (src_tokens, tgt_tokens, kept, masks))
    ((_, attentions),) = run.explorer_examples([run.task.source("3 1")])
    assert [a.kind for a in attentions] == ["cross"]
    monkeypatch.setattr(Run, "attention", lambda self, src: (src_tokens, tgt_tokens, {}, {}))
    assert main(["explore", str(run.folder), "3 1", "--static"]) == 2
    assert "examples must hold at least one attention map each, got" in capsys.readouterr().err


def test_help_names_the_command_and_shows_an_example(capsys):
    for argv in (["--help"], ["explore", "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(argv)
        assert caught.value.code == 0
        assert "aiayn-np explore runs/copy" in capsys.readouterr().out
