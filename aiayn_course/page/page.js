"use strict";
// What the reader does, and drawing everything anew.

/** Take over what the reader chose, and draw it. */
function choose(change) {
  chosen_before = "kind" in change ? null : kind_before();
  Object.assign(view, change);
  draw();
}

function draw() {
  if (!thoughts.length) return; // a panel was opened before the first answer
  settle();
  element("kind").selectedIndex = kinds.indexOf(view.kind);
  draw_answer();
  draw_heads();
  draw_flow();
  draw_best();
  draw_grids();
  draw_shares();
  draw_why();
  draw_changes();
  if (element("figure").open && has_source) draw_figure();
  draw_tour();
  write_address();
}

/** Compute anew, and draw when it is there; `before_drawing` may still change the view. */
function rethink(before_drawing = () => {}) {
  draw_note();
  element("app").classList.remove("unread");
  element("what-if").inert = false;
  element("app").setAttribute("aria-busy", "true");
  const show_begun = () => {
    element("app").inert = false; // it is until the first token is there
    element("app").classList.add("stale"); // the picture is of the answer before
    draw_answer();
  };
  think(() => {
    element("app").setAttribute("aria-busy", "false");
    element("app").classList.remove("stale");
    element("app").inert = false;
    before_drawing();
    draw();
    look_further();
  }, show_begun);
}

// ---- the address ---------------------------------------------------------------------------

/** Show what the address names, or the beginning. */
function open_address() {
  stop();
  chosen_before = null;
  const { place, wrong } = read_address(location.hash.slice(1), page);
  const step = TOUR[place.tour];
  if (step) find_clearest_head();
  if (step && !is_changed(place.changes)) delete place.changes; // those of the step
  Object.assign(view, START, step && shown_by(step, place.guess !== undefined), place);
  if (place.query === undefined && place.written !== undefined && view.kind !== "encoder_self")
    view.query = place.written; // as go_to does
  translate();
  show_place({}, () => {
    find_clearest_head();
    const { layer, head, query } = START;
    const is_start = !step && view.text === START.text && place.written === undefined;
    Object.assign(view, { layer, head, ...(is_start && { query }), ...place });
    if (!has_source && place.query === undefined) view.query = first_query();
    if (place.query === undefined && place.written === undefined) show_first_change();
    left_out = wrong;
    show_left_out();
  });
}

/** Show another place: what is typed, and all that is drawn. */
function show_place(place, before_drawing) {
  Object.assign(view, place);
  element("tour-closing").hidden = true;
  asked = null;
  element("source").value = view.text;
  rethink(before_drawing);
}

let head_chosen = false;

/** At the beginning, and in the tour, the head is the clearest one. */
function find_clearest_head() {
  if (!head_chosen && START.kind === "cross") Object.assign(START, clearest_head());
  head_chosen = true;
}

let left_out = []; // parts of the address

function show_left_out() {
  const list = left_out.map(visible).join(say("comma"));
  element("address-note").textContent = list ? say("address_wrong", { list }) : "";
}

let writing = null;

