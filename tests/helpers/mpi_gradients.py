"""A program for mpiexec: every rank asserts that all together compute what one process does, and
that `train` with ranks trains what it trains without."""

import copy

import numpy as np
from mpi4py import MPI
from small_batches import CRITERION, batch, gradient_by, small

from aiayn_np import CopyTask, train
from aiayn_np.training.loop import token_nats
from aiayn_np.training.ranks import ALONE, Ranks
from aiayn_np.training.shares import Shares

ranks = Ranks(MPI.COMM_WORLD)
rng = np.random.default_rng(7)
for lengths in ([9, 2, 1, 7, 3, 1, 4, 8], [0, 0, 0, 0, 5, 3, 0, 1], [4]):
    model, ids = small(), batch(rng, lengths)
    assert len({x.tobytes() for x in ranks.all(ids[0])}) == 1
    whole = copy.deepcopy(model)
    logits, cache = whole.forward(ids[0], ids[1])
    _, loss_cache = CRITERION.forward(logits, targets=ids[2])
    loss = token_nats(loss_cache)
    whole.backward(CRITERION.backward(1.0, loss_cache), cache)
    want = np.concatenate([p.grad.ravel() for p in whole.parameters()])
    got, grads = gradient_by(model, ids, Shares(0, ranks))
    assert abs(got - loss) < 1e-12
    assert np.linalg.norm(grads - want) < 1e-12 * np.linalg.norm(want)
    assert len({x.tobytes() for x in ranks.all(grads)}) == 1

losses, values = [], []
for group in (ALONE, ranks):
    model, rng = small(), np.random.default_rng(1)
    steps = train(model, CopyTask(symbols=4, max_length=5), steps=5, batch_size=7, rng=rng,
                  validation_size=20, validate_every=2, ranks=group)
    losses.append([p.loss for p in steps])
    values.append(np.concatenate([p.value.ravel() for p in model.parameters()]))
np.testing.assert_allclose(*losses, rtol=1e-10)
np.testing.assert_allclose(*values, atol=1e-9)
assert len({x.tobytes() for x in ranks.all(values[1])}) == 1
if ranks.rank == 0:
    print(f"{ranks.size} ranks agree")
