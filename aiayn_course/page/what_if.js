// What if? A copy of the model in which one or more steps of the computation are others. A change
// replaces a method of one object of the copy, as one would do in Python.

import { Module, not_padding } from "./transformer.js";

/** The changes of nothing: each part is left as it is. */
export const AS_TRAINED = Object.freeze({
  factor: 1, // on the scores, before the softmax; sqrt(d_k) takes the paper's scale away
  positions: true, // false: no positional encoding is added
  causal: true, // false: the decoder may look ahead
  muted: [], // of {path, head}: the head gives zeros
});

/** The name of a cut in an address; "" for none. */
export function name_of({ factor, positions, causal, muted }) {
  if (muted.length) return `mute:${muted[0].path}:${muted[0].head}`;
  return factor !== 1 ? "scale" : !positions ? "positions" : !causal ? "mask" : "";
}

export const is_changed = (changes) => name_of(changes) !== "";

/** A copy of a layer and of all layers in it; the parameters are shared. */
function copy(node) {
  if (Array.isArray(node)) return node.map(copy);
  if (!(node instanceof Module)) return node;
  const entries = Object.entries(node).map(([name, child]) => [name, copy(child)]);
  return Object.assign(Object.create(Object.getPrototypeOf(node)), Object.fromEntries(entries));
}

/** The layer, or the array of a cache, at a dotted path. */
export function at(node, path) {
  return path.split(".").reduce((found, name) => found?.[name], node);
}

/** Dotted paths of all multi-head attentions, those of the encoder first. */
export function attention_paths(model) {
  const of = (stack, name) => {
    const layers = model[stack]?.layers.filter((layer) => layer[name]) ?? [];
    return layers.map((_, i) => `${stack}.layers.${i}.${name}`);
  };
  return [
    ...of("encoder", "self_attention"),
    ...of("decoder", "self_attention"),
    ...of("decoder", "cross_attention"),
  ];
}

export const most_layers = ({ encoder, decoder }) =>
  Math.max(encoder?.layers.length ?? 0, decoder.layers.length);

/** A copy of the model with the changes. */
export function changed_model(model, changes) {
  const other = copy(model);
  if (!changes.positions) other.positions.forward = (x) => [x, { y: x }];
  if (!changes.causal) {
    other.allowed = (tgt) => tgt.map(() => not_padding(tgt, model.pad));
    other.looks_ahead = true;
  }
  for (const path of attention_paths(model)) {
    const { attention } = at(other, path);
    const { scale } = attention;
    attention.scale = (...given) =>
      scale(...given).map((scores) => scores.map((score) => changes.factor * score));
  }
  for (const { path, head } of changes.muted) mute(at(other, path).attention, head);
  return other;
}

/** A head gives zeros. */
function mute(attention, head) {
  const before = attention.forward.bind(attention);
  attention.forward = (Q, K, V, options) => {
    const [found, cache] = before(Q, K, V, options);
    const muted = (list) => list.map((x, n) => (n === head ? x.map(() => 0) : x));
    return [muted(found), { ...cache, kept: muted(cache.kept) }];
  };
}

/** The factor that takes 1/sqrt(d_k) away. */
export const factor_without_scale = (model) =>
  Math.sqrt(model.decoder.layers[0].self_attention.d_k);
