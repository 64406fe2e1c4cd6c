const chinese = document.documentElement.lang.startsWith("zh");

// Formulas come as text.
function formulas() {
  for (const box of document.querySelectorAll(".math")) {
    katex.render(box.textContent, box, { displayMode: box.tagName === "DIV", throwOnError: false });
    join(box);
  }
}

// A stop or comma does not begin a line: the last part of a formula takes it in.
function join(formula) {
  const [mark] = /^[。，、；：！？）」』”]+/.exec(formula.nextSibling?.data) ?? [];
  const last = [...formula.querySelectorAll(".katex-html > *")].at(-1);
  if (!mark || !last) return;
  formula.nextSibling.deleteData(0, mark.length);
  last.insertAdjacentHTML("beforeend", `<span class="mark">${mark}</span>`);
}

// What a reader by keyboard or by ear needs, and the theme does not give.
function name() {
  const label = (selector, key, value) =>
    document.querySelectorAll(selector).forEach((box) => box.setAttribute(key, value));
  label("p.caption[role=heading]", "aria-level", "2");
  label("aside.sidebar-drawer", "aria-label", chinese ? "所有页面" : "All pages");
  label("aside.toc-drawer", "aria-label", chinese ? "本页内容" : "This page");
  const [other, lang, language] = chinese ? ["search", "en", "English"] : ["search_zh", "zh-Hans", "中文"];
  document.querySelector("#search-results")?.insertAdjacentHTML(
    "beforebegin", `<p class="language"><a href="${other}.html${location.search}" lang="${lang}"
      hreflang="${lang}">${language}</a></p><h1>${chinese ? "搜索" : "Search"}</h1>`);
  document.querySelectorAll("details.hide > summary").forEach((box) => box.removeAttribute("aria-label"));
  for (const head of document.querySelectorAll("th")) if (!head.innerText.trim()) head.setAttribute("role", "presentation");
}

// What scrolls sideways can be scrolled by the keyboard too.
function reach() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .math, .output")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("DOMContentLoaded", formulas);
addEventListener("load", name);
addEventListener("load", reach);
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);

// A live page within a lesson is loaded when it is opened.
document.addEventListener("toggle", ({ target }) => {
  const frame = target.querySelector(":scope > iframe[data-src]");
  if (frame && !frame.src) frame.src = frame.dataset.src;
}, true);
