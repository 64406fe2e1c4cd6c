"use strict";
// The switches of "What if": each asks first, then makes its change and says what came of it.

/** How many places changed: none, one or two, or more. */
const places_changed = ({ count }) => Math.min(Math.ceil(count / 2), 2);

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
  causal: {
    name: "if_causal",
    value: () => false,
    lesson: "5",
    asks: ["if_places_guess", "guess_places"],
    happened: places_changed,
  },
  factor: {
    name: "if_no_scale",
    value: () => factor_without_scale(trained),
    lesson: "3",
    asks: ["if_scale_guess", "guess_sharp"],
    happened: () => (sharpness(thoughts[1]) > sharpness(thoughts[0]) ? 0 : 1),
  },
  muted: {
    name: "if_mute_chosen",
    value: () => [{ path: attended(thoughts[0]).path, head: view.head }],
    lesson: "6",
    asks: ["if_places_guess", "guess_places"],
    happened: places_changed,
  },
};

/** Whether a change is made. */
const is_on = (part) => changed_parts(view.changes).includes(part);

/** Whether a head is the muted one. */
const is_muted = (path, head) =>
  view.changes.muted.some((one) => one.path === path && one.head === head);

/** Whether the head in view says nothing in a model. */
const is_silent = (thought) =>
  thought !== thoughts[0] && is_muted(attended(thought).path, view.head);

/** Make a change in the place of every other: both answers, to their ends. */
function change(changes) {
  const written = START.written;
  const turns = changes.causal === false && kinds.includes("decoder_self");
  const here = changes.muted ? view.kind : null; // where the head is that was named
  const kind = turns ? "decoder_self" : here; // the maps that the mask is of
  const place = { changes: { ...AS_TRAINED, ...changes }, written };
  show_place(place, () => show_first_change(kind));
}

/** The rows of the switches, which are filled when they are drawn. */
function make_switches() {
  for (const part of Object.keys(SWITCHES)) {
    const input = make("input", { type: "checkbox", id: `if-${part}` });
    input.addEventListener("change", () => {
      if (is_present()) input.blur(); // keys go on
      turn(part);
    });
    const label = make("label", { class: "switch" }, input, make("span")); // terms stand behind it
    const guess = make("div", { class: "guess", role: "status" });
    element("what-if").append(make("div", { class: "change", "data-part": part }, label, guess));
  }
}

let asked = null; // the switch that asks, and is half turned
const known = new Set(); // switches that have asked: they do not ask again
let guessed = {}; // the part that was guessed, and the choice
let follow = false; // the changed picture is to come into view when it is drawn

/** Scroll to what came of a change: it stands below the strip that stays. */
function scroll_to_outcome() {
  scrollBy(0, element("outcome").getBoundingClientRect().top - element("strip").offsetHeight);
}

/** A switch was clicked: the first time it asks, and a second click takes that back. */
function turn(part) {
  if (is_on(part) || known.has(part)) return make_change(part, null);
  const asks = asked === part ? null : part;
  if (changed_now()) change({}); // one at a time; it draws
  asked = asks;
  if (thoughts.length > 1) return;
  draw_answer();
  draw_changes();
}

/** Make a change, or take it back; `choice` is what was guessed. */
function make_change(part, choice) {
  const on = is_on(part);
  known.add(part);
  guessed = { part, choice };
  follow = !on;
  change(on ? {} : { [part]: SWITCHES[part].value() });
}

/** The place of the chosen token if both models write another one there, else the first such, else
 * that of the token of which the changed model is less sure. */
function changed_place() {
  const [before, after = []] = thoughts.map(({ steps }) => steps);
  const differs = (t) => before[t] && before[t].token !== after[t].token;
  const places = [...after.keys()].filter(differs);
  const chosen = view.query - first_query();
  return places.includes(chosen) ? chosen : (places[0] ?? (thoughts[1] && least_sure()));
}

let chosen_before = null; // what was chosen before a change led to another place

/** Of what was chosen before a change, the maps alone: a token was chosen since. */
const kind_before = () => chosen_before && { kind: chosen_before.kind, key: null };

