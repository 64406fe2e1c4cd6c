"""Checkpoints: what was saved comes back bit for bit, and what is no checkpoint is refused."""

import json
import os
import pickle
from collections import deque

import numpy as np
import pytest
from same_run import read_checkpoint

from aiayn_np import (
    Adam,
    CheckpointError,
    CopyTask,
    Linear,
    Transformer,
    load_checkpoint,
    save_checkpoint,
)
from aiayn_np.runs import checkpoint as module
from aiayn_np.training.toys import train


def build(seed, d_ff=12, dtype=np.float64):
    """(model, optimizer, rng, task) with dropout on, so that the rng matters."""
    rng = np.random.default_rng(seed)
    task = CopyTask(symbols=4, max_length=4)
    model = Transformer(task.vocab_size, N=1, d_model=8, d_ff=d_ff, h=2, max_len=60, rng=rng)
    return model, Adam(model.astype(dtype).parameters()), rng, task


def run(model, adam, rng, task, steps):
    for _ in train(model, task, steps=steps, batch_size=4, rng=rng, optimizer=adam):
        pass


def everything(model, adam, rng):
    """All that a run consists of, as bytes."""
    arrays = [*model.state_dict().values(), *adam.m, *adam.v]
    return [a.tobytes() for a in arrays] + [adam.t, rng.bit_generator.state]


