"use strict";
// The tour: six steps. Each has an address; it asks first, and then shows what came out.

const QUESTIONS = {
  type: ["tour_type", "tour_type_choices"],
  look: ["tour_look"],
  step: ["tour_step", "tour_step_choices"],
  positions: ["tour_positions", "guess_order"],
  mute: ["tour_mute", "guess_places"],
  beginning: ["tour_first", "tour_first_choices"],
};

/** The names of the steps; without kept states there is no beginning of the training. */
const tour_steps = () => Object.keys(QUESTIONS).slice(0, data.states.length ? 6 : 5);

let before_tour = null; // the reader's own view

/** The head that looks most at what its second token is made of: the one that is shown first. */
function clearest_head() {
  const thought = begin(trained, vocabulary.source(START.text).ids);
  while (thought.steps.length < 2 && !thought.done) think_on(thought);
  const { cache, tgt, token } = thought.kept;
  const { source } = shares(trained, cache, tgt.length - 1, token);
  const key = source.indexOf(Math.max(...source));
  const heads = cache.decoder.layers.flatMap(({ cross_attention: { attention } }, layer) =>
    attention.weights.map((weights, head) => [weights.row(tgt.length - 1)[key], { layer, head }]),
  );
  return heads.reduce((one, other) => (other[0] > one[0] ? other : one))[1];
}

/** What a step shows when it asks, and what besides when a guess was made. */
function shown_by(step, guessed) {
  const { layer, head } = START;
  const muted = [{ path: `decoder.layers.${layer}.cross_attention`, head }];
  const before = {
    type: { written: 0 },
    look: { written: 1, query: 1 },
    step: { written: 2, query: 2 },
  };
  const after = {
    type: { written: Infinity },
    step: { written: 3 },
    positions: { changes: { ...AS_TRAINED, positions: false } },
    mute: { changes: { ...AS_TRAINED, muted } },
    beginning: { state: 0 },
  };
  return { ...before[step], ...(guessed ? after[step] : {}) };
}

/** Go to a step; after the last one the reader's own view is there again. */
function go_on_tour(tour) {
  stop();
  if (view.tour === null) before_tour = { ...view };
  show_place({ ...START, ...shown_by(tour_steps()[tour]), tour, guess: null });
}

function end_tour() {
  show_place({ ...START, ...before_tour, lang: view.lang, tour: null, guess: null });
  element("tour-closing").hidden = false;
  element("tour-own").focus();
}

function make_guess(guess) {
  show_place({ ...shown_by(tour_steps()[view.tour], true), guess, key: null });
}

/** The row of the second query in the chosen head, and the key that it looks at most. */
function second_look() {
  const { keys, cache } = attended(thoughts[0]);
  const weights = cache.weights[view.head];
  const row = [...weights.row(within(1, weights.rows))];
  const key = row.indexOf(Math.max(...row));
  const places = [key, 0, keys.length - 2, 1, keys.length - 1];
  const three = [...new Set(places.filter((i) => i >= 0 && i < keys.length))].slice(0, 3);
  const name = (i) => say("quoted", { token: plain_name(keys[i]), place: i + 1 });
  return { key, name, weight: row[key], three: three.sort((a, b) => a - b) };
}

/** Three choices: words, or three tokens of the source. */
function choices_of(step) {
  const [, list] = QUESTIONS[step];
  if (list) return listed_choices(list);
  const { three, name } = second_look();
  return three.map(name);
}

