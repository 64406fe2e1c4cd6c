"use strict";
// The switches of "What if": what the reader changes, and showing what is changed.

function change(changes, before_drawing) {
  view.changes = { ...view.changes, ...changes };
  rethink(before_drawing);
}

/** What each switch changes. */
const SWITCHES = {
  "if-positions": () => ({ positions: false }),
  "if-no-scale": () => ({ factor: factor_without_scale(trained) }),
  "if-causal": () => ({ causal: false }),
  "if-mute": () => ({ muted: { path: attended(thoughts[0]).path, head: view.head } }),
  "if-uniform": () => ({ uniform: { ...SWITCHES["if-mute"]().muted, query: view.query } }),
};

/** What a change is called beside its answer. */
const CHANGE_NAMES = {
  positions: "if_positions",
  factor: "if_no_scale",
  causal: "if_causal",
  muted: "if_heads",
  uniform: "if_uniform",
  replaced: "if_replace",
};

const same = (a) => (b) => JSON.stringify(a) === JSON.stringify(b);

/** Whether a change is made; of heads and of rows each is one of a list. */
function is_on(part, value) {
  const found = view.changes[part];
  return Array.isArray(found) ? found.some(same(value)) : found !== AS_TRAINED[part];
}

function turn(id) {
  const [[part, value]] = Object.entries(SWITCHES[id]());
  const [found, on] = [view.changes[part], is_on(part, value)];
  const ahead = part === "causal" && !on ? show_ahead : undefined;
  if (!Array.isArray(found)) return change({ [part]: on ? AS_TRAINED[part] : value }, ahead);
  change({ [part]: on ? found.filter((one) => !same(value)(one)) : [...found, value] });
}

/** Without the mask, show the map of the decoder's own attention that changed most. */
const show_ahead = () => Object.assign(view, most_changed(["decoder_self"]).place);

/** The switches as they are. Before a change its question is there, after it what to expect. */
function draw_changes() {
  element("if-reset").disabled = !is_other();
  element("if-no-scale").disabled = factor_without_scale(trained) === 1;
  for (const [id, values] of Object.entries(SWITCHES))
    element(id).checked = is_on(...Object.entries(values())[0]);
  for (const place of document.querySelectorAll("[data-part]")) {
    const { part } = place.dataset;
    const on = changed_parts(view.changes).includes(part);
    place.classList.toggle("on", on);
    if (!on) delete guesses[part];
    if (GUESSES[part]) fill(place.querySelector(".choices"), guess_buttons(part, place));
  }
  draw_outcome();
}

/** The changes that are made, in words. */
function changed_names() {
  const list = changed_parts(view.changes).map((part) => say(CHANGE_NAMES[part]));
  if (view.state < data.states.length) list.unshift(state_name());
  return list.join(say("comma"));
}

/** The source tokens that can be replaced. */
function fill_positions() {
  const src = thoughts[0].src;
  const place = Math.min(Math.max(element("if-position").selectedIndex, 0), src.length - 1);
  const options = names(src).map((token, i) => make("option", {}, `${i + 1}: ${visible(token)}`));
  element("if-position").replaceChildren(...options);
  element("if-position").selectedIndex = place;
  show_replacement();
}

function show_replacement() {
  const position = element("if-position").selectedIndex;
  const found = view.changes.replaced.find((one) => one.position === position);
  element("if-token").selectedIndex = found ? found.token + 1 : 0;
}

function replace_token() {
  const position = element("if-position").selectedIndex;
  const token = element("if-token").selectedIndex - 1;
  const others = view.changes.replaced.filter((one) => one.position !== position);
  change({ replaced: token < 0 ? others : [...others, { position, token }] });
}

// ---- guesses, and what came of a change ----------------------------------------------------

/** What became of an answer: its tokens that are gone, new ones, and how many places changed. */
function difference(before, after) {
  const added = [...after];
  const lost = before.filter((id) => {
    const place = added.indexOf(id);
    if (place >= 0) added.splice(place, 1);
    return place < 0;
  });
  const [longer, shorter] = before.length > after.length ? [before, after] : [after, before];
  const count = longer.filter((id, t) => id !== shorter[t]).length;
  return { lost, added, count };
}

const answers = () => thoughts.map(({ steps }) => real_ids(steps));

/** No place, one or two, or more. */
const places_changed = ["guess_places", ({ count }) => Math.min(Math.ceil(count / 2), 2)];

/** What can be guessed of a change, and which of it happened. */
const GUESSES = {
  positions: [
    "guess_order",
    ({ lost, added, count }) => (lost.length + added.length ? 2 : count ? 1 : 0),
  ],
  factor: ["guess_sharp", () => (sharpness(thoughts[1]) > sharpness(thoughts[0]) ? 0 : 1)],
  causal: places_changed,
  muted: places_changed,
  uniform: places_changed,
};

const guesses = {}; // of the changes that are made: which choice was taken

const listed_choices = (key) => say(key).split(" | ");

/** To guess is to make the change. */
const guess_buttons = (part, place) =>
  listed_choices(GUESSES[part][0]).map((choice, i) =>
    make_button(choice, () => {
      guesses[part] = i;
      place.querySelector("input").focus();
      place.querySelector("input").click();
    }),
  );

const verdict = (choices, guess, happened) =>
  say(guess === happened ? "guessed_right" : "guessed_wrong", {
    guess: choices[guess],
    happened: choices[happened],
  });

/** The maps of all heads of a kind of attention. */
const maps_of = (thought, kind) =>
  [...Array(layer_count(kind)).keys()].flatMap(
    (layer) => attended(thought, kind, layer).cache.weights,
  );

