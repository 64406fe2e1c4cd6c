"use strict";
// The tour: five steps. Each has an address; it asks first, and then shows what came out and why.

/** The steps: the question, its choices, the lesson to read on, and the part that is changed. */
const STEPS = {
  type: { asks: ["tour_type", "tour_type_choices"], lesson: "9" },
  look: { asks: ["tour_look"], lesson: "1" },
  step: { asks: ["tour_step", "tour_step_choices"], lesson: "2" },
  mute: { asks: ["tour_mute", "guess_places"], lesson: "6", part: "muted" },
  positions: { asks: ["tour_positions", "guess_order"], lesson: "8", part: "positions" },
};

/** The names of the steps; the last is the one that changes most. */
const TOUR = Object.keys(STEPS);

let before_tour = null; // the reader's own view
let asked_of = 1; // the written token of the second step
let guessed_right = new Set(); // steps

/** The head that is shown first: of the last layer's, and if possible of those without which the
 * answer changes, the one that looks most at what the first tokens are made of, and such a token.
 * Its weight and its probability are two numbers that look different. */
function clearest_head() {
  const thought = begin(trained, vocabulary.source(START.text).ids);
  while (thought.steps.length < 4 && !thought.done) think_on(thought);
  const { cache, tgt, token } = thought.kept;
  const written = [...tgt.slice(1), token];
  const keys = written.map((id, n) => heaviest(shares(trained, cache, n, id).source));
  const { layer } = START;
  const { weights } = cache.decoder.layers[layer].cross_attention.attention;
  const clear = (head) =>
    keys.reduce((sum, key, n) => sum + (n ? 1 : 3) * weights[head].row(n)[key], 0); // at first
  const heads = data.telling?.length ? data.telling : [...weights.keys()];
  const head = heads.reduce((one, other) => (clear(other) > clear(one) ? other : one));
  const is_word = (n) => /[\p{L}\p{N}]/u.test(names(written)[n]); // no hyphen
  asked_of = [1, 2].find(is_word) ?? 1;
  const looks = (key, n) =>
    weights[head].row(n)[key] > 0.5 &&
    is_word(n) &&
    digits(weights[head].row(n)[key]) !== digits(best(thought.steps[n].row, 1)[0][1]);
  return { head, query: Math.max(0, keys.findIndex(looks)) };
}

/** What a step shows when it asks, and what besides when a guess was made. */
function shown_by(step, guessed) {
  const { layer, head } = START;
  const muted = [{ path: `decoder.layers.${layer}.cross_attention`, head }];
  const before = {
    type: { written: 0 },
    look: { written: asked_of, query: asked_of },
    step: { written: asked_of + 1, query: asked_of + 1 },
  };
  const after = {
    type: { written: Infinity },
    positions: { changes: { ...AS_TRAINED, positions: false } },
    mute: { changes: { ...AS_TRAINED, muted } },
  };
  return { ...before[step], ...(guessed ? after[step] : {}) };
}

/** Go to a step; after the last one the reader's own text is there again, without a change. */
function go_on_tour(tour) {
  stop();
  if (view.tour === null) [before_tour, guessed_right] = [{ ...view }, new Set()];
  show_place({ ...START, ...shown_by(TOUR[tour]), tour, guess: null }, () => {
    element("tour").hidden = false;
    element("tour-question").focus();
  });
}

function end_tour(finished) {
  stop();
  chosen_before = null;
  const { changes } = finished ? START : { ...START, ...before_tour };
  const back = { changes, lang: view.lang, tour: null, guess: null };
  show_place({ ...START, ...before_tour, ...back });
  element("tour-closing").hidden = !finished;
  element(finished ? "tour-own" : "tour-begin").focus();
}

/** At the end: what it all was, and how many guesses were right. */
function draw_closing() {
  const values = { right: guessed_right.size, count: TOUR.length };
  const says = make("strong", {}, say("tour_closing"));
  fill(element("tour-seen"), [says, say("gap"), say("tour_right", values)]);
}

/** A guess, or a number behind the choices for none: what happened is shown. */
function make_guess(guess) {
  const step = TOUR[view.tour];
  show_place({ ...shown_by(step, true), guess, key: null }, () => {
    show_first_change();
    if (step === "type")
      play(300, () => choose({ written: Infinity, query: START.query, key: null }));
  });
  element("tour-question").focus();
}

