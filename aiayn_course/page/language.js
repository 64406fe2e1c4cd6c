"use strict";
// The words of the page, in English and in Chinese, and the switch between them.

const TAGS = { en: "en", zh: "zh-Hans" };
const language_of_browser = () => (/^zh\b/i.test(navigator.language ?? "") ? "zh" : "en");
const language = () => view.lang ?? language_of_browser();

/** The words for a key in the language of the page, with values in the place of {names}. */
function say(key, values = {}) {
  return data.words[language()][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** The words for a key, split where a {name} stands for an element. */
function say_with(key, elements) {
  const parts = data.words[language()][key].split(/(\{\w+\})/).filter(Boolean);
  return parts.map((part) => elements[part.slice(1, -1)] ?? part);
}

/** The words for a key, with a link in the place of {text}, which types that, or acts otherwise. */
function say_to_try(key, text, act = () => type(text)) {
  const onclick = (event) => {
    event.preventDefault();
    act();
  };
  return say_with(key, { text: make("a", { href: "#", onclick }, text) });
}

/** The key of the words for a token and its place: in the source, in the answer, or in one text. */
const counted = (of) => (has_source ? `quoted_${of}` : "quoted");

/** A text in which [word:text] is its text alone. */
const plain = (text) => text.replace(/\[\w+:([^\]]*)\]/g, "$1");

/** A text in which [word:text] is a word that is explained; an element as it is. */
function rich(text) {
  if (text instanceof Element) return [text];
  return text
    .split(/(\[\w+:[^\]]*\])/)
    .filter(Boolean)
    .map((part) => {
      const [, word, shown] = part.match(/^\[(\w+):(.*)\]$/) ?? [];
      return word ? term(shown, say(`term_${word}`)) : part;
    });
}

/** A word with a dotted line; a click shows the sentence that explains it. */
function term(text, sentence) {
  const made = make("button", { type: "button", class: "term", title: sentence }, text);
  made.addEventListener("click", () => {
    const box = element("term");
    const { left, bottom } = made.getBoundingClientRect();
    box.textContent = sentence;
    box.style.top = `${scrollY + bottom + 4}px`;
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - 320))}px`;
    box.showPopover();
    box.scrollIntoView({ block: "nearest" });
  });
  return made;
}

/** What the model was trained for, how often it is right, and at the foot how it was trained. */
function tell_about() {
  const { exact_match, held_out, validation_pairs, steps, seconds } = data.metrics;
  const about = [say("about_what"), say("gap")];
  const count_of = (count) => ({ right: Math.round(exact_match * count), count });
  if (held_out) about.push(say("about_right", count_of(held_out)), say("gap"));
  else if (exact_match) about.push(say("about_exact", count_of(validation_pairs)), say("gap"));
  element("about").replaceChildren(...about, make("strong", {}, say(ABOUT)));
  const count = say("footer_size", { count: data.parameters });
  const training = seconds ? say("footer_training", { steps, seconds: Math.round(seconds) }) : "";
  element("footer").replaceChildren(
    make("p", {}, say("footer_project"), say("gap"), count, say("gap"), training),
    make("p", {}, say("footer_command"), " ", make("code", {}, "aiayn-np explore RUN")),
  );
}

const ABOUT = data.model.encoder ? "about_type" : "about_begin";

/** What a language model has in the place of a source. */
const ALONE = { ask_label: "ask_label_alone" };

/** The texts of page.html: live.py marks each with its key. */
function translate_page() {
  for (const place of document.querySelectorAll("[data-say]"))
    place.replaceChildren(
      ...rich(say((!has_source && ALONE[place.dataset.say]) || place.dataset.say)),
    );
  for (const place of document.querySelectorAll("[data-say-label]"))
    place.setAttribute("aria-label", say(place.dataset.sayLabel));
  const [before, verb, after] = data.title[language()].split(/\*(.+?)\*/);
  document
    .querySelector("h1")
    .replaceChildren(before, ...(verb ? [make("u", {}, verb), after] : []));
  document.title = document.querySelector("h1").textContent;
  tell_about();
  document.documentElement.lang = TAGS[language()];
  for (const button of element("languages").children)
    button.setAttribute("aria-pressed", button.dataset.lang === language());
}

/** The options and texts that depend on the page's data. */
function translate_data() {
  const chip = (text) => make_button(visible(text), () => type(text));
  const short = [...data.examples].sort((a, b) => a.length - b.length).slice(0, 3);
  element("examples").replaceChildren(...short.map(chip));
  element("kind").replaceChildren(...kinds.map((kind) => make("option", {}, say(kind))));
  const example = data.examples.at(-1) ?? "";
  element("hint").textContent = say(data.task.scores ? "ask_hint_text" : "ask_hint", { example });
}

/** Where to read on, if the page knows where the lessons are; the Chinese ones are in zh/. */
function lesson_link(number) {
  const address = data.lessons[number];
  if (!address) return [];
  const href = language() === "zh" ? address.replace(/[^/]*$/, "zh/$&") : address;
  return [make("a", { href, class: "lesson" }, say("lesson", { number }))];
}

/** Say in the language of the view what needs no forward pass. */
function translate() {
  translate_page();
  translate_data();
  show_play();
  show_left_out();
}

function choose_language(lang) {
  view.lang = lang;
  translate();
  if (!thoughts.length) return;
  draw_note();
  draw();
}
