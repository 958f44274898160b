// A small network, trained on this machine while one watches.

import { follow, guarded, post } from "../api.js";
import { button, choice, field, html, percent, put } from "../dom.js";
import { chart } from "../chart.js";
import { href, keep } from "../link.js";

export const title = "Train";

// Settings: name, what it is called, least, most, usual.
const NUMBERS = [
  ["dim", "width", 4, 64, 24],
  ["steps", "steps", 10, 20000, 1000],
  ["batch_size", "words a step", 4, 256, 64],
  ["max_length", "longest training word", 4, 40, 20],
  ["seed", "seed", 0, 1000000, 0],
];

export async function show(main, given, start, signal) {
  const regex = html("input", { class: "word", value: given.regex ?? "", placeholder: "(01)*", spellcheck: "false", autocomplete: "off" });
  const names = choice(Object.entries(start.languages), given.task || "tomita_4", () => { regex.value = ""; });
  const inputs = NUMBERS.map(([name, , low, high, usual]) => html("input", { type: "number", min: low, max: high, value: given[name] ?? usual }));
  const go = button("train", begin, { class: "main" });
  const halt = button("stop", () => guarded(() => post("training", { stop: true })), { disabled: true });
  const said = html("p", { class: "verdict", "aria-live": "polite" });
  const losses = html("div"), accuracies = html("div");
  let steps = 0, loss = [], checks = [];
  put(main, html("h2", {}, "Train a network here"),
    html("p", { class: "note" }, "By our recipe, on one core. What comes out is a run folder, beside those that ", html("code", {}, "ldru train"), " makes; the same settings go on where they were stopped."),
    html("div", { class: "controls" }, field("Language", names), field("or a regular expression", regex, true)),
    html("div", { class: "controls" }, NUMBERS.map(([, label], place) => field(label, inputs[place])), go, halt), said,
    html("div", { class: "two" },
      html("div", { class: "panel" }, html("h3", {}, "Loss"), losses),
      html("div", { class: "panel" }, html("h3", {}, "Accuracy"), accuracies)));
  draw();
  watch(); // also what was under way when the page was opened

  const settings = () => ({
    ...(regex.value.trim() ? { regex: regex.value.trim() } : { task: names.value }),
    ...Object.fromEntries(NUMBERS.map(([name], place) => [name, Number(inputs[place].value)])),
  });

  async function begin() {
    keep("train", settings());
    said.textContent = "begins …";
    if (await guarded(() => post("training", settings()))) await watch();
  }

  function watch() {
    return guarded(() => follow("training", {}, {
      begin: (found) => {
        [steps, loss, checks] = [found.steps, [], []];
        go.disabled = true;
        halt.disabled = false;
      },
      step: (found) => {
        loss.push([found.step, found.loss]);
        said.textContent = `step ${found.step.toLocaleString("en")} of ${steps.toLocaleString("en")}`;
        draw();
      },
      validation: (found) => { checks.push([found.step, found.accuracy]); draw(); },
      evaluating: () => { said.textContent = "trained; now it answers longer words …"; },
      done: (found) => {
        said.replaceChildren("Done. ", html("a", { href: href("network", { model: found.run }) }, "See its tree"), ", ",
          html("a", { href: href("proof", { model: found.run }) }, "extract its machine"), ".");
        byLength(found);
      },
      stopped: (found) => { said.textContent = found.note; },
      problem: (found) => { said.textContent = ""; throw new Error(found.error); },
    }, signal)).finally(() => { go.disabled = false; halt.disabled = true; });
  }

  function draw() {
    const across = Math.max(1, steps, ...loss.map(([step]) => step));
    losses.replaceChildren(chart({ lines: [loss], across, high: Math.max(1, ...loss.map(([, value]) => value)), format: (y) => y.toFixed(2), title: "Loss by step" }));
    const last = checks.at(-1);
    accuracies.replaceChildren(chart({ lines: [checks], across, format: percentTick, title: "Accuracy at length 100 by step" }),
      html("p", { class: "note" }, last ? `At length 100, after ${last[0].toLocaleString("en")} steps: ${percent(last[1])}.` : "At length 100, by step; by length when it is done."));
  }

  function byLength(found) {
    accuracies.replaceChildren(chart({ lines: [found.points], across: 500, shaded: found.trained, format: percentTick, title: "Accuracy by length" }),
      html("p", { class: "note" }, `By length; shaded up to ${found.trained}, the longest training word.`));
  }
}

const percentTick = (y) => `${Math.round(100 * y)} %`;
