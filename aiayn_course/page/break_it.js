// Can you break it? One picture from the list to the answer, each head a strand of its own colour. A
// tap cuts a strand; positions, scale and the mask are cuts of the same kind. One cut at a time.

import { AS_TRAINED, at, attention_paths, name_of } from "./what_if.js";
import { address_of, changes_of } from "./address.js";
import { data, element, eos, heaviest, in_slices, kind_of, layer_of, names } from "./thinking.js";
import { page, places, probabilities_of, shown, thought_now, thought_of } from "./thinking.js";
import { thoughts, tokens_of, trained, view, vocabulary } from "./thinking.js";
import { digits, drawn, fill, language, make, make_button, plain_name, refill } from "./drawing.js";
import { say, shortened } from "./drawing.js";
import { is_muted } from "./maps.js";
import { choose, copy_text, has_address, show_place } from "./page.js";

const MOST_ROWS = 24; // tokens that the picture has room for
const THIN = 0.06; // weights that are not drawn
const OTHER_CUTS = ["positions", "scale", "mask"];

/** The names of all cuts of one head. */
export const head_cuts = () =>
  attention_paths(trained).flatMap((path) =>
    Array.from({ length: at(trained, path).h }, (_, head) => `mute:${path}:${head}`),
  );

/** The ids of steps without the end. */
export const real_ids = (steps) => steps.map(({ token }) => token).filter((id) => id !== eos);
const real_tokens = ({ steps }) => real_ids(steps);

/** Whether two thoughts write the same. */
const is_same = (one, other) => real_tokens(one).join() === real_tokens(other).join();

// ---- which heads it cannot do without ------------------------------------------------------

let counted_of = {}; // {thought, changed}: which cuts change this answer; measured, not guessed

/** Try every head, after all is drawn; typing never waits. */
export async function count_needed() {
  const [first] = thoughts;
  if (counted_of.thought === first) return;
  const changed = new Map();
  counted_of = { thought: first, changed };
  for (const name of [...head_cuts(), ...OTHER_CUTS]) {
    const cut = thought_of(changes_of(page, name), first.src, places(first));
    const late = () => counted_of.thought !== first;
    const found = await in_slices(cut, late);
    if (late() || !found) return;
    changed.set(name, !is_same(first, found));
  }
  counted_of = { thought: first, changed, done: true };
  if (view.mode === "break") draw_break();
}

/** Whether a cut changes the answer; undefined until it is known. */
function is_breaking(name) {
  const [first, other] = thoughts;
  if (other && name_of(other.changes) === name) return !is_same(first, other);
  return counted_of.thought === first ? counted_of.changed.get(name) : undefined;
}

/** Cut a strand, or put it back. */
export function cut(name) {
  const on = name_of(view.changes) === name;
  const tried = view.tried.includes(name) ? view.tried : [...view.tried, name];
  const changes = on ? AS_TRAINED : changes_of(page, name);
  show_place({ changes, tried }, () => element(`cut-${name}`)?.focus());
}

// ---- the picture ---------------------------------------------------------------------------

/** The attentions from left to right: the encoder's, then two for each layer of the decoder. */
function panels_of() {
  const order = (path) => {
    const kind = kind_of(path);
    return (kind === "encoder_self" ? 0 : 1000) + 2 * layer_of(path) + (kind === "cross");
  };
  return attention_paths(trained).sort((a, b) => order(a) - order(b));
}

