// The maps of attention: all heads small, the chosen one large, before and after a change.

import { sum } from "./matrix.js";
import { allowed, attended, element, layer_count, pad, thought_now, view } from "./thinking.js";
import { within } from "./thinking.js";
import { css, digits, make, picture, plain_name, refill, say, token_element } from "./drawing.js";
import { weight_colour } from "./drawing.js";
import { written_by } from "./flow.js";
import { choose } from "./page.js";

const ROOM = 14; // keys beside which there is room for digits in the cells

/** Whether a head is cut in a model. */
export const is_muted = ({ changes }, path, head) =>
  changes.muted.some((one) => one.path === path && one.head === head);

/** Whether the head in view says nothing in a model. */
export const is_silent = (thought) => is_muted(thought, attended(thought).path, view.head);

/** Two digits for inside a cell; nothing for what rounds to 0. */
function brief(weight) {
  if (weight === null) return "";
  const text = weight.toFixed(2);
  return text === "0.00" ? "" : text === "1.00" ? "1" : text.slice(1);
}

export function draw_heads() {
  const layers = layer_count();
  const rows = Array.from({ length: layers }, (_, layer) => {
    const { h } = attended(thought_now(), view.kind, layer).place;
    const heads = Array.from({ length: h }, (_, head) => one_head(layer, head));
    const name = make("span", {}, say("layer", { layer: layer + 1 }));
    return make("div", { class: "layer" }, name, ...heads);
  });
  refill(element("heads"), element("heads").firstElementChild, ...rows);
}

/** A head to choose, with its small maps. */
function one_head(layer, head) {
  const name = { layer: layer + 1, head: head + 1 };
  const { path } = attended(thought_now(), view.kind, layer);
  const onclick = () => choose({ layer, head, key: null });
  const id = `head-${layer}-${head}`;
  const named = { type: "radio", name: "head", id, "aria-label": say("head_name", name) };
  const input = make("input", { ...named, onclick });
  input.checked = view.layer === layer && view.head === head;
  const small = make("span", { class: "small" }, small_map(thought_now(), layer, head));
  const style = is_muted(thought_now(), path, head) ? "head muted" : "head";
  return make("label", { class: style }, input, small, make("span", {}, say("head", name)));
}

function small_map(thought, layer, head) {
  const { cache } = attended(thought, view.kind, layer);
  const { rows, columns, data } = cache.weights[head];
  const free = allowed(thought);
  const colour = (i, j) => (free(i, j) ? weight_colour(data[i * columns + j]) : null);
  return picture(rows, columns, colour, { "aria-hidden": "true" });
}

// ---- the chosen head, large ----------------------------------------------------------------

export function draw_grids() {
  const thought = thought_now();
  const place = { kind: say(view.kind), layer: view.layer + 1, head: view.head + 1 };
  element("map-heading").textContent = say("map_name", place);
  element("legend-masked").hidden = view.kind !== "decoder_self" && !thought.src.includes(pad);
  element("grids").classList.toggle("silent", is_silent(thought));
  refill(element("grids"), grid(thought));
  const { keys, cache } = attended(thought);
  const key = view.summed.map((i) => `“${plain_name(keys[i])}”`).join(say("comma"));
  const weight = digits(mass_of(cache.weights[view.head].row(view.query)));
  element("map-help").textContent = say(key ? "map_sum" : "map_help", { key, weight });
}

/** The sum of the weights of a query on the chosen keys. */
const mass_of = (row) => sum(view.summed.map((key) => row[key]));

/** Choose a key to be added up, or leave it out again. */
function choose_to_add(key) {
  const others = view.summed.filter((one) => one !== key);
  choose({ summed: others.length < view.summed.length ? others : [...others, key] });
}

