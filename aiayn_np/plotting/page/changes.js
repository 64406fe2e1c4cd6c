"use strict";
// The switches of "What if": each asks first, then makes its change and says what came of it.

/** How many places changed: none, one or two, or more. */
const places_changed = ({ count }) => Math.min(Math.ceil(count / 2), 2);

const chosen_head = () => ({ path: attended(thoughts[0]).path, head: view.head });

/**
 * The switches: what they are called, the value that they give their part of view.changes, the
 * lesson, what they ask, the choices, and which choice happened.
 */
const SWITCHES = {
  positions: {
    name: "if_positions",
    value: () => false,
    lesson: "8",
    asks: ["if_positions_guess", "guess_order"],
    happened: ({ lost, added, count }) => (lost.length + added.length ? 2 : count ? 1 : 0),
  },
  factor: {
    name: "if_no_scale",
    value: () => factor_without_scale(trained),
    lesson: "3",
    asks: ["if_scale_guess", "guess_sharp"],
    happened: () => (sharpness(thoughts[1]) > sharpness(thoughts[0]) ? 0 : 1),
  },
  causal: {
    name: "if_causal",
    value: () => false,
    lesson: "5",
    asks: ["if_places_guess", "guess_places"],
    happened: places_changed,
  },
  muted: {
    name: "if_mute_chosen",
    value: chosen_head,
    lesson: "6",
    asks: ["if_places_guess", "guess_places"],
    happened: places_changed,
  },
};

const same = (a) => (b) => JSON.stringify(a) === JSON.stringify(b);

/** Whether a change is made; of heads each is one of a list. */
function is_on(part, value = SWITCHES[part].value()) {
  const found = view.changes[part];
  return Array.isArray(found) ? found.some(same(value)) : found !== AS_TRAINED[part];
}

function change(changes, before_drawing) {
  view.changes = { ...view.changes, ...changes };
  rethink(before_drawing);
}

/** The rows of the switches, which are filled when they are drawn. */
function make_switches() {
  for (const part of Object.keys(SWITCHES)) {
    const input = make("input", { type: "checkbox", id: `if-${part}` });
    input.addEventListener("change", () => turn(part));
    const label = make("label", { class: "switch" }, make("span"), input);
    const guess = make("div", { class: "guess", role: "status" });
    const row = make("div", { class: "change", "data-part": part }, label, guess);
    element("what-if").append(row);
  }
  element("what-if").append(element("time"));
}

let asked = null; // the switch that asks
let turned = null; // the part that was changed last
let before_ahead = {}; // what was shown before the mask was taken away
const known = new Set(); // switches that have asked: they do not ask again
const guesses = {}; // which choice was taken for a change that is made

/** A switch was clicked: the first time it asks, and a second click makes the change. */
function turn(part) {
  const [value, found] = [SWITCHES[part].value(), view.changes[part]];
  const on = is_on(part, value);
  if (!on && !known.has(part)) {
    known.add(part);
    asked = part;
    return draw_changes();
  }
  [asked, turned] = [null, part];
  if (part === "causal") return change({ causal: on }, on ? show_before : show_ahead);
  if (!Array.isArray(found)) return change({ [part]: on ? AS_TRAINED[part] : value });
  change({ [part]: on ? found.filter((one) => !same(value)(one)) : [...found, value] });
}

/** Without the mask, show the map of the decoder's own attention that changed most. */
function show_ahead() {
  const { kind, layer, head, query, key } = view;
  before_ahead = { kind, layer, head, query, key };
  Object.assign(view, most_changed(["decoder_self"]).place);
}

function show_before() {
  Object.assign(view, before_ahead);
  before_ahead = {};
}

const listed_choices = (key) => say(key).split(" | ");

/** To guess is to make the change; so is not to guess. */
function guess_buttons(part) {
  const take = (i) => () => {
    if (i !== null) guesses[part] = i;
    element(`if-${part}`).focus();
    turn(part);
  };
  const [question, choices] = SWITCHES[part].asks;
  const buttons = listed_choices(choices).map((choice, i) => make_button(choice, take(i)));
  return [say(question), ...buttons, make_button(say("guess_none"), take(null), { class: "bare" })];
}

/** The switches as they are; the one that asks has its question, the last one its outcome. */
function draw_changes() {
  element("if-reset").hidden = !is_other();
  element("if-factor").disabled = factor_without_scale(trained) === 1;
  const chosen = { layer: view.layer + 1, head: view.head + 1 };
  for (const [part, { name }] of Object.entries(SWITCHES)) {
    const input = element(`if-${part}`);
    input.previousSibling.textContent = say(name, chosen);
    input.checked = is_on(part);
    if (!changed_now().includes(part)) delete guesses[part];
    fill(input.closest(".change").lastElementChild, asked === part ? guess_buttons(part) : []);
  }
  draw_outcome();
}

/** What is changed: the parts, and a state of the training. */
const changed_now = () => [...changed_parts(view.changes), ...(is_early() ? ["state"] : [])];

/** The changes that are made, in words. */
function changed_names() {
  const name = (part) => (NAMES_OF[part] ?? (() => say(SWITCHES[part].name)))();
  return changed_now().flatMap(name).join(say("comma"));
}

/** What a change is called where its switch tells of what is chosen now. */
const NAMES_OF = {
  state: () => state_name(),
  muted: () =>
    view.changes.muted.map(({ path, head }) =>
      say("if_heads", { layer: Number(path.split(".")[2]) + 1, head: head + 1 }),
    ),
  replaced: () =>
    view.changes.replaced.map(({ position, token }) => {
      const [old, now] = names([thoughts[0].src[position], token]).map(plain_name);
      return say("if_replaced", { old, token: now, place: position + 1 });
    }),
};

