// From a network to an exact machine: states are merged at ever finer tolerances.

import { listen, tell } from "../api.js";
import { button, choice, field, html } from "../dom.js";
import { href, keep } from "../link.js";
import { models } from "./network.js";

export const title = "Proof";

export async function show(main, given, start) {
  const state = { model: given.model || "parity_check" };
  const select = choice(models(start), state.model, (name) => { state.model = name; keep("proof", state); });
  const rows = html("tbody"), verdict = html("p", { class: "verdict", "aria-live": "polite" });
  const go = button("extract its machine", run, { class: "main" });
  main.append(html("h2", {}, "Right at every length?"),
    html("p", { class: "note" }, "The network's vectors are merged into states, coarsely and then ever more finely, until its maps close on a finite table. Whether the table is right can be decided for all lengths at once."),
    html("div", { class: "controls" }, field("Model", select), go), verdict,
    html("div", { class: "panel scroll" }, html("table", {},
      html("thead", {}, html("tr", {}, ["tolerance", "states", ""].map((name, place) => html("th", { scope: "col", class: place < 2 ? "number" : null }, name || "the table"))),
      ), rows)));
  keep("proof", state);
  let stop = () => {};

  function run() {
    rows.replaceChildren();
    verdict.textContent = "merging …";
    go.disabled = true;
    let isDone = false;
    stop = listen("proof", state, {
      trial: (trial) => rows.append(html("tr", {}, html("td", { class: "number" }, String(trial.tolerance)), html("td", { class: "number" }, trial.states.toLocaleString("en")),
        html("td", { class: trial.right ? "good" : null }, !trial.closed ? "does not close" : trial.right ? "right at every length" : `wrong from length ${trial.wrong_length.toLocaleString("en")} on`))),
      verdict: (found) => {
        isDone = true;
        verdict.replaceChildren(html("span", { class: found.correct ? "good" : "bad" }, found.summary),
          found.wrong ? html("span", {}, " ", html("a", { href: href("network", { model: state.model, word: found.wrong }) }, "see the word's tree")) : "");
      },
      problem: (found) => { isDone = true; verdict.textContent = found.error; },
    }, () => {
      go.disabled = false;
      if (!isDone) { verdict.textContent = ""; tell("another extraction is running; try again when it is done"); }
    });
  }
  return () => stop();
}
