"use strict";
// What the page knows: what the reader chose, and what the models made of it.

const vocabulary = vocabulary_of(data.task);
const { pad, bos, eos } = data.task;
const has_source = Boolean(data.model.encoder); // a language model has none
const kinds = has_source ? KINDS : ["decoder_self"];

/** What is shown at first. */
const START = {
  text: data.examples[0] ?? "",
  written: Infinity, // how many tokens are shown; Infinity is all of them
  changes: AS_TRAINED,
  kind: kinds.at(-1),
  layer: (data.model.decoder ?? data.model.stack.encoder).layers.length - 1,
  head: 0,
  query: 0,
  key: null, // null is the key with the highest weight
  side: 0, // 0 is the model as trained, 1 the changed one: whose cell is explained
  box: 0,
  tour: null, // the step of the tour
  guess: null, // what was guessed there; null while it asks
};

/** What the reader chose. */
const view = { ...START }; // and lang, once it is chosen

// ---- the models ----------------------------------------------------------------------------

/** The bytes of base64, read in small parts. */
function bytes_of(base64) {
  const end = base64.indexOf("=");
  const bytes = new Uint8Array(Math.floor((3 * (end < 0 ? base64.length : end)) / 4));
  for (let from = 0, at = 0; from < base64.length; from += 1 << 14) {
    const text = atob(base64.slice(from, from + (1 << 14)));
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  }
  return bytes.buffer;
}

const stored = new Float32Array(bytes_of(element("weights").textContent));
element("weights").remove(); // its text is given back to the memory
const trained = build(data.model, stored);

/** What addresses name; see address.js. */
const page = { model: trained, tokens: data.task.tokens, kinds };

// ---- what they make of it ------------------------------------------------------------------

/** thoughts[0] is of the model as trained, thoughts[1] of the other one or missing. */
let thoughts = [];
let round = 0;

const { port1, port2 } = new MessageChannel();
port1.start();

/** Let the browser do what waits: a message comes sooner than a timeout. */
const breathe = () =>
  new Promise((resume) => {
    port1.addEventListener("message", resume, { once: true });
    port2.postMessage(null);
  });

const AT_ONCE = 32; // tokens that a language model writes

/** How many tokens are written at most. */
function max_len(src) {
  if (!has_source) return Math.min(AT_ONCE, trained.max_len - src.length + 1);
  return Math.min(src.length + 50, trained.max_len);
}

/** The typed source as ids, cut to what the model has positions for: a beginning at its start. */
function source_ids(text = view.text) {
  const { ids, unknown } = vocabulary.source(text);
  if (!has_source) {
    const [known, half] = [ids.filter((id) => id !== null), Math.ceil(trained.max_len / 2)];
    const last = known.length ? known.slice(-half) : [0];
    return { ids: last, unknown, all: known.length, most: half };
  }
  const [all, most] = [ids.length - 1, trained.max_len - 1];
  return { ids: all > most ? [...ids.slice(0, most), eos] : ids, unknown, all, most };
}

/** A model and a source, decoded as far as `steps` goes, and to `most` tokens at most. */
function begin(model, src) {
  const most = max_len(src);
  const decoding = greedy_decode(model, src, { bos, eos, max_len: most });
  return { model, src, decoding, most, steps: [], done: false };
}

/** So many places the answers have; a changed model may never end. */
const places = ([{ steps }] = thoughts) => Math.max(steps.length, 8);

/** Write the next token. One forward pass is kept, and not one for each token: see `shown`. */
function think_on(thought) {
  const { value, done } = thought.decoding.next();
  if (value) {
    const { tgt, token, logits } = value;
    thought.steps.push({ token, row: logits.row(tgt.length - 1).slice() });
    thought.kept = value;
  }
  thought.done = done || value.token === eos || thought.steps.length >= thought.most;
}

/**
 * Decode what is typed, one token at a time. Between two tokens the browser may do other things,
 * and a newer call ends this one: typing never waits. Calls `show_begun` now and then while it
 * lasts, and `show` when all is there.
 */
async function think(show, show_begun) {
  const mine = ++round;
  let drawn = performance.now();
  const { ids } = source_ids();
  const found = [begin(trained, ids)];
  if (is_changed(view.changes)) {
    const other = changed_model(trained, view.changes);
    found.push(begin(other, replaced_source(ids, view.changes)));
  }
  let paused = performance.now();
  for (const [side, thought] of found.entries()) {
    if (side) thought.most = Math.min(thought.most, places(found) + 1);
    while (!thought.done) {
      if (performance.now() - paused > 12) {
        await breathe();
        if (mine !== round) return;
        paused = performance.now();
        if (thought.steps.length && paused - drawn > 150) {
          thoughts = found.filter(({ steps }) => steps.length);
          show_begun();
          drawn = performance.now();
        }
      }
      think_on(thought);
    }
    if (side && thought.steps.length > places(found)) thought.steps.pop(); // it has no end
  }
  await breathe(); // what was typed meanwhile comes before drawing
  if (mine !== round) return;
  thoughts = found;
  show();
}

