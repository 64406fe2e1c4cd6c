"use strict";
// What a written token was made of, drawn: a row of bars for each, and a sentence for the chosen.

let made_of_round = 0;

/** Wait until what was drawn is seen. */
const painted = () => new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));

/** Say why the chosen token was written, and if the panel is open, draw the shares of all. */
async function draw_shares() {
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
function written_ids(thought) {
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
  const strong = (text) => make("strong", {}, bare(text));
  const word = strong(names(written_ids(thought))[place]);
  const of = (list, ids, key) => {
    const first = (share, i) =>
      // without positions equal tokens have the same share
      list.findIndex((other, j) => ids[j] === ids[i] && Math.abs(other - share) < 1e-6);
    const parts_of = (share, i) => {
      const each = list.findLastIndex((_, j) => first(list[j], j) === i) > i;
      const from = { token: strong(names(ids)[i]), place: `${key(i)[1]}` };
      const words = say_with(each ? "spoke_each" : key(i)[0], from);
      return { share, name: plain_name(names(ids)[i]), from: make("span", {}, ...words) };
    };
    return list.map(parts_of).filter(({ share }, i) => first(share, i) === i);
  };
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
function choose_written(query) {
  choose({ kind: view.kind === "encoder_self" ? START.kind : view.kind, query, key: null });
}
