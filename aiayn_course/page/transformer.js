// The Transformer of "Attention Is All You Need" for one sequence, forward and backward, no batch.
// Classes, attributes and caches have the names that they have in Python, so that one dotted path
// finds the same array in both. The sources are ids, x is a Matrix (T, d_model), and Q, K, V,
// scores and weights are lists of h matrices, one for each head. `backward` adds to the `grad` of
// the parameters, and returns one gradient for each array that `forward` was given.

import { Matrix, add_to, dot, softmax, sum } from "./matrix.js";

/** Base of every layer: its parts are its sub-layers, parameters and sizes. */
export class Module {
  constructor(parts) {
    Object.assign(this, parts);
  }
}

// ---- small layers --------------------------------------------------------------------------

/** y = x W + b                                                        Sec. 3.2.2 and 3.3 */
export class Linear extends Module {
  forward(x) {
    return [x.times(this.W, this.b), { x }];
  }

  backward(grad_y, { x }) {
    if (this.b) add_to(this.b.grad, grad_y.column_sums());
    x.mT.times(grad_y, null, this.W.grad);
    return grad_y.times(this.W.mT);
  }
}

/** y = max(0, x)                                                      Sec. 3.3 */
class ReLU extends Module {
  forward(x) {
    const y = x.map((value) => Math.max(value, 0));
    return [y, { y }];
  }

  backward(grad_y, { y }) {
    return grad_y.map((grad, n) => (y.data[n] > 0 ? grad : 0));
  }
}

/** softmax(s)_j = exp(s_j) / sum_k exp(s_k); a row of only -inf gives zeros    Eq. (1) */
class Softmax extends Module {
  forward(scores) {
    const weights = scores.map((s) => s.map(Number));
    for (const s of weights) for (let i = 0; i < s.rows; i++) softmax(s.row(i));
    return [weights, { y: weights }];
  }

  backward(grad_weights, { y: weights }) {
    return weights.map((w, head) => {
      const mean_grad = Array.from({ length: w.rows }, (_, i) =>
        dot(w.row(i), grad_weights[head].row(i)),
      );
      const grad = grad_weights[head].data;
      return Matrix.of(w.rows, w.columns, (i, j, n) => w.data[n] * (grad[n] - mean_grad[i]));
    });
  }
}

/** Scores where allowed, -inf elsewhere; allowed[i][j]: query i may look at key j    Sec. 3.2.3 */
class Mask extends Module {
  forward(scores, { allowed = null } = {}) {
    const { columns } = scores[0];
    const free = (n) => allowed[Math.floor(n / columns)][n % columns];
    const masked = (s) => s.map((score, n) => (free(n) ? score : -Infinity));
    return [allowed ? scores.map(masked) : scores, { allowed }];
  }

  backward(grad_scores) {
    return grad_scores; // behind a masked score the softmax is flat: its gradient is 0 already
  }
}

const causal = (T) =>
  Array.from({ length: T }, (_, i) => Array.from({ length: T }, (_, j) => j <= i));
export const not_padding = (ids, pad) => ids.map((id) => id !== pad);

/** y = gamma * n + beta,   n = (x - mean) / sqrt(variance + eps)      Sec. 3.1 */
export class LayerNorm extends Module {
  forward(x) {
    const n = x.plus(); // a copy
    const inv_std = [];
    for (let i = 0; i < x.rows; i++) {
      const row = n.row(i);
      const mean = sum(row) / row.length;
      for (let j = 0; j < row.length; j++) row[j] -= mean;
      inv_std.push(1 / Math.sqrt(dot(row, row) / row.length + this.eps));
      for (let j = 0; j < row.length; j++) row[j] *= inv_std[i];
    }
    const y = Matrix.of(x.rows, x.columns, (i, j, at) => this.gamma[j] * n.data[at] + this.beta[j]);
    return [y, { y, n, inv_std }];
  }

  backward(grad_y, { n, inv_std }) {
    add_to(this.beta.grad, grad_y.column_sums());
    add_to(this.gamma.grad, grad_y.map((grad, at) => grad * n.data[at]).column_sums());
    const grad_n = Matrix.of(n.rows, n.columns, (i, j, at) => grad_y.data[at] * this.gamma[j]);
    const [mean, slope] = [[], []];
    for (let i = 0; i < n.rows; i++) {
      mean.push(sum(grad_n.row(i)) / n.columns);
      slope.push(dot(grad_n.row(i), n.row(i)) / n.columns);
    }
    return grad_n.map((grad, at) => {
      const i = Math.floor(at / n.columns);
      return (grad - mean[i] - n.data[at] * slope[i]) * inv_std[i];
    });
  }
}

