// What the reader does, and drawing the result anew.

import { TASKS } from "./training.js";
import { AS_TRAINED, name_of } from "./what_if.js";
import { in_english } from "./vocabulary.js";
import { TOUR, address_of, read_address } from "./address.js";
import { START, WHOLE, best, data, element, eos, first_query, has_source } from "./thinking.js";
import { load_model, logits_of, modes, names, page, settle, shown } from "./thinking.js";
import { source_ids, think, thought_now, thoughts, view, vocabulary } from "./thinking.js";
import { BEGINS, bars_of, choose_language, css, digits, fill, lesson_link } from "./drawing.js";
import { make, make_button, plain_name, refill, rich, say, shortened } from "./drawing.js";
import { special_name, term, translate, visible, weight_colour } from "./drawing.js";
import { draw_flow } from "./flow.js";
import { draw_grids, draw_heads } from "./maps.js";
import { choose_written, draw_shares, draw_why } from "./why.js";
import { draw_figure } from "./figure_1.js";
import { ENDS, draw_learn, forget_learner, forget_step, going, is_back } from "./learn.js";
import { learn_on, listen_to_learn, open_learn, rest, turn_round } from "./learn.js";
import { count_needed, cut, cut_name, draw_break, head_cuts, real_ids, send } from "./break_it.js";
import { show_numbers } from "./break_it.js";
import "./variants.js";

/** Take over what the reader chose, and draw it. */
export function choose(change) {
  const before = view.mode;
  Object.assign(view, change);
  if (view.mode !== before) return show_place({}, () => scrollTo(0, 0));
  draw();
}

export function draw() {
  document.body.dataset.mode = view.mode;
  for (const button of element("modes").children)
    button.setAttribute("aria-pressed", button.dataset.mode === view.mode);
  if (view.mode === "learn") draw_learn();
  if (view.mode === "break" && thoughts.length) {
    draw_break();
    count_needed();
  }
  if (view.mode === "look" && thoughts.length) draw_look();
  draw_tour();
  if (!going) write_address();
}

/** The numbers: curves, map, reasons and Figure 1. */
function draw_look() {
  settle();
  element("kind").value = view.kind;
  draw_answer();
  draw_heads();
  draw_flow();
  draw_best();
  draw_grids();
  draw_shares();
  draw_why();
  if (element("figure").open && has_source) draw_figure();
}

/** Compute anew, and draw when it is there; `before_drawing` may still change the view. */
function rethink(before_drawing = () => {}) {
  draw_note();
  element("app").classList.remove("unread");
  for (const part of RESULTS()) part.inert = true; // it is of the answer before
  element("app").setAttribute("aria-busy", "true");
  think(() => {
    element("app").setAttribute("aria-busy", "false");
    for (const part of RESULTS()) part.inert = false;
    draw();
    before_drawing();
  });
}

const RESULTS = () => document.querySelectorAll(".look, #break");

// ---- the address ---------------------------------------------------------------------------

/** Show what the address names, or the beginning. */
function open_address() {
  const { place, wrong } = read_address(location.hash.slice(1) || data.moment || "", page);
  Object.assign(view, START, STOPS[place.tour]?.place, place);
  if (!has_source && place.query === undefined) view.query = source_ids().ids.length - 1;
  translate();
  left_out = wrong;
  show_left_out();
  forget_learner();
  show_place({});
}

/** Show another place: what is typed, and all that is drawn. */
export function show_place(place, after_drawing) {
  if (place.text !== undefined && place.text !== view.text) view.tried = view.summed = [];
  Object.assign(view, place);
  if (view.mode === "learn") open_learn();
  if (view.mode !== "learn") rest();
  element("source").value = view.text;
  rethink(after_drawing);
}

let left_out = []; // parts of the address

export function show_left_out() {
  const list = left_out.map((one) => shortened(visible(one), 40)).join(say("comma"));
  element("address-note").textContent = list ? say("address_wrong", { list }) : "";
}

let writing = null;

/** The address bar follows what the reader does, soon: writing it is as slow as drawing. */
export function write_address() {
  element("link").href = `#${address_of(view)}`;
  const [before, { hash }] = [location.hash, element("link")];
  clearTimeout(writing);
  writing = setTimeout(() => {
    if (location.hash === before && hash !== before) history.replaceState(null, "", hash);
  }, 100);
}