/** Choose a token that changed in the decoder's maps, or in those of a kind; else go back. */
function show_first_change(kind = null) {
  Object.assign(view, chosen_before);
  chosen_before = null;
  const { query, key, kind: before } = view;
  if ((kind ?? before) === "encoder_self") return;
  const changed = (changed_place() ?? query - first_query()) + first_query();
  if (changed === query && (kind ?? before) === before) return;
  chosen_before = { query, key, kind: before };
  Object.assign(view, { query: changed, key: null, kind: kind ?? before });
}

const listed_choices = (key) => say(key).split(" | ");

/** To guess is to make the change; so is not to guess. */
function guess_buttons(part) {
  const take = (i) => () => {
    if (!is_present()) element(`if-${part}`).focus(); // there keys go on
    make_change(part, i);
  };
  const [question, choices] = SWITCHES[part].asks;
  const buttons = listed_choices(choices).map((choice, i) => make_button(choice, take(i)));
  return [say(question), ...buttons, make_button(say("guess_none"), take(null), { class: "bare" })];
}

/** The switches as they are; the one that asks has its question, the one that is on its outcome. */
function draw_changes() {
  element("if-factor").disabled = factor_without_scale(trained) === 1;
  for (const [part, { name }] of Object.entries(SWITCHES)) {
    const input = element(`if-${part}`);
    const on = is_on(part);
    const place = { layer: view.layer + 1, head: view.head + 1, kind: say(`in_${view.kind}`) };
    const values = { ...place, times: scale_taken() };
    fill(input.nextSibling, on ? [changed_name()] : rich(say(name, values)));
    input.checked = on;
    input.indeterminate = asked === part;
    fill(input.closest(".change").lastElementChild, asked === part ? guess_buttons(part) : []);
  }
  draw_outcome();
}

/** The part that is changed. */
const changed_now = () => changed_parts(view.changes)[0];

/** The change that is made, in words. */
function changed_name() {
  const part = changed_now();
  if (NAMES_OF[part]) return NAMES_OF[part]();
  return plain(say(SWITCHES[part].name, { times: scale_taken() }));
}

/** How many times as large scores are without the scale: 4, or 4.9. */
const scale_taken = () => Number(factor_without_scale(trained).toFixed(1));

const layer_of = (path) => Number(path.split(".")[2]);