// ---- what of it is shown -------------------------------------------------------------------

const longest = () => Math.max(...thoughts.map((thought) => thought.steps.length));

/** The query that writes the first token. */
const first_query = ({ model, src } = thoughts[0]) => model.begin(src, bos).length - 1;

/** How many tokens a thought has written where the reader is. */
const written = (thought) => Math.min(view.written, thought.steps.length);

/** The forward pass that is shown: the one that made, or will make, the next token. */
function shown(thought) {
  const place = Math.min(written(thought), thought.steps.length - 1);
  const [before, { token }] = [thought.steps.slice(0, place), thought.steps[place]];
  const tgt = [...thought.model.begin(thought.src, bos), ...before.map((step) => step.token)];
  if (tgt.length !== thought.kept.tgt.length) {
    const [logits, cache] = thought.model.forward(thought.src, tgt);
    thought.kept = { tgt, token, logits, cache };
  }
  return thought.kept;
}

const names = (ids) => ids.map((id) => data.task.tokens[id]);

/** The tokens that go into a stack: the source, or what is written so far. */
const tokens_of = (thought, stack) => names(stack === "encoder" ? thought.src : shown(thought).tgt);

/** How many layers a kind of attention has; encoder and decoder may differ. */
const layer_count = (kind = view.kind) =>
  trained[kind === "encoder_self" ? "encoder" : "decoder"].layers.length;

/** Whether a model reads its tokens again with those behind them: it has no causal mask. */
const rereads = (thought) => !view.changes.causal && thought !== thoughts[0];

/** Whether the rows of the map in view are not those that wrote. */
const is_read_again = (thought) => rereads(thought) && view.kind === "decoder_self";

/** The forward passes that wrote the tokens one by one, for a model that rereads. */
function passes(thought) {
  const kept = shown(thought);
  const forward = (_, t) => thought.model.forward(thought.src, kept.tgt.slice(0, t + 1))[1];
  kept.passes ??= kept.tgt.map(forward);
  return kept.passes;
}

/** An attention over the source in which each row is the one that wrote its token. */
function as_written(thought, path) {
  const found = passes(thought).map((cache) => at(cache, path).attention);
  const rows = (name) =>
    found[0][name].map(({ columns }, head) =>
      Matrix.of(found.length, columns, (t, j) => found[t][name][head].row(t)[j]),
    );
  const parts = ["Q", "scores", "weights", "kept"].map((name) => [name, rows(name)]);
  return { ...found.at(-1), ...Object.fromEntries(parts) };
}

/** {path, cache, attention, queries, keys} of the chosen kind and layer of attention. */
function attended(thought, kind = view.kind, layer = within(view.layer, layer_count(kind))) {
  const stack = kind === "encoder_self" ? "encoder" : "decoder";
  const path = `${stack}.layers.${layer}.${kind === "cross" ? "cross" : "self"}_attention`;
  return {
    path,
    place: at(thought.model, path),
    cache:
      kind === "cross" && rereads(thought)
        ? as_written(thought, path)
        : at(shown(thought).cache, path).attention,
    queries: tokens_of(thought, stack),
    keys: tokens_of(thought, kind === "decoder_self" ? "decoder" : "encoder"),
  };
}

/** A function that says whether a query may look at a key. */
function allowed(thought, kind = view.kind) {
  if (kind !== "decoder_self") return (query, key) => thought.src[key] !== pad;
  const rows = thought.model.allowed(shown(thought).tgt);
  return (query, key) => rows[query][key];
}

/** The nearest to i of the numbers 0 .. count - 1. */
const within = (i, count) => Math.max(0, Math.min(i, count - 1));

/** The place of the largest number. */
const heaviest = (row) => row.indexOf(Math.max(...row));

/** Make every part of the view one that exists. */
function settle() {
  pointed = null;
  view.side = within(view.side, thoughts.length);
  if (view.written > longest()) view.written = START.written;
  view.layer = within(view.layer, layer_count());
  const { queries, keys, cache } = attended(thoughts[view.side]);
  view.query = within(view.query, queries.length);
  view.key = within(view.key ?? heaviest(cache.weights[view.head].row(view.query)), keys.length);
}

/** The logits by which a token was written, before what stands after it. */
const logits_of = (thought, place) =>
  thought.steps[place - first_query(thought)]?.row ?? shown(thought).logits.row(place);

/** The probabilities of all tokens, of a row of logits. */
const probabilities_of = (logits) => softmax(Float64Array.from(logits));

/** Tokens and their probabilities, the best `count` of a row of logits. */
function best(logits, count) {
  const probabilities = probabilities_of(logits);
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
  return order.slice(0, count).map((id) => [data.task.tokens[id], probabilities[id]]);
}

/** "as trained" or "changed". */
const side_text = (side) => say(side ? "changed" : "as_trained");

/** Which side it is in the words for a key, and nothing where there is no change. */
function side_name(side, key = "side") {
  if (thoughts.length < 2) return [];
  const span = make("span", { class: side ? "changed-name" : null }, side_text(side));
  return say_with(key, { side: span, name: changed_name() });
}
