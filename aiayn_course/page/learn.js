// It learns before your eyes: a small model that knows nothing, its training by hand, and the way
// back. The training runs in slices; what is drawn is drawn between two steps.

import { sum } from "./matrix.js";
import { greedy_decode } from "./transformer.js";
import { Adam, BATCH, Learner, TASKS, Task } from "./training.js";
import { breathe, data, element, in_slices, view, within } from "./thinking.js";
import { TAGS, bars_of, css, digits, drawn, fill, language, make, refill, say } from "./drawing.js";
import { say_with, weight_colour } from "./drawing.js";
import { curve, two_rows } from "./flow.js";
import { choose, write_address } from "./page.js";

export const ENDS = { bos: 1, eos: 2, first: 3, symbols: 10, max_length: 6 };
const CHECKED_EVERY = 25; // steps between two tests on unseen lists
const DRAWN_EVERY = 4; // steps, while it learns
const SLOW = 700; // milliseconds between two steps in slow motion
const RATE_ALONE = 0.001; // of a step on one list

let learner = null; // {…Learner, losses, seconds, solved}
export let going = false; // it learns on
let stepping = false; // in the middle of a step: its gradients are not all there
let practice = Promise.resolve(); // until the last step is taken
let is_slow = false;
export let is_back = false; // the way back is shown
let before_step = null; // {shares, whole} of the right answer before a step on this list
let chosen = { kind: "cross", head: 0, query: 0 }; // the row that is told of

/** The digits of what is typed, at most six, as ids. */
function list_typed() {
  const found = view.text.normalize("NFKC").match(/\d/g)?.slice(0, ENDS.max_length) ?? [];
  return (found.length ? found : [3, 1, 4, 1, 5]).map((digit) => Number(digit) + ENDS.first);
}

const learn_name = (id) =>
  id < ENDS.first ? say(["token_pad", "token_start", "token_end"][id]) : `${id - ENDS.first}`;

const grouped = (number) => new Intl.NumberFormat(TAGS[language()]).format(number);

/** What was drawn is of another list, or of another model. */
export const forget_step = () => (before_step = null);
export const forget_learner = () => (learner = null);

/** A model that knows nothing, by the seed and the task of the view. */
function begin_learner() {
  learner = new Learner(data.learns, new Task(view.task, ENDS), view.seed);
  Object.assign(learner, { losses: [], seconds: 0, solved: null });
  before_step = null;
}

/** Take one step of the training; or on one example alone, with a new Adam that has no past. */
async function take_step(example = null) {
  const [mine, began] = [learner, performance.now()];
  const alone = { optimizer: new Adam(mine.values, mine.grads), rate: RATE_ALONE };
  stepping = true;
  const work = example ? mine.step([example], alone) : mine.step();
  const loss = await in_slices(work, () => mine !== learner);
  stepping = false;
  if (mine !== learner || loss === undefined || example) return;
  mine.seconds += (performance.now() - began) / 1000;
  mine.losses.push(loss);
  view.step = mine.optimizer.t;
}

/** Learn until it is solved, or paused, or at a step. */
async function practise(until = Infinity) {
  const mine = learner;
  while (going && mine === learner && mine.optimizer.t < until) {
    await take_step();
    if (mine.optimizer.t % CHECKED_EVERY === 0 && !mine.solved) {
      if (await in_slices(mine.is_solved(), () => mine !== learner)) {
        mine.solved = mine.optimizer.t;
        going = until !== Infinity;
      }
    }
    await breathe();
    if (mine.optimizer.t % DRAWN_EVERY === 0 || is_slow) draw_learn();
    if (is_slow && going) await new Promise((resume) => setTimeout(resume, SLOW));
  }
  if (mine !== learner) return;
  going = false;
  draw_learn();
  write_address();
}

export function learn_on(until) {
  if (going || stepping) return;
  [going, is_back, before_step] = [true, false, null];
  practice = practise(until);
  draw_learn();
}

/** Pause, and wait until the last step is taken. */
export async function rest() {
  going = false;
  await practice;
}

/** Begin anew with a task and a seed. */
async function learn_anew(change) {
  await rest();
  [is_back, chosen] = [false, { ...chosen, query: 0 }];
  Object.assign(view, change, { step: 0 });
  begin_learner();
  draw_learn();
  write_address();
}