// ---- typing and decoding -------------------------------------------------------------------

/** Take a text as if it was typed. */
export function type(text) {
  element("source").value = text;
  take_text(text);
}

/** What is typed, if something of it can be read. */
function take_text(text) {
  const { ids, unknown } = vocabulary.source(text);
  const is_read = ids.length > has_source || !(has_source || unknown.length);
  if (!is_read) return show_unread(text, unknown);
  const query = has_source ? 0 : ids.length - 1;
  Object.assign(view, { text, query, key: null, summed: [], tried: [] });
  left_out = [];
  show_left_out();
  forget_step();
  rethink();
}

/** "0 to 9": what can be typed. */
function known_tokens() {
  const known = [...vocabulary.ids.keys()].map(visible);
  return say("known_range", { first: known[0], last: known.at(-1) });
}

/** What is unknown, and what the model knows. */
function unknown_note(unknown) {
  const list = unknown.map(visible).join(" ");
  if (!has_source) return say("unknown_characters", { list });
  if (data.task.scores) return say("unknown_pieces", { list });
  return say("unknown", { known: known_tokens(), list });
}

/** Nothing of the typed text can be read: the last answer stays, and pales. */
function show_unread(text, unknown) {
  const why = unknown.length ? unknown_note(unknown) : say("empty");
  const values = { example: data.examples[0], text: visible(shortened(view.text, 40)) };
  fill(element("source-note"), spaced([why, say(text ? "unread" : "unread_empty", values)]));
  element("app").classList.add("unread");
}

/** What was read of the typed text. */
function draw_note() {
  const { ids, unknown, all, most } = source_ids();
  const count = view.text ? ids.length - has_source : 0;
  const values = { count: all, most, trained: data.task.max_length };
  const text = vocabulary.text(ids);
  const lines = [];
  const is_strange = data.answers && count && !in_english(text, data.answers);
  if (!count && !unknown.length) lines.push(say("empty"));
  if (is_strange) lines.push(say("not_checked", { example: data.examples.at(-1) }));
  else if (unknown.length) lines.push(unknown_note(unknown));
  if (view.mode === "learn" && all > ENDS.max_length) lines.push(say("learn_six"));
  else if (all > most) lines.push(say(has_source ? "too_long" : "too_long_end", values));
  else if (all > data.task.max_length) lines.push(say("long", values));
  element("source-note").textContent = lines.join(" ");
}

/** Sentences with a gap between each two. */
const spaced = (list) => list.flatMap((one) => [say("gap"), one]).slice(1);

/** What is written, and below it what the cut model writes. */
function draw_answer() {
  refill(element("written"), ...thoughts.map(answer_row));
}

/** What one of the models writes. */
function answer_row(thought, side) {
  const ids = thought.steps.map((step) => step.token);
  const tokens = names(ids);
  const base = names(thoughts[0].steps.map(({ token }) => token));
  const right = side
    ? base
    : !data.answers && mark_of(thought).length
      ? wanted_of(thought)
      : tokens;
  const spans = tokens
    .filter((_, t) => ids[t] !== eos)
    .map((token, t) => {
      const styles = [tokens[t] !== right[t] && "differs", is_now(thought, t) && "now"];
      return box_of(token, styles.filter(Boolean).join(" ") || null, side, t);
    });
  const label = side ? [cut_name(name_of(thought.changes))] : [say("row_writes")];
  if (side)
    label.push(
      " ",
      make_button(say("cut_back"), () => show_place({ changes: AS_TRAINED })),
    );
  const many = spans.map((span) => span.textContent).join("").length > 50;
  return make(
    "div",
    { class: side ? "row changed" : "row" },
    make("div", { class: "label" }, ...label),
    make("div", { class: many ? "tokens many" : "tokens" }, ...spans),
    spans.length ? "" : say("nothing_yet"),
    end_of(thought),
    ...mark_of(thought),
    make("strong", { class: "unseen" }, vocabulary.text(ids)),
  );
}

