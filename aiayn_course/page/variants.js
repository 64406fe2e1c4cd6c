"use strict";
// The variants of the library that the page runs too: other scores, relative and learned positions,
// and pre-norm layers. A layer that is in neither this file nor in transformer.js gets no page.

const each_head = (Q, one) => Q.map((_, head) => one(head));

/** Attention(Q, K, V) = softmax(score(Q, K)) V */
class ScoredAttention extends ScaledDotProductAttention {
  forward(Q, K, V, { allowed = null } = {}) {
    const cache = { Q, K, V };
    [cache.scores, cache.score] = this.score.forward(Q, K);
    let scores;
    [scores, cache.mask] = this.mask.forward(cache.scores, { allowed });
    [cache.weights, cache.softmax] = this.softmax.forward(scores);
    cache.kept = cache.weights;
    return [cache.kept.map((w, i) => w.times(V[i])), cache];
  }
}

class RelativeAttention extends ScoredAttention {}

/** score(q, k) = q . k */
class DotScore extends Module {
  forward(Q, K) {
    return [each_head(Q, (i) => Q[i].times_mT(K[i])), {}];
  }
}

/** score(q, k) = q^T W k */
class GeneralScore extends Module {
  forward(Q, K) {
    const mapped = each_head(Q, (i) => Q[i].times(this.W[i]));
    return [each_head(Q, (i) => mapped[i].times_mT(K[i])), { mapped }];
  }
}

/** hidden_ij = tanh(x_i + y_j), summed with v: what two scores share */
class PairTanh extends Module {
  forward(x, y, v) {
    const score = (i, j) => {
      const [a, b] = [x.row(i), y.row(j)];
      return v.reduce((sum, weight, n) => sum + weight * Math.tanh(a[n] + b[n]), 0);
    };
    return Matrix.of(x.rows, y.rows, score);
  }
}

/** score(q, k) = v^T tanh(W^T q + U^T k) */
class AdditiveScore extends Module {
  maps(head) {
    return [this.W[head], this.U[head]];
  }

  forward(Q, K) {
    const x = each_head(Q, (i) => Q[i].times(this.maps(i)[0]));
    const y = each_head(Q, (i) => K[i].times(this.maps(i)[1]));
    return [each_head(Q, (i) => this.pair_tanh.forward(x[i], y[i], this.v.row(i))), { x, y }];
  }
}

/** score(q, k) = v^T tanh(W^T [q; k]): the first d_k rows of W meet q, the others k */
class ConcatScore extends AdditiveScore {
  maps(head) {
    const W = this.W[head];
    const half = W.rows / 2;
    const middle = half * W.columns;
    return [
      new Matrix(half, W.columns, W.data.subarray(0, middle)),
      new Matrix(half, W.columns, W.data.subarray(middle)),
    ];
  }
}

/** score(q, k) = q . k / sqrt(d_k) + bias */
class RelativeScore extends Module {
  forward(Q, K) {
    const products = this.dot.forward(Q, K)[0];
    return [this.bias.forward(this.scale(products, Q[0].columns))[0], {}];
  }

  scale(products, d_k) {
    return products.map((s) => s.map((score) => score / Math.sqrt(d_k)));
  }
}

/** y_ij = scores_ij + b[clip(j - i, -max_distance, max_distance)] */
class RelativePositionBias extends Module {
  bias(head, i, j) {
    const most = this.max_distance;
    return this.b.row(Math.min(Math.max(j - i, -most), most) + most)[head];
  }

  forward(scores) {
    const sum = (s, head) => (i, j) => s.row(i)[j] + this.bias(head, i, j);
    return [scores.map((s, head) => Matrix.of(s.rows, s.columns, sum(s, head))), {}];
  }
}

/** y = x + E[pos] */
class LearnedPositionalEncoding extends Module {
  forward(x) {
    const y = x.plus(this.E);
    return [y, { y }];
  }
}

/** x = x + Sublayer(Norm(x)), for each sub-layer of a layer; `forwards` has them by name */
function pre_norm(layer, x, forwards) {
  const c = {};
  Object.entries(forwards).forEach(([name, forward], i) => {
    const [norm, sum] = [`norm_${i + 1}`, `sum_${i + 1}`];
    let n, y;
    [n, c[norm]] = layer[norm].forward(x);
    [y, c[name]] = forward(n);
    x = x.plus(y);
    c[sum] = { y: x };
  });
  return [x, c];
}

class PreNormEncoderLayer extends Module {
  forward(x, { allowed = null } = {}) {
    return pre_norm(this, x, {
      self_attention: (n) => this.self_attention.forward(n, n, n, { allowed }),
      feed_forward: (n) => this.feed_forward.forward(n),
    });
  }
}

class PreNormDecoderLayer extends Module {
  forward(x, memory, { allowed = null, memory_allowed = null } = {}) {
    const options = { allowed: memory_allowed };
    return pre_norm(this, x, {
      self_attention: (n) => this.self_attention.forward(n, n, n, { allowed }),
      cross_attention: (n) => this.cross_attention.forward(n, memory, memory, options),
      feed_forward: (n) => this.feed_forward.forward(n),
    });
  }
}

/** Embedding, positions and N layers: what a language model has below its head */
class TokenStack extends Module {}

/**
 * logits = TokenStack(ids) E^T: a decoder that goes on with what is typed, and has no encoder. Its
 * parts have the names of a Transformer's, too: decoder.layers.0 is stack.encoder.layers.0.
 */
class LanguageModel extends Transformer {
  get decoder() {
    return this.stack.encoder;
  }

  get positions() {
    return this.stack.positions;
  }

  begin(src) {
    return src;
  }

  encode() {
    return [null, {}];
  }

  decode(tgt) {
    const c = {};
    let x, logits;
    [x, c.tgt_embedding] = this.stack.embedding.forward(tgt);
    [x, c.tgt_positions] = this.positions.forward(x);
    [x, c.decoder] = this.decoder.forward(x, { allowed: this.allowed(tgt) });
    [logits, c.output_projection] = this.output_projection.forward(x);
    return [logits, { ...c, logits }];
  }
}

Object.assign(LAYERS, {
  TokenStack,
  LanguageModel,
  ScoredAttention,
  RelativeAttention,
  DotScore,
  GeneralScore,
  PairTanh,
  AdditiveScore,
  ConcatScore,
  RelativeScore,
  RelativePositionBias,
  LearnedPositionalEncoding,
  PreNormEncoderLayer,
  PreNormDecoderLayer,
});