export function draw_break() {
  const [thought, heads] = [thought_now(), head_cuts()];
  const needed = heads.filter((name) => counted_of.changed?.get(name));
  const is_counted = counted_of.thought === thoughts[0] && counted_of.done;
  const values = {
    heads: heads.length,
    count: needed.length,
    source: vocabulary.text(thought.src),
  };
  element("break-heading").replaceChildren(
    ...titled(),
    say("stop"),
    make("b", {}, say("break_heading")),
  );
  const key = !is_counted ? "break_counting" : needed.length ? "break_about" : "break_none";
  element("break-about").textContent = say(key, values);
  const paths = panels_of();
  const rows = Math.min(Math.max(thought.src.length, shown(thought).tgt.length), MOST_ROWS);
  const room = element("break").clientWidth || 1200;
  const fits = room / 130;
  const one_row = paths.length + 1.6 <= fits;
  const across = one_row ? paths.length + 1.6 : Math.max(2, Math.min(Math.floor(fits), 4));
  const width = Math.floor(room / across) - 6;
  const tall = one_row ? Math.max(280, Math.min(0.5 * innerHeight, 70 * rows)) : 34 * rows;
  const size = { width, height: Math.max(26 * rows, tall), rows };
  const drawn_panels = paths.map((path, n) => panel(thought, path, n, size));
  const wide = one_row ? Math.floor(1.6 * width) : Math.min(room, 330);
  refill(element("break-picture"), ...drawn_panels, answer_panel({ ...size, width: wide }));
  const buttons = OTHER_CUTS.map((name) => cut_button(name, say(`cut_${name}`), "other"));
  refill(element("break-others"), ...buttons);
  draw_told(needed, is_counted);
}

/** The title of the page, with the verb underlined. */
export function titled() {
  const [before, verb, after] = data.title[language()].split(/\*(.+?)\*/);
  return [before, ...(verb ? [make("u", {}, verb), after] : [])];
}

/** A button that cuts: it remembers what came of it. */
function cut_button(name, text, style) {
  const on = name_of(thought_now().changes) === name;
  const breaks = view.tried.includes(name) ? is_breaking(name) : undefined;
  const came = breaks === undefined ? "" : breaks ? "broke" : "held";
  const sign = breaks === undefined ? "✂" : breaks ? "✗" : "✓";
  const label = [cut_name(name), came && say(`cut_${came}`)].filter(Boolean).join(say("comma"));
  return make_button(style === "other" ? `${sign} ${text}` : sign, () => cut(name), {
    id: `cut-${name}`,
    class: `cut ${style} ${came}`,
    "aria-pressed": on,
    "aria-label": label,
    title: label,
    onpointerenter: ({ target }) => light_strand(target, name),
    onfocus: ({ target }) => light_strand(target, name),
    onpointerleave: ({ target }) => light_strand(target, null),
    onblur: ({ target }) => light_strand(target, null),
  });
}

/** All strands of a panel but one become pale. */
function light_strand(target, name) {
  for (const strand of target.closest(".panel")?.querySelectorAll(".strand") ?? [])
    strand.classList.toggle("pale", name !== null && strand.dataset.cut !== name);
}

/** What a cut is called. */
export function cut_name(name) {
  const [kind, path, head] = name.split(":");
  if (kind !== "mute") return say(`cut_${kind}`);
  const stack = kind_of(path) === "encoder_self" ? "panel_encoder" : "panel_decoder";
  const from = say(stack, { layer: layer_of(path) + 1 });
  return say("cut_head", { head: Number(head) + 1, part: say(`panel_${kind_of(path)}`), from });
}

