"""The command line is read as people type it: any order, examples that work, typing errors."""

import itertools
import re
import shlex

import pytest

from aiayn_course.cli.main import COMMANDS as COURSE
from aiayn_course.cli.main import parsed, parser
from aiayn_np.cli.options import RARE
from aiayn_np.cli.parser import COMMANDS as PAPER

COMMANDS = (*PAPER, *COURSE)
NAMES = [name for name, *_ in COMMANDS]
EXAMPLES = [shlex.split(line, comments=True)[1:]
            for *_, examples in COMMANDS for line in examples.strip().splitlines()]


def pieces(words, parser):
    """The words after a command in pieces that belong together: an option with its value."""
    found, words = [], iter(words)
    for word in words:
        action = parser._option_string_actions.get(word)
        found.append([word] if action is None or action.nargs == 0 else [word, next(words)])
    return found


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_options_and_sequences_stand_in_any_order(words):
    """All orders of the pieces that keep the order of the sequences."""
    name, *rest = words
    parts = pieces(rest, parser()[1][name])
    positional = [part for part in parts if not part[0].startswith("--")]
    orders = {tuple(map(tuple, order)) for order in itertools.permutations(parts)
              if [part for part in order if part in positional] == positional}
    for order in orders:
        assert parsed([name, *itertools.chain(*order)]) == parsed(words), order


def help_of(words, capsys):
    with pytest.raises(SystemExit) as caught:
        parsed([*words, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_examples_of_its_own(name, capsys):
    examples = help_of([name], capsys).split("examples:\n")[1].strip().splitlines()
    assert 1 <= len(examples) <= 4
    assert all(line.strip().startswith(f"aiayn-np {name} ") or line.strip() == f"aiayn-np {name}"
               for line in examples)


def test_the_help_of_all_names_every_command(capsys):
    text = help_of([], capsys)
    assert all(re.search(rf"^    {name}\s", text, re.M) for name in NAMES)
    assert "aiayn-np train copy" in text


def test_options_that_are_rarely_needed_come_last(capsys):
    """They stand behind those of the task, the model and text."""
    text = help_of(["train"], capsys)
    assert all(text.index(f"  {flag} ") > text.index("  --epochs ") for flag, *_ in RARE)
    assert text.index("  --steps ") < text.index("  --N ") < text.index("  --pairs ")


@pytest.mark.parametrize(("words", "messages"), [
    (["trian"], ["invalid choice: 'trian'", "; did you mean train?"]),
    (["train", "cpoy"], ["invalid choice: 'cpoy'", "; did you mean copy?"]),
    (["train", "sing"], ["invalid choice: 'sing'"]),
    (["train", "copy", "--steps", "x"], ["invalid int value: 'x'"]),
    (["train", "copy", "--step", "3"], ["--step", "; did you mean --steps?"]),
    (["explore", "run", "--ttle", "x"], ["--ttle", "; did you mean --title?"]),
    (["zoo", "3", "--trai"], ["--trai", "; did you mean --train?"]),
])
def test_a_typing_error_is_one_line_and_the_nearest_word(words, messages, capsys):
    """No option is abbreviated: `--step` would be another one in the next release."""
    with pytest.raises(SystemExit) as caught:
        parsed(words)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert all(message in err for message in messages)
    assert err.count("\n") == 1
    assert "--help)" in err


def test_no_command_at_all_shows_the_help(capsys):
    with pytest.raises(SystemExit) as caught:
        parsed([])
    assert caught.value.code == 0
    assert "first steps:" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_no_command_takes_an_abbreviation(name, capsys):
    for flag in parser()[1][name]._option_string_actions:
        if len(flag) > 4:
            with pytest.raises(SystemExit):
                parsed([name, flag[:-1]])
