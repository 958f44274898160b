// Accuracy by length, and a random word as long as one likes.

import { get, tell } from "../api.js";
import { button, choice, field, html, percent, settled } from "../dom.js";
import { chart } from "../chart.js";
import { keep } from "../link.js";
import { models } from "./network.js";

export const title = "Length";

export async function show(main, given, start) {
  const state = { model: given.model || "parity_check", length: Number(given.length ?? 500), seed: Number(given.seed ?? 0) };
  const plot = html("div"), note = html("p", { class: "note" });
  const found = html("div", { "aria-live": "polite" });
  const shown = html("output", {});
  const slider = html("input", { type: "range", min: 0, max: 100, value: scale(state.length), "aria-label": "Length of a random word", oninput: () => { state.length = length(slider.value); draw(); ask(); } });
  const select = choice(models(start), state.model, (name) => { state.model = name; load(); });
  let curve = { points: [], trained: 40 };
  main.append(html("h2", {}, "Accuracy by length"),
    html("div", { class: "controls" }, field("Model", select)),
    html("div", { class: "panel" }, plot, note),
    html("div", { class: "panel" },
      html("div", { class: "controls" }, field("A random word of length", slider, true), shown, button("another", () => { state.seed += 1; ask(); })), found));

  async function load() {
    try {
      curve = await get("model", { model: state.model });
    } catch (problem) {
      tell(problem);
      return;
    }
    draw();
    await now();
  }

  function draw() {
    shown.textContent = state.length.toLocaleString("en");
    plot.replaceChildren(chart({ lines: [curve.points], across: Math.max(500, ...curve.points.map(([n]) => n)), shaded: curve.trained, format: (y) => `${Math.round(100 * y)} %`, marked: state.length,
      title: `Accuracy by length; trained up to ${curve.trained}` }));
    const worst = curve.points.length ? curve.points.reduce((a, b) => (b[1] < a[1] ? b : a)) : null;
    note.textContent = worst ? `Shaded: lengths of training, up to ${curve.trained}. The least accuracy is ${percent(worst[1])}, at length ${worst[0]}.` : "This run was not evaluated yet: ldru eval does it.";
  }

  async function now() {
    keep("length", state);
    try {
      const one = await get("length", state);
      const isRight = one.answer === one.truth;
      const word = one.word.length > 400 ? `${one.word.slice(0, 400)}…` : one.word;
      found.replaceChildren(
        html("p", { class: "verdict" }, `${one.length.toLocaleString("en")} symbols: the network says ${one.answer}, the machine ${one.truth}: `,
          html("span", { class: isRight ? "good" : "bad" }, isRight ? "right" : "wrong"), `. Of ${one.words} words ${one.right} are right.`),
        html("p", { class: "word long" }, word));
    } catch (problem) {
      tell(problem);
    }
  }
  const ask = settled(150, now);
  await load();
}

const length = (value) => Math.max(1, Math.round(10 ** (4 * value / 100)));
const scale = (value) => Math.round(25 * Math.log10(value));
