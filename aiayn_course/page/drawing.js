// Elements, colours, and the words of the page in English and in Chinese.

import { Matrix } from "./matrix.js";
import { data, element, kinds, view } from "./thinking.js";
import { titled } from "./break_it.js";
import { draw, show_left_out, type } from "./page.js";

/** A new element with attributes (class, text or on... among them) and children. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-") && value !== null) made.setAttribute(name, String(value));
    else if (value !== false && value !== null)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** A new element of SVG; a style may be none of its attributes, because the policy forbids it. */
export function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A new button. */
export const make_button = (text, onclick, attributes = {}) =>
  make("button", { type: "button", onclick, ...attributes }, text);

/** Fill an element anew where that changes it: a screen reader reads only what is new. */
export function fill(place, children) {
  const made = make("div", {}, ...children);
  if (made.innerHTML !== place.innerHTML) place.replaceChildren(...made.childNodes);
}

/** Fill an element anew; what had the focus in it has it again, by its id. */
export function refill(parent, ...children) {
  const { id } = document.activeElement ?? {};
  const inside = id && parent.contains(document.activeElement);
  parent.replaceChildren(...children);
  if (inside) element(id)?.focus({ preventScroll: true });
}

/** A token as it can be seen, also where it is only white space. */
export function visible(token) {
  const signs = { " ": "␣", "\n": "↵", "\t": "⇥" };
  const code = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const sign = (c) => signs[c] ?? code(c);
  if (!token.trim()) return [...token].map(sign).join("") || say("empty_token");
  return token.replace(/[\n\t\u2028\u2029]/g, sign);
}

/** The first signs of a text, at most so many. */
export const shortened = (text, most) =>
  [...text].length <= most ? text : `${[...text].slice(0, most - 1).join("")}…`;

/** The key of the word for a token that is a sign, such as the end. */
export function special_name(token) {
  const { tokens, bos, eos, pad, unk } = data.task;
  const keys = ["token_start", "token_end", "token_pad", "token_unknown"];
  return keys[[bos, eos, pad, unk].findIndex((id) => tokens[id] === token)] ?? null;
}

export const BEGINS = /^[_▁](?=.)/; // a piece that begins a word

/** A token of a drawing without its code: "start" for <bos>, and a piece without its space. */
export function plain_name(token) {
  if (special_name(token)) return say(special_name(token));
  if (!data.task.scores) return visible(token);
  return visible(/^[_▁]$/.test(token) ? " " : token.replace(BEGINS, ""));
}

/** A token among other words: bdi, so that one from right to left does not turn its neighbours. */
export const token_element = (token) => make("bdi", {}, plain_name(token));

/** A number with two digits after the point, and a real minus sign. */
export const digits = (number, count = 2) => number.toFixed(count).replace("-", "−");

// The colours of cividis, from weight 0 to weight 1.
const CIVIDIS = `
  00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d 5a5f6e 61656f 686a71
  6f7073 767676 7d7c78 848279 8c8878 938e78 9b9476 a39a74 aba072 b4a76f bcae6c c4b468 cdbb63 d5c25e
  dec958 e7d150 f0d846 f9e03a fee838`;
const BLUE_TO_ORANGE = "2166ac 67a9cf d1e5f0 f7f7f7 fee0b6 f1a340 b35806";

/** A function from 0 .. 1 to a colour [red, green, blue] between those of a list. */
function ramp(list) {
  const colours = list.match(/\w+/g).map((hex) => parseInt(hex, 16));
  return (share) => {
    const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
    const i = Math.min(Math.floor(place), colours.length - 2);
    return [16, 8, 0].map((shift) => {
      const [low, high] = [colours[i], colours[i + 1]].map((c) => (c >> shift) & 255);
      return Math.round(low + (high - low) * (place - i));
    });
  };
}

export const weight_colour = ramp(CIVIDIS);
const signed_colour = ramp(BLUE_TO_ORANGE);

export const css = (colour) => `rgb(${colour.join(" ")})`;

