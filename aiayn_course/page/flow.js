"use strict";
// The flow: the tokens that are read, those that are written, and curves as wide as the weights.

const [TOKEN_HEIGHT, GAP, TOP] = [38, 120, 4]; // in units of the drawing
const MOST_SIGNS = 12; // of a token's name

/** A new element of SVG; a style may be none of its attributes, because the policy forbids it. */
function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** What each query writes: the decoder's queries write the next token, the encoder's none. */
function written_by(thought) {
  if (view.kind === "encoder_self") return attended(thought).queries;
  return names(written_ids(thought));
}

const BEGINS = /^[_▁](?=.)/; // a piece that begins a word

/** A token of a drawing without its code: "start" for <bos>, and a piece without its space. */
function plain_name(token) {
  if (special_name(token)) return say(special_name(token));
  if (!data.task.scores) return visible(token);
  return visible(/^[_▁]$/.test(token) ? " " : token.replace(BEGINS, ""));
}

/** Draw the curves of the chosen head of the model in view. */
function draw_flow() {
  const thought = thought_now();
  element("flow").replaceChildren(flow(thought));
  requestAnimationFrame(scroll_to_lit); // all is laid out once
}

/** Scroll a long drawing to the token that is lit. */
function scroll_to_lit() {
  const [scroller, lit] = [element("flow"), document.querySelector("#flow .lit rect")];
  if (!lit) return;
  const share = lit.getAttribute("x") / lit.closest("svg").viewBox.baseVal.width;
  const [place, room] = [share * scroller.scrollWidth, scroller.clientWidth];
  scroller.scrollLeft = place < 0.7 * room ? 0 : place - room / 2; // the beginning, if it can be
}

/** The drawing of a model: keys above, queries below, and between them the chosen head. */
function flow(thought) {
  const { keys, cache } = attended(thought);
  const rows = [keys, written_by(thought)].map((tokens) => tokens.map(plain_name));
  const least = Math.max(60, 720 / Math.max(6, ...rows.map((row) => row.length)));
  const room = (name) => Math.max(least, 10 * Math.min([...name].length, MOST_SIGNS) + 28);
  const letters = Math.min(26, Math.max(15, (14 * 800) / (element("flow").clientWidth || 800)));
  const beside = 10 + 4.1 * letters; // where the labels stand
  const ends = (row) =>
    row.reduce((found, name) => [...found, (found.at(-1) ?? beside) + room(name)], []);
  const width = Math.max(beside + 300, ...rows.map((row) => ends(row).at(-1)));
  const height = 2 * (TOKEN_HEIGHT + TOP) + GAP;
  const x = rows.map((row) => ends(row).map((end, i) => end - room(row[i]) / 2));
  const curves = drawn("g", {});
  const tokens = rows.map((row, n) =>
    row.map((name, i) => {
      const wide = Math.min(room(name) - 12, 11 * [...name].length + 46);
      const place = [x[n][i], TOP + n * (TOKEN_HEIGHT + GAP)];
      return flow_token(name, place, wide, n ? "query" : "key", i);
    }),
  );
  const reads = view.kind === "decoder_self" ? "flow_read" : "flow_source";
  const labels = [reads, view.kind === "encoder_self" ? reads : "flow_written"].map((text, n) => {
    const y = TOP + 25 + n * (TOKEN_HEIGHT + GAP);
    return drawn("text", { x: 2, y, class: "flow-label", "font-size": letters }, say(text));
  });
  const svg = drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": say("flow_name") },
    ...[...labels, curves, ...tokens.flat()],
  );
  svg.style.minWidth = `${(innerWidth < 800 ? 0.85 : 0.45) * width}px`;
  const silent = is_silent(thought);
  if (silent) svg.classList.add("silent");
  const { query } = view;
  const most = silent ? -1 : heaviest(cache.weights[view.head].row(query));
  const compared = silent ? -1 : view.key;
  curves.replaceChildren(...curves_of(thought, { query, most, compared }, x, letters));
  tokens[0][most]?.classList.add("read");
  tokens[0][compared]?.classList.add("compared");
  tokens[1][query].classList.add("lit");
  return svg;
}

/** A curve from every key to every query that looks at it; those of the told query are lit, and
 * the largest of them, and that of the key that is compared, have their weights beside them. */
function curves_of(thought, { query, most, compared }, x, letters) {
  const free = allowed(thought);
  const weights = attended(thought).cache.weights[view.head];
  const top = TOP + TOKEN_HEIGHT;
  const bottom = top + GAP;
  const middle = (top + bottom) / 2;
  const [curves, numbers] = [[], []];
  for (let i = 0; i < weights.rows; i++)
    weights.row(i).forEach((weight, j, row) => {
      const lit = i === query;
      const largest = lit && j === most;
      const numbered = largest || (lit && j === compared);
      if ((weight < 0.01 && !numbered) || !free(i, j)) return;
      const [from, to] = [x[0][j], x[1][i]];
      const path = drawn("path", {
        d: `M${from} ${top} C${from} ${middle} ${to} ${middle} ${to} ${bottom}`,
        class: largest ? "curve lit largest" : lit ? "curve lit" : "curve",
        "stroke-width": (0.5 + 15 * weight).toFixed(1),
        pathLength: 1,
        opacity: (0.4 + 0.6 * weight).toFixed(2),
        "data-query": i,
        "data-key": j,
      });
      curves[lit ? "push" : "unshift"](path);
      const [along, down] = largest ? [0.16, 0.3] : [0.03, 0.15]; // of two, one above
      const aside = (j < row.length - 1 ? 1 : -1) * (4 + 7.5 * weight); // the last one: inwards
      const near = {
        x: from + along * (to - from) + aside,
        y: top + Math.max(down * GAP, letters),
        class: largest ? "weight-of" : "weight-of compared",
        "data-key": j,
        "font-size": letters,
        "text-anchor": aside < 0 ? "end" : null,
      };
      if (numbered) numbers.push(drawn("text", near, digits(weight)));
    });
  return [...curves, ...numbers];
}

/** A token of a drawing that can be clicked, and pressed by Enter or a space. */
function token_drawn(name, [x, y], width, attributes, act) {
  const box = { x: x - width / 2, y, width, height: TOKEN_HEIGHT, rx: 8 };
  const style = [...name].length === 1 ? "sign" : null; // which has room to be larger
  const label = { x, y: y + 27, "text-anchor": "middle", class: style };
  const text = drawn("text", label, shortened(name, MOST_SIGNS));
  const wide = Math.max(width, 60);
  const target = { x: x - wide / 2, y: y - 11, width: wide, height: 60 };
  const reach = drawn("rect", { ...target, class: "reach" }); // what a finger needs
  const keys = { tabindex: 0, role: "button", "aria-label": name };
  const parts = [reach, drawn("rect", box), text, drawn("title", {}, name)];
  const token = drawn("g", { class: "flow-token", ...keys, ...attributes }, ...parts);
  token.addEventListener("click", act);
  token.addEventListener("keydown", (event) => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    const { id } = token;
    act();
    document.getElementById(id)?.focus({ preventScroll: true });
  });
  return token;
}

/** A token of the flow: a click chooses it. */
function flow_token(name, place, width, role, i) {
  const act = () => choose(role === "query" ? { query: i, key: null } : { key: i });
  const named = { class: `flow-token ${role}`, id: `flow-${role}-${i}` };
  return token_drawn(name, place, width, named, act);
}