/** One attention: its keys on the left, its queries on the right, and the heads between them. */
function panel(thought, path, n, { width, height, rows }) {
  const kind = kind_of(path);
  const layer = layer_of(path);
  const stack = kind === "encoder_self" ? "encoder" : "decoder";
  const { attention } = at(shown(thought).cache, path);
  const keys = tokens_of(thought, kind === "decoder_self" ? "decoder" : "encoder");
  const step = height / rows;
  const y = (i) => (Math.min(i, rows - 1) + 0.5) * step;
  const named = kind === "cross" || layer === 0;
  const [left, right] = [named ? 40 : 16, width - 10];
  const strands = attention.weights.map((weights, head) => {
    const name = `mute:${path}:${head}`;
    const off = (head - (attention.weights.length - 1) / 2) * Math.min(4, step / 8);
    const is_cut = is_muted(thought, path, head);
    const curves = [];
    for (let i = 0; i < weights.rows; i++)
      weights.row(i).forEach((weight, j) => {
        if (weight < THIN) return;
        const [from, to, middle] = [y(j) + off, y(i) + off, (left + right) / 2];
        const d = `M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`;
        const wide = is_cut ? 1.4 : 0.6 + Math.min(7, step / 6) * weight;
        const opacity = is_cut ? 0.6 : 0.16 + 0.5 * weight;
        const size = { "stroke-width": wide.toFixed(1), opacity: opacity.toFixed(2) };
        curves.push(drawn("path", { d, ...size }));
      });
    const style = `strand h${head % 8}${is_cut ? " gone" : ""}`;
    const strand = drawn("g", { class: style, "data-cut": name }, ...curves);
    strand.addEventListener("click", () => cut(name));
    return strand;
  });
  const letters = Math.min(19, 0.62 * step);
  const nodes = keys.map((token, j) => {
    const text = shortened(plain_name(token), 5);
    const wide = [...text].reduce((total, sign) => total + (sign > "⺀" ? 1 : 0.62), 0);
    const small = Math.min(letters, 32 / wide);
    return named
      ? drawn("text", { x: 20, y: y(j) + 0.35 * small, class: "node", "font-size": small }, text)
      : drawn("circle", { cx: 10, cy: y(j), r: 3.5, class: "dot" });
  });
  const ends = Array.from({ length: attention.weights[0].rows }, (_, i) =>
    drawn("circle", { cx: right + 4, cy: y(i), r: 3.5, class: "dot" }),
  );
  const title = say(`panel_${kind}`);
  const drawing = drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title },
    ...[...strands, ...nodes, ...ends],
  );
  const cuts = attention.weights.map((_, head) =>
    cut_button(`mute:${path}:${head}`, "", `h${head % 8}`),
  );
  const made = make(
    "div",
    { class: `panel ${stack}` },
    make("h3", {}, title),
    make("p", { class: "soft" }, say(`panel_${stack}`, { layer: layer + 1 })),
    drawing,
    make("div", { class: "cuts" }, ...cuts),
  );
  made.style.width = `${width}px`;
  return made;
}

/** What it writes: the tokens, how sure it is of them, and what it wrote before the cut. */
function answer_panel({ width, height, rows }) {
  const [first, other] = thoughts;
  const step = height / rows;
  const steps = thought_now().steps;
  const count = Math.min(rows, Math.max(first.steps.length, steps.length));
  const letters = Math.min(20, 0.6 * step);
  const lines = Array.from({ length: count }, (_, t) => {
    const [was, is] = [first.steps[t], steps[t]];
    const name = (one) => (one ? shortened(plain_name(names([one.token])[0]), 8) : "–");
    const y = (t + 0.5) * step;
    const wrong = was?.token !== is?.token;
    const share = is ? probabilities_of(is.row)[is.token] : 0;
    const high = Math.min(34, 0.76 * step);
    const wide = Math.max(44, 0.3 * width);
    const box = { x: 4, y: y - high / 2, width: wide, height: high, rx: 8 };
    const bar = { x: wide + 12, y: y - 0.15 * step, height: 0.3 * step, rx: 3 };
    const text = (x, style, words) =>
      drawn("text", { x, y: y + 0.35 * letters, class: style, "font-size": letters }, words);
    return drawn(
      "g",
      { class: wrong ? "line wrong-one" : "line" },
      drawn("rect", { ...box, class: "box" }),
      text(4 + wide / 2, "node", name(is)),
      drawn("rect", { ...bar, width: (0.34 * width * share).toFixed(1), class: "sure" }),
      ...(other
        ? [text(0.8 * width, "ghost", name(was)), text(width - 12, "sign", wrong ? "✗" : "✓")]
        : []),
    );
  });
  const wrote = say("panel_answer");
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  return make(
    "div",
    { class: "panel answer-panel" },
    make("h3", {}, wrote),
    make("p", { class: "soft" }, say(other ? "panel_before" : "panel_sure")),
    drawn("svg", { ...size, role: "img", "aria-label": wrote }, ...lines),
    make("p", { class: "unseen" }, vocabulary.text(steps.map(({ token }) => token))),
  );
}

