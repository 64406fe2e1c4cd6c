"""The claims of the paper and further ones: a function measures each, and a figure shows it.

    >>> from aiayn_np.experiments import EXPERIMENTS
    >>> result = EXPERIMENTS["causality"].run()
    >>> print(result.verdict)
    agrees
    >>> picture = result.figure()

`result.finding` says in one sentence what was measured. `aiayn-np figures` measures all claims.

Public names, by the file that defines them:

    claims.additive   start_variances
    claims.head_jobs  cross_attention_heads, job_scores, job_table, solve
    claims.warm_up    blind_loss
    counting          count
    gallery           note_machine, page, processor
    learning          each, learn, losses, scores, small_model, smooth, taught
    measuring         draw_quartiles, exponent, peak_bytes, seconds, step_of, time_ratios
"""

from .claims.additive import ADDITIVE
from .claims.additive_cost import ADDITIVE_COST
from .claims.causality import CAUSALITY
from .claims.complexity import COMPLEXITY
from .claims.embedding_scale import EMBEDDING_SCALE
from .claims.head_count import HEAD_COUNT, KEY_WIDTH
from .claims.head_jobs import HEAD_JOBS
from .claims.heads_cost import HEADS_COST
from .claims.induction import INDUCTION
from .claims.normalisation import NORMALISATION
from .claims.overfitting import DROPOUT
from .claims.parameter_counts import PARAMETER_COUNTS
from .claims.permutation import PERMUTATION
from .claims.position_training import LEARNED_POSITIONS
from .claims.positions import ROTATION
from .claims.saturation import SATURATION
from .claims.scale_training import SCALE_TRAINING
from .claims.smoothing import LABEL_SMOOTHING
from .claims.variance import VARIANCE
from .claims.warm_up import WARM_UP
from .experiment import AGREES, DISAGREES, IN_PART, NOT_HERE, Experiment, Result

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        VARIANCE, SATURATION, SCALE_TRAINING, ADDITIVE, ADDITIVE_COST, HEADS_COST, COMPLEXITY,
        ROTATION, LEARNED_POSITIONS, PERMUTATION, CAUSALITY, HEAD_JOBS, HEAD_COUNT, KEY_WIDTH,
        DROPOUT, LABEL_SMOOTHING, EMBEDDING_SCALE, WARM_UP, NORMALISATION, PARAMETER_COUNTS,
        INDUCTION,
    )
}