/** A step of a batch; while the way back is shown, a step on this list alone. */
async function one_step() {
  await rest();
  if (stepping) return;
  const example = learner.task.example(list_typed());
  const { shares, whole } = pass_of(example);
  before_step = is_back ? { shares, whole } : null;
  practice = take_step(is_back ? example : null);
  await practice;
  draw_learn();
  write_address();
}

/** Turn the arrows round, to the row and head that the loss would change most. */
export async function turn_round() {
  await rest();
  if (stepping) return;
  [is_back, before_step] = [!is_back, null];
  if (is_back) chosen = { ...chosen, ...most_wanted() };
  draw_learn();
}

// ---- what the model makes of the list ------------------------------------------------------

/** Forward, loss and backward with the right answer, as in a step of the training. */
function pass_of(example) {
  learner.optimizer.zero_grad();
  const found = learner.learn_from(example, example.targets.length);
  const shares = example.targets.map((id, t) => Math.exp(found.log_p.row(t)[id]));
  return { ...found, ...example, shares, whole: shares.reduce((a, b) => a * b) };
}

/** What it writes itself, and the forward pass that wrote it. */
function answer_of({ src, targets }) {
  const { bos, eos } = ENDS;
  const steps = [...greedy_decode(learner.model, src, { bos, eos, max_len: targets.length })];
  const written = steps.map(({ token }) => token);
  const tgt = [bos, ...written.slice(0, -1)];
  return { written, tgt, src, cache: learner.model.forward(src, tgt)[1] };
}

/** The attention of a pass that is shown, with its keys and queries. */
function attention_of({ cache, src, tgt }, kind = chosen.kind) {
  const stack = kind === "encoder_self" ? "encoder" : "decoder";
  const name = kind === "cross" ? "cross_attention" : "self_attention";
  const { attention } = cache[stack].layers.at(-1)[name];
  return { ...attention, keys: kind === "decoder_self" ? tgt : src };
}

/** The head and the row that the gradient of the scores would change most. */
function most_wanted() {
  const { grad_scores } = attention_of(pass_of(learner.task.example(list_typed())));
  let [found, most] = [{ head: 0, query: 0 }, 0];
  grad_scores.forEach((grad, head) => {
    for (let query = 0; query < grad.rows; query++) {
      const total = sum(grad.row(query).map(Math.abs));
      if (total > most) [found, most] = [{ head, query }, total];
    }
  });
  return found;
}

// ---- drawing -------------------------------------------------------------------------------

export function draw_learn() {
  if (!learner || stepping || view.mode !== "learn") return;
  const example = learner.task.example(list_typed());
  const pass = pass_of(example);
  const shown_pass = is_back ? pass : answer_of(example);
  const found = attention_of(shown_pass);
  const rows = found.weights[0].rows;
  const state = { ...found, example, pass, shown_pass, query: within(chosen.query, rows) };
  draw_learn_words();
  refill(element("learn-picture"), learn_picture(state));
  element("learn-sure").replaceChildren(sure_picture(pass));
  element("learn-loss").replaceChildren(loss_picture());
  refill(element("learn-maps"), ...found.weights.map((_, head) => learn_map(state, head)));
  fill(element("learn-says"), is_back ? [...said_of_step(pass), ...wanted_by(state)] : said(state));
}

