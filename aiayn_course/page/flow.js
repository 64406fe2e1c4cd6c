// The flow: the tokens that are read, those that are written, and curves as wide as the weights.

import { allowed, attended, element, heaviest, names, thought_now, view } from "./thinking.js";
import { digits, drawn, plain_name, say, shortened } from "./drawing.js";
import { is_silent } from "./maps.js";
import { written_ids } from "./why.js";
import { choose } from "./page.js";

const TOKEN_HEIGHT = 38; // in units of the drawing
const MOST_SIGNS = 12; // of a token's name

/** What each query writes: the decoder's queries write the next token, the encoder's none. */
export function written_by(thought) {
  if (view.kind === "encoder_self") return attended(thought).queries;
  return names(written_ids(thought));
}

/** Draw the curves of the chosen head of the model in view. */
export function draw_flow() {
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
  const { query, kind } = view;
  const silent = is_silent(thought);
  const most = silent ? -1 : heaviest(cache.weights[view.head].row(query));
  const compared = silent ? -1 : view.key;
  const key_named = (token, i) => {
    const styles = [i === most && " read", i === compared && " compared"].filter(Boolean);
    const named = { class: `key${styles.join("")}`, id: `flow-key-${i}` };
    return { name: plain_name(token), ...named, act: () => choose({ key: i }) };
  };
  const query_named = (token, i) => {
    const named = { class: i === query ? "query lit" : "query", id: `flow-query-${i}` };
    return { name: plain_name(token), ...named, act: () => choose({ query: i, key: null }) };
  };
  const reads = kind === "decoder_self" ? "flow_read" : "flow_source";
  const labels = [reads, kind === "encoder_self" ? "flow_who" : "flow_written"];
  const rows = [keys.map(key_named), written_by(thought).map(query_named)];
  const drawing = two_rows(element("flow"), rows, labels, { name: say("flow_name") });
  drawing.curves.append(...curves_of(thought, { query, most, compared }, drawing));
  const { svg } = drawing;
  if (silent) svg.classList.add("silent");
  svg.style.minWidth = `${(innerWidth < 800 ? 0.75 : 0.45) * svg.viewBox.baseVal.width}px`;
  return svg;
}

/**
 * Two rows of tokens with room for curves between them: {svg, curves, x, ends, letters}. A token is
 * {name, act or none, ...attributes}; x are the middles of both rows, `ends` is where curves begin and end.
 */
export function two_rows(place, rows, labels, options) {
  const { name, signs = MOST_SIGNS, top = 4, gap = 120, below = 4 } = options;
  const full = innerWidth < 800 ? 360 : 720;
  const least = Math.max(60, full / Math.max(6, ...rows.map((row) => row.length)));
  const room = ({ name }) => Math.max(least, 10 * Math.min([...name].length, signs) + 28);
  const letters = Math.min(20, Math.max(15, (14 * 800) / (place.clientWidth || 800)));
  const beside = 10 + 4.1 * letters; // where the labels stand
  const sides = rows.map((row) =>
    row.reduce((found, token) => [...found, (found.at(-1) ?? beside) + room(token)], []),
  );
  const width = Math.max(beside + 300, ...sides.map((row) => row.at(-1)));
  const tops = [top, top + TOKEN_HEIGHT + gap];
  const x = sides.map((row, n) => row.map((side, i) => side - room(rows[n][i]) / 2));
  const curves = drawn("g", {});
  const tokens = rows.flatMap((row, n) =>
    row.map((token, i) => {
      const wide = Math.min(room(token) - 12, 11 * [...token.name].length + 46);
      return token_drawn(token, [x[n][i], tops[n]], wide);
    }),
  );
  const beside_them = labels.map((key, n) => {
    const place = { x: 2, y: tops[n] + 25, "font-size": letters };
    return drawn("text", { ...place, class: "flow-label" }, say(key));
  });
  const svg = drawn(
    "svg",
    {
      viewBox: `0 0 ${width} ${tops[1] + TOKEN_HEIGHT + below}`,
      role: "group",
      "aria-label": name,
    },
    ...[...beside_them, curves, ...tokens],
  );
  return { svg, curves, x, ends: [top + TOKEN_HEIGHT, tops[1]], letters };
}

/** A curve from key j to query i of a drawing. */
export function curve({ x, ends: [top, bottom] }, i, j, attributes) {
  const [from, to, middle] = [x[0][j], x[1][i], (top + bottom) / 2];
  const d = `M${from} ${top}C${from} ${middle} ${to} ${middle} ${to} ${bottom}`;
  return drawn("path", { d, ...attributes });
}

/** A curve from every key to every query that looks at it; those of the told query are lit, and
 * the largest of them, and that of the key that is compared, have their weights beside them. */
function curves_of(thought, { query, most, compared }, drawing) {
  const free = allowed(thought);
  const weights = attended(thought).cache.weights[view.head];
  const { x, ends, letters } = drawing;
  const [curves, numbers] = [[], []];
  for (let i = 0; i < weights.rows; i++)
    weights.row(i).forEach((weight, j, row) => {
      const lit = i === query;
      const largest = lit && j === most;
      const numbered = largest || (lit && j === compared);
      if ((weight < 0.01 && !numbered) || !free(i, j)) return;
      const path = curve(drawing, i, j, {
        class: largest ? "curve lit largest" : lit ? "curve lit" : "curve",
        "stroke-width": (0.5 + 15 * weight).toFixed(1),
        opacity: (0.4 + 0.6 * weight).toFixed(2),
        "data-query": i,
        "data-key": j,
      });
      curves[lit ? "push" : "unshift"](path);
      const [along, down] = largest ? [0.16, 0.3] : [0.03, 0.15]; // of two, one above
      const aside = (j < row.length - 1 ? 1 : -1) * (4 + 7.5 * weight); // the last one: inwards
      const near = {
        x: x[0][j] + along * (x[1][i] - x[0][j]) + aside,
        y: ends[0] + Math.max(down * (ends[1] - ends[0]), letters),
        class: largest ? "weight-of" : "weight-of compared",
        "data-key": j,
        "font-size": letters,
        "text-anchor": aside < 0 ? "end" : null,
      };
      if (numbered) numbers.push(drawn("text", near, digits(weight)));
    });
  return [...curves, ...numbers];
}

/** A token of a drawing; with an `act` it can be clicked, and pressed by Enter or a space. */
function token_drawn({ name, act, ...attributes }, [x, y], width) {
  const box = { x: x - width / 2, y, width, height: TOKEN_HEIGHT, rx: 8 };
  const shown = [...shortened(name, MOST_SIGNS)];
  const letters = Math.min(shown.length > 1 ? 19 : 25, (1.7 * width) / shown.length);
  const label = { x, y: y + 27, "text-anchor": "middle", "font-size": letters };
  const text = drawn("text", label, shown.join(""));
  const wide = Math.max(width, 60);
  const target = { x: x - wide / 2, y: y - 11, width: wide, height: 60 };
  const reach = drawn("rect", { ...target, class: "reach" }); // what a finger needs
  const parts = [reach, drawn("rect", box), text, drawn("title", {}, name)];
  const reached = act ? { tabindex: 0, role: "button" } : { role: "img" };
  const token = drawn("g", { ...reached, "aria-label": name, ...attributes }, ...parts);
  token.classList.add("flow-token");
  if (!act) return token;
  token.addEventListener("click", act);
  token.addEventListener("keydown", (event) => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    act();
    document.getElementById(token.id)?.focus({ preventScroll: true });
  });
  return token;
}
