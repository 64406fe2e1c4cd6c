"use strict";
// What the reader does, and drawing everything anew.

/** Take over what the reader chose, and draw it. */
function choose(change) {
  Object.assign(view, change);
  draw();
}

function draw() {
  settle();
  element("kind").selectedIndex = kinds.indexOf(view.kind);
  draw_answer();
  draw_heads();
  draw_flow();
  draw_grids();
  if (data.recorded) return write_address();
  draw_shares();
  draw_why();
  draw_tokens();
  draw_changes();
  if (has_source) draw_figure();
  draw_tour();
  write_address();
}

let took = 0; // milliseconds

function show_took() {
  element("took").textContent = say("took", { ms: took.toFixed(0) });
}

/** Compute anew, and draw when it is there; `before_drawing` may still change the view. */
function rethink(before_drawing = () => {}) {
  if (!data.recorded) draw_note();
  element("app").setAttribute("aria-busy", "true");
  const show_begun = () => {
    element("app").inert = false; // it is until the first token is there
    draw_answer();
  };
  think((ms) => {
    element("app").setAttribute("aria-busy", "false");
    element("app").inert = false;
    took = ms;
    show_took();
    fill_positions();
    before_drawing();
    draw();
  }, show_begun);
}

// ---- the address ---------------------------------------------------------------------------

/** A link within the page, such as #maps, names no place of address.js. */
const names_a_place = () => location.hash.includes("=");

/** Show what the address names, or the beginning. */
function open_address() {
  stop();
  const { place, wrong } = read_address(names_a_place() ? location.hash.slice(1) : "", page);
  const step = tour_steps()[place.tour];
  if (step && !is_changed(place.changes)) delete place.changes; // those of the step
  Object.assign(view, START, step && shown_by(step, place.guess !== undefined), place);
  if (place.query === undefined && place.written !== undefined && view.kind !== "encoder_self")
    view.query = place.written; // as go_to does
  translate();
  element("source").value = view.text;
  element("state").value = view.state;
  show_state();
  rethink(() => {
    if (!has_source && place.query === undefined) view.query = first_query();
    left_out = [...wrong, ...leave_out_beyond(place)];
    show_left_out();
  });
}

let left_out = []; // parts of the address

function show_left_out() {
  const list = left_out.map(visible).join(say("comma"));
  element("address-note").textContent = list ? say("address_wrong", { list }) : "";
}

/** Another address: a place, or a part of the page, at which the place in the address stays. */
function follow_address() {
  if (names_a_place()) open_address();
  else write_address();
}

/** The address bar follows what the reader does, so that copying it shares this moment. */
function write_address() {
  element("link").href = `#${address_of(view, page)}`;
  if (location.hash !== element("link").hash) history.replaceState(null, "", element("link").hash);
}

/** Parts of an address that are wrong for what was computed; they are as at the start again. */
function leave_out_beyond(place) {
  const ends = { written: longest() + 1, side: thoughts.length };
  const { queries, keys } = attended(thoughts[0]);
  Object.assign(ends, { query: queries.length, key: keys.length });
  return Object.keys(ends)
    .filter((name) => place[name] >= ends[name])
    .map((name) => {
      view[name] = START[name];
      return `${name === "written" ? "step" : name}=${place[name]}`;
    });
}

// ---- typing and decoding -------------------------------------------------------------------

/** Take a text as if it was typed. */
function type(text) {
  element("source").value = text;
  element("source").dispatchEvent(new Event("input"));
}

/** "0 to 9", or the first tokens that can be typed. */
function known_tokens() {
  const known = [...vocabulary.ids.keys()];
  const counts = known.every((token, i) => token === `${i}`);
  if (counts) return say("known_range", { first: known[0], last: known.at(-1) });
  return known.slice(0, 12).map(visible).join(" ") + (known.length > 12 ? " …" : "");
}

/** What is unknown, what the model knows, and what may have been meant. */
function unknown_note(unknown, ids) {
  const list = unknown.map(visible).join(" ");
  if (!has_source) return [say("unknown_characters", { list })];
  if (data.task.scores) return [say("unknown_pieces", { list })];
  const found = [say("unknown", { known: known_tokens(), list })];
  const meant = [...view.text].filter((sign) => vocabulary.ids.has(sign)).join(" ");
  if (!meant || meant === vocabulary.text(ids)) return found;
  const offer = make_button(meant, () => type(meant));
  return [...found, " ", ...say_with("meant", { offer })];
}