function draw_learn_words() {
  const { optimizer, seconds, solved, losses } = learner;
  const values = { batches: optimizer.t, lists: optimizer.t * BATCH };
  element("learn-heading").textContent = say("learn_heading", values);
  const tasks = Object.keys(TASKS).map((name) => {
    const attributes = { value: name, selected: name === view.task };
    return make("option", attributes, say(`learn_${name}`));
  });
  fill(element("learn-task"), tasks);
  element("learn-task").value = view.task;
  element("learn-kind").value = chosen.kind;
  const pace = losses.length ? seconds / losses.length : 0;
  const size = grouped(learner.values.length);
  const about = [say("learn_about", { size, seed: view.seed })];
  about.push(
    say(data.learns.own ? "learn_own" : "learn_small", { count: grouped(data.parameters) }),
  );
  if (solved) about.push(say("learn_solved", { steps: solved, seconds: Math.round(seconds) }));
  else if (pace) {
    const times = { pace: Math.round(1000 * pace), minute: Math.round(300 * pace) };
    about.push(say("learn_pace", times));
  }
  element("learn-loss-now").textContent = losses.length ? digits(losses.at(-1)) : "";
  element("learn-about").textContent = about.join(say("gap"));
  element("learn-go").textContent = say(going ? "learn_pause" : "learn_go");
  element("learn-back").setAttribute("aria-pressed", is_back);
  element("learn-slow").setAttribute("aria-pressed", is_slow);
  element("learn-step").textContent = say(is_back ? "learn_step_list" : "learn_step");
  element("learn-sure-key").textContent = say(before_step ? "learn_sure_both" : "learn_sure_now");
  element("learn-key").textContent = say(is_back ? "learn_key_back" : "learn_key");
  element("learn-break").hidden = !solved;
}

/** A query as a sentence and the drawing name it: what is due there, or what is written. */
const query_ids = ({ example, shown_pass }) =>
  chosen.kind === "encoder_self" ? example.src : is_back ? example.targets : shown_pass.written;

/** The list above, the answer below, and the curves of the chosen head. */
function learn_picture(state) {
  const { keys, weights, grad_scores, example, pass, query } = state;
  const ids = query_ids(state);
  const reads = chosen.kind === "encoder_self";
  const query_named = (id, i) => {
    const styles = [i === query && " lit", !reads && id !== example.targets[i] && " wrong-one"];
    const named = { class: `query${styles.filter(Boolean).join("")}`, id: `learn-query-${i}` };
    return { name: learn_name(id), ...named, act: () => choose_row(i) };
  };
  const rows = [keys.map((id) => ({ name: learn_name(id), class: "key" })), ids.map(query_named)];
  const second = reads ? "learn_list" : is_back ? "learn_right" : "learn_writes";
  const room = { signs: 3, top: 30, gap: innerWidth < 800 ? 150 : 325, below: 34 };
  const named = { name: say("learn_picture"), ...room };
  const drawing = two_rows(element("learn-picture"), rows, ["learn_list", second], named);
  const { svg, curves, x, ends } = drawing;
  const map = weights[within(chosen.head, weights.length)];
  const grads = is_back && grad_scores[within(chosen.head, weights.length)];
  const strongest = grads ? Math.max(...grads.data.map(Math.abs), 1e-12) : 1;
  for (const i of [...ids.keys()].sort((a, b) => (a === query) - (b === query)))
    map.row(i).forEach((weight, j) => {
      const lit = i === query;
      const draw_one = (style, wide, opacity = null) =>
        curves.append(curve(drawing, i, j, { class: style, "stroke-width": wide, opacity }));
      if (weight >= 0.02)
        draw_one(lit && !is_back ? "curve lit" : "curve", 0.5 + 13 * weight, 0.3 + 0.6 * weight);
      const wanted = grads && lit ? -grads.row(i)[j] / strongest : 0;
      if (Math.abs(wanted) <= 0.06) return;
      draw_one(wanted > 0 ? "curve more" : "curve less", 1.5 + 9 * Math.abs(wanted));
      const place = { x: x[0][j], y: 20, "text-anchor": "middle" };
      const [style, sign] = wanted > 0 ? ["more", "learn_more"] : ["less", "learn_less"];
      if (Math.abs(wanted) > 0.2)
        svg.append(drawn("text", { ...place, class: `wanted ${style}` }, say(sign)));
    });
  const losses = is_back && !reads ? pass.losses : [];
  const y = ends[1] + 62;
  losses.forEach((loss, t) =>
    svg.append(drawn("text", { x: x[1][t], y, class: "loss-of" }, digits(loss))),
  );
  const label = { x: 2, y, class: "flow-label", "font-size": drawing.letters };
  if (losses.length) svg.append(drawn("text", label, say("learn_losses")));
  return svg;
}

function choose_row(query, head = chosen.head) {
  chosen = { ...chosen, query, head };
  draw_learn();
}

