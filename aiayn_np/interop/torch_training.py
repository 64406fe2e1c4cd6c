"""The training of a run, continued in PyTorch: on a processor, on a GPU, or on several of them.

Batches, rates, loss and Adam are those of the run. With several processes
(torch.nn.parallel.DistributedDataParallel) each process draws the whole batch and takes its share
of the rows. PyTorch then takes the plain mean of their gradients. But the loss of the batch is a
mean over target tokens, and the shares have different numbers of them. So each process starts its
backward from

    (sum of losses over its own targets) * processes / (number of targets of all).

The plain mean of these is the loss of the whole batch.
"""

import time
from collections import deque
from contextlib import nullcontext

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.functional import log_softmax
from torch.nn.parallel import DistributedDataParallel

from ..training.loop import AVERAGED_EVERY
from ..training.optimizer import warmup_rate
from .convert import to_torch
from .layout import to_ours, to_theirs


class TorchTraining:
    """Trains a prepared run further. This process has the number `rank` among `ranks` processes."""

    def __init__(self, run, device, rank=0, ranks=1):
        self.run, self.device, self.rank, self.ranks = run, device, rank, ranks
        self.options = run.config["train"]
        module = to_torch(run.model)
        self.config = module.config
        self.module = module.to(device).train()
        self.names = [name for name, _ in run.model.named_parameters()]
        self.trained = {n: p for n, p in self.module.named_parameters() if p.requires_grad}
        self.adam = self.make_adam(run.optimizer)
        self.call = DistributedDataParallel(self.module) if ranks > 1 else self.module
        self.recent = deque(map(self.tensors, run.recent), maxlen=run.recent.maxlen)
        seeds = np.random.SeedSequence([run.config["seed"], run.optimizer.t, rank])
        torch.manual_seed(int(seeds.generate_state(1)[0]))             # of dropout

    def tensors(self, state):
        """A state of ours as tensors by their names."""
        return {name: torch.from_numpy(value).to(self.device)
                for name, value in to_theirs(state, self.config).items()}

    def make_adam(self, ours):
        """PyTorch's Adam with the means and the step of ours."""
        adam = torch.optim.Adam(self.trained.values(), lr=0.0, eps=ours.eps,
                                betas=(ours.beta_1, ours.beta_2))
        m, v = (self.tensors(dict(zip(self.names, means))) for means in (ours.m, ours.v))
        for name, parameter in self.trained.items():
            adam.state[parameter] = dict(step=torch.tensor(float(ours.t)), exp_avg=m[name],
                                         exp_avg_sq=v[name])
        return adam

    def steps(self):
        """Take steps up to the run's last, and yield the record of each."""
        started, done = time.perf_counter(), self.run.optimizer.t
        seconds = self.run.history[-1].seconds if self.run.history else 0.0
        every = self.options.get("average_every", AVERAGED_EVERY)
        for step in range(done + 1, self.run.steps + 1):
            batch = self.run.batch(step)                               # batch
            scores = self.gradients(*batch)                            # forward, loss, backward
            rate = self.rate_of(step)                                  # rate
            self.adam.param_groups[0]["lr"] = rate
            self.adam.step()                                           # step
            self.run.optimizer.t = step
            if step % every == 0:
                self.recent.append({n: p.clone() for n, p in self.module.state_dict().items()})
            now = seconds + time.perf_counter() - started
            yield self.run.record_of(step, batch, *scores, rate, now)

    def rate_of(self, step):
        """The rate of Eq. (3), with the run's factor."""
        rate = warmup_rate(step, self.config["d_model"], self.options["warmup_steps"])
        return self.options["rate_scale"] * rate

    def gradients(self, src, tgt_in, tgt_out):
        """The gradient of a batch, into the parameters; (loss without smoothing, share right).

        As in ranks.py, each process computes its part in `accumulate` shares, one by one.
        """
        count = max(int(np.count_nonzero(tgt_out != self.config["pad"])), 1)
        self.adam.zero_grad()
        shares = list(zip(*map(self.shares, (src, tgt_in, tgt_out))))
        scores = torch.zeros(2, dtype=torch.float64, device=self.device)
        with self.call.no_sync() if self.ranks > 1 else nullcontext():
            for share in shares[:-1]:
                scores += self.add_gradient(share, count)
        scores += self.add_gradient(shares[-1], count)                 # the last one is exchanged
        if self.ranks > 1:
            dist.all_reduce(scores)
        if not torch.isfinite(scores[0]):
            raise FloatingPointError(f"step {self.run.optimizer.t + 1}: loss {scores[0].item()}")
        return (scores / count).tolist()

    def add_gradient(self, share, count):
        """Add the gradient of a share (src, tgt_in, tgt_out), over all `count` tokens of the batch.

        Return the sum of its losses, and how many of its tokens are right.
        """
        src, tgt_in, tgt_out = share
        log_p = log_softmax(self.call(src, tgt_in), dim=-1)            # (B, T, V)
        real = tgt_out != self.config["pad"]
        nats = -log_p.gather(-1, tgt_out[..., None])[..., 0][real].sum()
        eps_ls = self.options["eps_ls"]
        loss = (1 - eps_ls) * nats - eps_ls * log_p.mean(dim=-1)[real].sum()
        (loss * self.ranks / count).backward()
        right = (log_p.argmax(dim=-1) == tgt_out)[real].sum()
        return torch.stack([nats.detach(), right.to(nats.dtype)])

    def shares(self, ids):
        """This process's shares of a batch (B, T), each some rows; an empty one is padding."""
        k = self.options.get("accumulate", 1)
        mine = np.array_split(ids, self.ranks * k)[self.rank * k:(self.rank + 1) * k]
        padding = np.full((1, ids.shape[1]), self.config["pad"])
        return [torch.from_numpy(np.ascontiguousarray(rows if len(rows) else padding,
                                                      dtype=np.int64)).to(self.device)
                for rows in mine]

    def any_of(self, flag):
        """Whether the flag is true in any of the processes."""
        if self.ranks == 1:
            return flag
        found = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(found)
        return found.item() > 0

    def collect(self):
        """Copy values, Adam's means and the states to average back into the run."""
        run = self.run
        run.model.load_state_dict(self.ours(self.module.state_dict()))
        for key, means in (("exp_avg", run.optimizer.m), ("exp_avg_sq", run.optimizer.v)):
            state = {n: self.adam.state[p][key] for n, p in self.trained.items()}
            for mine, theirs in zip(means, self.in_order(state)):
                mine[...] = theirs
        run.recent.clear()
        run.recent.extend(map(self.ours, self.recent))

    def ours(self, state):
        """Tensors by PyTorch's names as one of our states. Frozen tensors are zero or not ours."""
        zeros = {n: p for n, p in self.module.state_dict().items() if n not in state}
        return to_ours({n: x.detach().cpu().numpy() for n, x in (state | zeros).items()},
                       self.config)

    def in_order(self, state):
        """The arrays of a state in the order of our parameters."""
        state = self.ours(state)
        return [state[name] for name in self.names]
