"""Models with a hidden bug, for notebooks/exercises/find_the_bug.ipynb."""

from aiayn_np.proofs.probing import randomise

from .models import STATEMENTS, TASK, guess, hint, mystery, reveal

__all__ = ["STATEMENTS", "TASK", "guess", "hint", "mystery", "randomise", "reveal"]
