// Two networks side by side on one word.

import { field, html, put, settled, wordInput } from "../dom.js";
import { keep } from "../link.js";
import { explorer } from "./network.js";

export const title = "Compare";

export async function show(main, given, start) {
  const state = { word: given.word || "0011001101", first: given.first || "dyck_2", second: given.second || "dyck_12" };
  const word = wordInput(state.word, settled(120, () => give(word.value.trim())));
  const sides = ["first network", "second network"].map((name) => html("section", { "aria-label": name }));
  put(main, html("h2", {}, "Two networks on one word"), html("div", { class: "controls" }, field("Word", word, true)),
    html("div", { class: "two" }, sides));
  const both = await Promise.all(["first", "second"].map((side, place) =>
    explorer(sides[place], { model: state[side], word: state.word }, start, (found) => {
      state[side] = found.model;
      if (found.word !== state.word) { // a symbol was pressed on this side
        word.value = found.word;
        give(found.word, place);
      }
      keep("compare", state);
    }, { withWord: false, name: place ? "Second model" : "First model" })));

  async function give(text, except = null) {
    if (!text || text === state.word) return;
    state.word = text;
    await Promise.all(both.map((one, place) => (place === except ? null : one.give(text))));
  }
}
