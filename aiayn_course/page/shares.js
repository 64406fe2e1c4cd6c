// What a written token was made of: one way back through the frozen cache, as aiayn_np/reading has
// it. Scales of norms, attention weights and gates are constants, so the model is linear, and each
// token has its share of the logit. Queries and keys act through the weights only: they get none.

import { Matrix, dot, sum } from "./matrix.js";
import { LayerNorm, Linear, MultiHeadAttention, PositionwiseFeedForward } from "./transformer.js";
import { Stack, merge_heads, split_heads } from "./transformer.js";

Object.assign(Linear.prototype, {
  back_frozen(grad_y) {
    return grad_y.times(this.W.mT);
  },
});

Object.assign(LayerNorm.prototype, {
  back_frozen(grad_y, { inv_std }) {
    const { rows, columns, data } = grad_y;
    const grad_n = Matrix.of(rows, columns, (i, j, n) => data[n] * this.gamma[j] * inv_std[i]);
    const mean = inv_std.map((_, i) => sum(grad_n.row(i)) / columns);
    return Matrix.of(rows, columns, (i, j, n) => grad_n.data[n] - mean[i]);
  },
});

Object.assign(MultiHeadAttention.prototype, {
  back_frozen(grad_y, { attention }) {
    const grad_heads = split_heads(this.linear_O.back_frozen(grad_y), this.h);
    const grad_V = grad_heads.map((grad, head) => attention.kept[head].mT.times(grad));
    return this.linear_V.back_frozen(merge_heads(grad_V));
  },
});

Object.assign(PositionwiseFeedForward.prototype, {
  back_frozen(grad_y, { relu }) {
    const grad = this.linear_2.back_frozen(grad_y);
    return this.linear_1.back_frozen(this.relu.backward(grad, relu));
  },
});

Object.assign(Stack.prototype, {
  /** Back through all layers, post-norm or pre-norm: the gradients of x and of the memory. */
  back_frozen(grad, cache) {
    let grad_memory = null;
    if (this.norm) grad = this.norm.back_frozen(grad, cache.norm);
    for (const i of [...this.layers.keys()].reverse()) {
      const [layer, c] = [this.layers[i], cache.layers[i]];
      const names = ["self_attention", "cross_attention", "feed_forward"];
      for (const [n, name] of [...names.filter((name) => layer[name]).entries()].reverse()) {
        const [norm, add_norm] = [`norm_${n + 1}`, `add_norm_${n + 1}`];
        if (layer[add_norm])
          grad = layer[add_norm].layer_norm.back_frozen(grad, c[add_norm].layer_norm);
        const given = layer[name].back_frozen(grad, c[name]);
        if (name === "cross_attention") grad_memory = grad_memory?.plus(given) ?? given;
        else grad = grad.plus(layer[norm] ? layer[norm].back_frozen(given, c[norm]) : given);
      }
    }
    return [grad, grad_memory];
  },
});

/**
 * What the logit of a token at a position of tgt is made of, less the mean of all logits:
 * {source, target, biases, value}; source and target have a share for each token.
 */
export function shares(model, cache, position, token) {
  const { columns } = cache.logits;
  const row = cache.logits.row(position);
  const value = row[token] - sum(row) / columns;
  const grad_logits = new Matrix(position + 1, columns);
  grad_logits.row(position).fill(-1 / columns)[token] += 1;
  const x = model.output_projection.E;
  const rows = new Matrix(cache.logits.rows, x.columns);
  rows.data.set(grad_logits.times(x).data);
  const of = (y, grad) => Array.from({ length: y.rows }, (_, t) => dot(y.row(t), grad.row(t)));
  const [grad_tgt, grad_memory] = model.decoder.back_frozen(rows, cache.decoder);
  const target = of(cache.tgt_positions.y, grad_tgt);
  const source = grad_memory
    ? of(cache.src_positions.y, model.encoder.back_frozen(grad_memory, cache.encoder)[0])
    : [];
  const biases = value - sum([...source, ...target]);
  return { source, target, biases, value };
}
