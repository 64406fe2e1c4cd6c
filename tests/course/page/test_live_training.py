"""The page's training beside the library's: losses, gradients, and the gradient of the scores."""

import numpy as np
import pytest
from javascript import node, packed

from aiayn_np import Adam, CopyTask, LabelSmoothedCrossEntropy, ReverseTask, SortTask, Transformer
from aiayn_np.training.optimizer import warmup_rate

pytestmark = pytest.mark.slow
STEPS = 50
LEARN = """
function main({ tree, weights, batches, alone }) {
  const learner = new Learner({ tree, size: weights.length }, { bos: 1 }, 1);
  learner.values.set(weights);
  const run = (steps) => {
    for (;;) {
      const { value, done } = steps.next();
      if (done) return value;
    }
  };
  const one = learner.learn_from(alone, alone.targets.length);
  const scores = attention_paths(learner.model).map(
    (path) => at(one.cache, path).attention.grad_scores.map((g) => [...g.data]));
  const grads = [];
  const losses = batches.map((batch) => {
    const loss = run(learner.step(batch));
    if (!grads.length) grads.push(...learner.grads);
    return loss;
  });
  return { scores, losses, grads, values: [...learner.values] };
}
"""


def small(rng, **sizes):
    """The model that the page begins with."""
    options = dict(N=1, d_model=32, d_ff=64, h=4, P_drop=0.0, max_len=20) | sizes
    return Transformer(13, **options, rng=rng)


def examples(src, tgt, targets):
    """A batch as the page has it: lists without padding."""
    return [dict(src=s[s > 0].tolist(), tgt=t[t > 0].tolist(), targets=y[y > 0].tolist())
            for s, t, y in zip(src, tgt, targets, strict=True)]


def gradients_of_scores(model, example):
    """The gradients behind the mask, in the order of `attention_paths`, in Python."""
    criterion, found = LabelSmoothedCrossEntropy(0.1), []
    layers = [(layer, ("self_attention",)) for layer in model.encoder.layers]
    layers += [(layer, (name,)) for name in ("self_attention", "cross_attention")
               for layer in model.decoder.layers]
    for layer, (name,) in layers:
        softmax = getattr(layer, name).attention.softmax
        backward = softmax.backward

        def spy(grad, cache, softmax=softmax, backward=backward):
            found.append((softmax, backward(grad, cache)))
            return found[-1][1]

        softmax.backward = spy
    src, tgt, targets = (np.array([example[name]]) for name in ("src", "tgt", "targets"))
    logits, cache = model.forward(src, tgt)
    _, loss_cache = criterion.forward(logits, targets=targets)
    model.backward(criterion.backward(1.0, loss_cache), cache)
    model.zero_grad()
    order = [getattr(layer, name).attention.softmax for layer, (name,) in layers]
    for softmax in order:
        del softmax.backward
    return [next(grad[0] for one, grad in found if one is softmax) for softmax in order]


@pytest.mark.parametrize("N", [1, 2])
@pytest.mark.parametrize("task_class", [CopyTask, ReverseTask, SortTask], ids=lambda c: c.name)
def test_fifty_losses_and_all_gradients_are_those_of_numpy(task_class, N, rng):
    task, model = task_class(max_length=6), small(rng, N=N)
    data = packed(model)
    batches = [task.batch(8, rng) for _ in range(STEPS)]
    alone = examples(*task.batch(1, rng))[0]
    found = node(LEARN, data | dict(batches=[examples(*one) for one in batches], alone=alone))
    for got, want in zip(found["scores"], gradients_of_scores(model, alone), strict=True):
        np.testing.assert_allclose(np.ravel(got), want.ravel(), rtol=0, atol=1e-12)
    criterion, optimizer = LabelSmoothedCrossEntropy(0.1), Adam(model)
    losses = []
    for step, (src, tgt, targets) in enumerate(batches, 1):
        optimizer.zero_grad()
        logits, cache = model.forward(src, tgt)
        loss, loss_cache = criterion.forward(logits, targets=targets)
        model.backward(criterion.backward(1.0, loss_cache), cache)
        if step == 1:
            grads = np.concatenate([p.grad.ravel() for p in model.parameters()])
        optimizer.step(warmup_rate(step, 32, 50, 0.5))
        losses.append(loss)
    values = np.concatenate([p.value.ravel() for p in model.parameters()])
    np.testing.assert_allclose(found["grads"], grads, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["losses"], losses, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["values"], values, rtol=0, atol=1e-9)
    assert losses[-1] < losses[0] - 0.3
