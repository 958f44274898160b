// Accuracy by length, and a random word as long as one likes.

import { getModel, guarded } from "../api.js";
import { button, field, html, percent, put, settled } from "../dom.js";
import { chart } from "../chart.js";
import { randomFrom } from "../engine/language.js";
import { best } from "../engine/network.js";
import { href, keep } from "../link.js";
import { LONGEST_WORD } from "../engine/model.js";
import { modelChoice } from "./network.js";

export const title = "Length";

const LONGEST = 10_000;
const SHOWN = 400; // symbols of a word that is written out
const SYMBOLS = 4_000; // of all words that are asked at once, beside the one that is shown

export async function show(main, given, start) {
  const state = { model: given.model || "parity_check", length: Number(given.length ?? 500), seed: Number(given.seed ?? 0) };
  const plot = html("div"), note = html("p", { class: "note" });
  const found = html("div", { "aria-live": "polite" });
  const shown = html("output", {});
  const slider = html("input", { type: "range", min: 0, max: 100, step: 0.5, value: toSlider(state.length),
    oninput: () => { state.length = fromSlider(slider.value); draw(); ask(); } });
  const select = modelChoice(start, state.model, (name) => { state.model = name; load(); });
  let model = null, asked = []; // lengths, and the share of words that was right there
  put(main, html("h2", {}, "Accuracy by length"),
    html("div", { class: "controls" }, field("Model", select)),
    html("div", { class: "panel" }, plot, note),
    html("div", { class: "panel" },
      html("div", { class: "controls" }, field("A random word of length", slider, true), shown,
        button("another", () => { state.seed += 1; guarded(answer); })), found));

  const load = () => guarded(async () => {
    model = await getModel(state.model);
    asked = [];
    answer();
  });

  function draw() {
    const { points, trained } = model;
    shown.textContent = state.length.toLocaleString("en");
    plot.replaceChildren(chart({ lines: [points], across: LONGEST, isLog: true, shaded: trained, format: percentTick,
      marked: state.length, dots: asked, title: `Accuracy by length; trained up to ${trained}` }));
    note.textContent = `Shaded: lengths of training, up to ${trained}. Line: test words of the record${worst(points)} Dots: the words that you draw below.`;
  }

  function answer() {
    keep("length", state);
    const { language, network } = model;
    const count = Math.max(language.classes.length, Math.min(16, Math.floor(SYMBOLS / state.length)));
    const words = language.drawSome(state.length, count, randomFrom(state.seed));
    const answers = words.map((tokens) => best(network.answer(tokens)));
    const right = words.filter((tokens, n) => answers[n] === language.label(tokens)).length;
    asked.push([state.length, right / words.length, right === words.length ? "good" : "bad"]);
    draw();
    const pick = state.seed % words.length;
    const text = language.decode(words[pick]), truth = language.label(words[pick]);
    const isRight = answers[pick] === truth;
    found.replaceChildren(
      html("p", { class: "verdict" }, `${words[pick].length.toLocaleString("en")} symbols: the network says ${answers[pick]}, the machine ${truth}: `,
        html("span", { class: isRight ? "good" : "bad" }, isRight ? "right" : "wrong"),
        `. Of ${words.length} words, drawn uniformly for each label, ${right} are right. `,
        words[pick].length <= LONGEST_WORD ? html("a", { href: href("network", { model: state.model, word: text }) }, "See its tree") : null),
      html("p", { class: "word long" }, text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text));
  }
  const ask = settled(150, () => guarded(answer));
  await load();
}

// What the record says, in a few words.
function worst(points) {
  if (!points.length) return ", of which there are none yet: ldru eval makes them.";
  const [length, share] = points.reduce((a, b) => (b[1] < a[1] ? b : a));
  return share === 1 ? ", all of them answered right." : `; the least accuracy is ${percent(share)}, at length ${length}.`;
}

const percentTick = (y) => `${Math.round(100 * y)} %`;

// The slider goes from 1 to 10,000 by equal ratios.
const fromSlider = (value) => Math.max(1, Math.round(10 ** (4 * value / 100)));
const toSlider = (value) => Math.round(50 * Math.log10(value)) / 2;