/** A map of a head; on the way back, with dots where the loss wants more or less. */
function learn_map(state, head) {
  const { weights, grad_scores, keys, query } = state;
  const { rows, columns, data: numbers } = weights[head];
  const ids = query_ids(state);
  const [cell, left, top] = [22, 30, 24];
  const grads = is_back && grad_scores[head].data;
  const most =
    grads && Math.max(...grad_scores.flatMap(({ data }) => [...data].map(Math.abs)), 1e-12);
  const parts = [];
  numbers.forEach((weight, n) => {
    const [i, j] = [Math.floor(n / columns), n % columns];
    if (chosen.kind === "decoder_self" && j > i) return;
    const place = { x: left + j * cell, y: top + i * cell };
    const fill = css(weight_colour(weight));
    parts.push(drawn("rect", { ...place, width: cell - 1, height: cell - 1, fill }));
    const wanted = grads ? -grads[n] / most : 0;
    if (Math.abs(wanted) < 0.02) return;
    const dot_at = { cx: place.x + cell / 2 - 0.5, cy: place.y + cell / 2 - 0.5 };
    const r = (1.5 + 8 * Math.sqrt(Math.abs(wanted))).toFixed(1);
    parts.push(drawn("circle", { ...dot_at, r, class: wanted > 0 ? "more" : "less" }));
  });
  const text = (x, y, words) => drawn("text", { x, y, "text-anchor": "middle" }, words);
  const short = (id) =>
    id < ENDS.first ? [...learn_name(id)].slice(0, 3).join("") : learn_name(id);
  keys.forEach((id, j) => parts.push(text(left + (j + 0.5) * cell, top - 7, short(id))));
  ids.slice(0, rows).forEach((id, i) => parts.push(text(14, top + (i + 0.7) * cell, short(id))));
  const on = head === within(chosen.head, weights.length);
  if (on) {
    const frame = { x: left - 1.5, y: top + query * cell - 1.5, height: cell + 2 };
    parts.push(drawn("rect", { ...frame, width: columns * cell + 2, class: "row-now" }));
  }
  const size = [left + columns * cell + 4, top + rows * cell + 4];
  const drawing = drawn("svg", { viewBox: `0 0 ${size.join(" ")}`, width: size[0] }, ...parts);
  const name = say("head", { head: head + 1 });
  const pressed = { id: `learn-head-${head}`, class: "map", "aria-pressed": on, type: "button" };
  const onclick = (event) => {
    const { top: from, height } = drawing.getBoundingClientRect();
    const row = Math.floor((((event.clientY - from) / height) * size[1] - top) / cell);
    choose_row(row >= 0 && row < rows ? row : query, head);
  };
  return make("button", { ...pressed, onclick }, make("span", {}, name), drawing);
}

/** The probability of each right token, and before a step on this list. */
function sure_picture({ shares, targets }) {
  const rows = targets.map((id, t) => {
    const both = [...(before_step ? [before_step.shares[t]] : []), shares[t]];
    return [learn_name(id), both, both.map((share) => digits(share)).join(" → ")];
  });
  return bars_of(rows);
}

/** The loss of each step, and the lowest that smoothed targets allow. */
function loss_picture() {
  const { losses, criterion } = learner;
  const [width, height, left] = [420, 100, 34];
  const rest_of = criterion.eps_ls / (ENDS.first + ENDS.symbols);
  const due = 1 - criterion.eps_ls + rest_of;
  const classes = ENDS.first + ENDS.symbols;
  const floor = -due * Math.log(due) - (classes - 1) * rest_of * Math.log(rest_of);
  const most = Math.max(3, ...losses.slice(0, 50));
  const y = (loss) => 6 + (height - 28) * (1 - Math.min(loss, most) / most);
  const x = (t) => left + ((width - left - 8) * t) / Math.max(losses.length - 1, 50);
  const points = losses.map((loss, t) => `${x(t).toFixed(1)},${y(loss).toFixed(1)}`);
  const line = (at_y, style) =>
    drawn("line", { x1: left, x2: width - 8, y1: at_y, y2: at_y, class: style });
  const text = (place, words, style = null) => drawn("text", { ...place, class: style }, words);
  const end = { x: width - 8, y: height - 4, "text-anchor": "end" };
  return drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("learn_loss") },
    line(y(0), "axis"),
    line(y(floor), "floor"),
    text(
      { x: width / 2, y: height - 4, "text-anchor": "middle" },
      `┄ ${say("learn_floor")}`,
      "low",
    ),
    text({ x: 0, y: y(most) + 8 }, digits(most, 1)),
    text({ x: 0, y: y(0) }, "0"),
    text({ x: left, y: height - 4 }, say("learn_begin")),
    text(end, say("learn_end", { step: learner.optimizer.t })),
    drawn("polyline", { points: points.join(" "), class: "loss-line" }),
  );
}