/** The mean over all rows of some maps; `of` gives the number of row i. */
function mean_of_rows(maps, of) {
  const numbers = maps.flatMap((map) => [...Array(map.rows).keys()].map((i) => of(map.row(i), i)));
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** The mean of the highest weights of all rows, in all heads. */
function sharpness(thought) {
  const maps = kinds.flatMap((kind) => maps_of(thought, kind));
  return mean_of_rows(maps, (row) => Math.max(...row));
}

/** The share of the weight that lies ahead, in the maps of the decoder's own attention. */
const weight_ahead = (thought) =>
  mean_of_rows(maps_of(thought, "decoder_self"), (row, i) =>
    row.slice(i + 1).reduce((sum, weight) => sum + weight, 0),
  );

/** The weight that changed most: its place in the view, before, after and by how much. */
function most_changed(among = kinds) {
  let most = { size: 0 };
  for (const kind of among)
    for (let layer = 0; layer < layer_count(kind); layer++) {
      const [maps, others] = thoughts.map((one) => attended(one, kind, layer).cache.weights);
      maps.forEach((map, head) => {
        const other = others[head];
        for (let query = 0; query < Math.min(map.rows, other.rows); query++)
          for (let key = 0; key < Math.min(map.columns, other.columns); key++) {
            const [before, after] = [map, other].map((one) => one.row(query)[key]);
            const size = Math.abs(after - before);
            const place = { kind, layer, head, query, key, side: 1 };
            if (size > most.size) most = { size, place, before, after };
          }
      });
    }
  return most;
}

/** What changed most, as a sentence. */
function said_most_changed({ place, before, after }) {
  const { kind, layer, query, key } = place;
  const { queries, keys } = attended(thoughts[1], kind, layer);
  const writes = names(written_ids(thoughts[1]));
  return say("out_most", {
    query: plain_name((kind === "encoder_self" ? queries : writes)[query]),
    key: plain_name(keys[key]),
    before: digits(before, 2),
    after: digits(after, 2),
  });
}

const said_sharpness = () => {
  const [before, after] = thoughts.map((one) => digits(sharpness(one), 2));
  return say("out_sharp", { before, after });
};

/** What is measured besides for some of the changes. */
function measured() {
  const found = view.changes.factor !== 1 || view.state < data.states.length;
  const ahead = () => say("out_ahead", { share: Math.round(100 * weight_ahead(thoughts[1])) });
  return [...(found ? [said_sharpness()] : []), ...(view.changes.causal ? [] : [ahead()])];
}

/** Two sources that the model without positions cannot tell from each other, where it was so. */
function said_equal() {
  const { text, answer, equal } = thoughts[1].further ?? {};
  if (!equal || !has_source || view.changes.positions) return [];
  const source = listed(thoughts[0].src);
  return [say("out_equal", { source, text, answer: listed(answer) })];
}

/** An answer that did not change: what did, and a text whose answer does. */
function same_answer() {
  const { text, count } = thoughts[1].further ?? {};
  const equal = said_equal();
  const found = [say(equal.length ? "out_luck" : "out_same"), ...equal];
  if (text && !equal.length) found.push(say("out_other"));
  if (text) found.push(make_button(say("out_try", { text }), () => type(text)));
  if (count) found.push(say("out_nowhere", { count }));
  const most = most_changed();
  if (most.size < 0.005) return found;
  const show = make_button(say("out_show"), () => choose(most.place));
  return [...found, ...(text ? [] : [said_most_changed(most)]), show];
}

/** Under the answer: what came of the guesses and of the changes, and where to look on. */
function draw_outcome() {
  if (thoughts.length < 2 || view.tour !== null) return fill(element("outcome"), []);
  const change = difference(...answers());
  const parts = changed_parts(view.changes).filter((part) => part in guesses);
  const verdicts = parts.map((part) => {
    const [key, happened] = GUESSES[part];
    return verdict(listed_choices(key), guesses[part], happened(change));
  });
  const goes_on = thoughts[1].steps.length > places() ? "+" : ""; // it was stopped
  const effect = change.count
    ? [say("out_changed", { count: `${change.count}${goes_on}` }), ...said_equal()]
    : same_answer();
  const all = [...verdicts, ...effect, ...measured()];
  fill(
    element("outcome"),
    all.flatMap((one) => [one, say("gap")]),
  );
}

/** Other texts to try a change on: the typed words in another order, and the examples. */
function other_texts() {
  const [first, ...rest] = vocabulary.text(thoughts[0].src).split(" ");
  const typed = [first, ...rest].join(" ");
  const orders = [[...rest].reverse().concat(first), [...rest, first]].map((one) => one.join(" "));
  return [...new Set([...orders, ...data.examples])]
    .filter((text) => text.trim() && text !== typed)
    .slice(0, 6);
}

/** Look for a text on which the change shows, after all is drawn; typing never waits. */
async function look_further() {
  const [mine, other] = [round, thoughts[1]];
  if (!other || data.recorded) return;
  if (view.changes.positions && difference(...answers()).count) return;
  const texts = other_texts();
  for (const text of texts) {
    const { ids } = vocabulary.source(text);
    const pair = [begin(trained, ids), begin(other.model, replaced_source(ids, view.changes))];
    for (const one of pair) {
      if (one !== pair[0]) one.most = Math.min(one.most, places(pair) + 1);
      while (!one.done) {
        await breathe();
        if (mine !== round) return;
        think_on(one);
      }
    }
    const [wanted, answer] = pair.map(({ steps }) => real_ids(steps));
    if (wanted.join() === answer.join()) continue;
    other.further = { text, answer, equal: answer.join() === real_ids(other.steps).join() };
    break;
  }
  other.further ??= { count: texts.length };
  draw_outcome();
  draw_tour();
}
