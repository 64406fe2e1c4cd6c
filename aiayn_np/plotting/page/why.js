"use strict";
// Why is this weight what it is? And: what happens to a token on its way through the model?

/** How a score comes about: names of the columns, a row of numbers for each term, and their sum. */
function terms_of(attention, cache, head, query, key) {
  const [q, k] = [cache.Q[head].row(query), cache.K[head].row(key)];
  const score = attention.score;
  const products = (a, b, names) => {
    const rows = [...a].map((x, n) => [x, b[n], x * b[n]]);
    return { names, rows, sum: rows.reduce((total, row) => total + row[2], 0) };
  };
  if (score instanceof AdditiveScore) {
    const [x, y] = [
      cache.Q[head].times(score.maps(head)[0]).row(query),
      cache.K[head].times(score.maps(head)[1]).row(key),
    ];
    const rows = [...x].map((a, n) => [
      a,
      y[n],
      Math.tanh(a + y[n]),
      Math.tanh(a + y[n]) * score.v.row(head)[n],
    ]);
    const names = ["why_x", "why_y", "why_tanh", "why_term"].map((name) => say(name));
    return { names, rows, sum: rows.reduce((total, row) => total + row[3], 0) };
  }
  const names = ["why_query", "why_key", "why_product"].map((name) => say(name));
  if (!(score instanceof GeneralScore)) return products(q, k, names);
  const mapped = cache.Q[head].times(score.W[head]).row(query);
  return products(mapped, k, [say("why_mapped"), ...names.slice(1)]);
}

function draw_why() {
  const thought = thoughts[view.side];
  const { place, cache, queries, keys } = attended(thought);
  const [query, key, head] = [view.query, view.key, view.head];
  const weight = cache.weights[head].row(query)[key];
  const free = allowed(thought)(query, key);
  const quoted = (token, i) =>
    make("strong", {}, ...say_with("quoted", { token: token_element(token), place: `${i + 1}` }));
  const parts = {
    query: quoted(queries[query], query),
    key: quoted(keys[key], key),
    weight: make("strong", {}, digits(weight)),
  };
  const words = say_with(free ? "why_says" : "why_masked", parts);
  fill("why-says", [...words, ...side_name(view.side, "side_brackets")]);
  element("why-terms").replaceChildren(terms_table(place.attention, cache, head, query, key));
  const share = { attention: place.attention, cache, keys, thought };
  element("why-row").replaceChildren(row_table(share, head, query, key));
  draw_values(cache, head, query, key);
}

/** The score as a table: its terms, their sum, the scale and the bias. */
function terms_table(attention, cache, head, query, key) {
  const { names, rows, sum } = terms_of(attention, cache, head, query, key);
  const score = cache.scores[head].row(query)[key];
  const bias = attention.score?.bias?.bias(head, query, key) ?? 0;
  const empty = names.slice(1).map(() => "");
  const foot = [{ cells: [say("why_sum"), ...empty, digits(sum)] }];
  const scale = (score - bias) / sum;
  if (Math.abs(scale - 1) > 1e-9) {
    foot.push({
      cells: [say("why_scale", { scale: digits(scale, 4) }), ...empty, digits(score - bias)],
    });
  }
  if (bias)
    foot.push({ cells: [say("why_bias", { distance: key - query }), ...empty, digits(bias)] });
  foot.push({ cells: [say("why_score"), ...empty, digits(score)] });
  const body = rows.map((row, n) => ({ cells: [String(n + 1), ...row.map((x) => digits(x))] }));
  return make_table(say("why_terms"), ["", ...names], body, foot);
}

/** The row of the query: score, weight, and the length of what the value adds. */
function row_table({ cache, keys, thought }, head, query, chosen) {
  const free = allowed(thought);
  const rows = keys.map((token, key) => {
    const weight = cache.weights[head].row(query)[key];
    const added = weight * length_of(cache.V[head].row(key));
    const score = free(query, key) ? digits(cache.scores[head].row(query)[key]) : say("masked");
    return {
      cells: [token_element(token), score, digits(weight), bar(weight), digits(added)],
      on: key === chosen,
    };
  });
  const head_row = [say("why_key"), say("why_score"), say("weight"), "", say("why_adds")];
  return make_table(say("why_softmax"), head_row, rows);
}

/** The value of the key, what of it is added, and the whole output of the head. */
function draw_values(cache, head, query, key) {
  const value = cache.V[head].row(key);
  const weights = cache.weights[head].row(query);
  const added = value.map((x) => weights[key] * x);
  const out = value.map((_, n) =>
    weights.reduce((sum, w, j) => sum + w * cache.V[head].row(j)[n], 0),
  );
  const rows = [
    ["why_value", value],
    ["why_added", added],
    ["why_out", out],
  ].map(([name, vector]) => ({
    cells: [say(name), strip(vector), digits(length_of(vector))],
  }));
  element("why-values").replaceChildren(make_table("", ["", say("vector"), say("length")], rows));
}

// ---- a token on its way --------------------------------------------------------------------

/** [name, x] after the embedding, the positions and every sub-layer of a stack. */
function journey(thought, stack) {
  const { cache } = shown(thought);
  const side = stack === "encoder" ? "src" : "tgt";
  const found = [
    [say(`box_${side}_embedding`), cache[`${side}_embedding`].y],
    [say("box_positions"), cache[`${side}_positions`].y],
  ];
  cache[stack].layers.forEach((layer, i) => {
    const subs = ["self_attention", "cross_attention", "feed_forward"].filter(
      (name) => layer[name],
    );
    subs.forEach((name, n) => {
      const { y } = layer[`add_norm_${n + 1}`] ?? layer[`sum_${n + 1}`];
      found.push([say("token_layer", { layer: i + 1, name: say(`box_${name}`) }), y]);
    });
  });
  return found;
}

/** What the model would say of vectors x if it stopped there. */
function would_say(thought, stack, x) {
  const { norm } = thought.model[stack];
  return thought.model.output_projection.forward(norm ? norm.forward(x)[0] : x)[0];
}

function draw_tokens() {
  const thought = thoughts[view.side];
  const group = (stack, tokens) => {
    const buttons = tokens.map((token, position) => {
      const pressed = view.token.stack === stack && view.token.position === position;
      const id = `token-${stack}-${position}`;
      const onclick = () => choose({ token: { stack, position } });
      return make(
        "button",
        { type: "button", id, "aria-pressed": pressed, onclick },
        token_element(token),
      );
    });
    const name = say(stack === "encoder" ? "token_source" : "token_target");
    return make(
      "div",
      {},
      make("h3", {}, name),
      make("div", { class: "tokens", role: "group", "aria-label": name }, ...buttons),
    );
  };
  const groups = ["encoder", "decoder"].map((stack) => group(stack, tokens_of(thought, stack)));
  keep_focus(element("tokens"), () => element("tokens").replaceChildren(...groups));
  draw_journey(thought);
}

function draw_journey(thought) {
  const { stack, position } = view.token;
  const rows = journey(thought, stack).map(([name, x]) => {
    const [[token, share]] = best(would_say(thought, stack, x).row(position), 1);
    const vector = x.row(position);
    return {
      cells: [
        name,
        strip(vector),
        digits(length_of(vector), 2),
        token_element(token),
        digits(share),
      ],
    };
  });
  const head = [say("after"), say("vector"), say("length"), say("would_say"), say("probability")];
  const token = token_element(tokens_of(thought, stack)[position]);
  const words = say_with("token_table", { token, position: String(position + 1) });
  const caption = make("span", {}, ...words, ...side_name(view.side, "side_after"));
  element("journey").replaceChildren(make_table(caption, head, rows));
}
