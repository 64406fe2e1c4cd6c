// Figure 1, drawn from the model itself: a box for each step of the forward, in their order.

import { softmax } from "./matrix.js";
import { at } from "./what_if.js";
import { element, shown, thought_now, view, within } from "./thinking.js";
import { drawn, make, make_button, refill, say, signed_picture } from "./drawing.js";
import { choose } from "./page.js";

const SUBLAYERS = {
  self_attention: "attention",
  cross_attention: "attention",
  feed_forward: "feed",
};

/** {key, name, kind, stack, layer, path, y} of every box, as the forward passes through them. */
function boxes_of(thought) {
  const { cache, logits } = shown(thought);
  const found = [];
  const adder = (stack, layer) => (key, kind, path, y) =>
    found.push({ key, name: say(`box_${key}`), kind, stack, layer, path, y });
  for (const [stack, side] of Object.entries({ encoder: "src", decoder: "tgt" })) {
    const add = adder(stack, null);
    add(`${side}_embedding`, "embedding", `${side}_embedding`, cache[`${side}_embedding`].y);
    add("positions", "embedding", "positions", cache[`${side}_positions`].y);
    const { layers, norm } = thought.model[stack];
    cache[stack].layers.forEach((layer_cache, i) => {
      const add_here = adder(stack, i);
      layer_boxes(layers[i], layer_cache, stack, (key, kind, part, y) =>
        add_here(key, kind, `${stack}.layers.${i}.${part}`, y),
      );
    });
    if (norm) add("norm", "norm", `${stack}.norm`, cache[stack].y);
  }
  const p = logits.map(Number);
  for (let t = 0; t < p.rows; t++) softmax(p.row(t));
  adder("decoder", null)("output_projection", "linear", "output_projection", logits);
  adder("decoder", null)("softmax", "softmax", "softmax", p);
  return found;
}

/** The boxes of one layer, post-norm or pre-norm. */
function layer_boxes(layer, cache, stack, add) {
  const subs = Object.keys(SUBLAYERS).filter((name) => layer[name]);
  subs.forEach((name, n) => {
    const masked = name === "self_attention" && stack === "decoder";
    const [norm, add_norm] = [`norm_${n + 1}`, `add_norm_${n + 1}`];
    if (layer[norm]) add("norm", "norm", norm, cache[norm].y);
    add(masked ? "masked_attention" : name, SUBLAYERS[name], name, cache[name].y);
    if (layer[add_norm]) add("add_norm", "norm", add_norm, cache[add_norm].y);
    else add("sum", "norm", `sum_${n + 1}`, cache[`sum_${n + 1}`].y);
  });
}

// The drawing is 100 units wide. Lines are SVG, boxes are buttons over it.
const STACKS = { encoder: { x: 30, out: -1 }, decoder: { x: 70, out: 1 } }; // out: where lines pass
const HEIGHTS = { embedding: 7.5, attention: 7.5, feed: 5.5, norm: 4.5, linear: 4.5, softmax: 4.5 };
const [HALF, MIDDLE] = [14, 50]; // of a box; the line from the encoder to the decoder

export function draw_figure() {
  const thought = thought_now();
  const boxes = boxes_of(thought);
  view.box = within(view.box, boxes.length);
  const stacks = Object.keys(STACKS).map((stack) => placed(boxes, stack));
  const height = stacks[1].top + 4;
  const wires = stacks.flatMap(wires_of);
  const [encoder, decoder] = stacks;
  const meeting = decoder.places.find(({ path }) => path.endsWith("cross_attention"));
  wires.push(memory_wire(encoder.top, meeting));
  const drawing = drawn(
    "svg",
    { viewBox: `0 ${-height} 100 ${height}`, "aria-hidden": "true" },
    drawn("marker", ARROW, drawn("path", { d: "M0 0L6 3L0 6z" })),
    ...stacks.map(({ frame }) => drawn("rect", { ...frame, class: "frame", rx: 2 })),
    ...wires.map(([d, end = true]) =>
      drawn("path", { d, class: "wire", "marker-end": end ? "url(#arrow)" : null }),
    ),
  );
  const buttons = stacks.flatMap(({ places }) =>
    places.map((box) => ({ ...box, button: box_button(box) })),
  );
  for (const one of buttons) put(one, height);
  element("boxes").style.aspectRatio = `100 / ${height}`;
  refill(element("boxes"), drawing, ...buttons.map(({ button }) => button));
  draw_box(boxes);
}

const ARROW = { id: "arrow", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 5, orient: "auto" };

/** The layer of a stack that is drawn: that of the current box, else that of the maps. */
function drawn_layer(boxes, stack) {
  const { stack: here, layer } = boxes[view.box];
  return here === stack && layer !== null ? layer : view.layer;
}

