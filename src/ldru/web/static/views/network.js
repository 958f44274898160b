// A network: the tree over a word, with what each node has become.

import { get, tell } from "../api.js";
import { button, choice, field, html, percent, settled } from "../dom.js";
import { keep } from "../link.js";
import { brackets, describe, drawTree, legend, turned } from "../tree.js";

export const title = "Network";

export const models = (start) => [
  ["shipped", start.models.filter((model) => model.kind === "shipped").map((model) => model.name)],
  ["your runs", start.models.filter((model) => model.kind === "run").map((model) => model.name)],
];

export async function show(main, given, start) {
  main.append(html("h2", {}, "A network and the tree over a word"),
    html("p", { class: "note" }, "A node's colour is the class of words that its vector lies near; a dashed rim marks one whose true class is another. ",
      "Press a node to turn its brackets, (ab)c into a(bc); press a symbol to change it: only the nodes above it are computed anew."));
  await explorer(main, given, start, (state) => keep("network", state));
}

// The view of one network; `changed` is told of its settings. Returns how to give it another word.
export async function explorer(place, given, start, changed, { word: withWord = true, name = "Model" } = {}) {
  const state = { model: given.model || "dyck_3", word: given.word ?? "", brackets: given.brackets ?? "" };
  const panel = html("div", { class: "panel scroll" });
  const answer = html("p", { class: "verdict", "aria-live": "polite" });
  const about = html("p", { class: "note", "aria-live": "polite" });
  const marks = html("div");
  const word = html("input", { class: "word", value: state.word, spellcheck: "false", autocomplete: "off", "aria-label": "Word", oninput: settled(150, () => { state.word = word.value.trim(); state.brackets = ""; load(); }) });
  const select = choice(models(start), state.model, (chosen) => { state.model = chosen; state.brackets = ""; if (withWord) state.word = ""; open(); });
  const balance = button("balanced again", () => { state.brackets = ""; load(); });
  let alphabet = [], tree = null, seed = 0;

  place.append(html("div", { class: "controls" }, field(name, select),
    withWord ? field("Word", word, true) : null,
    withWord ? button("another word", () => { seed += 1; another(); }) : null, balance),
    answer, panel, about, marks);

  async function open() {
    await guarded(async () => {
      const found = await get("model", { model: state.model });
      alphabet = found.alphabet;
      if (!state.word) state.word = word.value = found.example[0].word;
      await load();
    });
  }

  async function another() {
    await guarded(async () => {
      const found = await get("length", { model: state.model, length: 5 + (7 * seed) % 20, seed });
      state.word = word.value = found.word;
      state.brackets = "";
      await load();
    });
  }

  async function load(edited = null) {
    await guarded(async () => {
      tree = await get("tree", { model: state.model, word: state.word, brackets: state.brackets });
      changed({ ...state });
      draw(edited);
    });
  }

  function draw(edited) {
    const held = document.activeElement?.getAttribute("aria-label");
    panel.replaceChildren(drawTree(tree, {
      changed: edited,
      onShow: (number) => { about.textContent = describe(tree, number); },
      onTurn: (number) => { state.brackets = turned(tree.nodes, number); load(); },
      onSymbol: (spot) => edit(spot),
    }));
    if (held) [...panel.querySelectorAll(".hit")].find((one) => one.getAttribute("aria-label") === held)?.focus();
    const isRight = tree.truth === null || tree.answer === tree.truth;
    const over = state.brackets ? " along your brackets" : "";
    answer.replaceChildren(`The network says ${tree.answer}${over} (${percent(tree.probability)} sure), `,
      tree.truth === null ? "the word has no label." : `the machine ${tree.truth}: `,
      tree.truth === null ? "" : html("span", { class: isRight ? "good" : "bad" }, isRight ? "right" : "wrong"));
    balance.disabled = !state.brackets;
    about.textContent = edited === null ? "Point at a node, or move to it with Tab." :
      `Symbol ${edited + 1} changed: ${tree.nodes.filter((node) => node.begin <= edited && edited < node.end).length} of ${tree.nodes.length} nodes are new.`;
    marks.replaceChildren(legend(tree));
  }

  function edit(spot) {
    const symbols = [...tree.symbols];
    symbols[spot] = alphabet[(alphabet.indexOf(symbols[spot]) + 1) % alphabet.length];
    const isPlain = alphabet.every((symbol) => symbol.length === 1);
    state.word = word.value = symbols.join(isPlain ? "" : " ");
    if (state.brackets) state.brackets = brackets(tree.nodes);
    load(spot);
  }

  await open();
  return { give: (text) => { state.word = text; state.brackets = ""; return load(); } };
}

async function guarded(work) {
  try {
    await work();
  } catch (problem) {
    tell(problem);
  }
}
