// The place in the page that an address names, such as page.html#mode=break&src=3+1+4&what-if=scale.
// An address is data only: a part that is wrong is left out, and reported. All counts begin at 0.
//
//   lang=zh                          the language that was chosen, else it is the browser's own
//   mode=learn                       what is shown: learn, break, or look
//   src=3+1+4                        what is typed
//   task=sort&seed=3&step=120        the small model that learns, and how many steps it has taken
//   kind=cross&layer=1&head=0        the attention that is shown; it opens the page in mode=look
//   query=2&key=0                    the cell that is explained
//   sum=0&sum=3                      keys whose weights are added up
//   box=7                            the box of Figure 1
//   tour=positions                   the stop of the tour
//   tried=mask                       a cut that was tried
//   what-if=scale                    no 1/√d_k
//   what-if=positions                no positions
//   what-if=mask                     no causal mask
//   what-if=mute:PATH:HEAD           with a PATH such as decoder.layers.1.cross_attention
//
// One change at a time: of several what-ifs the first one holds.

import { TASKS } from "./training.js";
import { AS_TRAINED, at, attention_paths, factor_without_scale, is_changed } from "./what_if.js";
import { most_layers, name_of } from "./what_if.js";

export const MODES = ["learn", "break", "look"];
export const KINDS = ["encoder_self", "decoder_self", "cross"];
const LANGUAGES = ["en", "zh"];
export const TOUR = ["learn", "back", "cut", "positions", "look"];
const LONGEST = 2000; // characters of a source

/** A part of an address that this page does not have. */
class Wrong extends Error {}

function require_that(right) {
  if (!right) throw new Wrong();
}

/** The whole number that a text is; it must be below `end`. */
function number_of(text, end) {
  require_that(/^\d{1,4}$/.test(text) && Number(text) < end);
  return Number(text);
}

/** A part that is one of a list. */
const one_of = (name, list) => (page, text) => {
  require_that(list(page).includes(text));
  return { [name]: text };
};

/** A part that is a whole number. */
const count_of = (name, end) => (page, text) => ({ [name]: number_of(text, end(page)) });

/** What each part of an address is in the view. `page` is {model, tokens, kinds, modes}. */
const PARTS = {
  lang: one_of("lang", () => LANGUAGES),
  mode: one_of("mode", ({ modes = MODES }) => modes),
  src(page, text) {
    require_that(text.length <= LONGEST);
    return { text };
  },
  task: one_of("task", () => Object.keys(TASKS)),
  seed: count_of("seed", () => 1000),
  step: count_of("step", () => 2000),
  kind: one_of("kind", ({ kinds = KINDS }) => kinds),
  layer: count_of("layer", ({ model }) => most_layers(model)),
  head: count_of("head", ({ model }) => at(model, attention_paths(model)[0]).h),
  query: count_of("query", ({ model }) => model.max_len),
  key: count_of("key", ({ model }) => model.max_len),
  box: count_of("box", () => 10000),
  tour: one_of("tour", () => TOUR),
};

/** What a cut changes, by its name in an address. */
export function changes_of({ model }, text) {
  const [name, path, head, ...rest] = text.split(":");
  require_that(!rest.length && (name === "mute" || path === undefined));
  const changes = {
    scale: { factor: factor_without_scale(model) },
    positions: { positions: false },
    mask: { causal: false },
    mute: { muted: [{ path, head }] },
  };
  require_that(Object.hasOwn(changes, name));
  if (name === "mute") {
    require_that(attention_paths(model).includes(path));
    changes.mute.muted[0].head = number_of(head, at(model, path).h);
  }
  return { ...AS_TRAINED, ...changes[name] };
}

/** {place, wrong}: what of the view an address sets, and the parts that are wrong. */
export function read_address(address, page) {
  const place = { changes: AS_TRAINED, tried: [], summed: [] };
  const wrong = [];
  for (const [name, value] of new URLSearchParams(address)) {
    try {
      require_that(name !== "what-if" || !is_changed(place.changes));
      if (name === "what-if") place.changes = changes_of(page, value);
      else if (name === "sum") place.summed.push(number_of(value, page.model.max_len));
      else if (name === "tried") place.tried.push(name_of(changes_of(page, value)));
      else {
        require_that(Object.hasOwn(PARTS, name));
        Object.assign(place, PARTS[name](page, value));
      }
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      wrong.push(`${name}=${value}`);
    }
  }
  if (!place.mode && (place.kind || place.box !== undefined)) place.mode = "look";
  if (!place.mode && name_of(place.changes)) place.mode = "break";
  return { place, wrong };
}

const OF_MODE = { learn: ["task", "seed", "step"], break: [] };
OF_MODE.look = ["kind", "layer", "head", "query", "key", "box"];

/** The address of a view: `read_address` gives the view back. */
export function address_of(view) {
  const parts = new URLSearchParams({ mode: view.mode, src: view.text });
  for (const name of OF_MODE[view.mode])
    if ((view[name] ?? null) !== null) parts.set(name, view[name]);
  if (view.tour) parts.set("tour", view.tour);
  if (view.mode === "break") for (const name of view.tried) parts.append("tried", name);
  if (view.mode === "look") for (const key of view.summed) parts.append("sum", key);
  if (view.mode !== "learn" && is_changed(view.changes))
    parts.set("what-if", name_of(view.changes));
  if (view.lang) parts.set("lang", view.lang);
  return parts.toString().replaceAll("%3A", ":");
}