/** LayerNorm(x + Sublayer(x))                                         Sec. 3.1 */
class AddNorm extends Module {
  forward(x, sublayer_output) {
    const [y, layer_norm] = this.layer_norm.forward(x.plus(sublayer_output));
    return [y, { y, layer_norm }];
  }

  backward(grad_y, cache) {
    const grad_sum = this.layer_norm.backward(grad_y, cache.layer_norm);
    return [grad_sum, grad_sum]; // a sum passes its gradient to both terms
  }
}

// ---- attention -----------------------------------------------------------------------------

/** Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                  Sec. 3.2.1, Eq. (1) */
class ScaledDotProductAttention extends Module {
  forward(Q, K, V, { allowed = null } = {}) {
    const products = Q.map((_, i) => Q[i].times(K[i].mT)); // MatMul
    let scores = this.scale(products, Q[0].columns); // Scale
    const cache = { Q, K, V, scores };
    [scores, cache.mask] = this.mask.forward(scores, { allowed }); // Mask (opt.)
    [cache.weights, cache.softmax] = this.softmax.forward(scores); // SoftMax
    cache.kept = cache.weights; // nothing is dropped
    return [cache.kept.map((w, i) => w.times(V[i])), cache]; // MatMul
  }

  scale(products, d_k) {
    return products.map((s) => s.map((score) => score / Math.sqrt(d_k)));
  }

  backward(grad_out, cache) {
    // out = kept @ V
    const grad_weights = grad_out.map((grad, i) => grad.times(cache.V[i].mT));
    const grad_V = grad_out.map((grad, i) => cache.kept[i].mT.times(grad));
    let grad_scores = this.softmax.backward(grad_weights, cache.softmax);
    grad_scores = this.mask.backward(grad_scores, cache.mask);
    cache.grad_scores = grad_scores; // what the way back shows
    // scores = Q @ K.mT / sqrt(d_k)
    grad_scores = this.scale(grad_scores, cache.Q[0].columns);
    const grad_Q = grad_scores.map((grad, i) => grad.times(cache.K[i]));
    const grad_K = grad_scores.map((grad, i) => grad.mT.times(cache.Q[i]));
    return [grad_Q, grad_K, grad_V];
  }
}

/** (T, h d) -> h matrices (T, d) */
export function split_heads(x, h) {
  const d = x.columns / h;
  return Array.from({ length: h }, (_, head) => {
    const y = new Matrix(x.rows, d);
    for (let t = 0, at = head * d; t < x.rows; t++, at += x.columns)
      for (let i = 0; i < d; i++) y.data[t * d + i] = x.data[at + i];
    return y;
  });
}

/** h matrices (T, d) -> (T, h d): "Concat" */
export function merge_heads(heads) {
  const [h, d, T] = [heads.length, heads[0].columns, heads[0].rows];
  const y = new Matrix(T, h * d);
  for (const [head, { data }] of heads.entries())
    for (let t = 0; t < T; t++)
      for (let i = 0; i < d; i++) y.data[(t * h + head) * d + i] = data[t * d + i];
  return y;
}

/** MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O               Sec. 3.2.2 */
export class MultiHeadAttention extends Module {
  /** `kept` has the K and V of earlier rows, or of the whole memory: see greedy_decode. */
  forward(x_Q, x_K, x_V, { allowed = null, kept = null } = {}) {
    const cache = {};
    let Q, K, V, heads, y;
    [Q, cache.linear_Q] = this.linear_Q.forward(x_Q);
    [Q, K, V] = [split_heads(Q, this.h), kept?.K, kept?.V];
    if (x_K) {
      [K, cache.linear_K] = this.linear_K.forward(x_K);
      [V, cache.linear_V] = this.linear_V.forward(x_V);
      [K, V] = [split_heads(K, this.h), split_heads(V, this.h)];
      if (kept?.K)
        [K, V] = [K.map((k, i) => kept.K[i].above(k)), V.map((v, i) => kept.V[i].above(v))];
      if (kept) Object.assign(kept, { K, V });
    }
    [heads, cache.attention] = this.attention.forward(Q, K, V, { allowed });
    [y, cache.linear_O] = this.linear_O.forward(merge_heads(heads));
    return [y, { y, ...cache }];
  }

