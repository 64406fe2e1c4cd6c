// Why is this weight what it is, and what was a written token made of?

import { dot } from "./matrix.js";
import { shares } from "./shares.js";
import { START, allowed, attended, breathe, element, has_source, heaviest } from "./thinking.js";
import { names, shown, thought_now, view } from "./thinking.js";
import { digits, fill, make, plain_name, refill, rich, say, say_with } from "./drawing.js";
import { strip, term, token_element } from "./drawing.js";
import { written_by } from "./flow.js";
import { is_silent } from "./maps.js";
import { best_place, choose } from "./page.js";

// ---- a weight -------------------------------------------------------------------------------------

/** How a score comes about: names of the columns, a row of numbers for each term, and their sum. */
function terms_of(cache, head, query, key) {
  const [q, k] = [cache.Q[head].row(query), cache.K[head].row(key)];
  const names = ["why_query", "why_key", "why_product"].map((name) => say(name));
  return { names, rows: [...q].map((x, n) => [x, k[n], x * k[n]]), sum: dot(q, k) };
}

/** The reason of the chosen cell, as a sentence and a picture. */
export function draw_why() {
  const cell = cell_of(thought_now());
  fill(element("why-says"), reason_of(cell));
  element("why-picture").replaceChildren(score_picture(cell), value_picture(cell));
}

/** The chosen cell of a model. */
function cell_of(thought) {
  const found = attended(thought);
  const { query, key, head } = view;
  const { cache } = found;
  const terms = terms_of(cache, head, query, key);
  const row = cache.weights[head].row(query);
  const free = keys_of(thought, query, found.keys);
  const low = row[key] < 1 / free.length - 1e-9; // less than an even share
  const sign = low ? -1 : 1;
  const order = terms.rows.map((row, n) => [sign * row.at(-1), n]).sort((a, b) => b[0] - a[0]);
  const most = low && terms.sum > 0 ? 0 : 2; // they agree, only less than with other keys
  const features = order.slice(0, most).filter(([term]) => term > 0);
  return {
    ...{ ...found, thought, query, key, head, terms, row, low, weight: row[key] },
    // those that speak most for a key, or against a low one
    features: features.map(([, n]) => n).sort((a, b) => a - b),
    masked: !free.includes(key),
  };
}

/** The places of the keys that a query may look at. */
function keys_of(thought, query, keys) {
  const free = allowed(thought);
  return [...keys.keys()].filter((key) => free(query, key));
}

/** The sentence: who looks at whom, how much, and why. */
function reason_of(cell) {
  const { thought, queries, keys, query, key, row, weight, low } = cell;
  const quoted = (of) => (token, place) => {
    const words = !place ? "quoted_start" : has_source ? `quoted_${of}` : "quoted";
    return make("strong", {}, ...say_with(words, { token: token_element(token), place }));
  };
  // without the mask the rows of the answer are read again: they are not those that wrote
  const again = view.kind === "decoder_self" && !thought.changes.causal;
  const named = quoted(view.kind === "decoder_self" ? "answer" : "source");
  const reader = quoted(view.kind === "encoder_self" ? "source" : "answer");
  const writes = view.kind === "encoder_self" || again ? null : written_by(thought)[query];
  const parts = {
    query: reader(writes ?? queries[query], again ? query : query + 1),
    key: named(keys[key], place_of(key)),
    weight: make("strong", {}, digits(weight)),
  };
  const subject = writes === null ? "why_reads" : "why_writes";
  if (cell.masked) return say_with(`${subject}_masked`, parts);
  if (is_silent(thought)) return say_with("why_would", parts);
  const list = cell.features.map((n) => n + 1).join(say("why_and"));
  const features = say(cell.features.length > 1 ? "why_features" : "why_feature", { list });
  const alone = keys_of(thought, query, keys).length === 1;
  const reason = alone ? "why_alone" : low ? "why_agree_least" : "why_agree";
  const end = rich(list || alone ? say(reason, { features }) : say("why_stop"));
  const best = heaviest(row);
  const looks = { key: named(keys[best], place_of(best)), weight: digits(row[best]) };
  if (weight < row[best]) end.push(...say_with("why_most", looks));
  const says = say_with(low ? `${subject}_hardly` : subject, parts);
  return [...says, ...end];
}

