"use strict";
// The flow: the tokens that are read, those that are written, and curves as wide as the weights.

const [TOKEN_HEIGHT, GAP] = [38, 120]; // in units of the drawing
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
  const { tgt, token } = shown(thought);
  return names([...tgt.slice(1), token]);
}

const BEGINS = /^[_▁](?=.)/; // a piece that begins a word

/** A token of a drawing without its code: "start" for <bos>, and a piece without its space. */
function plain_name(token) {
  if (special_name(token)) return say(special_name(token));
  if (!data.task.scores) return visible(token);
  return visible(/^[_▁]$/.test(token) ? " " : token.replace(BEGINS, ""));
}

let flow_place = "";

function draw_flow() {
  const flows = thoughts.map((thought, side) => {
    const name = thoughts.length > 1 ? [say(side ? "changed" : "as_trained")] : [];
    const label = [say("flow_name"), ...name].join(say("comma"));
    const place = { ...SCROLL, id: `flow-${side}` };
    const drawing = flow(thought, side);
    const silent = side && is_muted(attended(thought).path, view.head);
    if (silent) drawing.classList.add("silent");
    const more = silent ? "why_muted" : is_read_again(thought) ? "read_again" : null;
    const says = side_name(side, !side ? "side" : more ? "side_more" : "side_named");
    if (more) says.push(say(more));
    return make(
      "div",
      {},
      make("div", {}, ...says),
      make("div", { ...place, "aria-label": label }, drawing),
    );
  });
  keep_focus(element("flow"), () => element("flow").replaceChildren(...flows));
  requestAnimationFrame(scroll_to_lit); // all is laid out once
  const { text, kind, layer, head, query, written } = view;
  const place = [text, kind, layer, head, query, written].join();
  element("flow").classList.toggle("moved", place !== flow_place); // what is lit flows anew
  flow_place = place;
}

/** Scroll long drawings to the token that is lit, and the page to what a switch changed. */
function scroll_to_lit() {
  if (follow) element("flow-1")?.scrollIntoView({ block: "nearest" }); // at once, without motion
  follow = false;
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
  const wide = !two && innerWidth > 800 && (is_present() || view.tour !== null) ? 900 : 560;
  const least = Math.max(60, wide / Math.max(5.4, ...all.map((row) => row.length)));
  const room = (name) => Math.max(least, 10 * Math.min([...name].length, MOST_SIGNS) + 28);
  const ends = (row) =>
    row.reduce((found, name) => [...found, (found.at(-1) ?? 0) + room(name)], []);
  const width = Math.max(300, ...all.map((row) => ends(row).at(-1) ?? 0));
  // two drawings that are long stand one above the other
  const is_long = width > (is_present() ? 600 : Math.max(760, 0.75 * innerWidth));
  const least_letters = is_present() ? 19 : two ? 16 : 13;
  const letters = Math.max(least_letters, Math.min((12 * width) / innerWidth, 24)); // a phone: 12 px
  const is_named = !two || (innerWidth > 800 && innerHeight > 560 && !is_present()); // it has room
  const top = is_named ? letters + 13 : 4;
  const gap = !two ? GAP : is_long ? 48 : innerHeight < 800 || is_present() ? 100 : 150;
  const height = 2 * (TOKEN_HEIGHT + top) + gap;
  element("flow").classList.toggle("long", is_long);
  const x = rows.map((row) => ends(row).map((end, i) => end - room(row[i]) / 2));
  const curves = curves_of(thought, cache.weights[view.head], x, [top, gap]);
  const tokens = rows.map((row, n) =>
    row.map((name, i) => {
      const wide = Math.min(room(name) - 12, 11 * [...name].length + 46);
      const place = [x[n][i], top + n * (TOKEN_HEIGHT + gap)];
      return flow_token(name, place, wide, side, n ? "query" : "key", i);
    }),
  );
  const comes = view.kind !== "encoder_self" && is_walking(thought);
  if (comes) tokens[1].at(-1).classList.add("comes"); // it is not written yet
  const label = (key, y) =>
    drawn("text", { x: 6, y, class: "flow-label", "font-size": letters }, say(key));
  const written = view.tour !== null && view.guess === null ? "flow_written_asks" : "flow_written";
  const writes = view.kind === "encoder_self" ? "flow_queries" : written;
  const reads = view.kind === "decoder_self" ? "flow_read_back" : "flow_read";
  const svg = drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("flow_name") },
    ...(is_named ? [label(reads, letters + 3), label(writes, height - 8)] : []),
    ...curves,
    ...tokens.flat(),
  );
  svg.style.maxWidth = `${1.15 * width}px`;
  svg.style.minWidth = `${0.41 * width}px`;
  return svg;
}

/** The tokens that need room at most: the drawing keeps its size while they are written. */
function longest_row({ src, steps }) {
  const room = Math.max(src.length + 2, Math.min(view.written, longest()) + 1);
  const ids = view.kind === "encoder_self" ? [] : steps.slice(0, room).map(({ token }) => token);
  return names(ids).map(plain_name);
}

/** A curve from every key to every query that looks at it; those of the chosen query are lit. */
function curves_of(thought, weights, x, [space, gap]) {
  const free = allowed(thought);
  const top = space + TOKEN_HEIGHT;
  const bottom = top + gap;
  const middle = (top + bottom) / 2;
  const curves = [];
  for (let i = 0; i < weights.rows; i++)
    weights.row(i).forEach((weight, j) => {
      if (weight < 0.01 || !free(i, j)) return;
      const [from, to] = [x[0][j], x[1][i]];
      const lit = i === view.query;
      const path = drawn("path", {
        d: `M${from} ${top} C${from} ${middle} ${to} ${middle} ${to} ${bottom}`,
        class: lit ? "curve lit" : "curve",
        "stroke-width": (0.5 + 15 * weight).toFixed(1),
        pathLength: 1,
        opacity: (0.4 + 0.6 * weight).toFixed(2),
        "data-query": i,
        "data-key": j,
      });
      path.append(drawn("title", {}, digits(weight)));
      curves[lit ? "push" : "unshift"](path);
    });
  return curves;
}

/** A token of the drawing. To point at it fades all other curves, a click chooses it. */
function flow_token(name, [x, y], width, side, role, i) {
  const box = { x: x - width / 2, y, width, height: TOKEN_HEIGHT, rx: 8 };
  const is_short = [...name].length <= MOST_SIGNS;
  const short = is_short ? name : `${[...name].slice(0, MOST_SIGNS - 1).join("")}…`;
  const style = [...name].length === 1 ? "sign" : null; // which has room to be larger
  const text = drawn("text", { x, y: y + 27, "text-anchor": "middle", class: style }, short);
  const lit = role === "query" && i === view.query;
  const place = { class: lit ? "flow-token lit" : "flow-token" };
  const token = drawn("g", place, drawn("rect", box), text, drawn("title", {}, name));
  const point = (on) => () => {
    for (const curve of token.parentNode.querySelectorAll(".curve"))
      curve.classList.toggle("far", on && curve.dataset[role] !== `${i}`);
  };
  token.addEventListener("pointerenter", point(true));
  token.addEventListener("pointerleave", point(false));
  token.addEventListener("click", () =>
    choose(role === "query" ? { side, query: i, key: null } : { side, key: i }),
  );
  return token;
}