/** What was read of the typed text. */
function draw_note() {
  const { ids, unknown, cut, most } = source_ids();
  const count = view.text ? ids.length - has_source : 0;
  const pieces = Boolean(data.task.scores);
  const lines = [];
  if (!count && !unknown.length) lines.push(say("empty"));
  if (unknown.length) lines.push(...unknown_note(unknown, ids));
  if (cut) lines.push(say(has_source ? "too_long" : "too_long_end", { most }));
  else if (count > data.task.max_length)
    lines.push(say("long", { count, most: data.task.max_length }));
  if (pieces && count)
    lines.push(say("cut_into", { count, list: names(ids.slice(0, count)).map(visible).join(" ") }));
  fill(
    element("source-note"),
    lines.flatMap((line, i) => (i ? [" ", line] : [line])),
  );
}

/** The strip: what is typed, what is written so far, and below it what the changed model writes. */
function draw_answer() {
  const base = thoughts[0].steps.map((step) => step.token);
  const real = (ids) => ids.filter((id) => id !== eos);
  const rows = thoughts.map((thought, side) => {
    const ids = thought.steps.slice(0, written(thought)).map((step) => step.token);
    const differs = (t) => side && ids[t] !== base[t];
    const now = (t) => view.kind !== "encoder_self" && t + first_query() === view.query;
    const spans = names(real(ids)).map((token, t) =>
      box_of(token, differs(t) ? "differs" : now(t) ? "now" : null),
    );
    const source = names(real(thoughts[0].src)).map((token) => box_of(token));
    return make(
      "div",
      { class: "row" },
      side ? make("div", { class: "label changed-name" }, changed_names()) : group(source),
      make("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      make(
        "div",
        { class: "answer" },
        group(spans.length ? spans : [say("nothing_yet")]),
        ...mark_of(thought, ids, thoughts[0].src),
        thought.done ? "" : make("span", { class: "computing" }, say("computing")),
        make("strong", { class: "unseen" }, vocabulary.text(ids)),
      ),
    );
  });
  fill(element("written"), rows);
  element("best-heading").textContent = say("best_heading", {
    place: best_place() + 1 - first_query(),
  });
  element("best").replaceChildren(...thoughts.map(best_table));
  const place = Math.min(view.written, longest());
  element("start").disabled = element("back").disabled = place === 0;
  element("next").disabled = element("end").disabled = place === longest();
}

/** A token in a box; a piece that goes on with a word is close to the one before. */
function box_of(token, style = null) {
  const joined = data.task.scores && !BEGINS.test(token) ? "joined" : null;
  const box = make("span", { class: style }, make("bdi", { title: token }, plain_name(token)));
  if (joined) box.classList.add(joined);
  return box;
}

/** Tokens beside each other; a screen reader gets the whole text instead. */
const group = (spans) => make("div", { class: "tokens", "aria-hidden": "true" }, ...spans);

/** What each task should write. */
const WANTED = {
  copy: (ids) => ids,
  reverse: (ids) => [...ids].reverse(),
  sort: (ids) => [...ids].sort((a, b) => a - b),
};

/** Whether what is written is right, where the task tells and the writing is at its end. */
function mark_of(thought, ids, src) {
  const known = Object.hasOwn(WANTED, data.task.name) && src.length > 1;
  if (!known || !thought.done || ids.length < thought.steps.length) return [];
  const right = `${WANTED[data.task.name](src.slice(0, -1))},${eos}` === `${ids}`;
  const name = make("span", { class: "word" }, say(right ? "right" : "wrong"));
  return [make("span", { class: right ? "right" : "wrong" }, right ? "✓ " : "✗ ", name)];
}

/** The written token that the best five are of: that of the chosen query, else the last. */
function best_place(thought = thoughts[view.side] ?? thoughts[0]) {
  if (!layers) return view.query;
  const last = shown(thought).tgt.length - 1;
  return view.kind === "encoder_self" ? last : Math.min(view.query, last);
}

function best_table(thought, side) {
  const { logits, five } = shown(thought);
  const place = best_place(thought);
  const found = five ? five[place] : best(logits.row(place), 5);
  const rows = found.map(([token, share]) => ({
    cells: [token_element(token), bar(share), digits(share)],
  }));
  return make_table(side_name(side), [say("token"), "", say("probability")], rows);
}

let playing = null;

function stop() {
  clearInterval(playing);
  playing = null;
  show_play();
}

