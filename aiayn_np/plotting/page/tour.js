"use strict";
// The tour: six steps. Each has an address; it asks first, and then shows what came out.

const QUESTIONS = {
  type: ["tour_type", "tour_type_list", "tour_type_text", "tour_type_out"],
  look: ["tour_look", null, null, "tour_look_out"],
  step: ["tour_step", "tour_step_choices", "tour_step_choices", "tour_step_out"],
  positions: ["tour_positions", "tour_order", "tour_order", "tour_positions_out"],
  mute: ["tour_mute", "tour_mute_choices", "tour_mute_choices", "tour_mute_out"],
  beginning: ["tour_first", "tour_first_choices", "tour_first_choices", "tour_first_out"],
};

/** The names of the steps; without kept states there is no beginning of the training. */
const tour_steps = () => Object.keys(QUESTIONS).slice(0, data.states.length ? 6 : 5);

const LONGEST_ANSWER = 8; // tokens: a model at its beginning may never end

/** What a step shows when it asks, and what besides when a guess was made. */
function shown_by(step, guessed) {
  const { layer, head } = START;
  const muted = [{ path: `decoder.layers.${layer}.cross_attention`, head }];
  const before = { look: { written: 1, query: 1 }, step: { written: 2, query: 2 } };
  const after = {
    step: { written: 3 },
    positions: { changes: { ...AS_TRAINED, positions: false } },
    mute: { changes: { ...AS_TRAINED, muted } },
    beginning: { state: 0, written: LONGEST_ANSWER },
  };
  const all = step === "type" && !guessed ? { written: 0 } : {};
  return { ...all, ...before[step], ...(guessed ? after[step] : {}) };
}

/** Go to a step, or with null away from the tour, to the page as it begins. */
function go_on_tour(tour) {
  stop();
  const shown = tour === null ? {} : shown_by(tour_steps()[tour]);
  Object.assign(view, START, shown, { tour, guess: null });
  element("source").value = view.text;
  show_place();
}

function make_guess(guess) {
  Object.assign(view, shown_by(tour_steps()[view.tour], true), { guess, key: null });
  show_place();
}

function show_place() {
  element("state").value = view.state;
  show_state();
  rethink();
}

/** The row of the second query in the chosen head, and the key that it looks at most. */
function second_look() {
  const { keys, cache } = attended(thoughts[0]);
  const weights = cache.weights[view.head];
  const row = [...weights.row(within(1, weights.rows))];
  return { keys, row, key: row.indexOf(Math.max(...row)) };
}

/** Three choices: words, or three tokens of the source. */
function choices_of(step) {
  const [, list, text] = QUESTIONS[step];
  if (list) return say(data.task.scores ? text : list).split(" | ");
  const { keys, key } = second_look();
  const places = [key, 0, keys.length - 2, 1, keys.length - 1];
  const three = [...new Set(places.filter((i) => i >= 0 && i < keys.length))].slice(0, 3);
  const name = (i) => say("quoted", { token: plain_name(keys[i]), place: i + 1 });
  return three.sort((a, b) => a - b).map(name);
}

/** What came out, in words. */
function outcome_of(step) {
  const thought = thoughts.at(-1);
  const made = thought.steps[Math.min(2, thought.steps.length - 1)];
  const written = thought.steps.map(({ token }) => token);
  const text = vocabulary.text(written.slice(0, LONGEST_ANSWER)) || say("nothing_yet");
  const start = text.replaceAll(names([bos])[0], say("token_start"));
  const answer = written.length > LONGEST_ANSWER ? `${start} …` : start;
  const { keys, row, key } = second_look();
  const [[token, share]] = best(made.row, 1);
  return say(QUESTIONS[step][3], {
    answer,
    key: say("quoted", { token: plain_name(keys[key]), place: key + 1 }),
    weight: digits(row[key], 2),
    token: plain_name(token),
    share: digits(share, 2),
  });
}

function draw_tour() {
  const steps = tour_steps();
  const step = steps[view.tour];
  element("tour").hidden = !step;
  element("app").classList.toggle("asking", Boolean(step) && view.guess === null);
  if (!step) return fill(element("tour-out"), []);
  const count = { step: view.tour + 1, count: steps.length };
  element("tour-heading").textContent = say("tour_count", count);
  element("tour-question").textContent = say(QUESTIONS[step][0], { source: view.text });
  const choices = choices_of(step);
  const buttons = choices.map((choice, i) =>
    make_button(choice, () => make_guess(i), {
      id: `guess-${i}`,
      "aria-pressed": i === view.guess,
    }),
  );
  const on = view.tour + 1;
  const next = make_button(say("tour_next"), () => go_on_tour(on), { id: "tour-next" });
  next.hidden = on === steps.length;
  const end = make_button(say("tour_end"), () => go_on_tour(null), { id: "tour-end" });
  keep_focus(element("tour"), () => {
    element("tour-choices").replaceChildren(...buttons);
    element("tour-steps").replaceChildren(next, end);
  });
  const guessed = view.guess !== null && say("tour_guessed", { guess: choices[view.guess] });
  fill(element("tour-out"), guessed ? [guessed, say("gap"), outcome_of(step)] : []);
}