  backward(grad_y, cache) {
    // y = linear_O(concat)
    const grad_concat = this.linear_O.backward(grad_y, cache.linear_O);
    const grad_heads = split_heads(grad_concat, this.h); // undoes merge_heads
    const [grad_Q, grad_K, grad_V] = this.attention.backward(grad_heads, cache.attention);
    // V = split_heads(linear_V(x_V)), K and Q likewise
    const grad_x_V = this.linear_V.backward(merge_heads(grad_V), cache.linear_V);
    const grad_x_K = this.linear_K.backward(merge_heads(grad_K), cache.linear_K);
    const grad_x_Q = this.linear_Q.backward(merge_heads(grad_Q), cache.linear_Q);
    return [grad_x_Q, grad_x_K, grad_x_V];
  }
}

// ---- the stacks ----------------------------------------------------------------------------

/** FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                             Sec. 3.3, Eq. (2) */
export class PositionwiseFeedForward extends Module {
  forward(x) {
    const cache = {};
    let y;
    [y, cache.linear_1] = this.linear_1.forward(x);
    [y, cache.relu] = this.relu.forward(y);
    [y, cache.linear_2] = this.linear_2.forward(y);
    return [y, { y, ...cache }];
  }

  backward(grad_y, cache) {
    let grad = this.linear_2.backward(grad_y, cache.linear_2);
    grad = this.relu.backward(grad, cache.relu);
    return this.linear_1.backward(grad, cache.linear_1);
  }
}

/** Self-attention, Add & Norm, feed-forward, Add & Norm               Sec. 3.1, Fig. 1 left */
class EncoderLayer extends Module {
  forward(x, options) {
    const c = {};
    let attended, fed;
    [attended, c.self_attention] = this.self_attention.forward(x, x, x, options);
    [x, c.add_norm_1] = this.add_norm_1.forward(x, attended);
    [fed, c.feed_forward] = this.feed_forward.forward(x);
    [x, c.add_norm_2] = this.add_norm_2.forward(x, fed);
    return [x, c];
  }

  backward(grad_y, cache) {
    let [grad_x, grad_fed] = this.add_norm_2.backward(grad_y, cache.add_norm_2);
    grad_x = grad_x.plus(this.feed_forward.backward(grad_fed, cache.feed_forward));
    const [grad, grad_attended] = this.add_norm_1.backward(grad_x, cache.add_norm_1);
    // attended = self_attention(x, x, x): x is used three times, and once in the residual
    const grads = this.self_attention.backward(grad_attended, cache.self_attention);
    return grad.plus(...grads);
  }
}

/** Masked self-attention, attention over the memory, feed-forward     Sec. 3.1, Fig. 1 right */
class DecoderLayer extends Module {
  forward(x, memory, { allowed = null, memory_allowed = null, kept = null } = {}) {
    const c = {};
    let attended, fed;
    const options = { allowed, kept: kept?.self };
    [attended, c.self_attention] = this.self_attention.forward(x, x, x, options);
    [x, c.add_norm_1] = this.add_norm_1.forward(x, attended);
    const over = { allowed: memory_allowed, kept: kept?.cross };
    const read = kept?.cross.K ? null : memory; // its keys and values stay the same
    [attended, c.cross_attention] = this.cross_attention.forward(x, read, read, over);
    [x, c.add_norm_2] = this.add_norm_2.forward(x, attended);
    [fed, c.feed_forward] = this.feed_forward.forward(x);
    [x, c.add_norm_3] = this.add_norm_3.forward(x, fed);
    return [x, c];
  }

  backward(grad_y, cache) {
    let [grad_x, grad_fed] = this.add_norm_3.backward(grad_y, cache.add_norm_3);
    grad_x = grad_x.plus(this.feed_forward.backward(grad_fed, cache.feed_forward));
    let grad_attended;
    [grad_x, grad_attended] = this.add_norm_2.backward(grad_x, cache.add_norm_2);
    // attended = cross_attention(x, memory, memory)
    const [grad_Q, grad_K, grad_V] = this.cross_attention.backward(
      grad_attended,
      cache.cross_attention,
    );
    const grad_memory = grad_K.plus(grad_V);
    [grad_x, grad_attended] = this.add_norm_1.backward(grad_x.plus(grad_Q), cache.add_norm_1);
    // attended = self_attention(x, x, x)
    const grads = this.self_attention.backward(grad_attended, cache.self_attention);
    return [grad_x.plus(...grads), grad_memory];
  }
}