// ---- what came of a change -----------------------------------------------------------------

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

const verdict = (choices, guess, happened) =>
  say(guess === happened ? "guessed_right" : "guessed_wrong", {
    guess: choices[guess],
    happened: choices[happened],
  });

/** The mean over all rows of the maps of some kinds; `of` gives the number of row i. */
function mean_of_rows(thought, some, of) {
  const numbers = some.flatMap((kind) =>
    [...Array(layer_count(kind)).keys()].flatMap((layer) =>
      attended(thought, kind, layer).cache.weights.flatMap((map) =>
        [...Array(map.rows).keys()].map((i) => of(map.row(i), i)),
      ),
    ),
  );
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** The mean of the highest weights of all rows, in all heads. */
const sharpness = (thought) => mean_of_rows(thought, kinds, (row) => Math.max(...row));

/** The share of the weight that lies ahead, in the maps of the decoder's own attention. */
const weight_ahead = (thought) =>
  mean_of_rows(thought, ["decoder_self"], (row, i) =>
    row.slice(i + 1).reduce((sum, weight) => sum + weight, 0),
  );

/** The weight that changed most: its place in the view, and by how much. */
function most_changed(among = kinds) {
  let most = { size: 0 };
  for (const kind of among)
    for (let layer = 0; layer < layer_count(kind); layer++) {
      const [maps, others] = thoughts.map((one) => attended(one, kind, layer).cache.weights);
      maps.forEach((map, head) => {
        const other = others[head];
        for (let query = 0; query < Math.min(map.rows, other.rows); query++)
          for (let key = 0; key < Math.min(map.columns, other.columns); key++) {
            const size = Math.abs(other.row(query)[key] - map.row(query)[key]);
            const place = { kind, layer, head, query, key, side: 1 };
            if (size > most.size) most = { size, place };
          }
      });
    }
  return most;
}

/** Each of the two is said only where it is so. */
function lost_and_new({ lost, added, count }) {
  if (count && lost.length + added.length === 0) return [say("out_moved")];
  return [
    ...(lost.length ? [say("out_lost", { list: listed(lost) })] : []),
    ...(added.length ? [say("out_new", { list: listed(added) })] : []),
  ];
}

/** Two sources that the model without positions cannot tell from each other, where it was so. */
function said_equal() {
  const { text, answer, equal } = thoughts[1].further ?? {};
  if (!equal || !has_source || view.changes.positions) return [];
  const source = listed(thoughts[0].src);
  return [say("out_equal", { source, text, answer: listed(answer) })];
}

/** The highest weights before and after. */
function said_sharpness() {
  const [before, after] = thoughts.map((one) => digits(sharpness(one), 2));
  return [say("out_sharp", { before, after })];
}

/** What is measured of a change besides its answer, and why it is so. */
const MEASURED = {
  positions(change) {
    const equal = said_equal();
    return [...lost_and_new(change), ...(equal.length ? equal : [say("if_positions_expect")])];
  },
  factor: () => [say("if_scale_expect"), ...said_sharpness()],
  causal() {
    const share = Math.round(100 * weight_ahead(thoughts[1]));
    return [say("out_ahead", { share }), say("if_causal_expect")];
  },
  muted: ({ count }) => [say(count ? "if_heads_lost" : "if_heads_same")],
  replaced: () => [say("if_replace_expect")],
  state: () => [...said_sharpness(), say("if_state_expect")],
};

/** Of an answer that did not change: whether it does for another text. */
function same_answer() {
  const { text, count } = thoughts[1].further ?? {};
  if (said_equal().length) return [say("out_luck")];
  const others = text ? [say("out_other", { text })] : count ? [say("out_nowhere", { count })] : [];
  return [say("out_same"), ...others];
}

/** Where to look on when the answer did not change: such a text, and what changed in the maps. */
function look_on() {
  const { text } = thoughts[1].further ?? {};
  const { size, place } = most_changed();
  return [
    ...(text ? [make_button(say("out_try", { text }), () => type(text))] : []),
    ...(size >= 0.005 ? [make_button(say("out_show"), () => choose(place))] : []),
  ];
}

/** What came of a change, as sentences: the answer, what was measured, and why. */
function sentences_of(part) {
  const change = difference(...answers());
  const goes_on = thoughts[1].steps.length > places() ? "+" : ""; // it was stopped
  const changed = [say("out_changed", { count: `${change.count}${goes_on}` })];
  const first = change.count ? changed : same_answer();
  return [...first, ...MEASURED[part](change)].flatMap(rich).concat(change.count ? [] : look_on());
}

/** Under the switch that was turned last: the guess, what came of the change, and why. */
function draw_outcome() {
  const now = changed_now();
  const part = now.includes(turned) ? turned : now.at(-1);
  if (thoughts.length < 2 || view.tour !== null || !part) return fill(element("outcome"), []);
  const row = document.querySelector(`[data-part="${part}"]`) ?? element("what-if");
  if (element("outcome").parentNode !== row) row.append(element("outcome"));
  const { asks, happened, lesson } = SWITCHES[part] ?? LESSON_OF[part];
  const found = sentences_of(part);
  if (part in guesses) {
    const came = happened(difference(...answers()));
    found.unshift(make("strong", {}, verdict(listed_choices(asks[1]), guesses[part], came)));
  }
  fill(element("outcome"), spaced([...found, ...lesson_link(lesson)]));
}

const LESSON_OF = { replaced: { lesson: "11" }, state: { lesson: "10" } };

/** Sentences with a gap between each two. */
const spaced = (list) => list.flatMap((one) => [say("gap"), one]).slice(1);

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