@pytest.mark.parametrize("stop", [1, 4, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_resuming_is_bit_equal_to_never_stopping(tmp_path, seed, stop, dtype):
    model, adam, rng, task = build(seed, dtype=dtype)
    run(model, adam, rng, task, stop)
    save_checkpoint(tmp_path / "a.npz", model, optimizer=adam, rng=rng, config={"k": [1, "ü"]})
    run(model, adam, rng, task, 8)

    other, adam_2, rng_2, task = build(seed + 1, dtype=dtype)
    loaded = load_checkpoint(tmp_path / "a.npz", other, optimizer=adam_2, rng=rng_2)
    assert loaded == {"k": [1, "ü"]}
    assert adam_2.t == stop
    run(other, adam_2, rng_2, task, 8)
    assert everything(other, adam_2, rng_2) == everything(model, adam, rng)


def test_recent_states_come_back_in_order(tmp_path, seed):
    model, *_ = build(seed)
    states = [{n: v + i for n, v in model.state_dict().items()} for i in range(3)]
    save_checkpoint(tmp_path / "a.npz", model, recent=states)
    recent = deque([{}], maxlen=5)
    load_checkpoint(tmp_path / "a.npz", model, recent=recent)
    assert len(recent) == 3
    for got, want in zip(recent, states):
        assert list(got) == list(want)
        for name in want:
            np.testing.assert_array_equal(got[name], want[name])


def test_a_model_alone_can_be_saved_and_loaded(tmp_path, seed):
    model, *_ = build(seed)
    save_checkpoint(tmp_path / "a.npz", model)
    other, adam, *_ = build(seed + 1)
    assert load_checkpoint(tmp_path / "a.npz", other) is None
    for p, q in zip(model.parameters(), other.parameters()):
        np.testing.assert_array_equal(p.value, q.value)
    with pytest.raises(CheckpointError, match="optimizer state is missing"):
        load_checkpoint(tmp_path / "a.npz", other, optimizer=adam)


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    """Name -> (bytes of a broken checkpoint, what the message says)."""
    model, adam, rng, _ = build(0)
    path = tmp_path_factory.mktemp("bad") / "good.npz"
    save_checkpoint(path, model, optimizer=adam, rng=rng, recent=[model.state_dict()])
    good = path.read_bytes()
    header, arrays = read_checkpoint(path)

    def rewritten(header, arrays):
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(path, header=text, **arrays)
        return path.read_bytes()

    name = "model/src_embedding.E"
    fewer = {n: a for n, a in arrays.items() if n != name}
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    np.savez(path, header=np.array([{"version": 1}], dtype=object))
    objects = path.read_bytes()
    return {
        "truncated": (good[: len(good) // 2], "not a readable checkpoint"),
        "empty": (b"", "not a readable checkpoint"),
        "flipped": (bytes(flipped), "not a readable checkpoint"),
        "pickle": (pickle.dumps({"a": 1}), "not a readable checkpoint"),
        "pickled array": (objects, "not a readable checkpoint"),
        "key lost": (rewritten(header, fewer), "missing src_embedding.E"),
        "key extra": (rewritten(header, arrays | {"model/z": np.ones(2)}), "got unknown z"),
        "shape": (
            rewritten(header, arrays | {name: np.ones((2, 3))}), "must have shape"),
        "recent shape": (
            rewritten(header, arrays | {f"recent.0/{name[6:]}": np.ones(2)}), "must have shape"),
        "recent lost": (rewritten(header | {"recent": 2}, arrays), "it lacks recent.1"),
        "no step": (
            rewritten({k: v for k, v in header.items() if k != "step"}, arrays), "step"),
        "newer": (rewritten(header | {"version": 99}, arrays), "version 99, this program reads 2"),
        "moments": (rewritten(header, arrays | {"m/0": np.ones(2)}), "optimizer state"),
        "rng": (rewritten(header | {"rng": {"bit_generator": "PCG64"}}, arrays), "does not fit"),
    }


KINDS = ["truncated", "empty", "flipped", "pickle", "pickled array",
         "key lost", "key extra", "shape", "recent shape",
         "recent lost", "no step", "newer", "moments", "rng"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_checkpoint_of_this_model_is_refused_whole(tmp_path, bad_files, seed, kind):
    assert list(bad_files) == KINDS
    content, message = bad_files[kind]
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    model, adam, rng, task = build(seed + 1)
    run(model, adam, rng, task, 2)
    before = everything(model, adam, rng)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(path, model, optimizer=adam, rng=rng)
    assert "bad.npz" in str(caught.value)
    assert everything(model, adam, rng) == before


def test_a_checkpoint_of_another_model_is_refused(tmp_path, seed):
    save_checkpoint(tmp_path / "a.npz", build(seed)[0])
    with pytest.raises(CheckpointError, match="of another model"):
        load_checkpoint(tmp_path / "a.npz", build(seed, d_ff=16)[0])


@pytest.mark.parametrize("kind", ["MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_every_kind_of_generator_goes_on_where_it_was(tmp_path, kind):
    rng = np.random.Generator(getattr(np.random, kind)(1))
    layer = Linear(2, 3, rng=rng)
    save_checkpoint(tmp_path / "a.npz", layer, rng=rng)
    expected = rng.random(5)
    other = np.random.Generator(getattr(np.random, kind)(2))
    load_checkpoint(tmp_path / "a.npz", layer, rng=other)
    np.testing.assert_array_equal(other.random(5), expected)


@pytest.mark.parametrize("failing", ["savez", "replace"])
def test_a_save_that_fails_leaves_the_old_checkpoint_and_no_litter(
    tmp_path, seed, monkeypatch, failing
):
    model, *_ = build(seed)
    path = tmp_path / "a.npz"
    save_checkpoint(path, model)
    good = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(*((np, "savez") if failing == "savez" else (os, "replace")), fail)
    model.src_embedding.E.value += 1
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(path, model)
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == ["a.npz"]


def test_the_file_and_its_folder_are_on_disk_before_it_returns(tmp_path, seed, monkeypatch):
    calls = []
    replace, fsync = os.replace, os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda *a: (calls.append("replace"), replace(*a)))
    save_checkpoint(tmp_path / "a.npz", build(seed)[0])
    assert calls[:2] == ["fsync", "replace"]
    assert calls[2:] == (["fsync"] if os.name == "posix" else [])
    assert module.VERSION == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows replaces no open file")
def test_a_checkpoint_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path, monkeypatch,
                                                                          rng):
    """A training goes on while another command opens its run."""
    path, loads = tmp_path / "model.npz", module.json.loads
    old, new = Linear(2, 3, rng=rng), Linear(2, 3, rng=rng)

    def replaced(*args):
        save_checkpoint(path, new, config="new", recent=[new.state_dict()])
        return loads(*args)

    monkeypatch.setattr(module.json, "loads", replaced)
    save_checkpoint(path, old, config="old")
    header, arrays = read_checkpoint(path)
    assert header["config"] == "old"
    np.testing.assert_array_equal(arrays["model/W"], old.W.value)
    save_checkpoint(path, old, config="old")
    assert load_checkpoint(path, new) == "old"
