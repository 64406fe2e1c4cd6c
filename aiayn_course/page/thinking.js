// What the page knows: what the reader chose, and what the models made of it. `view` is the choice;
// `thoughts` is the result, made anew as a whole and never changed: all is drawn from the result.

import { softmax } from "./matrix.js";
import { build, greedy_decode } from "./transformer.js";
import { AS_TRAINED, at, changed_model, is_changed } from "./what_if.js";
import { vocabulary_of } from "./vocabulary.js";
import { KINDS, MODES } from "./address.js";

export const WHOLE = document.documentElement.outerHTML; // as it was sent, for `save_moment`
export const data = JSON.parse(document.getElementById("data").textContent);
export const element = (id) => document.getElementById(id);

export const vocabulary = vocabulary_of(data.task);
export const { pad, bos, eos } = data.task;
export const has_source = Boolean(data.model.encoder); // a language model has none
export const kinds = has_source ? KINDS : ["decoder_self"];
export const modes = data.learns ? MODES : MODES.slice(1);

/** What is shown at first. */
export const START = {
  mode: modes[0],
  text: data.examples[0] ?? "",
  changes: AS_TRAINED,
  tried: [], // cuts that were tried on this text, by their names
  kind: kinds.at(-1),
  layer: (data.model.decoder ?? data.model.stack.encoder).layers.length - 1,
  head: data.telling?.[0] ?? 0,
  query: 0,
  key: null, // null is the key with the highest weight
  summed: [], // keys whose weights are added up
  box: 0,
  tour: null, // the stop of the tour
  task: data.task.name, // that the small model learns
  seed: 1,
  step: 0,
};

/** What the reader chose. */
export const view = { ...START }; // and lang, once it is chosen

// ---- the models ----------------------------------------------------------------------------

/** The numbers of the model: deflated, first all lowest bytes, then the next ones. */
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const [count, numbers] = [planes.length / 4, new Uint8Array(planes.length)];
  for (let i = 0; i < planes.length; i++)
    numbers[4 * (i % count) + Math.floor(i / count)] = planes[i];
  return new Float32Array(numbers.buffer);
}

export let trained = null; // the model as trained, once its numbers are unpacked

/** Unpack the model of the page. */
export async function load_model() {
  trained = build(data.model, await unpacked(element("weights").textContent));
  return trained;
}

/** What addresses name; see address.js. */
export const page = { tokens: data.task.tokens, kinds, modes }; // and the model

// ---- what they make of it ------------------------------------------------------------------

/** thoughts[0] is of the model as trained, thoughts[1] of the cut one or missing. */
export let thoughts = [];
let round = 0;

const { port1, port2 } = new MessageChannel();
port1.start();

/** Let the browser do what waits: a message comes sooner than a timeout. */
export const breathe = () =>
  new Promise((resume) => {
    port1.addEventListener("message", resume, { once: true });
    port2.postMessage(null);
  });

const SLICE = 20; // milliseconds of work between two breaths

/** Run a generator to its end in slices; gives what it returns, or undefined once it is `late`. */
export async function in_slices(work, late) {
  for (let began = performance.now(); ;) {
    const { value, done } = work.next();
    if (done) return value;
    if (performance.now() - began < SLICE) continue;
    await breathe();
    if (late()) return undefined;
    began = performance.now();
  }
}

const AT_ONCE = 32; // tokens that a language model writes

/** How many tokens are written at most. */
function max_len(src) {
  if (!has_source) return Math.min(AT_ONCE, trained.max_len - src.length + 1);
  return Math.min(src.length + 50, trained.max_len);
}

/** The typed source as ids, cut to what the model has positions for: a beginning at its start. */
export function source_ids(text = view.text) {
  const { ids, unknown } = vocabulary.source(text);
  if (!has_source) {
    const [known, half] = [ids.filter((id) => id !== null), Math.ceil(trained.max_len / 2)];
    const last = known.length ? known.slice(-half) : [0];
    return { ids: last, unknown, all: known.length, most: half };
  }
  const [all, most] = [ids.length - 1, trained.max_len - 1];
  return { ids: all > most ? [...ids.slice(0, most), eos] : ids, unknown, all, most };
}

/** So many places an answer has; a cut model may never end. */
export const places = ({ steps } = thoughts[0]) => Math.max(steps.length, 8);

/**
 * What a model with changes writes for a source: {model, src, changes, steps}. Without its end it
 * goes on to `most` tokens. A step is {token, row}: the logits that it was chosen by.
 */