// ---- the sentences -------------------------------------------------------------------------

/** Whether the answer is right, and if not, where. */
function said({ example, shown_pass }) {
  const [right, now] = [example.targets, shown_pass.written];
  const count = right.filter((id, t) => id !== now[t]).length;
  const values = { count, all: right.length, answer: now.map(learn_name).join(" ") };
  const of = going ? "learn_says_going" : count ? "learn_says_wrong" : "learn_says_right";
  return [say(of, values)];
}

/** Keys as a sentence names them: “4” (place 3), and the end. */
function named_keys(list) {
  const one = ({ id, place }) =>
    id < ENDS.first ? `“${learn_name(id)}”` : say("learn_named", { token: learn_name(id), place });
  return list.map(one).join(say("why_and"));
}

/** "The loss wants this row to look more at 5 and less at 2." */
function wanted_by(state) {
  const { grad_scores, keys, query } = state;
  const row = grad_scores[within(chosen.head, grad_scores.length)].row(query);
  const all = [...row].map((grad, j) => ({ wanted: -grad, id: keys[j], place: j + 1 }));
  if (chosen.kind === "decoder_self") all.forEach((one, j) => (one.place = j));
  const most = Math.max(...all.map(({ wanted }) => Math.abs(wanted)));
  const strong = (sign) =>
    all
      .filter(({ wanted }) => sign * wanted > 0.3 * most)
      .sort((a, b) => sign * (b.wanted - a.wanted))
      .slice(0, 2);
  const values = { token: learn_name(query_ids(state)[query]), head: chosen.head + 1 };
  if (most < 1e-6) return [say("learn_wants_nothing", values)];
  const [more, less] = [strong(1), strong(-1)].map(named_keys);
  const of = (style, text) => make("b", { class: style }, text);
  const parts = { more: of("more", more), less: of("less", less) };
  const key = !less ? "learn_wants_more" : !more ? "learn_wants_less" : "learn_wants";
  const first = say(chosen.kind === "encoder_self" ? "learn_wants_for" : "learn_wants_to", values);
  return [first, ...say_with(key, parts)];
}

/** By how much the right answer became likelier. */
function said_of_step({ whole }) {
  if (!before_step) return [];
  const times = whole / before_step.whole;
  const number = (share) =>
    share < 0.01 ? say("one_in", { count: grouped(Math.round(1 / share)) }) : digits(share);
  const values = { before: number(before_step.whole), after: number(whole) };
  const key = times >= 1 ? "learn_likelier" : "learn_unlikelier";
  const says = say(key, { ...values, times: digits(times >= 1 ? times : 1 / times) });
  return [make("strong", {}, says), say("gap")];
}

/** Buttons and choices of this part of the page. */
export function listen_to_learn(on) {
  on("learn-go", "click", () => (going ? rest() : learn_on()));
  on("learn-step", "click", one_step);
  on("learn-slow", "click", () => {
    is_slow = !is_slow;
    draw_learn(); // presses the button
    if (is_slow) learn_on();
  });
  on("learn-back", "click", turn_round);
  on("learn-again", "click", () => learn_anew({}));
  on("learn-seed", "click", () => learn_anew({ seed: (view.seed % 999) + 1 }));
  on("learn-task", "change", () => learn_anew({ task: element("learn-task").value }));
  on("learn-kind", "change", () => {
    chosen = { ...chosen, kind: element("learn-kind").value, query: 0 };
    if (is_back && !stepping) chosen = { ...chosen, ...most_wanted() };
    draw_learn();
  });
  on("learn-break", "click", () => choose({ mode: "break" }));
}

/** Show the model of an address: it learns up to the step that the address names. */
export async function open_learn() {
  if (learner) return;
  const { step } = view;
  await rest();
  begin_learner();
  draw_learn();
  if (step) learn_on(step);
}