function show_play() {
  element("play").textContent = say(playing ? "pause" : "play");
}

function go_to(place) {
  const to = within(place, longest() + 1);
  const position = to + first_query();
  const query = view.kind === "encoder_self" ? view.query : position;
  const token = { stack: "decoder", position };
  choose({ written: to, query, key: null, token });
}

function play() {
  if (playing) return stop();
  if (Math.min(view.written, longest()) === longest()) go_to(0);
  playing = setInterval(() => {
    go_to(Math.min(view.written, longest()) + 1);
    if (view.written >= longest()) stop();
  }, 900);
  show_play();
}

// ---- time and theme --------------------------------------------------------------------------

function show_state() {
  const kept = data.states[view.state];
  const name = kept ? say("time_step", { step: kept.step }) : say("time_end");
  element("state-name").textContent = name;
  element("state").setAttribute("aria-valuetext", name);
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function use_theme(to_dark) {
  document.documentElement.dataset.theme = to_dark ? "dark" : "light";
  show_theme();
  if (thoughts.length) draw();
}

const is_dark = () => document.documentElement.dataset.theme === "dark";

function show_theme() {
  element("theme").setAttribute("aria-label", say(is_dark() ? "theme_light" : "theme_dark"));
  element("theme").title = element("theme").ariaLabel;
}

// ---- the beginning -------------------------------------------------------------------------

function listen() {
  const on = (id, event, act) => element(id).addEventListener(event, act);
  on("source", "input", () => {
    stop();
    Object.assign(view, { text: element("source").value, written: Infinity, key: null });
    view.changes = { ...view.changes, replaced: [] };
    left_out = [];
    show_left_out();
    rethink();
  });
  on("start", "click", () => go_to(0));
  on("back", "click", () => go_to(Math.min(view.written, longest()) - 1));
  on("next", "click", () => go_to(view.written + 1));
  on("end", "click", () => go_to(longest()));
  on("play", "click", play);
  on("kind", "change", () => choose({ kind: kinds[element("kind").selectedIndex], key: null }));
  on("if-reset", "click", () => change(AS_TRAINED));
  on("if-scale", "input", () => change({ factor: 2 ** element("if-scale").value }));
  on("if-no-scale", "click", () => change({ factor: factor_without_scale(trained) }));
  on("if-positions", "change", () => change({ positions: !element("if-positions").checked }));
  on("if-causal", "change", () => change({ causal: !element("if-causal").checked }));
  on("if-mute", "click", () => toggle_muted(attended(thoughts[0]).path, view.head));
  on("if-others", "click", toggle_others);
  on("if-uniform", "click", toggle_uniform);
  on("if-position", "change", show_replacement);
  on("if-token", "change", replace_token);
  on("boxes", "keydown", move_box);
  on("box-previous", "click", () => step_box(-1));
  on("box-next", "click", () => step_box(1));
  on("state", "input", () => {
    view.state = Number(element("state").value);
    show_state();
    rethink();
  });
  addEventListener("hashchange", follow_address);
  for (const button of element("languages").children)
    button.addEventListener("click", () => choose_language(button.dataset.lang));
  on("tour-begin", "click", () => go_on_tour(0));
  on("present", "click", () => {
    const present = document.documentElement.classList.toggle("present");
    element("present").setAttribute("aria-pressed", present);
  });
  on("link", "click", () => {
    const copied = () => (element("address-note").textContent = say("address_copied"));
    navigator.clipboard?.writeText(element("link").href).then(copied, () => {});
  });
  on("theme", "click", () => use_theme(!is_dark()));
  dark.addEventListener("change", (event) => use_theme(event.matches));
}

function begin_page() {
  element("time").hidden = !data.states.length;
  element("app").classList.toggle("alone", !has_source);
  document.body.classList.toggle("recorded", Boolean(data.recorded));
  element("strip").hidden = Boolean(data.recorded?.every(({ steps }) => !steps.length));
  element("figure").hidden = element("tour-begin").hidden = !has_source;
  for (const id of ["what-if", "time"])
    // a phone shows one line of each
    element(id).open = matchMedia("(min-width: 50rem)").matches;
  element("state").max = data.states.length;
  const colours = Array.from({ length: 33 }, (_, i) => css(weight_colour(i / 32)));
  element("ramp").style.background = `linear-gradient(to right, ${colours})`;
  listen();
  use_theme(dark.matches);
  element("app").hidden = element("corner").hidden = false;
  open_address();
}

begin_page();
