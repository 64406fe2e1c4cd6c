"use strict";
// Figure 1, drawn from the model itself: a box for each step of the forward, in their order.

const SUBLAYERS = {
  self_attention: "attention",
  cross_attention: "attention",
  feed_forward: "feed",
};

/** {name, kind, stack, layer, path, y} of every box, as the forward passes through them. */
function boxes_of(thought) {
  const { cache, logits } = shown(thought);
  const found = [];
  for (const [stack, side] of [
    ["encoder", "src"],
    ["decoder", "tgt"],
  ]) {
    const add = (name, kind, path, y, layer = null) =>
      found.push({ name, kind, stack, layer, path, y });
    add(
      say(`box_${side}_embedding`),
      "embedding",
      `${side}_embedding`,
      cache[`${side}_embedding`].y,
    );
    add(say("box_positions"), "embedding", "positions", cache[`${side}_positions`].y);
    cache[stack].layers.forEach((layer_cache, i) => {
      layer_boxes(thought.model[stack].layers[i], layer_cache, stack, (name, kind, part, y) =>
        add(name, kind, `${stack}.layers.${i}.${part}`, y, i),
      );
    });
    if (thought.model[stack].norm) add(say("box_norm"), "norm", `${stack}.norm`, cache[stack].y);
    if (stack === "encoder") continue;
    add(say("box_output_projection"), "linear", "output_projection", logits);
    const p = logits.map(Number);
    for (let t = 0; t < p.rows; t++) softmax(p.row(t));
    add(say("box_softmax"), "softmax", "softmax", p);
  }
  return found;
}

/** The boxes of one layer, post-norm or pre-norm. */
function layer_boxes(layer, cache, stack, add) {
  const subs = Object.keys(SUBLAYERS).filter((name) => layer[name]);
  subs.forEach((name, n) => {
    const masked = name === "self_attention" && stack === "decoder";
    const [norm, add_norm] = [`norm_${n + 1}`, `add_norm_${n + 1}`];
    if (layer[norm]) add(say("box_norm"), "norm", norm, cache[norm].y);
    add(say(masked ? "box_masked_attention" : `box_${name}`), SUBLAYERS[name], name, cache[name].y);
    if (layer[add_norm]) add(say("box_add_norm"), "norm", add_norm, cache[add_norm].y);
    else add(say("box_sum"), "norm", `sum_${n + 1}`, cache[`sum_${n + 1}`].y);
  });
}

function draw_figure() {
  const boxes = boxes_of(thoughts[view.side]);
  view.box = within(view.box, boxes.length);
  const stacks = ["encoder", "decoder"].map((stack) => {
    const up = make("div", { class: "up" });
    boxes.forEach((box, i) => {
      if (box.stack !== stack) return;
      if (box.layer === null) return up.append(make("div", {}, box_button(box, i)));
      if (i === 0 || boxes[i - 1].layer !== box.layer) {
        const name = make("div", { class: "layer-name" }, say("layer", { layer: box.layer + 1 }));
        up.append(make("div", { class: "layer-box" }, make("div", { class: "up" }), name));
      }
      up.lastChild.firstChild.append(make("div", {}, box_button(box, i)));
    });
    return make("div", { class: "stack" }, make("h3", {}, say(`figure_${stack}`)), up);
  });
  keep_focus(element("boxes"), () => element("boxes").replaceChildren(...stacks));
  element("box-previous").disabled = view.box === 0;
  element("box-next").disabled = view.box === boxes.length - 1;
  draw_box(boxes);
}

function box_button(box, i) {
  const now = i === view.box;
  return make(
    "button",
    {
      type: "button",
      class: box.kind,
      id: `box-${i}`,
      tabindex: now ? 0 : -1,
      "aria-current": now ? "step" : null,
      onclick: () => choose({ box: i }),
    },
    box.name,
  );
}

/** The formula of a layer, as its class has it in Python. */
function formula_of(model, path) {
  if (path === "softmax") return say("formula_softmax");
  return at(model, path)?.formula ?? say("formula_sum");
}

/** "W (64, 64)" of every parameter of a layer. */
function parameters_of(node, path = "") {
  if (node instanceof Matrix) return [`${path} (${node.rows}, ${node.columns})`];
  if (node instanceof Float64Array) return [`${path} (${node.length},)`];
  if (Array.isArray(node) && node[0] instanceof Matrix) {
    return [`${path} (${node.length}, ${node[0].rows}, ${node[0].columns})`];
  }
  if (!(node instanceof Module)) return [];
  const parts = Object.entries(node).filter(([name]) => name !== "transposed");
  return parts.flatMap(([name, child]) => parameters_of(child, path ? `${path}.${name}` : name));
}

/** What comes into a box, as a shape. */
function shape_in(box, boxes, i) {
  if (box.path.endsWith("_embedding")) return `ids (${box.y.rows},)`;
  const before = boxes[i - 1].y;
  const shape = `x (${before.rows}, ${before.columns})`;
  if (!box.path.endsWith("cross_attention")) return shape;
  const memory = boxes.filter(({ stack }) => stack === "encoder").at(-1).y;
  return `${shape}; ${say("memory_from")} (${memory.rows}, ${memory.columns})`;
}

/** The current box: its formula, its shapes and its numbers. */
function draw_box(boxes) {
  const thought = thoughts[view.side];
  const box = boxes[view.box];
  const { y } = box;
  const parameters = parameters_of(at(thought.model, box.path)).join(", ") || say("figure_none");
  const facts = [
    ["figure_in", shape_in(box, boxes, view.box)],
    ["figure_out", `(${y.rows}, ${y.columns})`],
    ["figure_parameters", parameters],
  ].flatMap(([name, text]) => [make("dt", {}, say(name)), make("dd", {}, make("code", {}, text))]);
  const count = say("figure_count", { box: view.box + 1, count: boxes.length });
  const names = box.kind === "softmax" || box.kind === "linear" ? data.task.tokens : null;
  element("box").replaceChildren(
    make("p", { class: "soft" }, count, ...side_name(view.side, "side_after")),
    make("h3", {}, box.name),
    make("p", {}, make("code", {}, formula_of(thought.model, box.path))),
    make("p", { class: "soft" }, make("code", {}, box.path)),
    make("dl", {}, ...facts),
    numbers_picture(y),
    numbers_table(y, tokens_of(thought, box.stack), names),
  );
}

function numbers_picture(y) {
  const name = say("figure_map", { rows: y.rows, columns: y.columns });
  const canvas = signed_picture(y, { class: "numbers", "aria-label": name });
  canvas.style.height = `${Math.min(y.rows * 0.75, 12)}rem`;
  return canvas;
}

/** The first numbers of every row; `names` of the columns where they have some. */
function numbers_table(y, tokens, names) {
  const shown = Math.min(y.columns, 6);
  const first = [...Array(shown).keys()];
  const rows = tokens.map((token, i) => ({
    cells: [token_element(token), ...first.map((j) => digits(y.row(i)[j], 2))],
  }));
  const head = ["", ...first.map((j) => (names ? token_element(names[j]) : String(j + 1)))];
  const caption = say("figure_numbers", { shown, all: y.columns });
  const table = make_table(caption, head, rows);
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    table,
  );
}

function move_box(event) {
  const moves = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 };
  const step = moves[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  step_box(step);
  element(`box-${view.box}`).focus();
}

function step_box(step) {
  choose({ box: within(view.box + step, boxes_of(thoughts[view.side]).length) });
}
