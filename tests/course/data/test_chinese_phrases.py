"""The Chinese phrases: each says what its English says, and a model learns them."""

import datetime
import re

import pytest
from test_text_numbers import english_value, share_right

from aiayn_course.data.chinese_phrases import (
    chinese_number,
    chinese_phrases,
    date,
    english_number,
    time_of_day,
    write_chinese_phrases,
)
from aiayn_course.data.number_words import number_words
from aiayn_np.runs.start import start_run

DIGITS = {digit: i for i, digit in enumerate("零一二三四五六七八九")}
UNITS = {"十": 10, "百": 100, "千": 1000}


def chinese_value(text):
    """The number that Chinese characters say, read from left to right."""
    total, now, digit = 0, 0, 0
    for character in text:
        if character == "万":
            total, now, digit = (now + digit) * 10_000, 0, 0
        elif character in UNITS:
            now += UNITS[character] * (digit or 1)                     # 十 alone is ten
            digit = 0
        else:
            digit = DIGITS[character]
    return total + now + digit


@pytest.mark.parametrize(("n", "chinese"), [                           # as they are read aloud
    (0, "零"), (10, "十"), (12, "十二"), (20, "二十"), (21, "二十一"), (100, "一百"),
    (101, "一百零一"), (110, "一百一十"), (115, "一百一十五"), (1000, "一千"), (1001, "一千零一"),
    (1010, "一千零一十"), (1100, "一千一百"), (10_000, "一万"), (10_001, "一万零一"),
    (10_010, "一万零一十"), (12_000, "一万二千"), (100_000, "十万"), (100_100, "十万零一百"),
    (120_000, "十二万"), (200_428, "二十万零四百二十八"), (305_070, "三十万五千零七十"),
    (999_999, "九十九万九千九百九十九"),
])
def test_numbers_are_said_as_in_chinese(n, chinese):
    assert chinese_number(n) == chinese


def test_every_number_is_read_back_from_its_characters():
    numbers = [*range(20_000), *range(20_000, 10**6, 97)]
    assert [chinese_value(chinese_number(n)) for n in numbers] == numbers


def test_english_numbers_are_those_that_num2words_spells():
    english = [target for pairs in number_words() for _, target in pairs]
    assert len(english) > 8000
    assert all(english_number(english_value(words)) == words for words in english)


def pairs_of(kind):
    """The pairs of one kind in all lists: with 日 dates, with 点 times, the others numbers."""
    every = [pair for pairs in chinese_phrases() for pair in pairs]
    mark = {"dates": "日", "times": "点"}
    return [pair for pair in every if (mark[kind] in pair[0] if kind in mark else
                                       not set(mark.values()) & set(pair[0]))]


def test_each_pair_says_one_thing():
    for chinese, english in pairs_of("numbers"):
        assert chinese_value(chinese) == english_value(english)
    dates = pairs_of("dates")
    for chinese, english in dates:
        year, month, day = re.split("[年月日]", chinese)[:3]
        year = int("".join(str(DIGITS[digit]) for digit in year))
        when = datetime.date(year, chinese_value(month), chinese_value(day))
        assert (chinese, english) == date(when.year, when.month, when.day)
        assert when.strftime("%B") == english.split()[0]
    assert len(dates) == 4000
    assert len(pairs_of("times")) == 24 * 60


@pytest.mark.parametrize(("made", "english"), [
    (date(1999, 12, 31), "December the thirty-first, nineteen ninety-nine"),
    (date(1900, 1, 1), "January the first, nineteen hundred"),
    (date(1905, 2, 3), "February the third, nineteen oh five"),
    (date(2026, 11, 22), "November the twenty-second, two thousand and twenty-six"),
    (time_of_day(0, 0), "twelve o'clock at night"),
    (time_of_day(12, 30), "half past twelve in the afternoon"),
    (time_of_day(23, 59), "fifty-nine minutes past eleven in the evening"),
])
def test_dates_and_times_in_english(made, english):
    assert made[1] == english


def test_the_lists_share_no_pair_and_training_has_every_character():
    training, validation, test = chinese_phrases()
    assert [len(set(pairs)) for pairs in (training, validation, test)] == [9440, 500, 500]
    assert not set(training) & set(validation) | set(training) & set(test)
    assert not set(validation) & set(test)
    assert set("".join(source for source, _ in [*validation, *test])) <= set(
        "".join(source for source, _ in training))
    assert sum(len(f"{a}\t{b}\n".encode()) for a, b in training) < 800_000


def test_they_are_written_as_files_to_train_on(tmp_path):
    paths = write_chinese_phrases(tmp_path)
    assert [path.name for path in paths] == ["training.tsv", "validation.tsv", "test.zh", "test.en"]
    lines = paths[2].read_text(encoding="utf-8").splitlines()
    assert lines == [source for source, _ in chinese_phrases().test]


@pytest.mark.slow
def test_a_model_learns_phrases_that_it_has_not_seen(tmp_path):
    write_chinese_phrases(tmp_path)
    files = dict(pairs=tmp_path / "training.tsv", validation_pairs=tmp_path / "validation.tsv")
    run, _ = start_run(tmp_path / "run", "text", files, preset="phrases", seed=0)
    list(run.train())
    assert share_right(run, chinese_phrases().test) >= 0.99