/** Keys are counted from 1; of what is written the start has no place. */
const place_of = (key) => key + (view.kind === "decoder_self" && has_source ? 0 : 1);

/** A row of a picture: its name, and a vector as a strip of colours. */
const strip_row = (name, vector, most) => [make("span", {}, name), strip(vector, most)];

/** What the score is made of, feature by feature, and on to the weight. */
function score_picture({ thought, cache, head, query, key, terms, weight, features }) {
  const columns = terms.names.map((_, n) => terms.rows.map((row) => row[n]));
  const marks = features.map((n) => {
    const mark = make("span", {}, `${n + 1}`);
    mark.style.gridColumn = n + 1;
    return mark;
  });
  const most = make("div", { class: "features", "aria-hidden": "true" }, ...marks);
  most.style.setProperty("--count", terms.rows.length);
  const [score, d_k] = [cache.scores[head].row(query)[key], cache.Q[head].columns];
  const scaled = thought.changes.factor === 1 ? [[`× 1/√${d_k}`, score]] : [];
  const steps = [[say("why_sum"), terms.sum], ...scaled, [say("why_softmax"), weight]];
  const chain = rich(steps.map(([name, number]) => `${name} = ${digits(number)}`).join(" → "));
  return make(
    "div",
    {},
    make(
      "div",
      { class: "strips" },
      ...columns.flatMap((column, n) => strip_row(terms.names[n], column)),
      make("span"),
      most,
    ),
    make("p", { class: "chain" }, ...chain),
  );
}

/** The value of the key, what of it is added, and the whole output of the head, in one scale. */
function value_picture({ cache, head, query, key }) {
  const value = cache.V[head].row(key);
  const weights = cache.kept[head].row(query); // those of a muted head are zero
  const added = value.map((x) => weights[key] * x);
  const out = value.map((_, n) =>
    weights.reduce((sum, w, j) => sum + w * cache.V[head].row(j)[n], 0),
  );
  const most = Math.max(...[value, out].map((x) => Math.max(...x.map(Math.abs))));
  const rows = [
    ["why_value", value],
    ["why_added", added],
    ["why_out", out],
  ];
  const strips = rows.flatMap(([name, vector]) => strip_row(say(name), vector, most));
  return make("div", { class: "strips" }, ...strips);
}

// ---- what a written token was made of -------------------------------------------------------------

let made_of_round = 0;

/** Wait until what was drawn is seen. */
const painted = () => new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));

/** Say why the chosen token was written, and if the panel is open, draw the shares of all. */
export async function draw_shares() {
  const [mine, thought] = [++made_of_round, thought_now()];
  const late = () => mine !== made_of_round || thought !== thought_now();
  await painted();
  if (late()) return;
  const reads_only = view.kind === "encoder_self";
  fill(element("because"), reads_only ? [say("shares_encoder")] : why_written(thought));
  if (!element("shares").open) return;
  const [step, chosen] = [shown(thought), best_place(thought)];
  const words = names(written_ids(thought)).map(token_element);
  for (const n of words.keys()) {
    await breathe(); // typing never waits
    if (late()) return;
    shares_at(thought, n);
  }
  const rows = [names(thought.src), names(step.tgt)];
  const { source } = step.shares[chosen];
  const table = shares_table(step.shares, words, source.length ? rows : [[], rows[1]], chosen);
  refill(element("shares-table"), table);
}

/** What the forward pass that is shown has written, the next token last. */
export function written_ids(thought) {
  const { tgt, token } = shown(thought);
  return [...tgt.slice(1), token];
}

/** The shares of a token when it was written, before what stands after it; computed once. */
function shares_at(thought, place) {
  const step = shown(thought);
  if (step.shares[place]) return step.shares[place];
  const found = shares(thought.model, step.cache, place, written_ids(thought)[place]);
  const later = new Array(step.tgt.length - found.target.length).fill(0);
  step.shares[place] = { ...found, target: [...found.target, ...later] };
  return step.shares[place];
}

/** A share with its sign. */
const signed = (number) => (number < 0 ? "" : "+") + digits(number, 1);

