// The variants of the library that the page runs too: learned positions, pre-norm layers and language
// models. A layer that is in neither this file nor in transformer.js gets no page.

import { Matrix } from "./matrix.js";
import { LAYERS, Module, Transformer } from "./transformer.js";

/** y = x + E[pos] */
class LearnedPositionalEncoding extends Module {
  forward(x, { start = 0 } = {}) {
    const rows = new Matrix(x.rows, x.columns, this.E.data.subarray(start * x.columns));
    const y = Matrix.of(x.rows, x.columns, (i, j, n) => x.data[n] + rows.data[n]);
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
  forward(x, options) {
    return pre_norm(this, x, {
      self_attention: (n) => this.self_attention.forward(n, n, n, options),
      feed_forward: (n) => this.feed_forward.forward(n),
    });
  }
}

class PreNormDecoderLayer extends Module {
  forward(x, memory, { allowed = null, memory_allowed = null, kept = null } = {}) {
    const options = { allowed, kept: kept?.self };
    const over = { allowed: memory_allowed, kept: kept?.cross };
    const read = kept?.cross.K ? null : memory;
    return pre_norm(this, x, {
      self_attention: (n) => this.self_attention.forward(n, n, n, options),
      cross_attention: (n) => this.cross_attention.forward(n, read, read, over),
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

  decode(tgt, memory, real_sources, { kept = null, start = 0 } = {}) {
    const c = {};
    let x, logits;
    [x, c.tgt_embedding] = this.stack.embedding.forward(tgt.slice(start));
    [x, c.tgt_positions] = this.positions.forward(x, { start });
    const options = { allowed: this.allowed(tgt).slice(start) };
    [x, c.decoder] = this.decoder.forward(x, { ...options, kept: kept?.map(({ self }) => self) });
    [logits, c.output_projection] = this.output_projection.forward(x);
    return [logits, { ...c, logits }];
  }
}

Object.assign(LAYERS, {
  TokenStack,
  LanguageModel,
  LearnedPositionalEncoding,
  PreNormEncoderLayer,
  PreNormDecoderLayer,
});
