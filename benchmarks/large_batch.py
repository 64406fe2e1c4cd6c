"""The paper's base model with its batch of 25 000 tokens on one machine: memory and time of a step.

    python benchmarks/large_batch.py                      25 shares of 1000 tokens; some minutes
    python benchmarks/large_batch.py --tokens 2000 --accumulate 4

It makes the model (V = 37 000, float32), fills the states that are averaged, estimates the memory
as `aiayn-np train text` does, takes one step of the training loop, and validates the average on a
batch. Then it prints the most memory that the process has had, as JSON.
"""

import argparse
import json
from collections import deque

import numpy as np

VOCABULARY, LENGTH = 37000, 100


def measure(tokens=25000, accumulate=25, **sizes):
    """{"tokens", "accumulate", "parameters", "estimated" and "peak" bytes, "seconds" of a step}."""
    from aiayn_np import Adam, LabelSmoothedCrossEntropy, Transformer
    from aiayn_np.runs.estimates import memory_of
    from aiayn_np.runs.text_run import peak_memory
    from aiayn_np.text.batches import Batches
    from aiayn_np.text.measures import loss_on
    from aiayn_np.training.loop import AVERAGED, averaged, token_nats, training_steps
    from aiayn_np.training.memory import keep_freed_memory
    from aiayn_np.training.ranks import ALONE, shared_gradient

    keep_freed_memory()
    rng = np.random.default_rng(0)
    vocab_size = sizes.pop("vocab_size", VOCABULARY)
    model = Transformer(vocab_size, **sizes, rng=rng).astype(np.float32)
    optimizer, criterion = Adam(model), LabelSmoothedCrossEntropy()
    recent = deque([model.state_dict() for _ in range(AVERAGED)], maxlen=AVERAGED)
    ids = rng.integers(4, vocab_size, (2, tokens // LENGTH, LENGTH), dtype=np.int32)
    pairs = list(zip(*ids))
    batches = Batches(pairs, tokens, 0)
    estimated = memory_of(model, batches, accumulate=accumulate)
    gradient = shared_gradient(model, criterion, token_nats, optimizer, ALONE, accumulate)
    (step,) = training_steps(
        model, criterion, batches.batch, lambda step: 1e-4, steps=1, rng=rng, optimizer=optimizer,
        recent=recent, average_every=1, measure=token_nats, record=lambda step: step,
        gradient=gradient)
    share = max(LENGTH, tokens // accumulate)
    loss_on(averaged(model, recent), Batches(pairs[: 2 * share // LENGTH], share, 0))
    return dict(tokens=tokens, accumulate=accumulate, estimated=estimated, peak=peak_memory(),
                parameters=optimizer.store.values.size, seconds=step.seconds)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--tokens", type=int, default=25000)
    p.add_argument("--accumulate", type=int, default=25)
    print(json.dumps(measure(**vars(p.parse_args()))))