/** The address bar follows what the reader does, soon: writing it is as slow as drawing. */
function write_address() {
  element("link").href = `#${address_of(view, page)}`;
  const [before, { hash }] = [location.hash, element("link")];
  clearTimeout(writing);
  writing = setTimeout(() => {
    if (location.hash === before && hash !== before) history.replaceState(null, "", hash);
  }, 100);
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

/** What is unknown, and what the model knows. */
function unknown_note(unknown) {
  const list = unknown.map(visible).join(" ");
  if (!has_source) return say("unknown_characters", { list });
  if (data.task.scores) return say("unknown_pieces", { list });
  return say("unknown", { known: known_tokens(), list });
}

/** Nothing of the typed text can be read: the last answer stays, and pales. */
function show_unread(unknown) {
  const why = unknown.length ? unknown_note(unknown) : say("empty");
  const values = { example: data.examples[0], text: visible(shortened(view.text, 40)) };
  fill(element("source-note"), spaced([why, say("unread", values)]));
  element("app").classList.add("unread");
  element("what-if").inert = true; // it would be of another text
}

/** What was read of the typed text. */
function draw_note() {
  const { ids, unknown, all, most } = source_ids();
  const count = view.text ? ids.length - has_source : 0;
  const values = { count: all, most, trained: data.task.max_length };
  const text = vocabulary.text(ids);
  const lines = [];
  const found = data.task.scores && has_source ? words_apart() : [];
  const is_strange = data.answers && count && !found.length && !in_english(text, data.answers);
  if (!count && !unknown.length) lines.push(say("empty"));
  if (is_strange) lines.push(say("not_checked", { example: data.examples.at(-1) }));
  else if (unknown.length) lines.push(unknown_note(unknown));
  if (all > most) lines.push(say(has_source ? "too_long" : "too_long_end", values));
  else if (all > data.task.max_length) lines.push(say("long", values));
  fill(element("source-note"), spaced([lines.join(" "), ...found]));
}

/** Where a text has compounds of known words: the button that writes these apart. */
function words_apart() {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const text = words.flatMap((word) => vocabulary.apart(word) ?? word).join(" ");
  if (text === words.join(" ")) return [];
  return say_to_try("write_apart", text);
}

/** The strip: what is written so far, and below it what the changed model writes. */
function draw_answer() {
  const rows = thoughts.map(answer_row);
  const hints = asked || view.tour !== null ? "" : say("change_hint");
  const hint = make("div", { class: "hint" }, hints);
  fill(element("written"), rows.length > 1 ? rows : [...rows, hint]);
  document.querySelector(".walk").hidden = writes_nothing();
  element("back").disabled = view.written === 0;
  element("next").disabled = view.written === longest();
}

/** The probabilities of the token that the halves tell of. */
function draw_best() {
  const is_asked = [0, 1].includes(view.tour); // the answer of a question to come
  for (const side of [0, 1]) {
    const [thought, { best }] = [thoughts[side], half(side)];
    best.hidden = !thought || writes_nothing() || is_asked;
    best.replaceChildren(...(thought ? [best_table(thought)] : []));
  }
}

/** Whether the map in view is one that writes no token: that of an encoder with a decoder. */
const writes_nothing = () => view.kind === "encoder_self";

/** What one of the models writes, and in a box of its own the token to come. */
function answer_row(thought, side) {
  const base = names(thoughts[0].steps.map(({ token }) => token));
  const ids = thought.steps.slice(0, written(thought)).map((step) => step.token);
  const tokens = names(ids);
  const is_judged = !data.answers && mark_of(thought).length;
  const right = side ? base : is_judged ? wanted_of(thought) : tokens; // of its tokens
  const style = (t) => {
    const styles = is_unsure(thought.steps[t]) ? ["unsure"] : [];
    if (tokens[t] !== right[t]) styles.push("differs");
    if (is_now(thought, t)) styles.push("now");
    return styles.join(" ") || null;
  };
  const spans = tokens
    .filter((_, t) => ids[t] !== eos)
    .slice(0, places())
    .map((token, t) => box_of(token, style(t), `${side}-${t}`));
  if (side && !is_walking(thought))
    for (let t = spans.length; t < real_ids(thoughts[0].steps).length; t++)
      spans.push(make("span", { class: "differs gone" }, "–"));
  const label = side ? changed_name().split(/ ?[(（]/)[0] : say("row_writes");
  const many = spans.map((span) => span.textContent).join("").length > 50;
  const is_dotted = spans.some((span) => span.classList.contains("unsure"));
  return make(
    "div",
    { class: "row" },
    make("div", { class: side ? "label changed-name" : "label" }, label),
    make(
      "div",
      { class: "answer" },
      make("div", { class: many ? "tokens many" : "tokens", "aria-hidden": "true" }, ...spans),
      spans.length || is_walking(thought) ? "" : say("nothing_yet"),
      ...coming(thought),
      ...mark_of(thought),
      make("span", { class: "legend" }, is_dotted ? say("legend_unsure") : ""),
      thought.done ? "" : make("span", { class: "computing" }, say("computing")),
      make("strong", { class: "unseen" }, vocabulary.text(ids)),
    ),
  );
}

/** Whether the halves tell of a token of the answer. */
const is_now = (thought, t) =>
  view.kind !== "encoder_self" && t + first_query() === query_of(thought);

/** Whether the reader has gone back to a token that is not the last. */
const is_walking = (thought) => thought.done && written(thought) < thought.steps.length;

/** Whether a token was written with a probability of less than a half. */
function is_unsure(step) {
  if (!step.row || !has_source) return false;
  step.share ??= probabilities_of(step.row)[step.token];
  return step.share < 0.5;
}

/** A box for the token that is written next, or the end: written, or that it was stopped. */
function coming(thought) {
  if (!thought.done) return [];
  const { steps } = thought;
  if (is_walking(thought)) {
    const name = plain_name(names([steps[written(thought)].token])[0]);
    return [make("span", { class: "coming", "aria-hidden": "true" }, name)];
  }
  const ended = steps.at(-1).token === eos || !has_source;
  const says = ended ? plain_name(data.task.tokens[eos] ?? "") : say("stopped");
  const t = steps.length - 1;
  const is_end = steps[t].token === eos;
  const place = is_end && `${thoughts.indexOf(thought)}-${t}`;
  const now = is_end && is_now(thought, t) ? " now" : "";
  return [make("span", { class: `ended${ended ? now : " stopped"}`, "data-place": place }, says)];
}

/** A click on a token of the strip; keys have the curves' map, and "Back" and "Next". */
function choose_in_strip({ target }) {
  const place = target.closest("[data-place]")?.dataset.place;
  if (!place) return;
  const [side, t] = place.split("-").map(Number);
  choose_written(t + first_query(), side);
}

/** A token among others of which some go on with a word: "…ty". */
const piece_name = (token) =>
  (data.task.scores && /^\p{L}/u.test(token) ? "…" : "") + plain_name(token);

/** A token in a box; a piece that goes on with a word is close to the one before. */
function box_of(token, style, place) {
  const name = make("bdi", { title: token }, plain_name(token));
  const box = make("span", { class: style, "data-place": place }, name);
  if (data.task.scores && !BEGINS.test(token)) box.classList.add("joined");
  return box;
}

/** What each task should write. */
const WANTED = {
  copy: (ids) => ids,
  reverse: (ids) => [...ids].reverse(),
  sort: (ids) => [...ids].sort((a, b) => a - b),
};

/** The ids of steps without the end. */
const real_ids = (steps) => steps.map(({ token }) => token).filter((id) => id !== eos);

/** The tokens, or words of a number, that it should write; undefined if the task does not tell. */
function wanted_of({ src }) {
  if (data.answers) return in_english(vocabulary.text(src), data.answers)?.split(" ");
  const tells = Object.hasOwn(WANTED, data.task.name) && src.length > 1;
  return tells ? names(WANTED[data.task.name](src.slice(0, -1))) : undefined;
}

/** What is written, as `wanted_of` has it. */
const tokens_written = ({ steps }) =>
  data.answers ? vocabulary.text(real_ids(steps)).split(" ") : names(real_ids(steps));

/** Whether an answer is right, or another; if the trained model is wrong, the right one, too. */
function mark_of(thought) {
  const [judged, tokens] = [wanted_of(thought), tokens_written(thought)];
  const wanted = judged ?? (thought === thoughts[1] ? tokens_written(thoughts[0]) : null);
  if (!wanted || !thought.done || written(thought) < thought.steps.length) return [];
  const right = wanted.join() === tokens.join() && thought.steps.at(-1).token === eos;
  if (!judged && right) return [];
  const says = say(right ? `done_${data.task.name}` : judged ? "wrong" : "differs");
  const mark = make("span", { class: right ? "mark right" : "mark wrong" }, says);
  if (right || thought !== thoughts[0]) return [mark];
  return [mark, make("span", { class: "legend" }, say("should_be"), ` ${wanted.join(" ")}`)];
}

/** The written token that the probabilities are of: that of the query in view, else the last. */
function best_place(thought = thoughts[view.side] ?? thoughts[0]) {
  const last = shown(thought).tgt.length - 1;
  return view.kind === "encoder_self" ? last : query_of(thought);
}

function best_table(thought) {
  const place = best_place(thought);
  const most = thoughts.length > 1 ? 2 : 3; // two tables in the room of one
  const all = best(logits_of(thought, place), most);
  const found = all.filter(([, share], i) => !i || share >= 0.005); // not 0.00
  const rest = found.reduce((left, [, share]) => left - share, 1);
  const row = (name, share) => {
    const head = make("th", { scope: "row" }, make("bdi", {}, name));
    return make("tr", {}, head, make("td", {}, bar(share)), make("td", {}, digits(share)));
  };
  const named = (token) => {
    const special = token !== data.task.tokens[eos] && special_name(token);
    if (special) return term(say(special), say("term_sign"));
    const name = piece_name(token);
    return name.startsWith("…") ? term(name, say("best_pieces")) : name;
  };
  const rows = found.map(([token, share]) => row(named(token), share));
  rows.push(row(say("others"), rest));
  const name = say("best_heading", { place: place + 1 - first_query() });
  return make("table", {}, make("caption", {}, ...rich(name)), make("tbody", {}, ...rows));
}

let playing = null;

function stop() {
  clearInterval(playing);
  playing = null;
  show_play();
}

function show_play() {
  element("play").textContent = playing ? "‖" : "▶";
  element("play").setAttribute("aria-label", say(playing ? "pause" : "play"));
}

function go_to(place) {
  const to = within(place, longest() + 1);
  const query = view.kind === "encoder_self" ? view.query : to + first_query();
  choose({ written: to, query, key: null });
}

/** A step of the walk; from the whole answer it goes on to the first token. */
function walk(step) {
  if (view.written === Infinity && step > 0) return go_to(0);
  go_to(Math.min(view.written, longest()) + step);
}

function play(pause = 900, at_end = () => {}) {
  if (playing) return stop();
  playing = setInterval(() => {
    go_to(view.written + 1);
    if (view.written < longest()) return;
    stop();
    at_end();
  }, pause);
  if (view.written >= longest()) go_to(0);
  show_play();
}

// ---- the beginning -------------------------------------------------------------------------

function listen() {
  const on = (id, event, act) => element(id).addEventListener(event, act);
  on("source", "input", () => {
    const text = element("source").value;
    const { ids, unknown } = vocabulary.source(text);
    const is_read = ids.length > has_source || !(has_source || unknown.length);
    if (!is_read) return show_unread(unknown);
    stop();
    const query = has_source ? 0 : view.query;
    Object.assign(view, { text, written: Infinity, query, key: null });
    view.changes = { ...view.changes, replaced: [] };
    asked = null;
    chosen_before = kind_before();
    left_out = [];
    show_left_out();
    rethink(show_first_change);
  });
  on("back", "click", () => walk(-1));
  on("next", "click", () => walk(1));
  on("play", "click", () => play());
  on("kind", "change", () => choose({ kind: kinds[element("kind").selectedIndex], key: null }));
  on("written", "click", choose_in_strip);
  addEventListener("hashchange", open_address);
  for (const button of element("languages").children)
    button.addEventListener("click", () => choose_language(button.dataset.lang));
  on("tour-begin", "click", () => go_on_tour(0));
  on("tour-own", "click", () => {
    element("tour-closing").hidden = true;
    element("source").select();
  });
  on("present", "click", () => present(!is_present()));
  on("link", "click", () => copy_link(element("link").href));
  on("save", "click", save_picture);
  addEventListener("keydown", press);
  for (const panel of document.querySelectorAll("details")) panel.addEventListener("toggle", draw);
}

const KEYS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1, " ": 1 }; // as clickers send

/** Escape leaves the tour and the projector's view; there keys go on, and back. */
function press(event) {
  const { key, target } = event;
  if (key === "Escape" && is_present()) present(false);
  if (key === "Escape" && view.tour !== null) end_tour(false);
  const step = KEYS[key];
  const clicks = key === " " && target.matches("button, [type=checkbox]");
  const takes_it = clicks || target.matches("#source, select");
  if (!is_present() || !step || takes_it) return;
  event.preventDefault();
  if (view.tour === null) return walk(step);
  if (step < 0) return view.tour && go_on_tour(view.tour - 1);
  element(view.guess === null ? "tour-show" : "tour-next").click();
}

const is_present = () => document.documentElement.classList.contains("present");

/** Show the page as for a projector, or no longer. */
function present(on) {
  document.documentElement.classList.toggle("present", on);
  element("present").setAttribute("aria-pressed", on);
  element("present").blur(); // a space goes on
  draw();
}

/** A drawing that stands alone, with the colours and the letters that it has here. */
function styled(svg) {
  const alone = svg.cloneNode(true);
  const [here, there] = [svg, alone].map((one) => [...one.querySelectorAll("*")]);
  for (const [i, one] of here.entries()) {
    const style = getComputedStyle(one);
    const names = ["fill", "stroke", "stroke-opacity", "stroke-width", "font-size", "font-weight"];
    for (const name of [...names, "display", "paint-order"])
      there[i].setAttribute(name, style.getPropertyValue(name));
  }
  return alone;
}

/** An answer as a line of the drawing: what differs in red, and a dash for what is missing. */
function answer_line(row) {
  const parts = [...row.querySelectorAll(".tokens > span, .coming, .ended, .mark")];
  const name = row.querySelector(".label").textContent;
  const red = getComputedStyle(element("app")).getPropertyValue("--marked");
  const spans = parts.map((one) => {
    const fill = /differs|wrong/.test(one.className) ? red : null;
    const more = one.className === "coming" ? " …" : "";
    return drawn("tspan", { dx: 10, fill }, one.textContent + more);
  });
  return [`${name}: `, ...spans];
}

/** A text in lines that are at most so wide, in 16 units; Chinese may break at each sign. */
function wrapped(text, width) {
  const pen = make("canvas").getContext("2d");
  pen.font = `16px ${getComputedStyle(document.body).fontFamily}`;
  const lines = [""];
  for (const word of text.split(/(?<=[\s&])|(?=\p{Script=Han})/u)) {
    if (lines.at(-1) && pen.measureText(lines.at(-1) + word).width > width) lines.push("");
    lines[lines.length - 1] += word;
  }
  return lines;
}

/** The title, the answers, the curves and why as one drawing, 600 units wide for each model. */
function whole_picture() {
  const flows = [...document.querySelectorAll("#flow svg")];
  const width = 600 * flows.length;
  const { color, fontFamily, backgroundColor } = getComputedStyle(document.body);
  const red = getComputedStyle(element("app")).getPropertyValue("--marked");
  const line = (y, size, parts, x = 24, fill = color) => {
    const bold = size === 24 ? 700 : null; // the title
    return drawn("text", { x, y, fill, "font-size": size, "font-weight": bold }, ...parts);
  };
  const tops = [[document.title], [`${say("ask_label")}: ${view.text}`]];
  const rows = thoughts.map(answer_row).map(answer_line);
  const text = [...tops, ...rows].map((parts, i) => line(40 + 28 * i, i ? 18 : 24, parts));
  const top = 28 * text.length + 40;
  const high = (svg) => (560 * svg.viewBox.baseVal.height) / svg.viewBox.baseVal.width;
  const deep = Math.max(...flows.map(high));
  const trained_name = flows.length > 1 ? [say("as_trained")] : [];
  const reasons = flows.map((svg, side) => {
    const { because, best } = half(side);
    const parts = [...best.querySelectorAll("caption, th, td:last-child")];
    const [name, ...cells] = parts.map((one) => one.textContent);
    const rows = cells.flatMap((cell, i) => (i % 2 ? [`${cells[i - 1]} ${cell}`] : []));
    const chances = best.hidden ? [] : wrapped(`${name}: ${rows.join(say("comma"))}`, 552);
    return [...chances, ...wrapped(because.textContent, 552)];
  });
  const below_says = top + 24 * Math.max(...reasons.map(({ length }) => length));
  const drawings = flows.flatMap((svg, side) => {
    const drawing = styled(svg);
    const place = { x: 600 * side + 20, y: below_says + 8, width: 560, height: high(svg) };
    for (const [name, value] of Object.entries(place)) drawing.setAttribute(name, value);
    const name = side ? changed_name() : [...trained_name, map_name()].join(say("comma"));
    const x = 600 * side + 24;
    const says = reasons[side].map((words, i) => line(top + 24 * (i + 1), 16, [words], x));
    return [line(top, 16, [name], x, side ? red : color), ...says, drawing];
  });
  const says = document.querySelectorAll("#outcome, #tour-out");
  const why = [...says].flatMap((one) => wrapped(one.textContent, width - 48));
  const below = why.map((words, i) => line(below_says + deep + 28 + 24 * i, 16, [words]));
  const soft = getComputedStyle(element("about")).color;
  const end = below_says + deep + 28 + 24 * why.length;
  const address = location.protocol.startsWith("http") ? location.host + location.pathname : "";
  const signs = [say("flow_widths"), say("footer_project"), address].join(" ").trim();
  const foot = wrapped(signs, ((width - 48) * 16) / 12);
  below.push(...foot.map((words, i) => line(end + 16 * i, 12, [words], 24, soft)));
  const height = end + 16 * foot.length + 8;
  const size = { width, height, "font-family": fontFamily };
  const back = drawn("rect", { width, height, fill: backgroundColor });
  return drawn("svg", size, back, ...text, ...drawings, ...below);
}

/** A name for a file: the task, what was typed, and what was changed. */
function file_name() {
  const changed = thoughts.length > 1 ? [changed_name()] : [];
  const words = [data.task.name, view.text, ...changed].join(" ").match(/[\p{L}\p{N}]+/gu);
  return `${words.join("-").slice(0, 80)}.png`;
}

/** Save what is seen as a PNG, twice as large. */
async function save_picture() {
  const svg = whole_picture();
  const [width, height] = ["width", "height"].map((name) => 2 * svg.getAttribute(name));
  const image = new Image(width, height);
  const text = new XMLSerializer().serializeToString(svg);
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = make("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  make("a", { href: canvas.toDataURL(), download: file_name() }).click();
  tell("picture_saved");
}

/** Say for five seconds what was done. */
function tell(key) {
  element("address-note").textContent = say(key);
  clearTimeout(told);
  told = setTimeout(show_left_out, 5000);
}

let told = null;

async function copy_link(address) {
  try {
    await navigator.clipboard.writeText(address);
    tell(location.protocol === "file:" ? "address_copied_file" : "address_copied");
  } catch {
    tell("address_in_bar"); // a page from a file may have no clipboard
  }
}

/** The part for the changed model, beside that for the trained one. */
function make_second(name) {
  const first = element(`${name}-0`);
  first.after(Object.assign(first.cloneNode(true), { id: `${name}-1` }));
}

function begin_page() {
  element("app").classList.toggle("alone", !has_source);
  element("figure").hidden = element("tour-begin").hidden = !has_source;
  const colours = Array.from({ length: 33 }, (_, i) => css(weight_colour(i / 32)));
  element("ramp").style.background = `linear-gradient(to right, ${colours})`;
  make_second("half");
  make_second("why");
  make_switches();
  listen();
  element("app").hidden = element("corner").hidden = false;
  open_address();
}

begin_page();
