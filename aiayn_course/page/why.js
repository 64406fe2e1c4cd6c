"use strict";
// Why is this weight what it is?

/** How a score comes about: names of the columns, a row of numbers for each term, and their sum. */
function terms_of(cache, head, query, key) {
  const [q, k] = [cache.Q[head].row(query), cache.K[head].row(key)];
  const names = ["why_query", "why_key", "why_product"].map((name) => say(name));
  return { names, rows: [...q].map((x, n) => [x, k[n], x * k[n]]), sum: dot(q, k) };
}

/** The reason of the chosen cell, as a sentence and a picture. */
function draw_why() {
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

/** A token as a drawing names it, among other words. */
const bare = (token) => make("bdi", {}, plain_name(token));

/** The sentence: who looks at whom, how much, and why. */
function reason_of(cell) {
  const { thought, queries, keys, query, key, row, weight, low } = cell;
  const quoted = (of) => (token, place) => {
    const words = place ? counted(of) : "quoted_start";
    return make("strong", {}, ...say_with(words, { token: bare(token), place }));
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
function score_picture(cell) {
  const { terms, weight } = cell;
  const columns = terms.names.map((_, n) => terms.rows.map((row) => row[n]));
  const marks = cell.features.map((n) => {
    const mark = make("span", {}, `${n + 1}`);
    mark.style.gridColumn = n + 1;
    return mark;
  });
  const features = make("div", { class: "features", "aria-hidden": "true" }, ...marks);
  features.style.setProperty("--count", terms.rows.length);
  const steps = [...score_steps(cell), [say("why_softmax"), weight]];
  const chain = rich(steps.map(([name, number]) => `${name} = ${digits(number)}`).join(" → "));
  return make(
    "div",
    {},
    make(
      "div",
      { class: "strips" },
      ...columns.flatMap((column, n) => strip_row(terms.names[n], column)),
      make("span"),
      features,
    ),
    make("p", { class: "chain" }, ...chain),
  );
}

/** [name, number] of each step from the sum of the terms to the score. */
function score_steps({ thought, cache, head, query, key, terms }) {
  const [score, d_k] = [cache.scores[head].row(query)[key], cache.Q[head].columns];
  const steps = [[say("why_sum"), terms.sum]];
  if (thought.changes.factor === 1) steps.push([`× 1/√${d_k}`, score]);
  return steps;
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