/** Whether the picture tells of a token of the answer. */
const is_now = (thought, t) => view.kind !== "encoder_self" && t + first_query() === view.query;

/** The end of an answer, or that it has none. */
function end_of({ ended }) {
  if (ended && !has_source) return "";
  const says = ended ? plain_name(names([eos])[0]) : say("stopped");
  return make("span", { class: ended ? "ended" : "ended stopped" }, says);
}

/** A token among others of which some go on with a word: "…ty". */
const piece_name = (token) =>
  (data.task.scores && /^\p{L}/u.test(token) ? "…" : "") + plain_name(token);

/** A token of an answer; a piece that goes on with a word is close to the one before. */
function box_of(token, style, side, t) {
  const id = `token-${side}-${t}`;
  const act = () => choose_written(t + first_query());
  const box = make_button(make("bdi", {}, plain_name(token)), act, {
    id,
    class: style,
    title: token,
  });
  if (data.task.scores && !BEGINS.test(token)) box.classList.add("joined");
  return box;
}

/** The tokens, or words of a number, that it should write; undefined if the task does not tell. */
function wanted_of({ src }) {
  if (data.answers) return in_english(vocabulary.text(src), data.answers)?.split(" ");
  const tells = Object.hasOwn(TASKS, data.task.name) && src.length > 1;
  return tells ? names(TASKS[data.task.name](src.slice(0, -1))) : undefined;
}

/** What is written, as `wanted_of` has it. */
const tokens_written = ({ steps }) =>
  data.answers ? vocabulary.text(real_ids(steps)).split(" ") : names(real_ids(steps));

/** Whether an answer is right, or another; if the trained model is wrong, the right one, too. */
function mark_of(thought) {
  const [judged, tokens] = [wanted_of(thought), tokens_written(thought)];
  const wanted = judged ?? (thought === thoughts[0] ? null : tokens_written(thoughts[0]));
  if (!wanted) return [];
  const right = wanted.join() === tokens.join() && thought.ended;
  if (!judged && right) return [];
  const says = say(right ? `done_${data.task.name}` : judged ? "wrong" : "differs");
  const mark = make("span", { class: right ? "mark right" : "mark wrong" }, says);
  return [mark];
}

/** The written token that the probabilities are of: that of the query in view, else the last. */
export function best_place(thought = thought_now()) {
  const last = shown(thought).tgt.length - 1;
  return view.kind === "encoder_self" ? last : view.query;
}

/** The probabilities of the token that the picture tells of. */
function draw_best() {
  const thought = thought_now();
  element("best").hidden = view.kind === "encoder_self";
  const place = best_place(thought);
  const all = best(logits_of(thought, place), 3);
  const found = all.filter(([, share], i) => !i || share >= 0.005); // not 0.00
  const rest = found.reduce((left, [, share]) => left - share, 1);
  const named = (token) => {
    const special = token !== data.task.tokens[eos] && special_name(token);
    if (special) return term(say(special), say("term_sign"));
    const name = piece_name(token);
    return name.startsWith("…") ? term(name, say("best_pieces")) : name;
  };
  const rows = [...found.map(([token, share]) => [named(token), share]), [say("others"), rest]];
  const name = rich(say("best_heading", { place: place + 1 - first_query() }));
  const table = rows.map(([token, share]) => [token, [share], digits(share)]);
  element("best").replaceChildren(bars_of(table, make("caption", {}, ...name)));
}

// ---- the tour: tour=NAME in an address ------------------------------------------------------

// Each stop is a place of the page, and a question to think about before its button is pressed.
const LIST = { text: START.text, changes: AS_TRAINED, tried: [] };

/** The stops: where they are, the lesson to read on, and what their button does. */
const STOPS = {
  learn: { place: { mode: "learn" }, lesson: "10", act: () => learn_on() },
  back: { place: { mode: "learn" }, lesson: "4", act: () => is_back || turn_round() },
  cut: { place: { mode: "break" }, lesson: "6", act: () => cut(head_cuts().at(-1)) },
  positions: { place: { mode: "break" }, lesson: "8", act: () => cut("positions") },
  look: { place: { mode: "look" }, lesson: "1", act: () => choose({ query: 1, key: null }) },
};

