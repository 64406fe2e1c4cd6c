"use strict";
// What a written token was made of, drawn: a row of bars for each, and a sentence for the chosen.

let made_of_round = 0;

/** Say what the chosen token was made of, and if the panel is open, draw the shares of all. */
async function draw_shares() {
  const [mine, asked] = [++made_of_round, round];
  const thought = thoughts[view.side];
  const step = shown(thought);
  const written = [...step.tgt.slice(1), step.token];
  step.shares ??= [];
  const chosen = best_place(thought);
  const open = element("shares").open;
  for (const n of open ? written.keys() : [chosen]) {
    if (step.shares[n]) continue;
    await breathe(); // typing never waits
    if (mine !== made_of_round || asked !== round) return;
    step.shares[n] = shares(thought.model, step.cache, n, written[n]);
  }
  const words = names(written).map(token_element);
  const rows = [names(thought.src), names(step.tgt)];
  const { source, target, biases, value } = step.shares[chosen];
  const [main, tokens] = source.length ? [source, rows[0]] : [target, rows[1]];
  const sentence = made_of_sentence(words[chosen].cloneNode(true), tokens, main);
  fill(element("shares-says"), [...side_name(view.side, "side_colon"), ...sentence]);
  if (!open) return;
  const sum = (list) => signed(list.reduce((a, b) => a + b, 0));
  const numbers = { value: signed(value), source: sum(source), target: sum(target) };
  const words_of_sum = source.length ? "shares_sum" : "shares_sum_alone";
  element("shares-sum").textContent = say(words_of_sum, { ...numbers, biases: signed(biases) });
  const table = shares_table(step.shares, words, source.length ? rows : [[], rows[1]], chosen);
  keep_focus(element("shares-table"), () => element("shares-table").replaceChildren(table));
}

/** A share with its sign. */
const signed = (number) => (number < 0 ? "" : "+") + digits(number, 1);

/** The one or two tokens that gave the most to a word. */
function made_of_sentence(word, tokens, numbers) {
  const order = [...numbers.keys()].sort((a, b) => numbers[b] - numbers[a]).slice(0, 2);
  const most = order.filter((i) => numbers[i] > 0.1 * Math.max(numbers[order[0]], 0));
  const strong = (...parts) => make("strong", {}, ...parts);
  if (!most.length) return say_with("shares_none", { word: strong(word) });
  const list = most.flatMap((i, n) => [
    n ? say("shares_and") : "",
    strong(token_element(tokens[i]), ` (${signed(numbers[i])})`),
  ]);
  return say_with("shares_says", {
    word: strong(word.cloneNode(true)),
    list: make("span", {}, ...list),
  });
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
function choose_written(query, side = view.side) {
  const kind = view.kind === "encoder_self" ? START.kind : view.kind;
  choose({ kind, side, query, key: null });
}