// ---- what came of it -----------------------------------------------------------------------

/** The place of the first token that changed, else of the one of which the model is less sure. */
function changed_place() {
  const [before, after] = thoughts.map(({ steps }) => steps);
  const first = before.findIndex(({ token }, t) => token !== after[t]?.token);
  if (first >= 0 && after[first]) return first;
  const count = Math.min(before.length, after.length);
  return heaviest(Array.from({ length: count }, (_, t) => sure_of(t).fall));
}

/** How sure the two models are of the token that the trained one wrote at a place. */
function sure_of(t) {
  const { token: id } = thoughts[0].steps[t];
  const [was, is] = thoughts.map(({ steps }) => probabilities_of(steps[t].row)[id]);
  const writes = thoughts[1].steps[t].token;
  const [token, other] = names([id, writes]).map(plain_name);
  const share = digits(probabilities_of(thoughts[1].steps[t].row)[writes]);
  return { token, other, share, fall: was - is, before: digits(was), after: digits(is) };
}

/** The sentence of a cut, and why: all numbers are of the token that the trained model wrote. */
function draw_told(needed, is_counted) {
  const [first, other] = thoughts;
  element("break-send").hidden = !view.tried.length || !is_counted || !needed.length;
  element("break-numbers").hidden = !view.changes.muted.length;
  if (!other) {
    const example = make("strong", {}, say(view.tried.length ? "break_next" : "break_begin"));
    fill(element("break-says"), [example]);
    return fill(element("break-why"), []);
  }
  const [right, now] = [first, other].map(({ steps }) => steps.map(({ token }) => token));
  const all = Math.max(right.length, now.length); // as many lines as the picture has
  const count = [...Array(all).keys()].filter((t) => right[t] !== now[t]).length;
  const values = { cut: cut_name(name_of(other.changes)), count, all };
  const found = needed.filter((name) => view.tried.includes(name)).length;
  const score = { found, needed: needed.length, tried: view.tried.length };
  const goes_on = real_tokens(first).every((id, t) => id === now[t]);
  const says = [say(!count ? "cut_right" : goes_on ? "cut_longer" : "cut_wrong", values)];
  if (is_counted && needed.length) says.push(say("break_score", score));
  fill(element("break-says"), [says.join(say("gap"))]);
  const place = changed_place();
  const sure = sure_of(place);
  const why = sure.token === sure.other ? "cut_less" : "cut_instead";
  const ahead = other.changes.causal ? [] : [say("gap"), say("cut_mask_why")];
  fill(element("break-why"), [say(why, { ...sure, place: place + 1 }), ...ahead]);
  element("break-send").lastElementChild.textContent = text_to_send({
    ...score,
    left: needed.length - found,
  });
}

/** What is sent to a friend: cuts, squares for the tokens of the answer, and what is left. */
function text_to_send({ found, tried, left }) {
  const [first, other] = thoughts;
  const [right, now] = [first, other ?? first].map(real_tokens);
  const squares = right.map((id, t) => (now[t] === id ? "🟩" : "🟥")).join("");
  const words = say(!left ? "send_done" : found ? "send_other" : "send_all", { left });
  return `${"✂".repeat(Math.min(tried, 12))} ${squares} ${words}`;
}

/** Copy the text, with the address of this moment where there is one. */
export function send() {
  const text = element("break-send").lastElementChild.textContent;
  const address = has_address() ? ` ${location.href.split("#")[0]}#${address_of(view)}` : "";
  copy_text(text + address, has_address() ? "sent_link" : "sent_text");
}

/** The numbers of the strand that is cut: its map, query and key, shares and Figure 1. */
export function show_numbers() {
  const [{ path, head }] = view.changes.muted;
  choose({ mode: "look", kind: kind_of(path), layer: layer_of(path), head, key: null });
}
