"""Tasks: what the sequences look like, and that nothing tested on was trained on."""

import numpy as np
import pytest

from aiayn_np import CopyTask, ReverseTask, SortTask, Task
from aiayn_np.training.tasks import BOS, EOS, FIRST_SYMBOL, PAD, TEST, bucket, padded

TASKS = [CopyTask, ReverseTask, SortTask]


def symbols(row):
    """The symbols of one row of ids, as a tuple."""
    return tuple(int(i) for i in row if i >= FIRST_SYMBOL)


def test_one_example_by_hand():
    task = ReverseTask(symbols=10, max_length=3)
    src, tgt_in, tgt_out = task.examples_of([np.array([6, 4, 7]), np.array([5])])
    assert src.tolist() == [[6, 4, 7, EOS], [5, EOS, PAD, PAD]]
    assert tgt_in.tolist() == [[BOS, 7, 4, 6], [BOS, 5, PAD, PAD]]
    assert tgt_out.tolist() == [[7, 4, 6, EOS], [5, EOS, PAD, PAD]]


@pytest.mark.parametrize(
    ("task", "answer"),
    [(CopyTask, lambda s: s), (ReverseTask, lambda s: s[::-1]), (SortTask, lambda s: sorted(s))],
)
def test_every_row_answers_its_source(task, answer, rng):
    task = task(symbols=7, max_length=6)
    src, tgt_in, tgt_out = task.batch(200, rng)
    for s, i, o in zip(src, tgt_in, tgt_out):
        assert symbols(o) == tuple(answer(symbols(s)))
        n = len(symbols(s))
        assert 1 <= n <= 6
        assert s.tolist() == [*symbols(s), EOS] + [PAD] * (len(s) - n - 1)
        assert i[0] == BOS
        assert symbols(i) == symbols(o)
        assert o.tolist() == [*symbols(o), EOS] + [PAD] * (len(o) - n - 1)
    assert src.max() == task.vocab_size - 1


def test_longer_sequences_are_drawn_more_often(rng):
    """P(length) = (2 length - 1) / max_length^2; fewer held out makes the short ones likelier."""
    lengths = (CopyTask(max_length=4).batch(20000, rng)[0] >= FIRST_SYMBOL).sum(axis=1)
    share = np.bincount(lengths, minlength=5)[1:] / 20000
    expected = np.array([1, 3, 0.8 * 5, 0.8 * 7])
    np.testing.assert_allclose(share, expected / expected.sum(), atol=0.02)


@pytest.mark.parametrize("task", TASKS)
def test_training_validation_and_test_never_share_a_sequence(task, rng):
    task = task(symbols=3, max_length=4)  # so few sequences that all of them are drawn
    seen = {symbols(row) for row in task.batch(4000, rng)[0]}
    validation = {symbols(row) for row in task.validation(1000)[0]}
    test = {symbols(row) for row in task.test(1000)[0]}
    assert validation
    assert test
    assert not seen & validation
    assert not seen & test
    assert not validation & test
    assert min(map(len, validation | test)) >= 3
    assert len(seen) + len(validation) + len(test) == 3 + 9 + 27 + 81


def test_held_out_sequences_are_different_and_the_same_every_time():
    task = CopyTask()
    src, _, _ = task.test(2000)
    assert len({symbols(row) for row in src}) == 2000
    again = task.test(500)[0]
    assert [symbols(row) for row in again] == [symbols(row) for row in src[:500]]


def test_the_split_is_a_hash_of_the_symbols_alone():
    sequence = np.array([3, 4, 5])
    assert bucket(sequence) == bucket(sequence.astype(np.int32)) == 5  # the same on every machine
    assert bucket(np.array([3, 3])) > TEST


def test_a_new_task_is_a_few_lines(rng):
    class SwapTask(Task):
        """3 1 4 -> 4 1 3, first and last exchanged"""

        name = "swap"

        def target(self, sequence):
            return [sequence[-1], *sequence[1:-1], sequence[0]] if len(sequence) > 1 else sequence

    src, _, tgt_out = SwapTask(symbols=5, max_length=4).batch(20, rng)
    for s, o in zip(map(symbols, src), map(symbols, tgt_out)):
        assert o[0] == s[-1]
        assert o[-1] == s[0]


def test_text_there_and_back():
    task = CopyTask(symbols=12)
    ids = task.source("3 11 0")
    assert ids.tolist() == [[6, 14, 3, EOS]]
    assert task.text(ids[0]) == "3 11 0"
    assert task.text([6, EOS, 5, PAD]) == "3"
    assert task.tokens([PAD, BOS, EOS, 3, 14]) == ["<pad>", "<bos>", "<eos>", "0", "11"]


@pytest.mark.parametrize(("call", "error", "message"), [
    *((lambda text=text: CopyTask().source(text), ValueError,
       f"one of 0 to 9, got '{text.split()[-1]}'") for text in ("3 x", "3 10", "-1", "3.0", "٣")),
    (lambda: CopyTask().source("  "), ValueError, "at least one symbol"),
    (lambda: CopyTask(symbols=0), ValueError, "symbols must be at least 1, got symbols=0"),
    (lambda: CopyTask(max_length=2.5), TypeError, "max_length must be an integer, got max_length="),
    (lambda: CopyTask().batch(3, 7), TypeError, r"numpy\.random\.Generator, got int"),
    (lambda: CopyTask().batch(-1, np.random.default_rng(0)), ValueError, "n must be at least 0"),
    (lambda: CopyTask().validation(2.5), TypeError, r"n must be an integer, got n=2\.5"),
])
def test_what_is_no_task_or_no_text_of_it_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_task_too_small_to_hold_anything_out_says_so(rng):
    task = CopyTask(symbols=2, max_length=2)
    assert len(task.batch(5, rng)[0]) == 5
    with pytest.raises(ValueError, match="no sequence of length >= 3 to hold out"):
        task.test(10)


def test_an_empty_batch_has_no_rows(rng):
    assert [x.shape for x in CopyTask().batch(0, rng)] == [(0, 1)] * 3
    assert padded([]).shape == (0, 1)
