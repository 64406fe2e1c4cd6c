"""A second small corpus: numbers, dates and times of day in Chinese and in English words.

    二十万零四百二十八        two hundred thousand, four hundred and twenty-eight
    一九八四年六月三日        June the third, nineteen eighty-four
    下午三点四十分            forty minutes past three in the afternoon

Chinese counts in ten thousands. It says the year before the month and the day, and the part of the
day and the hour before the minutes. English does the opposite, so attention has to cross over.
Chinese has no spaces between words: the vocabulary learns where its pieces end.

    python -m aiayn_course.data.chinese_phrases FOLDER     writes the pairs as files to train on
"""

import datetime
import sys
from pathlib import Path

from aiayn_np.text.pairs import read_lines

from .number_words import DATA, HELD_OUT, NumberWords, digest, write_lists

DIGITS = "零一二三四五六七八九"
UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
         "nineteen"]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
            "nine": "ninth", "twelve": "twelfth"}
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December"]
PARTS_OF_DAY = [(6, "凌晨", "at night"), (12, "上午", "in the morning"),
                (13, "中午", "in the afternoon"), (18, "下午", "in the afternoon"),
                (24, "晚上", "in the evening")]
NUMBERS, DATES = 4000, 4000  # of larger numbers and of dates; all numbers below 1000 are used


def chinese_number(n: int) -> str:
    """Say a number from 0 to 999 999 in Chinese.

    >>> chinese_number(200_428), chinese_number(12_000), chinese_number(10)
    ('二十万零四百二十八', '一万二千', '十')
    """
    above, below = divmod(n, 10_000)
    words = below_ten_thousand(above) + "万" if above else ""
    if below or not above:
        gap = "零" if above and below < 1000 else ""
        words += gap + below_ten_thousand(below)
    return words[1:] if words.startswith("一十") else words


def below_ten_thousand(n):
    """Write four digits of a number; 零 stands once for zeros between digits, never at the end."""
    words, waiting = "", False
    for place, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = n // place % 10
        if digit:
            words += "零" * (waiting and bool(words)) + DIGITS[digit] + unit
        waiting = not digit
    return words or "零"


def english_number(n: int) -> str:
    """Say a number from 0 to 999 999 in English.

    >>> english_number(200_428)
    'two hundred thousand, four hundred and twenty-eight'
    """
    above, below = divmod(n, 1000)
    if not above:
        return below_thousand(below)
    words = f"{below_thousand(above)} thousand"
    if not below:
        return words
    return f"{words}, {below_thousand(below)}" if below >= 100 else f"{words} and {tens(below)}"


def below_thousand(n):
    hundreds, rest = divmod(n, 100)
    words = [f"{UNITS[hundreds]} hundred"] * bool(hundreds)
    return " and ".join(words + [tens(rest)] * bool(rest or not hundreds))


def tens(n):
    """Say a number below 100 in English."""
    if n < 20:
        return UNITS[n]
    return TENS[n // 10] + (f"-{UNITS[n % 10]}" if n % 10 else "")


def ordinal(n: int) -> str:
    """Return the ordinal of n in words, for n below 100.

    >>> ordinal(21), ordinal(30), ordinal(12)
    ('twenty-first', 'thirtieth', 'twelfth')
    """
    front, dash, last = tens(n).rpartition("-")
    last = ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return front + dash + last


def date(year: int, month: int, day: int) -> tuple[str, str]:
    """Say a date from 1900 to 2099 in both languages.

    >>> date(2005, 11, 22)
    ('二零零五年十一月二十二日', 'November the twenty-second, two thousand and five')
    """
    chinese = "".join(DIGITS[int(digit)] for digit in str(year))
    chinese += f"年{chinese_number(month)}月{chinese_number(day)}日"
    century, rest = divmod(year, 100)
    spoken = (english_number(year) if year >= 2000 else
              f"{tens(century)} {tens(rest) if rest > 9 else f'oh {UNITS[rest]}'}" if rest else
              f"{tens(century)} hundred")
    return chinese, f"{MONTHS[month - 1]} the {ordinal(day)}, {spoken}"


def time_of_day(hour: int, minute: int) -> tuple[str, str]:
    """Say a time in both languages, with an hour from 0 to 23.

    >>> time_of_day(15, 40)
    ('下午三点四十分', 'forty minutes past three in the afternoon')
    >>> time_of_day(9, 1)
    ('上午九点零一分', 'one minute past nine in the morning')
    """
    _, part, english_part = next(row for row in PARTS_OF_DAY if hour < row[0])
    chinese = f"{part}{chinese_number(hour % 12 if hour != 12 else 12)}点"
    name = tens(hour % 12 or 12)
    if minute == 0:
        return chinese, f"{name} o'clock {english_part}"
    if minute == 30:
        return f"{chinese}半", f"half past {name} {english_part}"
    chinese += f"{'零' if minute < 10 else ''}{chinese_number(minute)}分"
    minutes = "one minute" if minute == 1 else f"{tens(minute)} minutes"
    return chinese, f"{minutes} past {name} {english_part}"


def chinese_phrases() -> NumberWords:
    """Return pairs (Chinese, English), always the same, in three lists that share no pair.

    >>> [len(pairs) for pairs in chinese_phrases()]
    [9440, 500, 500]
    """
    first, last = (datetime.date(year, 1, 1).toordinal() for year in (1900, 2100))
    days = sorted(map(datetime.date.fromordinal, range(first, last)), key=digest)[:DATES]
    drawn = (int(line.split("\t")[2]) for line in read_lines(DATA))      # with zeros in all places
    large = [n for n in drawn if n >= 1000][:NUMBERS]
    found = [(chinese_number(n), english_number(n)) for n in [*range(1000), *large]]
    found += [date(day.year, day.month, day.day) for day in days]
    found += [time_of_day(minutes // 60, minutes % 60) for minutes in range(24 * 60)]
    words = found[:100]                                             # so that training has each word
    others = sorted(found[100:], key=digest)
    return NumberWords(others[2 * HELD_OUT :] + words, others[HELD_OUT : 2 * HELD_OUT],
                       others[:HELD_OUT])


def write_chinese_phrases(folder: str | Path) -> list[Path]:
    """Write the pairs as files of lines, as `write_number_words` does; the test file is test.zh."""
    return write_lists(chinese_phrases(), ("zh", "en"), folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m aiayn_course.data.chinese_phrases FOLDER")
    print(*write_chinese_phrases(sys.argv[1]), sep="\n")
