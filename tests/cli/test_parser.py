"""The command line is read as people type it: any order, examples that work, typing errors."""

import itertools
import re
import shlex

import pytest

from aiayn_course.cli.main import COMMANDS as COURSE
from aiayn_course.cli.main import parsed, parser
from aiayn_np.cli.parser import COMMANDS as PAPER

COMMANDS = [command for _, commands in PAPER + COURSE for command in commands]
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
    if name == "train":
        name, rest = " ".join(words[:2]), words[2:]
    parts = pieces(rest, parser()[1][name])
    positional = [part for part in parts if not part[0].startswith("--")]
    orders = {tuple(map(tuple, order)) for order in itertools.permutations(parts)
              if [part for part in order if part in positional] == positional}
    for order in orders:
        assert parsed([*name.split(), *itertools.chain(*order)]) == parsed(words), order


def help_of(words, capsys):
    with pytest.raises(SystemExit) as caught:
        parsed([*words, "--help"])
    assert caught.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_examples_of_its_own(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    examples = help_of([name], capsys).split("examples:\n")[1].strip().splitlines()
    assert 1 <= len(examples) <= 4
    assert all(line.strip().startswith(f"aiayn-np {name} ") or line.strip() == f"aiayn-np {name}"
               for line in examples)


def test_the_help_of_all_names_every_command_in_four_groups(capsys):
    text = help_of([], capsys)
    assert all(re.search(rf"^  {name}\s", text, re.M) for name in NAMES)
    assert len(NAMES) <= 16
    places = [text.index(f"{group}:") for group in ("train and try", "look inside", "real models",
                                                    "course")]
    assert places == sorted(places)
    assert "aiayn-np train copy" in text
    assert "aiayn_course" not in text                                  # only `python -m aiayn_np`
    with pytest.raises(SystemExit) as caught:                          # no command at all
        parsed([])
    assert caught.value.code == 0
    assert capsys.readouterr().out == text


def test_every_task_of_train_lists_its_own_options_alone(capsys):
    """What the help of a task lists is what it takes, and nothing of another task."""
    others = {"copy": ["--epochs", "--tokens", "--vocab-size", "--preset", "--text", "--like"],
              "text": ["--steps", "--batch-size", "--symbols", "--text", "--h-kv"],
              "words": ["--epochs", "--tokens", "--symbols", "--attention", "--pairs"]}
    for task, flags in others.items():
        known, text = parser()[1][f"train {task}"]._option_string_actions, help_of(
            ["train", task], capsys)
        for flag in flags:
            assert flag not in known
            assert not re.search(rf"^  {flag}\b", text, re.M)


def test_options_that_are_rarely_needed_come_last(capsys):
    text = help_of(["train", "text"], capsys)
    assert text.index("--pairs ") < text.index("--epochs ") < text.index("--N ") < text.index(
        "--eps-ls ")


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


def test_no_command_takes_an_abbreviation(capsys):
    for name, one in parser()[1].items():
        for flag in one._option_string_actions:
            if len(flag) > 4:
                with pytest.raises(SystemExit):
                    parsed([*name.split(), flag[:-1]])
