"use strict";
// The switches of "What if": what the reader changes, and showing what is changed.

function change(changes) {
  view.changes = { ...view.changes, ...changes };
  rethink();
}

/** What each switch changes. */
const SWITCHES = {
  "if-positions": () => ({ positions: false }),
  "if-no-scale": () => ({ factor: factor_without_scale(trained) }),
  "if-causal": () => ({ causal: false }),
  "if-mute": () => ({ muted: { path: attended(thoughts[0]).path, head: view.head } }),
  "if-uniform": () => ({ uniform: { ...SWITCHES["if-mute"]().muted, query: view.query } }),
};

/** What a change is called beside its answer. */
const CHANGE_NAMES = {
  positions: "if_positions",
  factor: "if_no_scale",
  causal: "if_causal",
  muted: "if_heads",
  uniform: "if_uniform",
  replaced: "if_replace",
};

const same = (a) => (b) => JSON.stringify(a) === JSON.stringify(b);

/** Whether a change is made; of heads and of rows each is one of a list. */
function is_on(part, value) {
  const found = view.changes[part];
  return Array.isArray(found) ? found.some(same(value)) : found !== AS_TRAINED[part];
}

function turn(id) {
  const [[part, value]] = Object.entries(SWITCHES[id]());
  const [found, on] = [view.changes[part], is_on(part, value)];
  if (!Array.isArray(found)) return change({ [part]: on ? AS_TRAINED[part] : value });
  change({ [part]: on ? found.filter((one) => !same(value)(one)) : [...found, value] });
}

/** The switches as they are. Before a change its question is there, after it what to expect. */
function draw_changes() {
  element("if-reset").disabled = !is_other();
  element("if-no-scale").disabled = factor_without_scale(trained) === 1;
  for (const [id, values] of Object.entries(SWITCHES))
    element(id).checked = is_on(...Object.entries(values())[0]);
  for (const place of document.querySelectorAll("[data-part]"))
    place.classList.toggle("on", changed_parts(view.changes).includes(place.dataset.part));
}

/** The changes that are made, in words. */
function changed_names() {
  const list = changed_parts(view.changes).map((part) => say(CHANGE_NAMES[part]));
  if (view.state < data.states.length) list.unshift(state_name());
  return list.join(say("comma"));
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
