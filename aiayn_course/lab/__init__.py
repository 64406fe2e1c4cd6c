"""The laboratory: measured claims, of the paper and further ones; and the zoo of planted bugs.

    >>> from aiayn_course.lab import EXPERIMENTS
    >>> result = EXPERIMENTS["embedding_scale"].run()
    >>> print(result.verdict)
    agrees
    >>> picture = result.figure()

`result.finding` says the measured numbers. `aiayn-np figures --measure` measures all claims.

Public names, by the file that defines them:

    claims.additive    start_variances
    claims.complexity  forward_of
    claims.head_jobs   cross_attention_heads, job_scores, job_table, solve
    claims.induction   copied, exact_without, prefix_scores, repeated, trained
    claims.made_of     trained
    claims.position_training  of_length
    claims.warm_up     blind_loss
    counting           count
    effects            draw_effects
    gallery            minutes, note_machine, page, processor
    gate               Effect, Trained, best_rates, effect, models_of, verdict_of
    learning           at_scale, each, ends, held_out_ends, learn, losses, scores, small_model,
                       smooth
    populations        draw_population, population
    zoo.bug            planted
    zoo.learning       learn_to_copy
    zoo.runner         failures, hunt
    measuring          draw_quartiles, exponent, peak_bytes, seconds, step_of, time_ratios
"""

import warnings
from importlib import import_module
from pkgutil import iter_modules

from . import claims
from .experiment import AGREES, DISAGREES, IN_PART, NOT_SETTLED, Experiment, Result

# Apple's BLAS raises these flags for correct products, see aiayn_np.
warnings.filterwarnings("ignore", "(divide by zero|overflow|invalid value) encountered in matmul",
                        RuntimeWarning, module=r"aiayn_course\.lab")

__all__ = ["AGREES", "DISAGREES", "EXPERIMENTS", "IN_PART", "NOT_SETTLED", "Experiment", "Result"]

# all experiments of all modules in claims/, by the number of the claim
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in sorted(
    (value for module in iter_modules(claims.__path__)
     for value in vars(import_module(f"{claims.__name__}.{module.name}")).values()
     if isinstance(value, Experiment)), key=lambda experiment: experiment.claim)}
