// A small network, trained on this machine while one watches.

import { listen, post, tell } from "../api.js";
import { button, choice, field, html, percent } from "../dom.js";
import { chart } from "../chart.js";
import { href, keep } from "../link.js";

export const title = "Train";
const NUMBERS = [["dim", "width", 4, 64, 24], ["steps", "steps", 10, 20000, 1000], ["batch_size", "words a step", 4, 256, 64], ["max_length", "longest training word", 4, 40, 20], ["seed", "seed", 0, 1000000, 0]];

export async function show(main, given, start) {
  const regex = html("input", { class: "word", value: given.regex ?? "", placeholder: "(01)*", spellcheck: "false", autocomplete: "off" });
  const names = choice([["the paper's", start.languages.paper], ["others", start.languages.others]], given.task || "tomita_4", () => { regex.value = ""; });
  const inputs = NUMBERS.map(([name, , low, high, usual]) => html("input", { type: "number", min: low, max: high, value: given[name] ?? usual }));
  const go = button("train", begin, { class: "main" });
  const halt = button("stop", () => post("training", { stop: true }).catch(tell), { disabled: true });
  const said = html("p", { class: "verdict", "aria-live": "polite" });
  const losses = html("div"), accuracies = html("div");
  let stop = () => {}, steps = 0, loss = [], checks = [];
  main.append(html("h2", {}, "Train a network here"),
    html("div", { class: "controls" }, field("Language", names), field("or a regular expression", regex, true)),
    html("div", { class: "controls" }, NUMBERS.map(([, label], place) => field(label, inputs[place])), go, halt), said,
    html("div", { class: "two" },
      html("div", { class: "panel" }, html("h3", {}, "Loss"), losses),
      html("div", { class: "panel" }, html("h3", {}, "Accuracy"), accuracies)));
  draw();
  watch();

  const settings = () => ({
    ...(regex.value.trim() ? { regex: regex.value.trim() } : { task: names.value }),
    ...Object.fromEntries(NUMBERS.map(([name], place) => [name, Number(inputs[place].value)])),
  });

  async function begin() {
    keep("train", settings());
    try {
      steps = (await post("training", settings())).steps;
      loss = [];
      checks = [];
      said.textContent = "begins …";
      watch();
    } catch (problem) {
      tell(problem);
    }
  }

  // Also the training that was under way when the page was opened.
  function watch() {
    stop();
    const running = () => { go.disabled = true; halt.disabled = false; };
    stop = listen("training", {}, {
      step: (found) => { running(); loss.push([found.step, found.loss]); said.textContent = `step ${found.step.toLocaleString("en")}${steps ? ` of ${steps.toLocaleString("en")}` : ""}`; draw(); },
      validation: (found) => { running(); checks.push([found.step, found.accuracy]); draw(); },
      done: (found) => {
        said.replaceChildren("Done. ", html("a", { href: href("network", { model: found.run }) }, "See its tree"), ", ", html("a", { href: href("proof", { model: found.run }) }, "extract its machine"), ".");
        byLength(found);
        go.disabled = false;
        halt.disabled = true;
        start.models.unshift({ name: found.run, kind: "run" });
      },
      stopped: (found) => { said.textContent = found.note; },
      problem: (found) => { said.textContent = ""; tell(found.error); },
    }, () => { go.disabled = false; halt.disabled = true; });
  }

  function draw() {
    const across = Math.max(1, steps, ...loss.map(([step]) => step));
    losses.replaceChildren(chart({ lines: [loss], across, high: Math.max(1, ...loss.map(([, value]) => value)), format: (y) => y.toFixed(2), title: "Loss by step" }));
    accuracies.replaceChildren(chart({ lines: [checks], across, format: percentTick, title: "Accuracy at length 100 by step" }), html("p", { class: "note" }, checks.length ? `At length 100, after ${checks.at(-1)[0].toLocaleString("en")} steps: ${percent(checks.at(-1)[1])}.` : "At length 100, by step; by length when it is done."));
  }

  function byLength(found) {
    accuracies.replaceChildren(chart({ lines: [found.points], across: 500, shaded: found.trained, format: percentTick, title: "Accuracy by length" }), html("p", { class: "note" }, `By length; shaded up to ${found.trained}, the longest training word.`));
  }
  return () => stop();
}

const percentTick = (y) => `${Math.round(100 * y)} %`;
