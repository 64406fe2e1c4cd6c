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

/** The texts of page.html: live.py marks each with its key. */
function translate_page() {
  for (const place of document.querySelectorAll("[data-say]"))
    place.textContent = say(place.dataset.say);
  for (const place of document.querySelectorAll("[data-say-label]"))
    place.setAttribute("aria-label", say(place.dataset.sayLabel));
  const task = data.task.name;
  const named = task === "text" ? say("page_title_text") : say("page_title", { task });
  document.title = document.querySelector("h1").textContent = data.titled ? data.title : named;
  document.documentElement.lang = TAGS[language()];
  for (const button of element("languages").children)
    button.setAttribute("aria-pressed", button.dataset.lang === language());
}

/** The options of a select anew; the chosen one stays. */
function fill_options(id, texts) {
  const place = element(id).selectedIndex;
  element(id).replaceChildren(...texts.map((text) => make("option", {}, visible(text))));
  element(id).selectedIndex = Math.max(place, 0);
}

/** The options and texts that depend on the page's data. */
function translate_data() {
  fill_options("example", [say("example_none"), ...data.examples]);
  fill_options(
    "kind",
    KINDS.map((kind) => say(kind)),
  );
  fill_options("if-token", [say("if_replace_same"), ...data.task.tokens]);
  const example = data.examples.at(-1) ?? "";
  element("hint").textContent = say(data.task.scores ? "ask_hint_text" : "ask_hint", { example });
  name_lessons();
}

/** The lesson of every change, as a link where the page knows where the lessons are. */
function name_lessons() {
  for (const place of document.querySelectorAll("[data-lesson]")) {
    const number = place.dataset.lesson;
    const words = say("lesson", { number });
    const address = lesson_address(data.lessons[number]);
    place
      .querySelector(".lesson")
      .replaceChildren(address ? make("a", { href: address }, words) : words);
  }
}

/** The address of a lesson; the Chinese lessons are in the folder zh beside the English ones. */
function lesson_address(address) {
  return language() === "zh" ? address?.replace(/[^/]*$/, "zh/$&") : address;
}

/** Say in the language of the view what needs no forward pass. */
function translate() {
  translate_page();
  translate_data();
  show_state();
  show_play();
  show_theme();
  show_left_out();
}

function choose_language(lang) {
  view.lang = lang;
  translate();
  if (!thoughts.length) return;
  show_took();
  draw_note();
  fill_positions();
  draw();
}
