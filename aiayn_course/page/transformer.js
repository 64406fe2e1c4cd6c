"use strict";
// The Transformer of "Attention Is All You Need" for one sequence: forward only, no batch.
// Classes, attributes and caches have the names that they have in Python, so that one dotted path
// finds the same array in both. The sources are ids, x is a Matrix (T, d_model), and Q, K, V,
// scores and weights are lists of h matrices, one for each head.

/** Base of every layer: its parts are its sub-layers, parameters and sizes. */
class Module {
  constructor(parts) {
    Object.assign(this, parts);
  }
}

// ---- small layers --------------------------------------------------------------------------

/** y = x W + b                                                        Sec. 3.2.2 and 3.3 */
class Linear extends Module {
  forward(x) {
    return [x.times(this.W, this.b), { x }];
  }
}

/** y = max(0, x)                                                      Sec. 3.3 */
class ReLU extends Module {
  forward(x) {
    const y = x.map((value) => Math.max(value, 0));
    return [y, { y }];
  }
}

/** softmax(s)_j = exp(s_j) / sum_k exp(s_k); a row of only -inf gives zeros    Eq. (1) */
class Softmax extends Module {
  forward(scores) {
    const weights = scores.map((s) => s.map(Number));
    for (const s of weights) for (let i = 0; i < s.rows; i++) softmax(s.row(i));
    return [weights, { y: weights }];
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
}

const causal = (T) =>
  Array.from({ length: T }, (_, i) => Array.from({ length: T }, (_, j) => j <= i));
const not_padding = (ids, pad) => ids.map((id) => id !== pad);

/** y = gamma * n + beta,   n = (x - mean) / sqrt(variance + eps)      Sec. 3.1 */
class LayerNorm extends Module {
  forward(x) {
    const y = x.map(Number);
    const inv_std = [];
    for (let i = 0; i < y.rows; i++) {
      const row = y.row(i);
      const mean = row.reduce((a, b) => a + b, 0) / row.length;
      const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length;
      inv_std.push(1 / Math.sqrt(variance + this.eps));
      row.forEach((v, j) => (row[j] = this.gamma[j] * (v - mean) * inv_std[i] + this.beta[j]));
    }
    return [y, { y, inv_std }];
  }
}

/** LayerNorm(x + Sublayer(x))                                         Sec. 3.1 */
class AddNorm extends Module {
  forward(x, sublayer_output) {
    const [y, layer_norm] = this.layer_norm.forward(x.plus(sublayer_output));
    return [y, { y, layer_norm }];
  }
}

// ---- attention -----------------------------------------------------------------------------

/** Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                  Sec. 3.2.1, Eq. (1) */
class ScaledDotProductAttention extends Module {
  forward(Q, K, V, { allowed = null } = {}) {
    const products = Q.map((_, i) => Q[i].times_mT(K[i])); // MatMul
    let scores = this.scale(products, Q[0].columns); // Scale
    const cache = { Q, K, V, scores };
    [scores, cache.mask] = this.mask.forward(scores, { allowed }); // Mask (opt.)
    [cache.weights, cache.softmax] = this.softmax.forward(scores); // SoftMax
    cache.kept = cache.weights; // decoding drops nothing
    return [cache.kept.map((w, i) => w.times(V[i])), cache]; // MatMul
  }