/** The names of the stops of this page: a small model learns on some pages only. */
const stops = () => TOUR.filter((name) => modes.includes(STOPS[name].place.mode));

/** Go to a stop; after the last one the tour is over. */
function go_on_tour(tour) {
  if (!tour) return choose({ tour: null });
  show_place({ ...LIST, ...STOPS[tour].place, tour }, () => element("tour").focus());
}

function draw_tour() {
  const { tour } = view;
  element("tour").hidden = tour === null;
  if (tour === null) return;
  const place = stops().indexOf(tour);
  const count = { step: place + 1, count: stops().length };
  const next = stops()[place + 1];
  fill(element("tour-question"), [
    make("span", { class: "soft" }, say("tour_count", count), say("gap")),
    make("strong", {}, say(`tour_${tour}`)),
    ...spaced(["", ...lesson_link(STOPS[tour].lesson)]),
  ]);
  refill(
    element("tour-steps"),
    make_button(say("tour_show"), STOPS[tour].act, { id: "tour-show", class: "main" }),
    make_button(say(next ? "tour_next" : "tour_finish"), () => go_on_tour(next), {
      id: "tour-next",
    }),
    make_button(say("tour_end"), () => go_on_tour(), { id: "tour-end", hidden: !next }),
  );
}

// ---- sending -------------------------------------------------------------------------------

/** Whether there is an address that somebody else can open. */
export const has_address = () => location.protocol.startsWith("http");

/** Say for five seconds what was done. */
function tell(key) {
  element("address-note").textContent = say(key);
  clearTimeout(told);
  told = setTimeout(show_left_out, 5000);
}

let told = null;

export async function copy_text(text, key) {
  try {
    await navigator.clipboard.writeText(text);
    tell(key);
  } catch {
    tell("address_in_bar"); // a page from a file may have no clipboard
  }
}

/** Download this page with the moment in it: it needs no address, and opens where it was. */
function save_moment() {
  const moment = JSON.stringify(address_of(view)).replaceAll("<", "\\u003c");
  const opening = ["application/json", ">{"].join('"'); // it stands nowhere else
  const at_data = WHOLE.indexOf(opening) + opening.length;
  const rest_of = WHOLE.slice(at_data).replace(/^"moment":"[^"]*",/, "");
  const text = `<!DOCTYPE html>\n${WHOLE.slice(0, at_data)}"moment":${moment},${rest_of}`;
  const href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  make("a", { href, download: `${data.task.name}-${view.mode}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
  tell("moment_saved");
}

// ---- the beginning -------------------------------------------------------------------------

function listen() {
  const on = (id, event, act) => element(id).addEventListener(event, act);
  on("source", "input", () => take_text(element("source").value));
  on("kind", "change", () => choose({ kind: element("kind").value, key: null, summed: [] }));
  on("tour-begin", "click", () => go_on_tour(stops()[0]));
  on("save", "click", save_moment);
  on("break-send", "click", send);
  on("break-numbers", "click", show_numbers);
  on("link", "click", (event) => {
    event.preventDefault();
    copy_text(element("link").href, "address_copied");
  });
  listen_to_learn(on);
  addEventListener("hashchange", open_address);
  addEventListener("resize", draw);
  for (const button of element("languages").children)
    button.addEventListener("click", () => choose_language(button.dataset.lang));
  for (const button of element("modes").children)
    button.addEventListener("click", () => choose({ mode: button.dataset.mode, tour: null }));
  for (const panel of document.querySelectorAll("details")) panel.addEventListener("toggle", draw);
}

async function begin_page() {
  page.model = await load_model();
  element("app").classList.toggle("alone", !has_source);
  element("figure").hidden = element("tour-begin").hidden = !has_source;
  element("link").hidden = !has_address();
  element("modes").firstElementChild.hidden = !data.learns;
  const colours = Array.from({ length: 33 }, (_, i) => css(weight_colour(i / 32)));
  element("ramp").style.background = `linear-gradient(to right, ${colours})`;
  listen();
  for (const id of ["app", "corner", "modes", "ask"]) element(id).hidden = false;
  open_address();
}

begin_page();
