"use strict";
// The place in the page that an address names, such as page.html#src=3+1+4&what-if=mask&step=2.
// An address is data only: a part that is wrong is left out, and reported. All counts begin at 0.
//
//   lang=zh                          the language that was chosen, else it is the browser's own
//   src=3+1+4                        what is typed
//   step=2                           how many tokens are written
//   kind=cross&layer=1&head=0        the attention that is shown
//   side=1&query=2&key=0             the cell that is explained; side=1 is the changed model
//   box=7                            the box of Figure 1
//   tour=3&guess=1                   the step of the tour, and what was guessed
//   what-if=scale                    no 1/√d_k
//   what-if=positions                no positions
//   what-if=mask                     no causal mask
//   what-if=mute:PATH:HEAD           with a PATH such as decoder.layers.1.cross_attention
//   what-if=replace:POSITION:TOKEN   another source token
//
// One change at a time: of several what-ifs the first one holds.

const KINDS = ["encoder_self", "decoder_self", "cross"];
const LANGUAGES = ["en", "zh"];
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

function head_of(model, path, head) {
  require_that(attention_paths(model).includes(path));
  return { path, head: number_of(head, at(model, path).h) };
}

/** What each part of an address is in the view. `page` is {model, tokens}. */
const PARTS = {
  lang(page, lang) {
    require_that(LANGUAGES.includes(lang));
    return { lang };
  },
  src(page, text) {
    require_that(text.length <= LONGEST);
    return { text };
  },
  step: ({ model }, text) => ({ written: number_of(text, model.max_len) }),
  kind({ kinds = KINDS }, kind) {
    require_that(kinds.includes(kind));
    return { kind };
  },
  layer: ({ model }, text) => ({ layer: number_of(text, most_layers(model)) }),
  head: ({ model }, text) => ({ head: number_of(text, at(model, attention_paths(model)[0]).h) }),
  side: (page, text) => ({ side: number_of(text, 2) }),
  query: ({ model }, text) => ({ query: number_of(text, model.max_len) }),
  key: ({ model }, text) => ({ key: number_of(text, model.max_len) }),
  box: (page, text) => ({ box: number_of(text, 10000) }),
  tour: (page, text) => ({ tour: number_of(text, 5) }),
  guess: (page, text) => ({ guess: number_of(text, 4) }), // 3: none was made
  "what-if"(page, text) {
    const [name, ...rest] = text.split(":");
    require_that(Object.hasOwn(WHAT_IFS, name));
    return { changes: { ...AS_TRAINED, ...WHAT_IFS[name](page, ...rest) } };
  },
};

/** What each what-if changes. */
const WHAT_IFS = {
  scale({ model }, ...rest) {
    require_that(!rest.length && factor_without_scale(model) !== 1);
    return { factor: factor_without_scale(model) };
  },
  positions: () => ({ positions: false }),
  mask: () => ({ causal: false }),
  mute: ({ model }, path, head) => ({ muted: [head_of(model, path, head)] }),
  replace({ model, tokens }, position, ...rest) {
    const token = tokens.indexOf(rest.join(":"));
    require_that(token >= 0);
    return { replaced: [{ position: number_of(position, model.max_len), token }] };
  },
};

/** {place, wrong}: what of the view an address sets, and the parts that are wrong. */
function read_address(address, page) {
  const place = { changes: { ...AS_TRAINED } };
  const wrong = [];
  for (const [name, value] of new URLSearchParams(address)) {
    try {
      require_that(name !== "what-if" || !is_changed(place.changes));
      require_that(Object.hasOwn(PARTS, name));
      Object.assign(place, PARTS[name](page, value));
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      wrong.push(`${name}=${value}`);
    }
  }
  return { place, wrong };
}

/** The address of a view: `read_address` gives the view back. */
function address_of(view, { tokens }) {
  const { factor, positions, causal, muted, replaced } = view.changes;
  const what_ifs = [
    ...(factor === 1 ? [] : ["scale"]),
    ...(positions ? [] : ["positions"]),
    ...(causal ? [] : ["mask"]),
    ...muted.map(({ path, head }) => `mute:${path}:${head}`),
    ...replaced.map(({ position, token }) => `replace:${position}:${tokens[token]}`),
  ];
  const parts = new URLSearchParams({ src: view.text });
  if (view.written < Infinity) parts.set("step", view.written);
  for (const name of ["kind", "layer", "head", "query", "key"]) parts.set(name, view[name]);
  if (view.side) parts.set("side", view.side);
  if (view.box) parts.set("box", view.box);
  for (const name of ["tour", "guess"])
    if ((view[name] ?? null) !== null) parts.set(name, view[name]);
  for (const what_if of what_ifs) parts.append("what-if", what_if);
  if (view.lang) parts.set("lang", view.lang);
  return parts.toString().replaceAll("%3A", ":");
}