export function* thought_of(changes, src, most = max_len(src)) {
  const model = is_changed(changes) ? changed_model(trained, changes) : trained;
  const steps = [];
  for (const { token, row } of greedy_decode(model, src, { bos, eos, max_len: most })) {
    steps.push({ token, row });
    yield;
  }
  return { model, src, changes, steps, ended: steps.at(-1).token === eos || !has_source };
}

/** Both thoughts of what is typed; a newer call ends this one: typing never waits. */
function* both_thoughts({ changes } = view) {
  const { ids } = source_ids();
  const first = yield* thought_of(AS_TRAINED, ids);
  if (!is_changed(changes)) return [first];
  return [first, yield* thought_of(changes, ids, Math.min(max_len(ids), places(first)))];
}

export async function think(show) {
  const mine = ++round;
  const late = () => mine !== round;
  const found = await in_slices(both_thoughts(), late);
  await breathe(); // what was typed meanwhile comes before drawing
  if (late() || !found) return;
  thoughts = found;
  show();
}

// ---- what of it is shown -------------------------------------------------------------------

/** The thought whose curves, map and numbers are shown: that of the cut model, if there is one. */
export const thought_now = () => thoughts.at(-1);

/** The query that writes the first token. */
export const first_query = ({ model, src } = thoughts[0]) => model.begin(src, bos).length - 1;

const passes = new WeakMap(); // of each thought, the forward pass that is shown

/** The forward pass that is shown: the one that wrote the last token. */
export function shown(thought) {
  if (!passes.has(thought)) {
    const ids = thought.steps.map(({ token }) => token);
    const tgt = [...thought.model.begin(thought.src, bos), ...ids.slice(0, -1)];
    const [logits, cache] = thought.model.forward(thought.src, tgt);
    passes.set(thought, { tgt, token: ids.at(-1), logits, cache, shares: [] });
  }
  return passes.get(thought);
}

export const names = (ids) => ids.map((id) => data.task.tokens[id]);

/** The tokens that go into a stack: the source, or what is written so far. */
export const tokens_of = (thought, stack) =>
  names(stack === "encoder" ? thought.src : shown(thought).tgt);

/** How many layers a kind of attention has; encoder and decoder may differ. */
export const layer_count = (kind = view.kind) =>
  trained[kind === "encoder_self" ? "encoder" : "decoder"].layers.length;

/** The kind of an attention at a path. */
export const kind_of = (path) =>
  path.endsWith("cross_attention") ? "cross" : `${path.split(".")[0]}_self`;

export const layer_of = (path) => Number(path.split(".")[2]);

/** {path, cache, attention, queries, keys} of the chosen kind and layer of attention. */
export function attended(thought, kind = view.kind, layer = within(view.layer, layer_count(kind))) {
  const stack = kind === "encoder_self" ? "encoder" : "decoder";
  const path = `${stack}.layers.${layer}.${kind === "cross" ? "cross" : "self"}_attention`;
  return {
    path,
    place: at(thought.model, path),
    cache: at(shown(thought).cache, path).attention,
    queries: tokens_of(thought, stack),
    keys: tokens_of(thought, kind === "decoder_self" ? "decoder" : "encoder"),
  };
}

/** A function that says whether a query may look at a key. */
export function allowed(thought, kind = view.kind) {
  if (kind !== "decoder_self") return (query, key) => thought.src[key] !== pad;
  const rows = thought.model.allowed(shown(thought).tgt);
  return (query, key) => rows[query][key];
}

/** The nearest to i of the numbers 0 .. count - 1. */
export const within = (i, count) => Math.max(0, Math.min(i, count - 1));

/** The place of the largest number. */
export const heaviest = (row) => row.indexOf(Math.max(...row));

/** Make every part of the view one that exists. */
export function settle() {
  view.layer = within(view.layer, layer_count());
  const { queries, keys, cache } = attended(thought_now());
  view.query = within(view.query, queries.length);
  view.summed = view.summed.filter((key) => key < keys.length);
  view.key = within(view.key ?? heaviest(cache.weights[view.head].row(view.query)), keys.length);
}

/** The logits by which a token was written, before what stands after it. */
export const logits_of = (thought, place) =>
  thought.steps[place - first_query(thought)]?.row ?? shown(thought).logits.row(place);

/** The probabilities of all tokens, of a row of logits. */
export const probabilities_of = (logits) => softmax(Float64Array.from(logits));

/** Tokens and their probabilities, the best `count` of a row of logits. */
export function best(logits, count) {
  const probabilities = probabilities_of(logits);
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
  return order.slice(0, count).map((id) => [data.task.tokens[id], probabilities[id]]);
}
