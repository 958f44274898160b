// A language: its machine, and a word's way through it.

import { getLanguage, guarded, isStatic } from "../api.js";
import { button, choice, field, html, put, settled, wordInput } from "../dom.js";
import { randomFrom } from "../engine/language.js";
import { keep } from "../link.js";
import { drawMachine } from "../machine.js";

export const title = "Language";

const WORDS = 8;
const LONGEST = 64;

export async function show(main, given, start) {
  const state = {
    task: given.regex ? "" : given.task || "dyck_3", regex: given.regex ?? "", word: given.word ?? "",
    place: Number(given.place ?? 0), length: Number(given.length ?? 12), seed: Number(given.seed ?? 0),
  };
  const picture = html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Machine" });
  const facts = html("p", { class: "note" });
  const way = html("p", { class: "verdict", "aria-live": "polite" });
  const list = html("ul", { class: "words" });
  const word = wordInput(state.word, settled(120, () => { take(word.value.trim()); }));
  const regex = html("input", { class: "word", value: state.regex, placeholder: "(01)*", spellcheck: "false", autocomplete: "off",
    oninput: settled(400, () => { choose(regex.value.trim() ? "" : names.value, regex.value.trim()); }) });
  const length = html("input", { type: "number", min: 1, max: LONGEST, value: state.length,
    oninput: settled(200, () => { state.length = Number(length.value); guarded(offer); }) });
  const names = choice(Object.entries(start.languages), state.task || "dyck_3", (name) => { regex.value = ""; choose(name, ""); });
  const back = button("◀ step", () => step(-1), { "aria-label": "one symbol back" });
  const on = button("step ▶", () => step(1), { "aria-label": "one symbol on", class: "main" });
  let language = null, tokens = [], states = [];

  put(main, html("h2", {}, "A language and its machine"),
    html("div", { class: "controls" }, field("Language", names),
      isStatic ? null : field("or a regular expression", regex, true)),
    isStatic ? html("p", { class: "note" }, "On your own machine, ", html("code", {}, "ldru play"), " also takes regular expressions, trains networks and extracts their machines.") : null,
    html("div", { class: "panel" }, picture, facts),
    html("div", { class: "panel" },
      html("div", { class: "controls" }, field("Word", word, true), back, on),
      way,
      html("div", { class: "controls" }, field("Words of length", length),
        button("draw others", () => { state.seed += 1; guarded(offer); })),
      list));

  function choose(task, expression) {
    Object.assign(state, { task, regex: expression, word: "", place: 0 });
    word.value = "";
    return load();
  }

  const load = () => guarded(async () => {
    language = await getLanguage(state.regex ? { regex: state.regex } : { task: state.task });
    const { monoid, labels } = language;
    const classes = monoid === null ? "more than 1,000 classes" : `${monoid.step.length.toLocaleString("en")} classes`;
    facts.textContent = `${language.name}: ${labels.length} states, ${classes} of words in its monoid${monoid ? ` (${monoid.complexity})` : ""}. `
      + (language.isAccepting ? "Double circles accept." : "Arrows in states show labels.");
    offer();
    follow();
  });

  // Sets a word, and goes back to its beginning.
  function take(text) {
    state.word = text;
    state.place = 0;
    return guarded(follow);
  }

  function follow() {
    tokens = language.encode(state.word);
    states = language.walk(tokens);
    step(0);
  }

  function offer() {
    const wanted = Math.min(LONGEST, Math.max(1, Math.round(state.length) || 1));
    const words = language.drawSome(wanted, WORDS, randomFrom(state.seed));
    list.replaceChildren(...words.map((one) => {
      const text = language.decode(one);
      return html("li", {}, button(`${text} → ${language.label(one)}`, () => { word.value = text; take(text); }, { class: "word" }));
    }));
    save();
  }

  function step(by) {
    state.place = Math.min(tokens.length, Math.max(0, state.place + by));
    save();
    picture.replaceChildren(drawMachine(language, states, state.place));
    back.disabled = state.place === 0;
    on.disabled = state.place === tokens.length;
    const read = language.decode(tokens.slice(0, state.place)) || "nothing";
    const label = language.labels[states.at(-1)];
    const end = tokens.length && state.place === tokens.length ? ` The word has ${label === null ? "no label" : `label ${label}`}.` : "";
    way.textContent = `Read ${read}: state ${states[state.place]}.${end}`;
  }

  const save = () => keep("language", { ...state, place: state.place || "", seed: state.seed || "" });

  await load();
}
