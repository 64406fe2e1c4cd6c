"use strict";
// The tour: tour=NAME in an address. Each stop is a place of the page, and a question to think about
// before its button shows what happens there.

const LIST = { text: START.text, changes: AS_TRAINED, tried: [] };

/** The stops: where they are, the lesson to read on, and what their button does. */
const STOPS = {
  learn: { place: { mode: "learn" }, lesson: "10", act: () => learn_on() },
  back: { place: { mode: "learn" }, lesson: "4", act: () => is_back || turn_round() },
  cut: { place: { mode: "break" }, lesson: "6", act: () => cut(head_cuts().at(-1)) },
  positions: { place: { mode: "break" }, lesson: "8", act: () => cut("positions") },
  look: { place: { mode: "look" }, lesson: "1", act: () => choose({ query: 1, key: null }) },
};

/** The names of the stops of this page: a small model learns on some pages only. */
const stops = () => TOUR.filter((name) => modes.includes(STOPS[name].place.mode));

/** Go to a stop; after the last one the tour is over. */
function go_on_tour(tour) {
  if (!tour) return choose({ tour: null });
  show_place({ ...LIST, ...STOPS[tour].place, tour }, () => element("tour").focus());
}

function draw_tour() {
  const { tour } = view;
  element("tour").hidden = tour === null;
  if (tour === null) return;
  const place = stops().indexOf(tour);
  const count = { step: place + 1, count: stops().length };
  const next = stops()[place + 1];
  fill(element("tour-question"), [
    make("span", { class: "soft" }, say("tour_count", count), say("gap")),
    make("strong", {}, say(`tour_${tour}`)),
    ...spaced(["", ...lesson_link(STOPS[tour].lesson)]),
  ]);
  refill(
    element("tour-steps"),
    make_button(say("tour_show"), STOPS[tour].act, { id: "tour-show", class: "main" }),
    make_button(say(next ? "tour_next" : "tour_finish"), () => go_on_tour(next), {
      id: "tour-next",
    }),
    make_button(say("tour_end"), () => go_on_tour(), { id: "tour-end", hidden: !next }),
  );
}