  scale(products, d_k) {
    return products.map((s) => s.map((score) => score / Math.sqrt(d_k)));
  }
}

/** (T, h d) -> h matrices (T, d) */
function split_heads(x, h) {
  const d = x.columns / h;
  return Array.from({ length: h }, (_, head) =>
    Matrix.of(x.rows, d, (t, i) => x.data[t * x.columns + head * d + i]),
  );
}

/** h matrices (T, d) -> (T, h d): "Concat" */
function merge_heads(heads) {
  const [h, d, T] = [heads.length, heads[0].columns, heads[0].rows];
  return Matrix.of(T, h * d, (t, i) => heads[Math.floor(i / d)].data[t * d + (i % d)]);
}

/** MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O               Sec. 3.2.2 */
class MultiHeadAttention extends Module {
  forward(x_Q, x_K, x_V, { allowed = null } = {}) {
    const Q = split_heads(this.linear_Q.forward(x_Q)[0], this.h);
    const K = split_heads(this.linear_K.forward(x_K)[0], this.h);
    const V = split_heads(this.linear_V.forward(x_V)[0], this.h);
    const [heads, attention] = this.attention.forward(Q, K, V, { allowed });
    const [y, linear_O] = this.linear_O.forward(merge_heads(heads));
    return [y, { y, attention, linear_O }];
  }
}

// ---- the stacks ----------------------------------------------------------------------------

/** FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                             Sec. 3.3, Eq. (2) */
class PositionwiseFeedForward extends Module {
  forward(x) {
    const cache = {};
    let y;
    [y, cache.linear_1] = this.linear_1.forward(x);
    [y, cache.relu] = this.relu.forward(y);
    [y, cache.linear_2] = this.linear_2.forward(y);
    return [y, { y, ...cache }];
  }
}

/** Self-attention, Add & Norm, feed-forward, Add & Norm               Sec. 3.1, Fig. 1 left */
class EncoderLayer extends Module {
  forward(x, { allowed = null } = {}) {
    const c = {};
    let attended, fed;
    [attended, c.self_attention] = this.self_attention.forward(x, x, x, { allowed });
    [x, c.add_norm_1] = this.add_norm_1.forward(x, attended);
    [fed, c.feed_forward] = this.feed_forward.forward(x);
    [x, c.add_norm_2] = this.add_norm_2.forward(x, fed);
    return [x, c];
  }
}

/** Masked self-attention, attention over the memory, feed-forward     Sec. 3.1, Fig. 1 right */
class DecoderLayer extends Module {
  forward(x, memory, { allowed = null, memory_allowed = null } = {}) {
    const c = {};
    let attended, fed;
    [attended, c.self_attention] = this.self_attention.forward(x, x, x, { allowed });
    [x, c.add_norm_1] = this.add_norm_1.forward(x, attended);
    const options = { allowed: memory_allowed };
    [attended, c.cross_attention] = this.cross_attention.forward(x, memory, memory, options);
    [x, c.add_norm_2] = this.add_norm_2.forward(x, attended);
    [fed, c.feed_forward] = this.feed_forward.forward(x);
    [x, c.add_norm_3] = this.add_norm_3.forward(x, fed);
    return [x, c];
  }
}

/** The stack of N layers, and the norm at its end that pre-norm layers need. */
class Stack extends Module {
  run(x, forward) {
    const cache = { layers: [] };
    for (const layer of this.layers) {
      const [y, layer_cache] = forward(layer, x);
      x = y;
      cache.layers.push(layer_cache);
    }
    if (this.norm) [x, cache.norm] = this.norm.forward(x);
    return [x, { y: x, ...cache }];
  }
}

class Encoder extends Stack {
  forward(x, options) {
    return this.run(x, (layer, x) => layer.forward(x, options));
  }
}

class Decoder extends Stack {
  forward(x, memory, options) {
    return this.run(x, (layer, x) => layer.forward(x, memory, options));
  }
}

// ---- the ends ------------------------------------------------------------------------------

/** y = sqrt(d_model) * E[ids]                                         Sec. 3.4 */
class Embedding extends Module {
  forward(ids) {
    const factor = Math.sqrt(this.d_model);
    const y = Matrix.of(
      ids.length,
      this.d_model,
      (t, i) => factor * this.E.data[ids[t] * this.d_model + i],
    );
    return [y, { ids, y }];
  }
}

/** logits = x E^T                                                     Sec. 3.4 */
class OutputProjection extends Module {
  forward(x) {
    return [x.times_mT(this.E), { x }];
  }
}

/** y = x + PE,   PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), then cos       Sec. 3.5 */
class SinusoidalPositionalEncoding extends Module {
  forward(x) {
    const angle = (pos, i) => pos / 10000 ** ((i - (i % 2)) / this.d_model);
    const wave = (i) => (i % 2 ? Math.cos : Math.sin);
    const y = x.plus(Matrix.of(x.rows, x.columns, (pos, i) => wave(i)(angle(pos, i))));
    return [y, { y }];
  }
}

/** logits = Decoder(tgt, Encoder(src)) E^T                            Sec. 3, Fig. 1 */
class Transformer extends Module {
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

  decode(tgt, memory, real_sources) {
    const c = {};
    let x, logits;
    [x, c.tgt_embedding] = this.tgt_embedding.forward(tgt);
    [x, c.tgt_positions] = this.positions.forward(x);
    const memory_allowed = tgt.map(() => real_sources);
    [x, c.decoder] = this.decoder.forward(x, memory, {
      allowed: this.allowed(tgt),
      memory_allowed,
    });
    [logits, c.output_projection] = this.output_projection.forward(x);
    return [logits, { ...c, logits }];
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

const LAYERS = {
  Linear,
  ReLU,
  Softmax,
  Mask,
  LayerNorm,
  AddNorm,
  ScaledDotProductAttention,
  MultiHeadAttention,
  PositionwiseFeedForward,
  EncoderLayer,
  DecoderLayer,
  Encoder,
  Decoder,
  Embedding,
  OutputProjection,
  SinusoidalPositionalEncoding,
  Transformer,
};

/** Take the most probable token again and again: yields {tgt, logits, cache} for each. */
function* greedy_decode(model, src, { bos, eos, max_len }) {
  const [memory, encoded] = model.encode(src);
  const real = not_padding(src, model.pad);
  for (let tgt = model.begin(src, bos), n = 0; n < max_len; n++) {
    const [logits, decoded] = model.decode(tgt, memory, real);
    const last = logits.row(tgt.length - 1);
    const token = last.indexOf(last.reduce((a, b) => Math.max(a, b)));
    yield { tgt, token, logits, cache: { ...encoded, ...decoded } };
    if (token === eos) return;
    tgt = [...tgt, token];
  }
}