/** The weights of the chosen head as a table that the arrow keys walk through. */
function grid(thought) {
  const { queries, keys, cache } = attended(thought);
  const weights = cache.weights[view.head];
  const free = allowed(thought);
  const top = make(
    "tr",
    { role: "row" },
    make("td", { role: "presentation" }),
    ...keys.map((key, j) => header(key, "col", view.query, j)),
    ...(view.summed.length ? [make("th", { scope: "col", role: "columnheader" }, "Σ")] : []),
  );
  const writes = view.kind === "encoder_self" ? [] : written_by(thought);
  const rows = queries.map((query, i) => {
    const cells = keys.map((_, j) => {
      const weight = free(i, j) ? weights.row(i)[j] : null;
      return cell(i, j, weight, keys.length > ROOM ? "" : brief(weight));
    });
    const total = digits(mass_of(weights.row(i)));
    if (view.summed.length) cells.push(make("td", { role: "gridcell", class: "total" }, total));
    const style = { role: "row", class: i === view.query ? "on" : null };
    return make("tr", style, header(query, "row", i, view.key, writes[i]), ...cells);
  });
  const made = make(
    "table",
    {
      role: "grid",
      "aria-readonly": "true",
      "aria-labelledby": "map-heading",
      "aria-describedby": "map-axis map-help",
      onkeydown: (event) => move_in_grid(event, queries.length, keys.length),
      onclick: choose_clicked,
    },
    make("thead", { role: "rowgroup" }, top),
    make("tbody", { role: "rowgroup" }, ...rows),
  );
  made.style.setProperty("--keys", keys.length);
  return made;
}

/** A token beside its row or above its column; a row of the decoder also has what it writes. */
function header(token, scope, query, key, writes) {
  const chosen = scope === "row" ? query === view.query : key === view.key;
  const role = scope === "row" ? "rowheader" : "columnheader";
  const is_long = [...plain_name(token)].length > 2;
  const styles = [chosen && "on", scope === "col" && is_long && "upright"];
  const style = styles.filter(Boolean).join(" ");
  const attributes = { scope, role, title: token, class: style || null };
  const added = scope === "col" && view.summed.includes(key) ? true : null;
  const onclick = () => (scope === "col" ? choose_to_add(key) : choose({ query, key }));
  return make(
    "th",
    { ...attributes, "aria-selected": added, onclick },
    token_element(token),
    ...(writes === undefined ? [] : [make("span", { class: "writes" }, " → ", plain_name(writes))]),
  );
}

/** A cell with a weight, or with null where it is masked, and the text that is in it. */
function cell(query, key, weight, text) {
  const free = weight !== null;
  const on = query === view.query && key === view.key;
  const made = make("td", {
    role: "gridcell",
    id: `cell-${query}-${key}`,
    tabindex: on ? 0 : -1,
    class: `${free ? "weight" : "masked"}${on ? " on" : ""}`,
    "aria-label": free ? digits(weight) : say("masked"),
    "aria-selected": on,
    "data-brief": text || null,
  });
  if (free) {
    made.style.background = css(weight_colour(weight));
    made.style.color = weight < 0.47 ? "#fff" : "#000";
  }
  return made;
}

/** A cell that was clicked has its place in its id. */
function choose_clicked(event) {
  const { id } = event.target.closest("td.weight, td.masked") ?? {};
  if (id) choose_cell(...id.split("-").slice(1).map(Number));
}

function choose_cell(query, key) {
  choose({ query, key });
  element(`cell-${view.query}-${view.key}`).focus();
}

function move_in_grid(event, queries, keys) {
  const [query, key] = [view.query, view.key];
  const moves = {
    ArrowUp: [query - 1, key],
    ArrowDown: [query + 1, key],
    ArrowLeft: [query, key - 1],
    ArrowRight: [query, key + 1],
    Home: [event.ctrlKey ? 0 : query, 0],
    End: [event.ctrlKey ? queries - 1 : query, keys - 1],
  };
  if (event.key === "Enter") choose_to_add(key);
  const to = moves[event.key];
  if (!to || event.altKey || event.metaKey) return;
  event.preventDefault();
  choose_cell(within(to[0], queries), within(to[1], keys));
}
