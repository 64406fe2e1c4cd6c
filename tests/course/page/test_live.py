"""The page that runs a model, as text: what is in the file, what is refused, and the command."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from html_pages import data_of, untrained_run
from javascript import VARIANTS, random_model
from rms_layers import RMSDecoderLayer, RMSEncoderLayer

from aiayn_course.cli.main import main
from aiayn_course.page import live
from aiayn_course.page.live import NotRunnable, live_page
from aiayn_course.page.live_page import task_of
from aiayn_np import Dropout, Module, Transformer
from aiayn_np.module import leaves
from aiayn_np.plotting.figures import CMAP
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.norms import RMSNorm

HOSTILE = ["<bos>", "</script>", "</noscript>", "<!--", "&amp;", "\"'", "{{data}}", "🙂", "שלום",
           "", " ", "\u2028", "\\", "\ud83d", "<img src=x onerror=alert(1)>"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained_run(tmp_path_factory.mktemp("runs") / "a")


def page_of(model, tokens=None, title="a", **options):
    tokens = tokens or [str(i) for i in range(model.vocab_size)]
    task = dict(name="copy", tokens=tokens, pad=0, bos=1, eos=2, max_length=5)
    return live_page(model, task, ["x " + tokens[-1]], title=title, **options)


def test_the_list_of_layers_has_every_attribute_of_those_that_the_page_runs(rng):
    """Dropout is not among them: decoding drops nothing."""
    found = {}
    for model in (*(random_model(variant, 7, rng) for variant in VARIANTS),
                  LanguageModel(7, N=1, d_model=8, d_ff=8, h=2, max_len=9, rng=rng)):
        for _, layer in leaves(model, Module):
            names = {n for n, part in vars(layer).items() if not isinstance(part, Dropout)}
            found.setdefault(type(layer), names)
            assert found[type(layer)] == names
    assert {cls.__name__: names for cls, names in found.items() if cls is not Dropout} == {
        name: set(attributes) for name, attributes in live.LAYERS.items()}


def test_a_default_run_fits_in_a_page_that_can_be_mailed(run, tmp_path, capsys):
    path = tmp_path / "page.html"
    assert main(["explore", str(run.folder), "--out", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert path.stat().st_size <= 1.2e6
    text = path.read_text(encoding="utf-8")
    data = data_of(text)
    assert data["title"]["en"] == "This model *reverses* a list of digits"
    assert "<title>This model reverses a list of digits</title>" in text
    tested = [run.task.text(src[0]) for src in run.task.examples(20)]
    assert len(set(data["examples"])) == 5
    assert set(data["examples"]) <= set(tested)
    assert data["task"]["tokens"][:4] == ["<pad>", "<bos>", "<eos>", "0"]


def test_the_heading_is_that_of_the_command_line_or_says_what_the_model_does(run, tmp_path, capsys):
    path = tmp_path / "page.html"
    argv = ["explore", str(run.folder), "--title", "Back & forth", "--out", str(path), "3 1 4"]
    assert main(argv) == 0
    page = path.read_text(encoding="utf-8")
    assert "<title>Back &amp; forth</title>" in page
    assert data_of(page)["examples"] == ["3 1 4"]
    task = task_of(run) | dict(name="text")
    text = live_page(run.model, task, [])
    assert data_of(text)["title"]["en"] == "This model *translates* what you type"


def test_a_layer_without_javascript_is_refused_by_name(rng):
    sizes = dict(N=1, d_model=8, d_ff=8, h=2, max_len=9, rng=rng)
    with pytest.raises(NotRunnable, match="no RMSEncoderLayer in JavaScript"):
        page_of(Transformer(7, **sizes, encoder_layer=RMSEncoderLayer,
                            decoder_layer=RMSDecoderLayer))
    imitation = type("LayerNorm", (RMSNorm,), {"__module__": "elsewhere"})
    model = Transformer(7, **sizes)
    model.encoder.layers[0].add_norm_1.layer_norm = imitation(8)       # a namesake of a known one
    with pytest.raises(NotRunnable, match="no LayerNorm in JavaScript"):
        page_of(model)


@pytest.mark.parametrize(("change", "reason"), [
    (lambda m, attention: setattr(m.encoder, "forward", lambda x, **k: None),
     "encoder.forward was replaced in Python"),
    (lambda m, attention: setattr(m.dropout, "forward", lambda x, **k: (-x, None)),
     "dropout.forward was replaced in Python"),
    (lambda m, attention: setattr(m, "dropout", type("Own", (Dropout,), {})(0.1)),
     "it has no Own in JavaScript"),
])
def test_a_model_that_the_page_would_run_otherwise_is_refused(change, reason, rng):
    model = Transformer(7, N=1, d_model=8, d_ff=8, h=2, max_len=9, rng=rng)
    change(model, model.encoder.layers[0].self_attention.attention)
    with pytest.raises(NotRunnable, match=reason):
        page_of(model)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["{run}", "1", "3 x"], "every symbol must be one of 0 to 9, got 'x'"),
        (["{run}", " "], "at least one symbol"),
        (["{run}", "1 " * 70], "at most 61 tokens for this run, got 70"),
        (["{run}", "1", "--out", "{tmp}/file/x.html"], "file"),
        (["{run}", "1", "--out", "{tmp}"], "--out must be a .html or .htm, got {tmp}"),
        (["{tmp}/none"], "none: No such folder"),
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


def refused(argv, path, capsys):
    """The one line that `explore` says, and it writes no page."""
    assert main(["explore", *argv, "--out", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert not path.exists()
    return err


def test_a_layer_without_javascript_is_one_line_that_names_attend(tmp_path, capsys):
    folder = untrained_run(tmp_path / "run", attention="rotary").folder
    for sequences in ([], ["3 1 4"]):
        assert refused([str(folder), *sequences], tmp_path / "page.html", capsys) == (
            "aiayn-np: error: no page can run this model: it has no RotaryAttention in JavaScript;"
            f" `aiayn-np attend {folder}` draws its attention\n")


def test_too_many_weights_are_one_line_that_names_attend(run, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(live, "MOST", 1_000_000)
    assert refused([str(run.folder), "3 1"], tmp_path / "page.html", capsys) == (
        "aiayn-np: error: no page can run this model: its weights are 1.2 MB of base64, a page"
        f" holds 1 MB; `aiayn-np attend {run.folder}` draws its attention\n")


@pytest.mark.parametrize(("options", "can"), [
    (["copy"], True), (["copy", "--norm", "pre"], True), (["words"], True),
    (["copy", "--attention", "relative"], False), (["words", "--like", "llama"], False),
    (["text", "--pairs", "PAIRS", "--normalization", "nmt_nfkc"], False)])
def test_a_training_speaks_of_a_page_only_where_one_can_run_its_model(
    options, can, no_pictures, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("PAIRS").write_text("".join(f"ein Hund {n}\ta dog {n}\n" for n in range(99)))
    Path("text").write_text("Ein kleiner Hund.\n" * 99)
    more = {"words": ["--text", "text", "--steps", "1"], "copy": ["--steps", "1"],
            "text": ["--epochs", "0.1", "--vocab-size", "60"]}[options[0]]
    sizes = ["--N", "1", "--d-model", "8", "--d-ff", "8", "--h", "2"]
    assert main(["train", *options, *more, *sizes, "--out", "my run"]) == 0
    told = "To try it out in a browser: aiayn-np explore 'my run'\n"
    assert capsys.readouterr().out.endswith(told) == can
    assert main(["explore", "my run"]) == (0 if can else 2)


def test_only_its_own_script_and_style_may_do_anything(rng):
    page = page_of(random_model(VARIANTS[0], 7, rng))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 1

    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy == (f"default-src 'none'; script-src 'sha256-{digest(scripts[0])}'; style-src"
                      f" 'sha256-{digest(style)}'; base-uri 'none'; form-action 'none'")
    assert not re.search(r"\son\w+=|\sstyle=|src=|https?://", page.split('id="data"')[0])


def test_hostile_texts_are_only_data(rng):
    model = random_model(VARIANTS[0], len(HOSTILE), rng)
    page = page_of(model, HOSTILE, title="</title><script>alert(1)</script>{{script}}")
    assert page.count("<script") == page.count("</script>") == 3
    assert page.count("<noscript>") == page.count("</noscript>") == 1
    assert "<img" not in page
    data = data_of(page)
    assert data["task"]["tokens"] == HOSTILE
    assert data["title"]["zh"] == "</title><script>alert(1)</script>{{script}}"
    assert "\u2028" not in page


def test_lessons_are_links_where_the_page_knows_where_they_are(rng):
    model = random_model(VARIANTS[0], 7, rng)
    assert data_of(page_of(model))["lessons"] == {}
    found = data_of(page_of(model, lessons="../lessons/"))["lessons"]
    assert found["8"] == "../lessons/08_positions.html"
    assert data_of(page_of(model, lessons="../lessons"))["lessons"] == found
    with pytest.raises(ValueError, match="http, https or file, got javascript:"):
        page_of(model, lessons="javascript:alert(1)")
    notebooks = live.PAGE.parents[1] / "notebooks"
    assert all((notebooks / f"{name}.py").exists() for name in live.LESSONS.values())


def test_its_colours_are_those_of_the_pictures():
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    script = (live.PAGE / "drawing.js").read_text(encoding="utf-8")
    block = re.search(r"const CIVIDIS = `(.*?)`", script, re.S)[1].split()
    last = len(block) - 1
    assert [f"#{c}" for c in block] == [to_hex(colormaps[CMAP](i / last)) for i in range(last + 1)]
