"""The command line is read as people type it: any order, examples that work, typing errors."""

import itertools
import re
import shlex

import pytest

from aiayn_course.cli.main import COMMANDS as COURSE
from aiayn_course.cli.main import main, parsed, parser
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


def test_the_help_of_all_names_every_command(capsys):
    text = help_of([], capsys)
    assert all(re.search(rf"^  {name}\s", text, re.M) for name in NAMES)
    assert "aiayn-np train copy" in text


@pytest.mark.parametrize("name", ["", *NAMES, "train copy", "train text", "train words"])
def test_in_a_narrow_terminal_text_and_examples_go_on_in_the_next_line(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    wide = help_of(name.split(), capsys)
    monkeypatch.setenv("COLUMNS", "40")
    narrow = help_of(name.split(), capsys)
    assert not [line for line in narrow.splitlines() if len(line) > 40]
    before = narrow.split("examples:" if name else "first steps:")[0]
    assert "\\" not in before
    assert ",  " not in before
    command = re.compile(r"(?m)^  aiayn-np [^#\\\n]*(?:\\\n[^#\\\n]*)*")
    shell = [[shlex.split(found.replace("\\\n", "")) for found in command.findall(text)]
             for text in (wide, narrow)]
    assert shell[0] == shell[1]
    assert shell[0] or name.startswith("train ")                       # a task has no examples


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


@pytest.mark.parametrize(("task", "flag", "here"), [
    ("copy", "--epochs", "--steps"), ("words", "--tokens", "--batch-size"),
    ("text", "--batch-size", "--tokens"), ("text", "--text", "--pairs"),
])
def test_an_option_of_another_task_is_told_with_the_one_to_take(task, flag, here, capsys):
    with pytest.raises(SystemExit):
        main(["train", task, flag, "5"])
    assert f"unrecognized arguments: {flag} 5; here it is {here} " in capsys.readouterr().err


def test_options_that_are_rarely_needed_come_last(capsys):
    text = help_of(["train", "text"], capsys)
    assert text.index("--pairs ") < text.index("--epochs ") < text.index("--N ") < text.index(
        "--eps-ls ")


def test_there_are_at_most_16_commands_in_four_groups(capsys):
    text = help_of([], capsys)
    places = [text.index(f"{group}:") for group in ("train and try", "look inside", "real models",
                                                    "course")]
    assert places == sorted(places)
    assert len(NAMES) <= 16


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


@pytest.mark.parametrize(("task", "flag", "of"), [
    ("copy", "--text", "words"), ("copy", "--vocab-size", "text, words"),
    ("text", "--symbols", "copy, reverse, sort"), ("text", "--like", "words"),
    ("sort", "--pairs", "text"), ("words", "--attention", "copy, reverse, sort, text")])
def test_an_option_of_other_tasks_is_told_with_the_tasks_that_have_it(task, flag, of, capsys):
    with pytest.raises(SystemExit):
        main(["train", task, flag, "5"])
    err = capsys.readouterr().err
    assert f"unrecognized arguments: {flag} 5; it is an option of train {of} (see" in err
    assert err.count("\n") == 1
