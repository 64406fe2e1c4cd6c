"""The command `check`: it checks the gradients of a whole model."""

from .common import printable

LEGEND = """analytic  what backward gives, along one random direction for each tensor
numeric   the same number, measured by forward alone
error     their relative difference, which must be at most 1e-12
central   numeric once more, by a rougher method
"""


def add_check_options(parser):
    """Add the options of `check`."""
    parser.add_argument("--seed", type=int, default=0, help="of model, batch and directions")


def check_command(args):
    """Print the gradient check of a whole model; the exit code is 1 if a gradient is wrong."""
    import numpy as np

    from ..proofs.gradient_check import check_gradients
    from ..training.checks import check_seed
    from ..training.loss import LabelSmoothedCrossEntropy, ModelLoss
    from ..training.tasks import CopyTask
    from ..transformer import Transformer

    check_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    task = CopyTask(symbols=8, max_length=5)
    model = Transformer(task.vocab_size, N=2, d_model=12, d_ff=20, h=3, P_drop=0.2, rng=rng)
    src, tgt_in, tgt_out = task.batch(3, rng)
    whole = ModelLoss(model, LabelSmoothedCrossEntropy(0.1, task.pad))
    report = check_gradients(whole, src, tgt_in, targets=tgt_out, rng=rng, seed=args.seed)
    print(printable(f"{LEGEND}\n{report}"))
    return 0 if report else 1
