"""The claims of the paper, measured: each a function that returns numbers, and their figure.

    >>> from aiayn_np.experiments import EXPERIMENTS
    >>> result = EXPERIMENTS["causality"].run()
    >>> print(result.verdict)
    agrees
    >>> picture = result.figure()

`result.finding` says in a sentence what was measured. `aiayn-np figures` runs them all.
"""

from .additive import ADDITIVE
from .additive_cost import ADDITIVE_COST
from .causality import CAUSALITY
from .complexity import COMPLEXITY
from .embedding_scale import EMBEDDING_SCALE
from .experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from .head_count import HEAD_COUNT, KEY_WIDTH
from .head_jobs import HEAD_JOBS
from .heads_cost import HEADS_COST
from .normalisation import NORMALISATION
from .overfitting import DROPOUT
from .parameter_counts import PARAMETER_COUNTS
from .permutation import PERMUTATION
from .position_training import LEARNED_POSITIONS
from .positions import ROTATION
from .saturation import SATURATION
from .scale_training import SCALE_TRAINING
from .smoothing import LABEL_SMOOTHING
from .variance import VARIANCE
from .warm_up import WARM_UP

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        VARIANCE, SATURATION, SCALE_TRAINING, ADDITIVE, ADDITIVE_COST, HEADS_COST, COMPLEXITY,
        ROTATION, LEARNED_POSITIONS, PERMUTATION, CAUSALITY, HEAD_JOBS, HEAD_COUNT, KEY_WIDTH,
        DROPOUT, LABEL_SMOOTHING, EMBEDDING_SCALE, WARM_UP, NORMALISATION, PARAMETER_COUNTS,
    )
}
