"""The claims of the paper, measured: each a function that returns numbers, and their figure.

    from aiayn_np.experiments import EXPERIMENTS
    result = EXPERIMENTS["variance"].run()
    print(result.finding)
    result.figure()

`aiayn-np figures` runs them all.
"""

from .experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from .variance import VARIANCE

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (VARIANCE,)}
