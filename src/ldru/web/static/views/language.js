// A language: its machine, and a word's way through it.

import { get, tell } from "../api.js";
import { button, choice, field, html, settled } from "../dom.js";
import { keep } from "../link.js";
import { drawMachine } from "../machine.js";

export const title = "Language";

export async function show(main, given, start) {
  const state = { task: given.regex ? "" : given.task || "dyck_3", regex: given.regex ?? "", word: given.word ?? "", place: Number(given.place ?? 0), length: given.length ?? "12" };
  const picture = html("div", { class: "scroll" });
  const facts = html("p", { class: "note" });
  const way = html("p", { class: "verdict", "aria-live": "polite" });
  const list = html("ul", { class: "words" });
  const word = html("input", { class: "word", value: state.word, spellcheck: "false", autocomplete: "off", oninput: settled(120, () => { state.word = word.value.trim(); state.place = 0; follow(); }) });
  const regex = html("input", { class: "word", value: state.regex, placeholder: "(01)*", spellcheck: "false", autocomplete: "off", oninput: settled(400, () => { state.regex = regex.value.trim(); state.task = state.regex ? "" : names.value; load(); }) });
  const length = html("input", { type: "number", min: 1, max: 64, value: state.length, oninput: settled(200, () => { state.length = length.value; draw(); }) });
  const names = choice([["the paper's", start.languages.paper], ["others", start.languages.others]], state.task || "dyck_3",
    (name) => { state.task = name; state.regex = regex.value = ""; state.word = word.value = ""; state.place = 0; load(); });
  const back = button("◀ step", () => step(-1), { "aria-label": "one symbol back" });
  const on = button("step ▶", () => step(1), { "aria-label": "one symbol on", class: "main" });
  let machine = null, path = { states: [], symbols: [], label: null };
  let seed = 0;

  main.append(html("h2", {}, "A language and its machine"),
    html("div", { class: "controls" }, field("Language", names), field("or a regular expression", regex, true)),
    html("div", { class: "panel" }, picture, facts),
    html("div", { class: "panel" },
      html("div", { class: "controls" }, field("Word", word, true), back, on),
      way,
      html("div", { class: "controls" }, field("Words of length", length), button("draw others", () => { seed += 1; draw(); })),
      list));

  const which = () => (state.regex ? { regex: state.regex } : { task: state.task });

  async function load() {
    machine = await asked("machine", which());
    if (!machine) return;
    const classes = machine.classes === null ? "more than 1,000" : machine.classes.toLocaleString("en");
    facts.textContent = `${machine.name}: ${machine.labels.length} states, ${classes} classes of words in its monoid${machine.complexity ? ` (${machine.complexity})` : ""}. ${new Set(machine.labels.filter((label) => label !== null)).size <= 2 ? "Double circles accept." : "Arrows in states show labels."}`;
    await Promise.all([follow(), draw()]);
  }

  async function follow() {
    const found = state.word ? await asked("walk", { ...which(), word: state.word }) : { states: [machine.start], symbols: [], label: null };
    if (!found) return;
    path = found;
    step(0);
  }

  async function draw() {
    const found = await asked("words", { ...which(), length: state.length, seed });
    if (!found) return;
    list.replaceChildren(...found.words.map((one) => html("li", {}, button(`${one.word} → ${one.label}`, () => { state.word = word.value = one.word; state.place = 0; follow(); }, { class: "word" }))));
  }

  function step(by) {
    state.place = Math.min(path.symbols.length, Math.max(0, state.place + by));
    keep("language", { ...which(), word: state.word, place: state.place || "", length: state.length });
    picture.replaceChildren(drawMachine(machine, path.states, state.place));
    back.disabled = state.place === 0;
    on.disabled = state.place === path.symbols.length;
    const read = path.symbols.slice(0, state.place).join("") || "nothing";
    const end = state.place === path.symbols.length && path.symbols.length ? ` The word has label ${path.label}.` : "";
    way.textContent = `Read ${read}: state ${path.states[state.place]}.${end}`;
  }

  await load();
}

async function asked(name, given) {
  try {
    return await get(name, given);
  } catch (problem) {
    tell(problem);
    return null;
  }
}
