"""The committed results of the experiments, in figures/."""

from pathlib import Path

FIGURES = Path(__file__).parents[1] / "figures"


def committed(experiment):
    """What `aiayn-np figures` found when the figures of the repository were made."""
    return experiment.load(FIGURES)
