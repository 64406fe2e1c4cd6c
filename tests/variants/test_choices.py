"""Every variant that the command line names builds, trains and comes back from its checkpoint."""

import numpy as np
import pytest

from aiayn_course.cli.main import main
from aiayn_np import Transformer
from aiayn_np.runs.run import Run
from aiayn_np.variants.choices import CHOICES, keywords

NAMES = [(option, name) for option, names in CHOICES.items() for name in names]
def test_the_first_choices_are_the_papers(rng):
    first = keywords({option: next(iter(names)) for option, names in CHOICES.items()})
    sizes = dict(N=1, d_model=8, d_ff=12, h=2)
    a = Transformer(9, **sizes, rng=np.random.default_rng(3))
    b = Transformer(9, **sizes, **first, rng=np.random.default_rng(3))
    assert list(a.state_dict()) == list(b.state_dict())
    src, tgt = np.array([[3, 4, 5]]), np.array([[1, 3]])
    np.testing.assert_array_equal(a(src, tgt), b(src, tgt))


def test_an_unknown_choice_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["train", "copy", "--attention", "cosine"])
    assert "invalid choice: 'cosine'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "name"), [c for c in NAMES if c[1] not in ("scaled-dot", "sinusoidal", "post")]
)
def test_every_variant_solves_the_copy_task(tmp_path, option, name):
    out = str(tmp_path / "r")
    sizes = ["--symbols", "6", "--max-length", "6", "--d-model", "32", "--d-ff", "64", "--h", "2"]
    assert main(["train", "copy", *sizes, f"--{option}", name, "--out", out]) == 0
    run = Run.open(out)
    assert run.options[option] == name
    assert run.history[-1].solved
    numbers, _ = run.task.finish(run)
    assert numbers["exact_match"] >= 0.99