/** Where the chosen head looks most, to write the token of a query. */
function look_of(query) {
  const { keys, cache } = attended(thoughts[0]);
  const weights = cache.weights[view.head];
  const row = weights.row(within(query, weights.rows));
  const key = heaviest(row);
  const places = [key, 0, keys.length - 2, 1, keys.length - 1];
  const three = [...new Set(places.filter((i) => i >= 0 && i < keys.length))].slice(0, 3);
  const name = (i) => say("quoted_source", { token: plain_name(keys[i]), place: i + 1 });
  return { token: keys[key], key, name, weight: row[key], three: three.sort((a, b) => a - b) };
}

/** What came out of a step: which choice happened, and sentences. */
const OUTCOMES = {
  type: () => [1, make("strong", {}, say("tour_type_why"))],
  look() {
    const { token, key, name, weight, three } = look_of(asked_of);
    const place = { layer: view.layer + 1, head: view.head + 1 };
    const written = written_by(thoughts[0])[asked_of];
    const says = token === written ? "tour_look_why" : "tour_look_next";
    return [
      three.indexOf(key),
      say("tour_look_out", { ...place, key: name(key), weight: digits(weight) }),
      make("strong", {}, say(says, { token: plain_name(written) })),
    ];
  },
  step(thought) {
    const { row } = thought.steps[Math.min(asked_of + 1, thought.steps.length - 1)];
    const [[token, share], [next, left]] = best(row, 2);
    const values = { token: plain_name(token), share: digits(share) };
    const second = { token: plain_name(next), share: digits(left) };
    const choice = share < 0.5 ? 0 : share < 0.9 ? 1 : 2;
    return [choice, say("tour_step_out", values), say("tour_step_next", second)];
  },
};

function outcome_of(step) {
  const { part } = STEPS[step];
  if (!part) return OUTCOMES[step](thoughts[0]);
  return [SWITCHES[part].happened(difference(...answers())), ...sentences_of(part)];
}

function draw_tour() {
  const step = TOUR[view.tour];
  const guessed = Boolean(step) && view.guess !== null;
  element("tour").hidden = !step;
  const hides = step && !STEPS[step].part; // the others ask for a change to come
  element("app").classList.toggle("asking", Boolean(hides && !guessed));
  element("app").classList.toggle("guessed", guessed);
  element("app").dataset.step = step ?? "";
  document.body.classList.toggle("touring", Boolean(step));
  const parts = step ? [STEPS[step].part] : Object.keys(SWITCHES);
  for (const row of document.querySelectorAll(".change"))
    row.hidden = !parts.includes(row.dataset.part);
  for (const input of document.querySelectorAll(".change input")) input.inert = Boolean(step);
  element("what-if").hidden = parts[0] === undefined;
  draw_closing();
  if (!step) return fill(element("tour-out"), []);
  const count = { step: view.tour + 1, count: TOUR.length };
  element("tour-heading").textContent = say("tour_count", count);
  const { asks, lesson } = STEPS[step];
  const place = { layer: START.layer + 1, head: START.head + 1 };
  const first = thoughts[0].steps.slice(0, view.written).map(({ token }) => token);
  const values = { source: view.text, written: vocabulary.text(first), ...place };
  element("tour-question").textContent = say(asks[0], values);
  const { three, name } = look_of(asked_of);
  const choices = asks[1] ? listed_choices(asks[1]) : three.map(name);
  const [happened, ...sentences] = guessed ? outcome_of(step) : [-1];
  if (guessed && happened === view.guess) guessed_right.add(step);
  const mark = (i) => (!guessed ? "" : i === happened ? "✓ " : "✗ ");
  const buttons = choices.map((choice, i) =>
    guessed && i !== happened && i !== view.guess
      ? ""
      : make_button(mark(i) + choice, () => make_guess(i), {
          id: `guess-${i}`,
          class: i === happened ? "happened" : null,
          "aria-pressed": i === view.guess,
          disabled: guessed, // what was guessed stays
        }),
  );
  const last = view.tour === TOUR.length - 1;
  const go_on = last ? () => end_tour(true) : () => go_on_tour(view.tour + 1);
  const moves = [
    ["tour-show", "guess_none", () => make_guess(choices.length), guessed],
    ["tour-back", "back", () => go_on_tour(view.tour - 1), !view.tour],
    ["tour-next", last ? "tour_finish" : "tour_next", go_on, !guessed],
    ["tour-end", "tour_end", () => end_tour(false), last && guessed],
  ].map(([id, key, act, hidden]) => make_button(say(key), act, { id, class: "bare", hidden }));
  refill(element("tour-choices"), ...buttons);
  refill(element("tour-steps"), ...moves);
  if (choices[view.guess]) sentences.unshift(verdict(choices, view.guess, happened));
  const told = guessed && !playing;
  const found = told ? [...sentences, ...lesson_link(lesson)] : [];
  fill(element("tour-out"), spaced(found));
}