/** Why a token was written: what spoke most for it of all that was read, and what half as much. */
function why_written(thought, place = best_place(thought)) {
  const { source, target, value } = shares_at(thought, place);
  const strong = (text) => make("strong", {}, token_element(text));
  const word = strong(names(written_ids(thought))[place]);
  const of = (list, ids, key) =>
    list.map((share, i) => {
      const [token] = names([ids[i]]);
      const from = say_with(key(i)[0], { token: strong(token), place: `${key(i)[1]}` });
      return { share, name: plain_name(token), from: make("span", {}, ...from) };
    });
  const earlier = (i) =>
    has_source ? [i ? "quoted_answer" : "spoke_start", i] : ["quoted", i + 1];
  const all = [
    ...of(source, thought.src, (i) => ["quoted_source", i + 1]),
    ...of(target, shown(thought).tgt, earlier),
  ].sort((a, b) => b.share - a.share);
  const [first, second] = all;
  if (first.share <= 0) return say_with("shares_none", { word });
  const told = second?.share >= first.share / 2 ? [first, second] : [first];
  const adds = ({ name, share }) => say("share_of", { token: name, number: signed(share) });
  const parts = told.map(adds).join(say("gap"));
  const score = term(say("shares_score"), say("term_share", { parts, value: signed(value) }));
  const is_most = first.share > value / 2 && first.share <= value;
  const part = say(is_most ? "shares_most" : "shares_largest");
  return [
    ...say_with("shares_says", { word, part, score, from: first.from }),
    ...told.slice(1).flatMap((one) => say_with("shares_and", one)),
    ...said_one_head(thought, place),
    say("why_stop"),
  ];
}

/** That the curves lead to other tokens than the sentence names. */
function said_one_head(thought, place = best_place(thought)) {
  const { cache, keys } = attended(thought);
  if (view.kind === "decoder_self" && has_source) return [say("shares_own")];
  if (view.kind !== "cross" || is_silent(thought)) return [];
  const { source, target } = shares_at(thought, place);
  const all = [...source, ...target];
  const looks = heaviest(cache.weights[view.head].row(place));
  const [first, second] = [...all].sort((a, b) => b - a);
  if (all[looks] >= Math.max(first / 2, second)) return []; // it is named
  return [say("shares_one_head", { token: plain_name(keys[looks]) })];
}

/** A row of bars for each written token: up speaks for it, down against it. */
function shares_table(all, words, [source, target], chosen) {
  const list = (one) => [...one.source, ...one.target, one.biases];
  const most = Math.max(...all.flatMap(list).map(Math.abs), 1e-9);
  const cell = (share, i, on) => {
    const up = make("div", { class: share < 0 ? "against" : null });
    up.style.height = `${(50 * Math.abs(share)) / most}%`;
    const number = make("span", {}, on && Math.abs(share) >= 0.05 ? signed(share) : "");
    const first = i === source.length || i === source.length + target.length ? "first" : null;
    const name = { title: signed(share), "aria-label": signed(share) };
    return make("td", { class: first, ...name }, ...(share ? [up, number] : []));
  };
  const rows = all.map((one, n) => {
    const cells = list(one).map((share, i) => cell(share, i, n === chosen));
    const attributes = { class: n === chosen ? "on" : null, onclick: () => choose_written(n) };
    return make("tr", attributes, make("th", { scope: "row" }, words[n]), ...cells);
  });
  const group = (key, { length }) =>
    length ? [make("th", { scope: "colgroup", colspan: length }, say(key))] : [];
  const groups = [...group("shares_source", source), ...group("shares_target", target)];
  const top = [...[...source, ...target].map(token_element), say("shares_biases")];
  const heads = top.map((name) => make("th", { scope: "col" }, name));
  return make(
    "table",
    { class: "shares" },
    make("thead", {}, make("tr", {}, make("td"), ...groups), make("tr", {}, make("td"), ...heads)),
    make("tbody", {}, ...rows),
  );
}

/** Choose a written token: the queries are those of the decoder. */
export function choose_written(query) {
  choose({ kind: view.kind === "encoder_self" ? START.kind : view.kind, query, key: null });
}
