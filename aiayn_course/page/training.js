// Training by hand, as aiayn_np/training has it: tasks, the loss, Adam with its warm-up, and a step.

import { Matrix, add_to, sum } from "./matrix.js";
import { Embedding, LayerNorm, Linear, Module, build, greedy_decode } from "./transformer.js";

// ---- chance --------------------------------------------------------------------------------

/** Numbers in [0, 1) that a seed gives, always the same. */
function generator(seed) {
  let state = (seed * 2654435769) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const integer = (rng, low, high) => low + Math.floor(rng() * (high - low));
const normal = (rng) => Math.sqrt(-2 * Math.log(1 - rng())) * Math.cos(2 * Math.PI * rng());

// ---- tasks: as in tasks.py -----------------------------------------------------------------

/** What each task should write. */
export const TASKS = {
  copy: (ids) => [...ids],
  reverse: (ids) => [...ids].reverse(),
  sort: (ids) => [...ids].sort((a, b) => a - b),
};

/** A task on lists of symbols: {src, tgt, targets} of a list, lists to train on, unseen lists. */
export class Task {
  constructor(name, { bos, eos, first, symbols, max_length }) {
    Object.assign(this, { name, bos, eos, first, symbols, max_length });
    this.unseen = this.held_out(500);
    this.held = new Set(this.unseen.map((one) => one.join()));
  }

  /** A length is the larger of two draws, so more lists are long. */
  draw(rng) {
    const length = Math.max(...[0, 1].map(() => integer(rng, 1, this.max_length + 1)));
    return Array.from({ length }, () => integer(rng, this.first, this.first + this.symbols));
  }

  /** Lists for the test, always the same, all different; short ones are for the training. */
  held_out(n) {
    const [rng, found] = [generator(0), new Map()];
    while (found.size < n) {
      const one = this.draw(rng);
      if (one.length > 2) found.set(one.join(), one);
    }
    return [...found.values()];
  }

  example(list) {
    const answer = TASKS[this.name](list);
    return { src: [...list, this.eos], tgt: [this.bos, ...answer], targets: [...answer, this.eos] };
  }

  batch(n, rng) {
    const lists = [];
    while (lists.length < n) {
      const one = this.draw(rng);
      if (!this.held.has(one.join())) lists.push(one);
    }
    return lists.map((list) => this.example(list));
  }
}

// ---- the loss: as in loss.py ---------------------------------------------------------------

/** loss = sum over targets of  -sum_v q_v log p_v / count                 Sec. 5.4 */
class LabelSmoothedCrossEntropy {
  constructor(eps_ls = 0.1) {
    this.eps_ls = eps_ls;
  }

  /** `count` is the number of targets of the whole batch; `losses` has one for each target. */
  forward(logits, { targets, count = targets.length }) {
    const log_p = logits.map(Number);
    const losses = targets.map((target, t) => {
      const row = log_p.row(t);
      const highest = row.reduce((a, b) => Math.max(a, b));
      const log_total = highest + Math.log(row.reduce((a, z) => a + Math.exp(z - highest), 0));
      row.forEach((z, v) => (row[v] = z - log_total)); // log of the softmax
      return -(1 - this.eps_ls) * row[target] - (this.eps_ls * sum(row)) / row.length;
    });
    return [sum(losses) / count, { log_p, targets, count, losses }];
  }

  backward(grad_loss, { log_p, targets, count }) {
    const smooth = this.eps_ls / log_p.columns;
    const q = (t, v) => smooth + (v === targets[t] ? 1 - this.eps_ls : 0);
    const grad = (t, v, n) => ((Math.exp(log_p.data[n]) - q(t, v)) * grad_loss) / count;
    return Matrix.of(log_p.rows, log_p.columns, grad);
  }
}

// ---- Adam: as in optimizer.py --------------------------------------------------------------

/** The learning rate of Eq. (3), times `scale`. */
const warmup_rate = (step, d_model, warmup_steps, scale = 1) =>
  scale * d_model ** -0.5 * Math.min(step ** -0.5, step * warmup_steps ** -1.5);

/** Adam with the paper's constants                                        Sec. 5.3 */
export class Adam {
  constructor(values, grads, { beta_1 = 0.9, beta_2 = 0.98, eps = 1e-9 } = {}) {
    Object.assign(this, { values, grads, beta_1, beta_2, eps, t: 0 });
    this.m = new Float64Array(values.length);
    this.v = new Float64Array(values.length);
  }

  zero_grad() {
    this.grads.fill(0);
  }

  step(rate) {
    const { values, grads, m, v, beta_1, beta_2, eps } = this;
    this.t += 1;
    const [unbias_m, unbias_v] = [1 / (1 - beta_1 ** this.t), 1 / (1 - beta_2 ** this.t)];
    for (let n = 0; n < values.length; n++) {
      m[n] = beta_1 * m[n] + (1 - beta_1) * grads[n];
      v[n] = beta_2 * v[n] + (1 - beta_2) * grads[n] * grads[n];
      values[n] -= (rate * m[n] * unbias_m) / (Math.sqrt(v[n] * unbias_v) + eps);
    }
  }
}

// ---- a model that learns -------------------------------------------------------------------

/** Draw the numbers of a layer and of all in it, as the constructors in Python do. */
function randomise(node, rng) {
  if (Array.isArray(node)) node.forEach((one) => randomise(one, rng));
  if (!(node instanceof Module)) return;
  if (node instanceof Linear) {
    const limit = Math.sqrt(6 / (node.d_in + node.d_out));
    node.W.data.forEach((_, n, data) => (data[n] = limit * (2 * rng() - 1)));
  }
  if (node instanceof LayerNorm) node.gamma.fill(1);
  if (node instanceof Embedding)
    node.E.data.forEach((_, n, data) => (data[n] = normal(rng) / Math.sqrt(node.d_model)));
  Object.values(node).forEach((one) => randomise(one, rng));
}

export const [BATCH, WARMUP_STEPS, SCALE] = [32, 50, 0.5];
const [AVERAGED, AVERAGED_EVERY] = [5, 10]; // states in the average, steps between them

/**
 * A model of so many numbers that knows nothing, and all that it needs to learn: the seed decides
 * all draws.
 */
export class Learner {
  constructor({ tree, size }, task, seed) {
    Object.assign(this, { tree, task, seed, criterion: new LabelSmoothedCrossEntropy(0.1) });
    this.values = new Float64Array(size);
    this.grads = new Float64Array(size);
    this.model = build(tree, this.values, this.grads);
    this.rng = generator(seed);
    randomise(this.model, this.rng);
    this.optimizer = new Adam(this.values, this.grads);
    this.recent = []; // states of the last steps, for the average
  }

  /** Forward, loss and backward of one example: adds to the gradients. */
  learn_from({ src, tgt, targets }, count) {
    const [logits, cache] = this.model.forward(src, tgt);
    const [loss, kept] = this.criterion.forward(logits, { targets, count });
    this.model.backward(this.criterion.backward(1, kept), cache);
    return { loss, losses: kept.losses, log_p: kept.log_p, cache };
  }

  /** A step of the training, or of a new Adam on given examples; it pauses after each list. */
  *step(
    batch = this.task.batch(BATCH, this.rng),
    { optimizer = this.optimizer, rate = null } = {},
  ) {
    const count = sum(batch.map(({ targets }) => targets.length));
    let loss = 0;
    this.optimizer.zero_grad();
    for (const example of batch) {
      loss += this.learn_from(example, count).loss;
      yield;
    }
    const step = optimizer.t + 1;
    optimizer.step(rate ?? warmup_rate(step, this.model.d_model, WARMUP_STEPS, SCALE));
    if (optimizer === this.optimizer && step % AVERAGED_EVERY === 0)
      this.recent = [...this.recent.slice(1 - AVERAGED), this.values.slice()];
    return loss;
  }

  /** The mean of the last states, as the paper averages its checkpoints    Sec. 6.1 */
  average() {
    const mean = new Float64Array(this.values.length);
    for (const state of this.recent) add_to(mean, state, 1 / this.recent.length);
    return mean;
  }

  /** Whether the average decodes every unseen list exactly; it pauses after each list. If so, the
   * model takes its numbers. */
  *is_solved() {
    const { bos, eos, unseen } = this.task;
    const average = this.average();
    const model = build(this.tree, average);
    for (const list of [...unseen].sort((a, b) => b.length - a.length)) {
      const { src, targets } = this.task.example(list);
      const steps = greedy_decode(model, src, { bos, eos, max_len: targets.length });
      let t = 0;
      for (const { token } of steps) if (token !== targets[t++]) return false;
      yield;
    }
    this.values.set(average);
    return true;
  }
}