/** A picture of one pixel for each cell; colour(i, j) is [red, green, blue], or null for none. */
export function picture(rows, columns, colour, attributes) {
  const canvas = make("canvas", { width: columns, height: rows, ...attributes });
  const image = new ImageData(columns, rows);
  for (let i = 0, n = 0; i < rows; i++)
    for (let j = 0; j < columns; j++, n += 4) {
      const found = colour(i, j);
      if (found) image.data.set([...found, 255], n);
    }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** A matrix as a picture, blue below 0 and orange above; `most` has the full colour. */
export function signed_picture({ rows, columns, data }, attributes, most = 0) {
  most ||= data.reduce((a, x) => Math.max(a, Math.abs(x)), 1e-9);
  const colour = (i, j) => signed_colour(0.5 + data[i * columns + j] / most / 2);
  return picture(rows, columns, colour, { role: "img", ...attributes });
}

/** A vector as a strip of colours. */
export function strip(vector, most) {
  const [low, high] = [Math.min(...vector), Math.max(...vector)].map((x) => digits(x));
  const name = say("vector_name", { count: vector.length, low, high });
  const matrix = new Matrix(1, vector.length, vector);
  return signed_picture(matrix, { class: "strip", "aria-label": name }, most);
}

/** A share of 1 as a bar; the number beside it says the same. */
function bar(share) {
  const filled = make("div", { class: "bar" });
  filled.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return make("div", { class: "track" }, filled);
}

/** A table of shares: rows of [name, shares, the number that is said]; the last share is filled. */
export function bars_of(rows, ...before) {
  const cells = rows.map(([name, shares, says]) => {
    const bars = shares.map(bar);
    for (const one of bars.slice(0, -1)) one.classList.add("was");
    const head = make("th", { scope: "row" }, make("bdi", {}, name));
    return make("tr", {}, head, make("td", {}, ...bars), make("td", {}, says));
  });
  return make("table", {}, ...before, make("tbody", {}, ...cells));
}

// ---- words ----------------------------------------------------------------------------------------

export const TAGS = { en: "en", zh: "zh-Hans" };
export const language = () => view.lang ?? (/^zh\b/i.test(navigator.language ?? "") ? "zh" : "en");

/** The words for a key in the language of the page, with values in the place of {names}. */
export function say(key, values = {}) {
  return data.words[language()][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** The words for a key, split where a {name} stands for an element. */
export function say_with(key, elements) {
  const parts = data.words[language()][key].split(/(\{\w+\})/).filter(Boolean);
  return parts.map((part) => elements[part.slice(1, -1)] ?? part);
}

/** A text in which [word:text] is a word that is explained. */
export function rich(text) {
  return text
    .split(/(\[\w+:[^\]]*\])/)
    .filter(Boolean)
    .map((part) => {
      const [, word, shown] = part.match(/^\[(\w+):(.*)\]$/) ?? [];
      return word ? term(shown, say(`term_${word}`)) : part;
    });
}

/** A word with a dotted line; a click shows the sentence that explains it. */
export function term(text, sentence) {
  const onclick = () => {
    element("term").textContent = sentence;
    element("term").showPopover();
  };
  return make_button(text, onclick, { class: "term", title: sentence });
}

/** At the foot: how it was trained, and how often it is right. */
function tell_about() {
  const { exact_match, held_out, steps, seconds } = data.metrics;
  const values = { right: Math.round(exact_match * held_out), count: held_out };
  const right = held_out ? say("about_right", values) : "";
  const count = say("footer_size", { count: data.parameters });
  const training = seconds ? say("footer_training", { steps, seconds: Math.round(seconds) }) : "";
  const told = [say("footer_project"), count, training, right].filter(Boolean);
  element("footer").replaceChildren(
    make("p", {}, told.join(say("gap"))),
    make("p", {}, say("footer_command"), " ", make("code", {}, "aiayn-np explore RUN")),
  );
}

/** Say in the language of the view what needs no forward pass; live.py marks texts with their key. */
export function translate() {
  for (const place of document.querySelectorAll("[data-say]"))
    place.replaceChildren(...rich(say(place.dataset.say)));
  for (const place of document.querySelectorAll("[data-say-label]"))
    place.setAttribute("aria-label", say(place.dataset.sayLabel));
  document.querySelector("h1").replaceChildren(...titled());
  document.title = document.querySelector("h1").textContent;
  tell_about();
  document.documentElement.lang = TAGS[language()];
  for (const button of element("languages").children)
    button.setAttribute("aria-pressed", button.dataset.lang === language());
  for (const id of ["kind", "learn-kind"])
    element(id).replaceChildren(...kinds.map((kind) => make("option", { value: kind }, say(kind))));
  const chip = (text) => make_button(visible(text), () => type(text));
  const short = [...data.examples].sort((a, b) => a.length - b.length).slice(0, 2);
  element("examples").replaceChildren(...short.map(chip));
  show_left_out();
}

/** Where to read on, if the page knows where the lessons are; the Chinese ones are in zh/. */
export function lesson_link(number) {
  const address = data.lessons[number];
  if (!address) return [];
  const href = language() === "zh" ? address.replace(/[^/]*$/, "zh/$&") : address;
  return [make("a", { href, class: "lesson" }, say("lesson", { number }))];
}

export function choose_language(lang) {
  view.lang = lang;
  translate();
  draw();
}
