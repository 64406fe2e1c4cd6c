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

let flow_place = "";
let part = 0; // of the window's width, for one drawing
let lights = []; // functions that light what is told of, one for each drawing

/** The parts of a half of the picture: its name, its drawing, why, and the best tokens. */
function half(side) {
  const [name, drawing, because, best] = element(`half-${side}`).children;
  return { name, drawing, because, best };
}

/** The halves of the picture: each has all of one model, and nothing of the other. */
function draw_flow() {
  element("app").classList.toggle("two", thoughts.length > 1);
  lights = [];
  for (const side of [0, 1]) {
    const thought = thoughts[side];
    const { name, drawing } = half(side);
    const named = thoughts.length > 1 ? [side_text(side)] : [];
    drawing.setAttribute("aria-label", [say("flow_name"), ...named].join(say("comma")));
    drawing.replaceChildren(...(thought ? [flow(thought, side)] : []));
    const says = thought ? side_name(side, side ? "side_named" : "side") : [];
    if (thought && is_read_again(thought)) says.push(say("read_again"));
    name.replaceChildren(...says);
  }
  requestAnimationFrame(scroll_to_lit); // all is laid out once
  const place = [view.text, view.kind, view.layer, view.head, view.query, view.written].join();
  element("flow").classList.toggle("moved", place !== flow_place); // what is lit flows anew
  flow_place = place;
}

/** Scroll long drawings to the token that is lit. */
function scroll_to_lit() {
  for (const lit of document.querySelectorAll("#flow.long .lit rect")) {
    const scroller = lit.closest(".scroll");
    const share = lit.getAttribute("x") / lit.closest("svg").viewBox.baseVal.width;
    const [place, room] = [share * scroller.scrollWidth, scroller.clientWidth];
    scroller.scrollLeft = place < 0.7 * room ? 0 : place - room / 2; // the beginning, if it can be
  }
}

/** The drawing of one model: keys above, queries below, and between them the chosen head. */
function flow(thought, side) {
  const { keys, cache } = attended(thought);
  const rows = [keys, written_by(thought)].map((tokens) => tokens.map(plain_name));
  const all = thoughts.flatMap((one) => [attended(one).keys.map(plain_name), longest_row(one)]);
  const two = thoughts.length > 1;
  const wide = two ? 480 : innerWidth > 800 && (is_present() || view.tour !== null) ? 900 : 560;
  const least = Math.max(60, wide / Math.max(5.4, ...all.map((row) => row.length)));
  const room = (name) => Math.max(least, 10 * Math.min([...name].length, MOST_SIGNS) + 28);
  const width_of = (row) => row.reduce((sum, name) => sum + room(name), 0);
  const tokens_wide = Math.max(300, ...all.map(width_of));
  // two drawings that are long stand one above the other
  const is_long = tokens_wide > (is_present() ? 600 : two ? 700 : Math.max(760, 0.75 * innerWidth));
  element("flow").classList.toggle("long", is_long);
  if (!side) part = Math.max(...[0, 1].map((one) => half(one).drawing.clientWidth));
  const large = is_present() ? innerHeight / 30 : 14; // of the window's points
  const letters = Math.min(Math.max(15, (large * (tokens_wide + 100)) / part), 28);
  const reads = view.kind === "decoder_self" ? "flow_read" : "flow_source";
  const labels = [reads, view.kind === "encoder_self" ? reads : "flow_written"];
  const beside = 10 + 4.1 * letters; // where the labels stand
  const width = beside + tokens_wide;
  const ends = (row) =>
    row.reduce((found, name) => [...found, (found.at(-1) ?? beside) + room(name)], []);
  const low = is_present() ? 105 : is_long ? 48 : 85;
  const of_two = is_long || innerWidth <= 860 ? low : 150;
  const gap = two ? of_two : is_present() ? 1.5 * GAP : GAP;
  const height = 2 * (TOKEN_HEIGHT + TOP) + gap;
  const x = rows.map((row) => ends(row).map((end, i) => end - room(row[i]) / 2));
  const curves = drawn("g", {});
  const tokens = rows.map((row, n) =>
    row.map((name, i) => {
      const wide = Math.min(room(name) - 12, 11 * [...name].length + 46);
      const place = [x[n][i], TOP + n * (TOKEN_HEIGHT + gap)];
      return flow_token(name, place, wide, side, n ? "query" : "key", i);
    }),
  );
  const comes = view.kind !== "encoder_self" && is_walking(thought);
  if (comes) tokens[1].at(-1).classList.add("comes"); // it is not written yet
  const label = (text, n) => {
    const y = TOP + 25 + n * (TOKEN_HEIGHT + gap);
    return drawn("text", { x: 2, y, class: "flow-label", "font-size": letters }, say(text));
  };
  const svg = drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("flow_name") },
    ...labels.map(label),
    curves,
    ...tokens.flat(),
  );
  svg.style.maxWidth = `${1.15 * width}px`;
  svg.style.minWidth = `${(is_long ? 0.6 : 0.41) * width}px`;
  const silent = is_silent(thought);
  if (silent) svg.classList.add("silent");
  const light = () => {
    const query = query_of(thought);
    const most = silent ? -1 : heaviest(cache.weights[view.head].row(query));
    const compared = query === view.query && !silent ? view.key : most;
    curves.replaceChildren(...curves_of(thought, { query, most, compared }, x, gap, letters));
    tokens[0].forEach((token, i) => {
      token.classList.toggle("read", i === most);
      token.classList.toggle("compared", i === compared);
    });
    tokens[1].forEach((token, i) => token.classList.toggle("lit", i === query));
  };
  lights.push(light);
  light();
  return svg;
}