/** What came out: which choice happened, where that can be told, and sentences. */
const OUTCOMES = {
  type: (thought, answer) => [1, wrote(answer), say("tour_type_why")],
  look() {
    const { key, name, weight, three } = second_look();
    const place = { layer: view.layer + 1, head: view.head + 1 };
    const values = { ...place, key: name(key), weight: digits(weight, 2) };
    const { keys } = attended(thoughts[0]);
    const token = written_by(thoughts[0])[1];
    const why = say(keys[key] === token ? "tour_look_why" : "tour_look_next", {
      token: plain_name(token),
    });
    return [three.indexOf(key), say("tour_look_out", values), why];
  },
  step(thought) {
    const made = thought.steps[Math.min(2, thought.steps.length - 1)];
    const [[token, share]] = best(made.row, 1);
    const values = { token: plain_name(token), share: digits(share, 2) };
    const choice = share < 0.5 ? 0 : share < 0.9 ? 1 : 2;
    return [choice, say("tour_step_out", values), why_written(thought)];
  },
  positions(thought, answer, before) {
    const change = difference(before, answer);
    const happened = GUESSES.positions[1](change);
    if (!happened) return [0, wrote(answer), say("tour_positions_same")];
    const parts = happened > 1 ? lost_and_new(change) : [say("tour_moved")];
    return [happened, wrote(answer), ...parts, say("tour_positions_why")];
  },
  mute(thought, answer, before) {
    const change = difference(before, answer);
    const most = change.count ? null : most_changed();
    const why = change.count
      ? [say("tour_mute_why", { count: change.count })]
      : [say("tour_mute_same"), ...(most.size ? [said_most_changed(most)] : [])];
    return [GUESSES.muted[1](change), wrote(answer), ...why];
  },
  beginning(thought, answer, before) {
    const same = answer.length > 1 && new Set(answer).size === 1;
    const choice = !difference(before, answer).count ? 0 : same ? 2 : 1;
    return [choice, wrote(answer), said_sharpness(), say("tour_first_why")];
  },
};

const listed = (ids) => vocabulary.text(ids).replaceAll(names([bos])[0], say("token_start"));

function wrote(ids) {
  const answer = listed(ids.slice(0, places())) || say("nothing_yet");
  return say("tour_wrote", { answer: ids.length > places() ? `${answer} …` : answer });
}

/** Each of the two is said only where it is so. */
const lost_and_new = ({ lost, added }) => [
  ...(lost.length ? [say("tour_lost", { list: listed(lost) })] : []),
  ...(added.length ? [say("tour_new", { list: listed(added) })] : []),
];

function outcome_of(step) {
  const [before, answer] = [answers()[0], answers().at(-1)];
  const found = OUTCOMES[step](thoughts.at(-1), answer, before);
  return step === "positions" ? [...found, ...said_equal()] : found;
}

function draw_tour() {
  const steps = tour_steps();
  const step = steps[view.tour];
  const guessed = Boolean(step) && view.guess !== null;
  element("tour").hidden = !step;
  const hides = ["type", "look", "step"].includes(step); // the others ask for a change to come
  element("app").classList.toggle("asking", hides && !guessed);
  if (!step) return fill(element("tour-out"), []);
  element("tour-heading").textContent = say("tour_count", {
    step: view.tour + 1,
    count: steps.length,
  });
  const place = { layer: START.layer + 1, head: START.head + 1 };
  element("tour-question").textContent = say(QUESTIONS[step][0], { source: view.text, ...place });
  const choices = choices_of(step);
  const [happened, ...sentences] = guessed ? outcome_of(step) : [-1];
  const buttons = choices.map((choice, i) =>
    make_button(i === happened ? `✓ ${choice}` : choice, () => make_guess(i), {
      id: `guess-${i}`,
      class: i === happened ? "happened" : null,
      "aria-pressed": i === view.guess,
    }),
  );
  const last = view.tour === steps.length - 1;
  const go_on = last ? end_tour : () => go_on_tour(view.tour + 1);
  const next = make_button(say(last ? "tour_finish" : "tour_next"), go_on, { id: "tour-next" });
  const end = make_button(say("tour_end"), end_tour, { id: "tour-end" });
  end.hidden = last;
  keep_focus(element("tour"), () => {
    element("tour-choices").replaceChildren(...buttons);
    element("tour-steps").replaceChildren(next, end);
  });
  if (guessed) sentences.unshift(verdict(choices, view.guess, happened));
  fill(element("tour-out"), sentences.flatMap((one) => [say("gap"), one].flat()).slice(1));
}