/** The boxes of a stack with their places, one layer of them, from the foot up. */
function placed(boxes, stack) {
  const { x, out } = STACKS[stack];
  const layer = drawn_layer(boxes, stack);
  const here = boxes.map((box, i) => ({ ...box, i }));
  const frame = { x: x - 15.5 - (out < 0 ? 4 : 0), width: 35 };
  let [top, first] = [2, true]; // the first box of a sub-layer
  const places = [];
  for (const box of here.filter((b) => b.stack === stack && [null, layer].includes(b.layer))) {
    const ends = /(add_norm|sum)_\d$/.test(box.path);
    const beside = box.path === "positions";
    if (box.layer !== null && frame.y === undefined) frame.y = top += 2;
    if (box.layer === null && frame.y !== undefined) frame.top ??= top += 2;
    const gap = ends ? 1 : first && box.layer !== null ? 7 : box.kind === "attention" ? 5 : 3;
    const low = top + gap;
    top = low + HEIGHTS[box.kind];
    const left = beside ? (out < 0 ? 0 : 84) : x - HALF;
    places.push({ ...box, ends, beside, first, left, low, top, width: beside ? 16 : 2 * HALF });
    first = ends || box.layer === null;
  }
  frame.top ??= top += 2;
  Object.assign(frame, { y: -frame.top, height: frame.top - frame.y });
  return { stack, x, out, places, frame, top };
}

/** Lines through a stack: up, three into an attention, and around each sub-layer. */
function wires_of({ x, out, places }) {
  const wires = [];
  let [from, split] = [0, 0];
  for (const { kind, path, ends, beside, first, layer, left, width, low, top } of places) {
    const middle = (low + top) / 2;
    if (beside) {
      wires.push([`M${out < 0 ? left + width : left} ${-middle}H${x + 1.4 * out}`]);
      wires.push([`M${x - 1.4} ${-middle}a1.4 1.4 0 1 0 2.8 0a1.4 1.4 0 1 0 -2.8 0h2.8`, false]);
      wires.push([`M${x} ${-from}V${-top}`, false]);
      from = middle + 1.4;
      continue;
    }
    if (first && layer !== null) split = low - 5;
    wires.push([`M${x} ${-from}V${-low}`, !ends]);
    if (ends)
      wires.push([`M${x} ${-split}H${x + 17.3 * out}V${-middle}H${x + (HALF + 0.4) * out}`]);
    const arms = path.endsWith("cross_attention") ? [] : [-8, 8];
    if (kind === "attention")
      for (const arm of arms) wires.push([`M${x} ${2.5 - low}H${x + arm}V${-low}`]);
    from = top;
  }
  wires.push([`M${x} ${-from}v-3`]);
  return wires;
}

/** The line from the top of the encoder into the decoder: its keys and its values. */
function memory_wire(top, { low }) {
  const { encoder, decoder } = STACKS;
  const turn = `M${encoder.x} ${-top}v-3H${MIDDLE}V${2.5 - low}`;
  return [`${turn}H${decoder.x - 4}V${-low}M${decoder.x - 9} ${2.5 - low}V${-low}`];
}

/** Put a button at its place in the drawing. */
function put({ button, left, top, low, width }, all) {
  const [from, height] = [all - top, top - low].map((y) => (100 * y) / all);
  for (const [name, share] of Object.entries({ left, width, top: from, height }))
    button.style[name] = `${share}%`;
}

function box_button({ i, kind, name }) {
  const now = i === view.box;
  const state = { class: kind, id: `box-${i}`, "aria-current": now ? "step" : null };
  return make_button(name, () => choose_box(i), state);
}

/** Go to a box; that of an attention shows its maps. */
function choose_box(i) {
  const { kind, path, stack, layer } = boxes_of(thought_now())[i];
  const shows = path.endsWith("cross_attention") ? "cross" : `${stack}_self`;
  choose({ box: i, ...(kind === "attention" ? { kind: shows, layer, key: null } : {}) });
}

/** The formula of a layer, as its class has it in Python. */
function formula_of(model, path) {
  if (path === "softmax") return say("formula_softmax");
  return at(model, path)?.formula ?? say("formula_sum");
}

/** The current box: what it does, what comes out, and what the model would say there. */
function draw_box(boxes) {
  const thought = thought_now();
  const box = boxes[view.box];
  const count = say("figure_count", { box: view.box + 1, count: boxes.length });
  const step_button = (key, by) => {
    const to = view.box + by;
    return make_button(say(key), () => choose_box(to), { id: key, disabled: !boxes[to] });
  };
  const parts = [
    make("p", { class: "soft" }, count),
    make("div", { class: "buttons" }, step_button("box_before", -1), step_button("box_next", 1)),
    make("h3", {}, box.name),
    make("p", {}, say(`about_${box.key}`)),
    make("p", {}, figure_says(box)),
    numbers_picture(box),
    make("p", { class: "soft" }, make("code", {}, formula_of(thought.model, box.path))),
    make("p", { class: "soft" }, say("figure_code"), " ", make("code", {}, `model.${box.path}`)),
  ];
  refill(element("box"), ...parts);
}

/** What comes out of a box. */
const figure_says = ({ key, y: { rows, columns } }) =>
  say(key === "softmax" ? "figure_shares" : "figure_map", { rows, columns });

/** All numbers that come out of a box, one row for each token. */
function numbers_picture(box) {
  const { y } = box;
  const canvas = signed_picture(y, { class: "numbers", "aria-label": figure_says(box) });
  canvas.style.height = `${Math.min(y.rows * 0.75, 12)}rem`;
  return canvas;
}
