"""Going on with a model on new data: `train … --from`, and back into the form of its family."""

import json
import shutil

import numpy as np
import pytest
from grammar import write_grammar
from hugging_face import GOLDEN, exact, make
from real_models import make_gpt2, make_llama
from same_run import assert_same_run, without_pictures
from sentences import options, sentences, write

from aiayn_course.cli.main import main
from aiayn_np.cli.options import new_run_of
from aiayn_np.cli.parser import parsed
from aiayn_np.models import load_marian
from aiayn_np.runs import language
from aiayn_np.runs.family import write_family
from aiayn_np.runs.language import LanguageTraining
from aiayn_np.runs.open import open_run
from aiayn_np.runs.run import Run

TINY = ["--N", "1", "--d-model", "16", "--d-ff", "24", "--h", "2", "--max-length", "16",
        "--batch-size", "4"]
NEW = "a dog and a zebra jump over the fox é!\n" * 60


def quick(patch):
    without_pictures(patch)
    patch.setattr(language, "SAMPLE", 5)


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    quick(monkeypatch)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with runs on a text and on pairs, a GPT-2, a Llama, a Marian, and new data."""
    root = tmp_path_factory.mktemp("place")
    text = write_grammar(root / "old.txt", 300)
    (root / "new.txt").write_text(NEW, encoding="utf-8")
    write(root, [(a + "ж", b) for a, b in sentences(60, seed=60)], name="new")
    with pytest.MonkeyPatch.context() as patch:
        quick(patch)
        assert main(["train", "words", "--text", str(text), *TINY, "--steps", "60", "--P-drop",
                     "0.1", "--out", str(root / "words")]) == 0
        assert main([*options(root), "--epochs", "1", "--out", str(root / "pairs")]) == 0
    assert main(["export", str(root / "pairs"), str(root / "marian"), "--to", "marian"]) == 0
    (root / "gpt2").mkdir()
    make_gpt2(root / "gpt2", np.random.default_rng(0))
    make_llama(root / "llama")
    return root


def argv(place, task, start, *more):
    """The words of a command that goes on with a model of `place` on its new data."""
    data = {"words": ["--text", str(place / "new.txt"), "--steps", "12", "--batch-size", "4"],
            "text": ["--source", str(place / "new.de"), "--target", str(place / "new.en"),
                     "--epochs", "1", "--tokens", "150"]}
    return ["train", task, "--from", str(place / start), *data[task], *more]


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("task", "start", "both"), [
    ("words", "words", True), ("text", "pairs", True), ("words", "gpt2", False),
    ("words", "llama", False), ("text", "marian", False)])
def test_the_new_run_says_what_was_learned_and_forgotten_and_the_old_one_stays(
    place, task, start, both, tmp_path, capsys
):
    before, out = files(place / start), tmp_path / "out"
    words = argv(place, task, start, "--max-length", "10", "--out", str(out))
    assert main(words) == 0
    assert files(place / start) == before
    said, err = capsys.readouterr()
    metrics = json.loads((out / "metrics.json").read_text())
    for when in ("before", "after"):
        assert list(metrics[when]) == (["new", "old"] if both else ["new"])
        for which, numbers in metrics[when].items():
            line = f"{which} data, {when}: " + ", ".join(
                f"{name} {value:.3f}" for name, value in numbers.items())
            assert line in said
            assert (line in err) == (when == "before")
    run = Run.open(out)
    old = load_marian(place / start).model if start == "marian" else (
        open_run(place / start).trained())
    new = run.task.measured(run.trained(), run.ranks)
    assert new == pytest.approx(metrics["after"]["new"], rel=1e-5)
    assert run.task.measured(old, run.ranks) == pytest.approx(
        metrics["before"]["new"], rel=1e-5)
    assert run.optimizer.t == len(run.history) > 2
    assert metrics["after"]["new"] != metrics["before"]["new"]


def test_what_the_old_vocabulary_lacks_is_left_out_and_counted(place, tmp_path, capsys):
    assert main(argv(place, "words", "words", "--out", str(tmp_path / "w"))) == 0
    lacking = {*NEW} - {*(place / "old.txt").read_text()}
    count = sum(NEW.count(c) for c in lacking)
    assert lacking >= {"é", "!"}
    said = "characters are left out, which the vocabulary does not know"
    assert f"{count} {said}\n" in capsys.readouterr().err
    data = Run.open(tmp_path / "w").task.data
    assert data.characters == len(NEW) - count
    assert main(argv(place, "text", "pairs", "--out", str(tmp_path / "p"))) == 0
    assert "58 pieces are left out, which the vocabulary does not know\n" in capsys.readouterr().err


def test_only_the_parameters_that_are_named_change(place, tmp_path):
    out = tmp_path / "out"
    assert main(argv(place, "words", "words", "--only", "norm", "linear_2.b", "--out",
                     str(out))) == 0
    run, old = Run.open(out), open_run(place / "words").trained().state_dict()
    for model in (run.model, run.trained()):
        for name, value in model.state_dict().items():
            assert np.array_equal(value, old[name]) != ("norm" in name or "linear_2.b" in name)


def test_a_resumed_run_is_the_same_to_the_bit(place, tmp_path, monkeypatch):
    record_of, words = LanguageTraining.record_of, argv(place, "words", "words", "--only", "norm")
    assert main([*words, "--out", str(tmp_path / "whole")]) == 0

    def stopped(run, s):
        if s.step == 7:
            raise FloatingPointError("stop")
        return record_of(run, s)

    with monkeypatch.context() as patch:
        patch.setattr(LanguageTraining, "record_of", stopped)
        assert main([*words, "--out", str(tmp_path / "part")]) == 1
    assert main(["train", "words", "--resume", "--out", str(tmp_path / "part")]) == 0
    assert_same_run(tmp_path / "part", tmp_path / "whole")


@pytest.mark.parametrize(("words", "said"), [
    (["text", "words"], "words must hold a model for train text, got one for words"),
    (["words", "pairs"], "pairs must hold a model for train words, got one for text"),
    (["text", "gpt2"], "gpt2 must hold a model for train text, got one for words"),
    (["words", "words", "--d-model", "8"], "--d-model must not be given with --from: the"),
    (["words", "words", "--max-length", "17"], "--max-length must be at most 16, the positions of"),
    (["words", "words", "--only", "nix"], "--only must be in the names of some parameters"),
    (["words", "nowhere"], "nowhere: No such folder; a run is a folder that `train`"),
    (["text", "marian", "--eps-ls", "0.1"], "--eps-ls must be 0 for a Marian"),
    (["words", "bert"], "bert must hold a model for train words, got one for filling gaps"),
    (["words", "words", "--resume"], "is fixed by the run in"),
])
def test_what_cannot_be_done_is_said_in_one_line(place, words, said, tmp_path, capsys):
    task, start, *more = words
    if start == "bert":
        shutil.copytree(GOLDEN / "bert", place / "bert", dirs_exist_ok=True)
        shutil.copy(GOLDEN.with_name("tokenizers") / "bert" / "tokenizer.json", place / "bert")
    out = tmp_path / "out"
    assert main([*argv(place, task, start, *more), "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_nothing_is_left_of_a_text_that_the_vocabulary_does_not_know(place, tmp_path, capsys):
    (tmp_path / "chinese").write_text("床前明月光，疑是地上霜。\n" * 80, encoding="utf-8")
    words = ["train", "words", "--from", str(place / "words"), "--text", str(tmp_path / "chinese")]
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    assert "must be longer than a window of" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("task", "start"), [("words", "gpt2"), ("words", "llama"),
                                              ("text", "marian")])
def test_a_model_of_a_family_is_written_back_with_its_tokenizer(place, task, start, tmp_path):
    out, back = tmp_path / "out", tmp_path / "back"
    assert main(["export", str(place / "words"), str(back)]) == 2      # it came from no folder
    shutil.copytree(place / start, tmp_path / "start")
    for name, begin in ((tmp_path / "once", "start"), (out, "once")):  # and once more, from it
        words = argv(place, task, start, "--out", str(name))
        assert main([word.replace(str(place / start), str(tmp_path / begin))
                     for word in words]) == 0
    shutil.rmtree(tmp_path / "start")
    assert main(["export", str(out), str(back)]) == 0
    assert {path.name for path in back.iterdir()} == {
        path.name for path in (place / start).iterdir()}
    run, again = Run.open(out).loaded(), open_run(back)
    text = "eins zwei drei" if task == "text" else "the cat and"
    if task == "text":
        assert again.lines([text, "acht"]) == run.lines([text, "acht"])
    ids = run.source(text)
    inputs = (ids, np.array([[run.task.bos, 5]])) if task == "text" else (ids,)
    np.testing.assert_array_equal(again.trained()(*inputs), run.trained()(*inputs))


def started(place, *words):
    """A run as the command line begins it, and its batches as they come."""
    run, _ = new_run_of(place / "new", parsed([*words, "--dtype", "float64"]))
    batches, batch_of = [], run.task.batch_of
    run.task.batch_of = lambda *step: batches.append(batch_of(*step)) or batches[-1]
    return run, batches


def compared(run, batches, step_of_twin):
    losses = [(p.loss, step_of_twin(batches[-1], p.rate)) for p in run.train()]
    assert len(losses) >= 50
    ours, theirs = zip(*losses[:50])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    assert ours[49] < ours[0] - 0.05


@pytest.mark.slow
def test_fifty_steps_have_the_losses_of_pytorch(place):
    pytest.importorskip("torch")
    from words_twin import Twin

    old = place / "still"
    assert main(["train", "words", "--text", str(place / "old.txt"), *TINY, "--steps", "30",
                 "--dtype", "float64", "--out", str(old)]) == 0
    run, batches = started(place, *argv(place, "words", "still", "--steps", "50"))
    twin = Twin(run)
    compared(run, batches, lambda batch, rate: twin.step(*batch, rate))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "llama", "marian",
                                    "marian that starts with padding"])
def test_fifty_steps_of_a_family_have_the_losses_of_transformers(place, family, tmp_path):
    """Same start, batches, rates and Adam; the folder that is written back has its weights."""
    torch = pytest.importorskip("torch")
    name, folder = family.split()[0], tmp_path / "start"
    shutil.copytree(place / name, folder)
    if name != "marian":
        V = json.loads((folder / "config.json").read_text())["vocab_size"]
        theirs = make(name, folder, vocab_size=V, **(dict(
            n_positions=30, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
            if name == "gpt2" else {}))
        words = argv(tmp_path, "words", "start", "--steps", "50", "--max-length", "15")
        words = [word.replace(str(tmp_path / "new.txt"), str(place / "new.txt")) for word in words]
    else:
        config = json.loads((folder / "config.json").read_text())
        start = 0 if "padding" in family else 1
        theirs = make(name, folder, **{key: config[key] for key in ("vocab_size", "eos_token_id")},
                      pad_token_id=0, decoder_start_token_id=start, dropout=0.0,
                      max_position_embeddings=60)
        words = argv(tmp_path, "text", "start", "--epochs", "30", "--max-length", "30")
        words = [word.replace(str(tmp_path / "new"), str(place / "new")) for word in words]
    run, batches = started(tmp_path, *words, "--warmup-steps", "20", "--rate-scale", "0.05")
    exact(name, theirs)
    theirs.train()
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)

    def step(batch, rate):
        *inputs, targets = (torch.from_numpy(np.asarray(ids, dtype=np.int64)) for ids in batch)
        if name == "marian":
            inputs[1][:, 0] = theirs.config.decoder_start_token_id
            given = dict(input_ids=inputs[0], attention_mask=inputs[0] != 0,
                         decoder_input_ids=inputs[1])
        else:
            given = dict(input_ids=inputs[0])
        logits = theirs(**given).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(),
                                                 ignore_index=0 if name == "marian" else -100)
        adam.zero_grad()
        loss.backward()
        adam.param_groups[0]["lr"] = rate
        adam.step()
        return loss.item()

    compared(run, batches, step)
    run.recent.clear()                                                 # the last state, alone
    run.save()
    write_family(run, tmp_path / "back")
    again = type(theirs).from_pretrained(tmp_path / "back", dtype=torch.float64)
    want = dict(theirs.named_parameters())
    for key, value in again.named_parameters():
        if "embed_positions" not in key:
            np.testing.assert_allclose(value.detach(), want[key].detach(), rtol=0, atol=1e-7)
