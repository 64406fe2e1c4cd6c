"""`aiayn-np train copy` in PyTorch: the same model, values, batches, rate, loss and validation.

    python benchmarks/torch_copy.py [--seed 0]

Task, batches and the rate are those of the package. Model, loss, gradients, Adam, the average of
the last states, and decoding are PyTorch's. It starts from the values that the package draws, so at
first the losses of both differ only by rounding.
"""

import argparse
import copy
import sys
from collections import deque

import numpy as np
import torch
from common import Config
from in_torch import Model, renamed
from torch import nn

from aiayn_np import CopyTask, Transformer, warmup_rate

C = Config(vocab_size=13, d_model=64, h=4, d_ff=256, N=2, B=64, T=62)
STEPS, VALIDATE_EVERY, VALIDATION_SIZE, CHUNK = 4000, 25, 5000, 500
AVERAGED, AVERAGED_EVERY, WARMUP_STEPS, RATE_SCALE, EPS_LS = 5, 10, 100, 0.2, 0.1
TASK = CopyTask()


def later(T):
    """The causal mask: True where a query may not look."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def start(seed):
    """(model, rng) of a run of the package before its first step."""
    rng = np.random.default_rng(seed)
    ours = Transformer(C.vocab_size, N=C.N, d_model=C.d_model, d_ff=C.d_ff, h=C.h, P_drop=0.0,
                       max_len=C.T, rng=rng).astype(np.float32)
    model = Model(C, ours.positions.table(C.T).astype(np.float32), pad=TASK.pad)
    model.load_state_dict(renamed(ours.state_dict()))
    return model, rng


def train(seed):
    """Yield (step, loss, validation or None) until validation is perfect."""
    model, rng = start(seed)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    criterion = nn.CrossEntropyLoss(label_smoothing=EPS_LS, ignore_index=TASK.pad)
    recent: deque[dict] = deque(maxlen=AVERAGED)
    examples = TASK.validation(VALIDATION_SIZE)
    for step in range(1, STEPS + 1):
        src, tgt_in, tgt_out = map(torch.from_numpy, TASK.batch(C.B, rng))
        adam.zero_grad()
        logits = model(src, tgt_in, later(tgt_in.shape[1]))
        loss = criterion(logits.flatten(0, 1), tgt_out.flatten())
        loss.backward()
        if not torch.isfinite(loss):
            raise FloatingPointError(f"step {step}: loss {loss.item()}")
        adam.param_groups[0]["lr"] = RATE_SCALE * warmup_rate(step, C.d_model, WARMUP_STEPS)
        adam.step()
        if step % AVERAGED_EVERY == 0:
            recent.append({k: v.clone() for k, v in model.state_dict().items()})
        share = None
        if step % VALIDATE_EVERY == 0:
            share = validate(averaged(model, recent), examples)
        yield step, loss.item(), share
        if share == 1:
            return


def averaged(model, states):
    """A copy of the model with the mean of some of its states."""
    average = copy.deepcopy(model)
    average.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    return average


@torch.inference_mode()
def validate(model, examples):
    """Share decoded exactly; the longest come first, in chunks up to the first mistake."""
    longest_first = np.argsort(-(examples[0] != TASK.pad).sum(axis=1), kind="stable")
    src, tgt_in, tgt_out = (torch.from_numpy(ids[longest_first]) for ids in examples)
    for i in range(0, len(src), CHUNK):
        chunk = slice(i, i + CHUNK)
        best = model(src[chunk], tgt_in[chunk], later(tgt_in.shape[1])).argmax(-1)
        right = ((best == tgt_out[chunk]) | (tgt_out[chunk] == TASK.pad)).all(1)
        if not right.all():
            return float(i + right.sum()) / (i + len(right))
    chunks = zip(src.split(CHUNK), tgt_out.split(CHUNK))
    return sum(int((decode(model, s, t.shape[1]) == t).all(1).sum()) for s, t in chunks) / len(src)


def decode(model, src, T):
    """Greedy output, T tokens, pad after the end. Each token computes the whole prefix."""
    memory, tgt = model.encode(src), torch.full((len(src), 1), TASK.bos)
    going = torch.ones(len(src), dtype=torch.bool)
    for t in range(1, T + 1):
        token = model.decode(tgt, memory, src, later(t))[:, -1].argmax(-1)
        tgt = torch.cat([tgt, torch.where(going, token, TASK.pad)[:, None]], dim=1)
        going &= token != TASK.eos
    return tgt[:, 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first values and the batches")
    for step, loss, share in train(parser.parse_args().seed):
        if share is not None:
            print(f"step {step:5d}  loss {loss:.3f}  validation {share:.2%}", file=sys.stderr,
                  flush=True)
    print(f"copy: {'solved' if share == 1 else 'not solved'} after {step} steps")


if __name__ == "__main__":
    main()
