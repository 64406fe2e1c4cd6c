"use strict";
// The switches of "What if": what the reader changes, and showing what is changed.

function change(changes) {
  view.changes = { ...view.changes, ...changes };
  rethink();
}

const is_muted = (path, head) =>
  view.changes.muted.some((one) => one.path === path && one.head === head);

function toggle_muted(path, head) {
  const others = view.changes.muted.filter((one) => one.path !== path || one.head !== head);
  change({ muted: is_muted(path, head) ? others : [...others, { path, head }] });
}

/** The heads of the chosen attention but the chosen one. */
function other_heads() {
  const { path, place } = attended(thoughts[0]);
  const heads = [...Array(place.h).keys()].filter((head) => head !== view.head);
  return heads.map((head) => ({ path, head }));
}

function toggle_others() {
  const { path } = attended(thoughts[0]);
  const elsewhere = view.changes.muted.filter((one) => one.path !== path);
  const all = element("if-others").getAttribute("aria-pressed") === "true";
  change({ muted: all ? elsewhere : [...elsewhere, ...other_heads()] });
}

const chosen_row = () => ({ path: attended(thoughts[0]).path, head: view.head, query: view.query });
const same_row = (a) => (b) => a.path === b.path && a.head === b.head && a.query === b.query;

function toggle_uniform() {
  const row = chosen_row();
  const others = view.changes.uniform.filter((one) => !same_row(row)(one));
  const there = others.length < view.changes.uniform.length;
  change({ uniform: there ? others : [...others, row] });
}

function draw_changes() {
  const { factor, positions, causal, muted, uniform } = view.changes;
  const { path } = attended(thoughts[0]);
  const unscaled = factor_without_scale(trained);
  element("if-reset").hidden = !is_changed(view.changes);
  element("if-scale").value = Math.log2(factor);
  element("if-no-scale").hidden = unscaled === 1;
  const none = factor !== 1 && factor === unscaled;
  const words = factor === 1 ? "if_scale_paper" : none ? "if_scale_none" : "if_scale_value";
  element("if-scale-value").textContent = say(words, { factor: digits(factor, 2) });
  element("if-scale").setAttribute("aria-valuetext", element("if-scale-value").textContent);
  element("if-positions").checked = !positions;
  element("if-causal").checked = !causal;
  element("if-mute").setAttribute("aria-pressed", is_muted(path, view.head));
  const others = other_heads();
  const here = muted.filter((one) => one.path === path);
  const all = others.length > 0 && here.length === others.length && !is_muted(path, view.head);
  element("if-others").setAttribute("aria-pressed", all);
  const place = ({ path, head }) => say("if_place", { path, head: head + 1 });
  element("if-muted").textContent = muted.length
    ? say("if_muted", { list: muted.map(place).join(say("semicolon")) })
    : "";
  element("if-uniform").setAttribute("aria-pressed", uniform.some(same_row(chosen_row())));
  const row = ({ path, head, query }) => say("if_row", { path, head: head + 1, query: query + 1 });
  const rows = uniform.map(row);
  element("if-uniform-list").textContent = rows.length
    ? say("if_uniform_list", { list: rows.join(say("semicolon")) })
    : "";
  show_switched();
}

/** What each switch of the panel would be called, as far as it is on, in the order of the panel. */
function switched() {
  const { positions, factor, causal, muted, uniform, replaced } = view.changes;
  return [
    !positions && "if_positions",
    factor !== 1 && "if_scale",
    !causal && "if_causal",
    muted.length > 0 && "if_heads",
    uniform.length > 0 && "if_uniform_short",
    replaced.length > 0 && "if_replace",
  ];
}

/** Before a change its question is there, and after it what was to be expected. */
function show_switched() {
  const names = switched();
  document.querySelectorAll(".change").forEach((place, i) => {
    place.classList.toggle("on", Boolean(names[i]));
  });
  element("if-list").textContent = changed_names();
}

/** The switches that are on, in words. */
function changed_names() {
  const list = switched().filter(Boolean);
  return list.map((name) => say(name)).join(say("comma"));
}

/** The source tokens that can be replaced. */
function fill_positions() {
  const src = thoughts[0].src;
  const place = Math.min(Math.max(element("if-position").selectedIndex, 0), src.length - 1);
  const options = names(src).map((token, i) => make("option", {}, `${i + 1}: ${visible(token)}`));
  element("if-position").replaceChildren(...options);
  element("if-position").selectedIndex = place;
  show_replacement();
}

function show_replacement() {
  const position = element("if-position").selectedIndex;
  const found = view.changes.replaced.find((one) => one.position === position);
  element("if-token").selectedIndex = found ? found.token + 1 : 0;
}

function replace_token() {
  const position = element("if-position").selectedIndex;
  const token = element("if-token").selectedIndex - 1;
  const others = view.changes.replaced.filter((one) => one.position !== position);
  change({ replaced: token < 0 ? others : [...others, { position, token }] });
}
