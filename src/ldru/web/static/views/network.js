// A network: the tree over a word, with what each node has become.

import { getModel, guarded } from "../api.js";
import { button, choice, field, html, percent, put, settled, wordInput } from "../dom.js";
import { randomFrom } from "../engine/language.js";
import { brackets } from "../engine/trees.js";
import { keep } from "../link.js";
import { describe, drawTree, legend } from "../tree.js";

export const title = "Network";

export const modelChoice = (start, value, onchange) => choice([
  ["shipped", start.models.filter((model) => model.kind === "shipped").map((model) => model.name)],
  ["your runs", start.models.filter((model) => model.kind === "run").map((model) => model.name)],
], value, onchange);

export async function show(main, given, start) {
  put(main, html("h2", {}, "A network and the tree over a word"),
    html("p", { class: "note" }, "A node's colour is the class of words that its vector lies near; a dashed rim marks one whose true class is another. ",
      "Press a node to turn its brackets, (ab)c into a(bc); press a symbol to change it: only the nodes above it are computed anew."));
  await explorer(main, given, start, (state) => keep("network", state));
}

// The view of one network. changed(state) is told of what it shows; withWord: it has a field for
// the word of its own. Returns how to give it another word.
export async function explorer(place, given, start, changed, { withWord = true, name = "Model" } = {}) {
  const state = { model: given.model || "dyck_3", word: given.word ?? "", brackets: given.brackets ?? "", seed: Number(given.seed ?? 0) };
  const panel = html("div", { class: "panel scroll", tabindex: 0, role: "region", "aria-label": `${name}: its tree` });
  const answer = html("p", { class: "verdict answer", "aria-live": "polite" });
  const about = html("p", { class: "note about", "aria-live": "polite" });
  const marks = html("div");
  const word = wordInput(state.word, settled(120, () => { state.word = word.value.trim(); state.brackets = ""; draw(); }));
  const select = modelChoice(start, state.model, (chosen) => {
    state.model = chosen;
    state.brackets = "";
    if (withWord) state.word = "";
    open();
  });
  const balance = button("balanced again", () => { state.brackets = ""; draw(); });
  let model = null, tree = null;

  put(place, html("div", { class: "controls" }, field(name, select),
    withWord ? field("Word", word, true) : null,
    withWord ? button("another word", () => { state.seed += 1; another(); }) : null, balance),
    answer, panel, about, marks);

  const open = () => guarded(async () => {
    model = await getModel(state.model);
    if (state.word) show();
    else pick();
  });

  const another = () => guarded(() => pick());
  const draw = (edited = null) => guarded(() => show(edited));

  function pick() {
    const random = randomFrom(state.seed);
    const length = 8 + Math.floor(17 * random());
    const drawn = model.language.drawSome(length, model.language.classes.length, random);
    state.word = word.value = model.language.decode(drawn[(state.seed + 1) % drawn.length]);
    state.brackets = "";
    show();
  }

  function show(edited = null) {
    tree = model.tree(state.word, state.brackets);
    changed({ ...state });
    const held = document.activeElement?.dataset?.part;
    panel.replaceChildren(drawTree(tree, {
      changed: edited,
      onShow: (number) => { about.textContent = describe(tree, number); },
      onTurn: (number) => { state.brackets = brackets(tree.nodes, number); draw(); },
      onSymbol: edit,
    }));
    if (held) panel.querySelector(`[data-part="${held}"]`)?.focus(); // the picture is new, the place stays
    const isRight = tree.answer === tree.truth;
    const over = state.brackets ? " along your brackets" : "";
    answer.replaceChildren(`The network says ${tree.answer}${over} (${percent(tree.probability)} sure), `,
      ...(tree.truth === null ? ["the word has no label."] : [`the machine ${tree.truth}: `,
        html("span", { class: isRight ? "good" : "bad" }, isRight ? "right" : "wrong")]));
    balance.disabled = !state.brackets;
    const above = tree.nodes.filter((node) => node.begin <= edited && edited < node.end).length;
    about.textContent = edited === null ? "Point at a node, or move to it with Tab."
      : `Symbol ${edited + 1} changed: ${above} of ${tree.nodes.length} nodes are new.`;
    marks.replaceChildren(legend(tree));
  }

  function edit(spot) {
    const { alphabet } = model.language;
    const tokens = model.language.encode(state.word);
    tokens[spot] = (tokens[spot] + 1) % alphabet.length;
    state.word = word.value = model.language.decode(tokens);
    draw(spot); // brackets stay
  }

  await open();
  return { give: (text) => { state.word = text; state.brackets = ""; return draw(); } };
}