/** What a change is called that tells more than its switch. */
const NAMES_OF = {
  muted() {
    const [{ path, head }] = view.changes.muted;
    return say("if_heads", { layer: layer_of(path) + 1, head: head + 1 });
  },
  replaced() {
    const [{ position, token }] = view.changes.replaced;
    const [old, now] = names([thoughts[0].src[position], token]).map(plain_name);
    return say("if_replaced", { old, token: now, place: position + 1 });
  },
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

function verdict(choices, guess, happened) {
  const values = { guess: choices[guess], happened: choices[happened] };
  const says = say(guess === happened ? "guessed_right" : "guessed_wrong", values);
  return make("span", { class: "verdict" }, says);
}

/** The mean of the highest weights of the rows of the map in view. */
function sharpness(thought) {
  const map = attended(thought).cache.weights[view.head];
  const highest = Array.from({ length: map.rows }, (_, i) => Math.max(...map.row(i)));
  return highest.reduce((sum, weight) => sum + weight, 0) / map.rows;
}

/** Two sources that the model without positions cannot tell from each other, or null. */
function said_equal() {
  const { text, equal } = thoughts[1].further ?? {};
  const is_back = text?.split(" ").reverse().join(" ") === view.text.trim();
  if (!equal || !has_source || view.changes.positions) return null;
  return say_to_try(is_back ? "out_equal_back" : "out_equal", text);
}

/** Which other head of such an attention the answer needs, with a link that mutes that one. */
function said_of_heads() {
  const { further } = thoughts[1];
  if (!further) return ""; // it is looked for
  if (!further.muted) return say("if_heads_same");
  const [{ path, head }] = further.muted;
  const layer = layer_of(path);
  const name = say("head_name", { layer: layer + 1, head: head + 1 });
  return say_to_try("if_heads_other", name, () => {
    Object.assign(view, { layer, head, key: null });
    change({ muted: further.muted });
  });
}

/** How sure the two models are of the token that the trained one wrote at a place. */
function sure_of(t) {
  const { token: id } = thoughts[0].steps[t];
  const [was, is] = thoughts.map(({ steps }) => probabilities_of(steps[t].row)[id]);
  const token = plain_name(names([id])[0]);
  return { token, fall: was - is, before: digits(was), after: digits(is) };
}

/** The place of the token of which the changed model is less sure, if it is by 0.02 somewhere. */
function least_sure() {
  const count = Math.min(...thoughts.map(({ steps }) => steps.length));
  const falls = Array.from({ length: count }, (_, t) => sure_of(t).fall);
  return Math.max(...falls) < 0.02 ? undefined : heaviest(falls);
}

/** That the answer is the same, and of which of its tokens the model is less sure now. */
const said_same = (place = least_sure()) =>
  place === undefined ? say("out_same") : say("out_less", sure_of(place));

/** Why a change does what it does, in one sentence. */
const REASONS = {
  positions: () => said_equal() ?? say("if_positions_expect"),
  factor() {
    const [before, after] = thoughts.map((one) => digits(sharpness(one)));
    return say("if_scale_expect", { times: scale_taken(), before, after });
  },
  causal: ({ count }) => say(count ? "if_causal_changed" : "if_causal_expect"),
  muted({ count }) {
    if (!count) return said_of_heads();
    const place = changed_place();
    const sure = sure_of(place);
    const written = say(counted("answer"), { ...sure, place: place + 1 });
    return say("if_heads_lost", { ...sure, written });
  },
  replaced: () => say("if_replace_expect"),
};

/** What came of a change: why, in a sentence, and where nothing changed, what to try next. */
function sentences_of(part) {
  const change = difference(...answers());
  const why = make("strong", {}, ...[REASONS[part](change)].flat().flatMap(rich));
  if (change.count) return [why];
  if (said_equal()) return [say("out_luck"), why];
  const { text } = thoughts[1].further ?? {}; // on which it changes
  const other = make("span", {}, ...(text ? say_to_try("out_other", text) : []));
  return [said_same(), why, other];
}

/** Under the switch that is on: the guess, what came of the change, and why. */
function draw_outcome() {
  const part = changed_now();
  if (thoughts.length < 2 || view.tour !== null || !part || asked)
    return fill(element("outcome"), []);
  const row = document.querySelector(`[data-part="${part}"]`) ?? element("what-if");
  if (element("outcome").parentNode !== row) row.append(element("outcome"));
  const { asks, happened, lesson } = SWITCHES[part] ?? { lesson: "11" };
  const found = sentences_of(part);
  if (guessed.part === part && guessed.choice !== null) {
    const came = happened(difference(...answers()));
    found.unshift(verdict(listed_choices(asks[1]), guessed.choice, came));
  }
  fill(element("outcome"), spaced([...found, ...lesson_link(lesson)]));
}

/** Sentences with a gap between each two. */
const spaced = (list) => list.flatMap((one) => [say("gap"), one]).slice(1);

/** What to try a change on: without positions other orders of the words, or examples; and where a
 * head is muted, the others of such an attention, in all layers. */
function tries() {
  const [{ model }, [muted]] = [thoughts[1], view.changes.muted];
  if (!muted) return other_texts().map((text) => ({ text, model }));
  const kind = (path) => path.replace(/\d+/, "");
  const paths = attention_paths(trained).filter((path) => kind(path) === kind(muted.path));
  const heads = paths.flatMap((path) =>
    Array.from({ length: at(trained, path).h }, (_, head) => [{ path, head }]),
  );
  return heads.map((one) => ({
    muted: one,
    model: changed_model(trained, { ...AS_TRAINED, muted: one }),
  }));
}

function other_texts() {
  const typed = vocabulary.text(thoughts[0].src);
  const [first, ...rest] = typed.split(" ");
  const orders = [[...rest].reverse().concat(first), [...rest, first]].map((one) => one.join(" "));
  const texts = view.changes.positions ? data.examples : orders;
  return texts.filter((text) => text.trim() && text !== typed);
}

/** Look for what shows a change, after all is drawn; typing never waits. */
async function look_further() {
  const [mine, other] = [round, thoughts[1]];
  if (!other) return;
  if (view.changes.positions && difference(...answers()).count) return;
  for (const { text, muted, model } of tries()) {
    const { ids } = source_ids(text);
    const pair = [begin(trained, ids), begin(model, replaced_source(ids, view.changes))];
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
    other.further = { text, muted, equal: answer.join() === real_ids(other.steps).join() };
    break;
  }
  other.further ??= {};
  draw_outcome();
  draw_tour();
}
