// From a network to an exact machine: states are merged at ever finer tolerances.

import { follow, guarded, isStatic } from "../api.js";
import { button, field, html, put } from "../dom.js";
import { keep } from "../link.js";
import { LONGEST_WORD } from "../engine/model.js";
import { drawStates } from "../states.js";
import { explorer, modelChoice } from "./network.js";

export const title = "Proof";

export async function show(main, given, start, signal) {
  const state = { model: given.model || "parity_check" };
  const select = modelChoice(start, state.model, (name) => { state.model = name; keep("proof", state); });
  const rows = html("tbody"), verdict = html("p", { class: "verdict outcome", "aria-live": "polite" });
  const picture = html("div"), wrong = html("div");
  const go = button("extract its machine", run, { class: "main" });
  const table = html("table", {},
    html("thead", {}, html("tr", {},
      html("th", { scope: "col", class: "number" }, "tolerance"),
      html("th", { scope: "col", class: "number" }, "states"),
      html("th", { scope: "col" }, "its table"))), rows);
  put(main, html("h2", {}, "Right at every length?"),
    html("p", { class: "note" }, "The network's vectors are merged into states, coarsely and then ever more finely, until its maps close on a finite table. Whether the table is right can be decided for all lengths at once. ",
      isStatic ? "Here you see the extraction as it was recorded." : ""),
    html("div", { class: "controls" }, field("Model", select), go), verdict,
    html("div", { class: "two" },
      html("div", { class: "panel" }, html("h3", {}, "The states, seen from the side"), picture,
        html("p", { class: "note" }, "The plane in which the classes of words differ most. Vectors within a circle's radius of its centre are one state; colours are labels. Choose a row to look back.")),
      html("div", { class: "panel scroll", tabindex: 0, role: "region", "aria-label": "Tolerances" }, table)),
    wrong);
  keep("proof", state);

  function run() {
    const { model } = state;
    rows.replaceChildren();
    wrong.replaceChildren();
    verdict.textContent = "merging …";
    go.disabled = true;
    return guarded(() => follow("proof", { model }, {
      trial: add,
      verdict: (found) => judge(model, found),
      problem: (found) => { throw new Error(found.error); },
    }, signal)).finally(() => {
      go.disabled = false;
      if (verdict.textContent === "merging …") verdict.textContent = "";
    });
  }

  function add(trial) {
    const look = () => { picture.replaceChildren(drawStates(trial)); };
    const said = !trial.closed ? "does not close" : trial.right ? "right at every length" : `wrong from length ${trial.wrong_length.toLocaleString("en")} on`;
    rows.append(html("tr", {},
      html("td", { class: "number" }, button(String(trial.tolerance), look, { class: "small", "aria-label": `show the states at tolerance ${trial.tolerance}` })),
      html("td", { class: "number" }, trial.states.toLocaleString("en")),
      html("td", { class: trial.right ? "good" : null }, said)));
    look();
  }

  async function judge(model, found) {
    verdict.replaceChildren(html("span", { class: found.correct ? "good" : "bad" }, found.summary));
    if (found.wrong === null) return;
    const length = found.wrong.split(found.wrong.includes(" ") ? /\s+/ : "").length;
    if (length > LONGEST_WORD) {
      wrong.replaceChildren(html("p", { class: "note" }, `The shortest wrong word has ${length.toLocaleString("en")} symbols, too many for a picture of its tree.`));
      return;
    }
    wrong.replaceChildren(html("h3", {}, "The shortest wrong word"));
    await explorer(wrong, { model, word: found.wrong }, start, () => {}, { withWord: false });
  }
}
