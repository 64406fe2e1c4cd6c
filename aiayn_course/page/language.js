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

/** The key of the words for a token and its place: in the source, in the answer, or in one text. */
const counted = (of) => (has_source ? `quoted_${of}` : "quoted");

/** A text in which [word:text] is a word that is explained. */
function rich(text) {
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
    element("term").textContent = sentence;
    element("term").showPopover();
  });
  return made;
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

/** The texts of page.html: live.py marks each with its key. */
function translate_page() {
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
  const short = [...data.examples].sort((a, b) => a.length - b.length).slice(0, 3);
  element("examples").replaceChildren(...short.map(chip));
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
  show_left_out();
}

function choose_language(lang) {
  view.lang = lang;
  translate();
  draw();
}