/** The tokens that need room at most: the drawing keeps its size while they are written. */
function longest_row({ src, steps }) {
  const room = Math.max(src.length + 2, Math.min(view.written, longest()) + 1);
  const ids = view.kind === "encoder_self" ? [] : steps.slice(0, room).map(({ token }) => token);
  return names(ids).map(plain_name);
}

/** A curve from every key to every query that looks at it; those of the told query are lit, and
 * the largest of them, and that of the key that is compared, have their weights beside them. */
function curves_of(thought, { query, most, compared }, x, gap, letters) {
  const free = allowed(thought);
  const weights = attended(thought).cache.weights[view.head];
  const top = TOP + TOKEN_HEIGHT;
  const bottom = top + gap;
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
        y: top + Math.max(down * gap, letters),
        class: largest ? "weight-of" : "weight-of compared",
        "data-key": j,
        "font-size": letters,
        "text-anchor": aside < 0 ? "end" : null,
      };
      if (numbered) numbers.push(drawn("text", near, digits(weight)));
    });
  return [...curves, ...numbers];
}

let pointed = null; // the written token under the pointer

/** The row that a half tells of: pointed at or chosen, in both the same, as far as it goes. */
const query_of = (thought) => within(pointed ?? view.query, attended(thought).queries.length);

/** Both halves and their answers tell of the token that is pointed at, then of the chosen one. */
function point_at(query) {
  pointed = query;
  for (const light of lights) light();
  draw_answer();
  draw_best();
  draw_shares();
}

/** A token of the drawing. To point at it lights its curves, a click chooses it. */
function flow_token(name, [x, y], width, side, role, i) {
  const box = { x: x - width / 2, y, width, height: TOKEN_HEIGHT, rx: 8 };
  const style = [...name].length === 1 ? "sign" : null; // which has room to be larger
  const label = { x, y: y + 27, "text-anchor": "middle", class: style };
  const text = drawn("text", label, shortened(name, MOST_SIGNS));
  const place = { class: `flow-token ${role}` };
  const token = drawn("g", place, drawn("rect", box), text, drawn("title", {}, name));
  const point = (on) => () => {
    if (role === "query") return point_at(on ? i : null);
    for (const curve of token.parentNode.querySelectorAll(".curve, .weight-of"))
      curve.classList.toggle("far", on && curve.dataset.key !== `${i}`);
  };
  token.addEventListener("pointerenter", point(true));
  token.addEventListener("pointerleave", point(false));
  token.addEventListener("click", () =>
    choose(role === "query" ? { side, query: i, key: null } : { side, key: i }),
  );
  return token;
}