/** The stack of N layers, and the norm at its end that pre-norm layers need. */
export class Stack extends Module {
  run(x, forward) {
    const cache = { layers: [] };
    for (const [i, layer] of this.layers.entries()) {
      const [y, layer_cache] = forward(layer, x, i);
      x = y;
      cache.layers.push(layer_cache);
    }
    if (this.norm) [x, cache.norm] = this.norm.forward(x);
    return [x, { y: x, ...cache }];
  }
}

class Encoder extends Stack {
  forward(x, { kept = null, ...options } = {}) {
    return this.run(x, (layer, x, i) => layer.forward(x, { ...options, kept: kept?.[i] }));
  }

  backward(grad_x, cache) {
    for (const [i, layer] of [...this.layers.entries()].reverse())
      grad_x = layer.backward(grad_x, cache.layers[i]);
    return grad_x;
  }
}

class Decoder extends Stack {
  forward(x, memory, { kept = null, ...options } = {}) {
    return this.run(x, (layer, x, i) => layer.forward(x, memory, { ...options, kept: kept?.[i] }));
  }

  backward(grad_x, cache) {
    let grad_memory = null; // every layer adds its share
    for (const [i, layer] of [...this.layers.entries()].reverse()) {
      let grad_layer_memory;
      [grad_x, grad_layer_memory] = layer.backward(grad_x, cache.layers[i]);
      grad_memory = grad_memory?.plus(grad_layer_memory) ?? grad_layer_memory;
    }
    return [grad_x, grad_memory];
  }
}

// ---- the ends ------------------------------------------------------------------------------

/** y = sqrt(d_model) * E[ids]                                         Sec. 3.4 */
export class Embedding extends Module {
  forward(ids) {
    const factor = Math.sqrt(this.d_model);
    const y = Matrix.of(
      ids.length,
      this.d_model,
      (t, i) => factor * this.E.data[ids[t] * this.d_model + i],
    );
    return [y, { ids, y }];
  }

  backward(grad_y, { ids }) {
    const factor = Math.sqrt(this.d_model);
    ids.forEach((id, t) => add_to(this.E.grad.row(id), grad_y.row(t), factor));
  }
}

/** logits = x E^T                                                     Sec. 3.4 */
class OutputProjection extends Module {
  forward(x) {
    return [x.times(this.E.mT), { x }];
  }

  backward(grad_logits, { x }) {
    grad_logits.mT.times(x, null, this.E.grad);
    return grad_logits.times(this.E);
  }
}

const TABLES = {}; // rows of positions, by d_model

/** y = x + PE,   PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), then cos       Sec. 3.5 */
class SinusoidalPositionalEncoding extends Module {
  forward(x, { start = 0 } = {}) {
    const PE = Matrix.of(x.rows, x.columns, (pos, i) => this.table(start + pos)[i]);
    const y = x.plus(PE);
    return [y, { y }];
  }

  /** The row of a position, computed once. */
  table(pos) {
    const rows = (TABLES[this.d_model] ??= []);
    const angle = (i) => pos / 10000 ** ((i - (i % 2)) / this.d_model);
    const wave = (_, i) => (i % 2 ? Math.cos : Math.sin)(angle(i));
    return (rows[pos] ??= Array.from({ length: this.d_model }, wave));
  }

  backward(grad_y) {
    return grad_y;
  }
}

/** logits = Decoder(tgt, Encoder(src)) E^T                            Sec. 3, Fig. 1 */
export class Transformer extends Module {
  forward(src, tgt) {
    const [memory, encoded] = this.encode(src);
    const [logits, decoded] = this.decode(tgt, memory, not_padding(src, this.pad));
    return [logits, { ...encoded, ...decoded }];
  }

  encode(src) {
    const c = {};
    let x;
    [x, c.src_embedding] = this.src_embedding.forward(src);
    [x, c.src_positions] = this.positions.forward(x);
    const real = not_padding(src, this.pad);
    const allowed = src.map(() => real);
    [x, c.encoder] = this.encoder.forward(x, { allowed });
    return [x, c];
  }

  /** With what was `kept` of the tokens before `start`, only the others are computed. */
  decode(tgt, memory, real_sources, { kept = null, start = 0 } = {}) {
    const c = {};
    let x, logits;
    [x, c.tgt_embedding] = this.tgt_embedding.forward(tgt.slice(start));
    [x, c.tgt_positions] = this.positions.forward(x, { start });
    const allowed = this.allowed(tgt).slice(start);
    const memory_allowed = allowed.map(() => real_sources);
    [x, c.decoder] = this.decoder.forward(x, memory, { allowed, memory_allowed, kept });
    [logits, c.output_projection] = this.output_projection.forward(x);
    return [logits, { ...c, logits }];
  }

  backward(grad_logits, cache) {
    let grad_y = this.output_projection.backward(grad_logits, cache.output_projection);
    let grad_memory;
    [grad_y, grad_memory] = this.decoder.backward(grad_y, cache.decoder);
    grad_y = this.positions.backward(grad_y, cache.tgt_positions);
    this.tgt_embedding.backward(grad_y, cache.tgt_embedding);
    let grad_x = this.encoder.backward(grad_memory, cache.encoder);
    grad_x = this.positions.backward(grad_x, cache.src_positions);
    this.src_embedding.backward(grad_x, cache.src_embedding);
  }

  /** The tokens before the first that is written. */
  begin(src, bos) {
    return [bos];
  }

  /** Who may look at whom in the decoder: nobody ahead, and nobody at padding. */
  allowed(tgt) {
    const real = not_padding(tgt, this.pad);
    return causal(tgt.length).map((row) => row.map((free, j) => free && real[j]));
  }
}

const SMALL = { Linear, ReLU, Softmax, Mask, LayerNorm, AddNorm, PositionwiseFeedForward };
const ATTENTIONS = { ScaledDotProductAttention, MultiHeadAttention };
const STACKED = { EncoderLayer, DecoderLayer, Encoder, Decoder, Transformer };
const AT_THE_ENDS = { Embedding, OutputProjection, SinusoidalPositionalEncoding };
export const LAYERS = { ...SMALL, ...ATTENTIONS, ...STACKED, ...AT_THE_ENDS };

/**
 * The layer that a node {class, ...parts} describes; {shape, at} is a parameter among `values`. A
 * model that learns has `grads`, as many numbers as values.
 */
export function build(node, values, grads = null) {
  if (Array.isArray(node)) return node.map((child) => build(child, values, grads));
  if (node === null || typeof node !== "object") return node;
  if (node.shape) {
    const made = parameter(node.shape, values.subarray(node.at));
    if (grads) made.grad = parameter(node.shape, grads.subarray(node.at));
    return made;
  }
  const entries = Object.entries(node).map(([name, one]) => [name, build(one, values, grads)]);
  const parts = Object.fromEntries(entries);
  return node.class ? new LAYERS[node.class](parts) : parts;
}

/** A list of numbers, a Matrix, or a list of matrices: views of the values, with 1, 2, 3 axes. */
function parameter(shape, values) {
  const size = shape.reduce((a, b) => a * b, 1);
  if (shape.length === 1) return values.subarray(0, size);
  if (shape.length === 2) return new Matrix(...shape, values.subarray(0, size));
  const [n, ...rest] = shape;
  return Array.from({ length: n }, (_, i) => parameter(rest, values.subarray((i * size) / n)));
}

/**
 * Take the most probable token again and again: yields {tgt, token, row of logits} for each. Keys
 * and values of what was read and written are kept; a model that looks ahead computes them anew.
 */
export function* greedy_decode(model, src, { bos, eos, max_len }) {
  const [memory] = model.encode(src);
  const real = not_padding(src, model.pad);
  const kept = model.looks_ahead ? null : model.decoder.layers.map(() => ({ self: {}, cross: {} }));
  for (let tgt = model.begin(src, bos), n = 0, start = 0; n < max_len; n++) {
    const [logits] = model.decode(tgt, memory, real, { kept, start });
    const row = logits.row(logits.rows - 1);
    const token = row.indexOf(row.reduce((a, b) => Math.max(a, b)));
    yield { tgt, token, row };
    if (token === eos) return;
    if (kept) start = tgt.length;
    tgt = [...tgt, token];
  }
}
