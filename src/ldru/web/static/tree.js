// The tree over a word. Nodes are coloured by the class that they lie near; a dashed rim marks one
// whose true class is another.

import { COLOURS, OTHER } from "./colours.js";
import { html, svg } from "./dom.js";

const ACROSS = 30, DOWN = 52, RADIUS = 13;

// The most frequent classes have a colour of their own.
function palette(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.near, (counts.get(node.near) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([kind]) => kind);
  return new Map(order.map((kind, rank) => [kind, kind === null ? OTHER : COLOURS[rank] ?? OTHER]));
}

export function describe({ language, nodes, symbols }, number) {
  const node = nodes[number];
  const stretch = symbols.slice(node.begin, node.end).join(language.isPlain ? "" : " ");
  const named = (kind) => (kind === null ? "unknown" : `${kind}, as ${language.example(kind)}`);
  const place = node.end - node.begin === 1 ? `symbol ${node.begin + 1}` : `symbols ${node.begin + 1} to ${node.end}`;
  const near = node.near === null ? ""
    : `; its vector lies near class ${named(node.near)} (${node.distance.toFixed(2)} of its length away)`;
  return `${place}: ${stretch}. Class ${named(node.kind)}${near}. Read here, the label would be ${node.label}.`;
}

// onTurn(number), onSymbol(place) and onShow(number) are called for what is pressed or pointed at;
// changed: the place of a symbol that was just edited.
export function drawTree(tree, { onTurn, onSymbol, onShow, changed = null }) {
  const { nodes, symbols } = tree;
  const across = Math.max(ACROSS, 14 + 9 * Math.max(...symbols.map((symbol) => symbol.length)));
  const margin = across / 2 + 9;
  const { height, x } = layout(nodes);
  const bottom = margin + DOWN * Math.max(...height);
  const spot = (number) => [margin + across * x[number], bottom - DOWN * height[number]];
  const isAbove = (node) => changed !== null && node.begin <= changed && changed < node.end;
  const colours = palette(nodes);
  const lines = nodes.flatMap((node, number) => [node.left, node.right].filter((child) => child !== null)
    .map((child) => svg("path", { class: "edge", d: `M${spot(number)}L${spot(child)}` })));
  const circles = nodes.map((node, number) => {
    const [cx, cy] = spot(number);
    const [colour, ink] = colours.get(node.near);
    const isOff = node.kind !== null && node.near !== null && node.kind !== node.near;
    const show = () => onShow(number);
    return pressable({ "data-part": `n${number}`, "aria-label": describe(tree, number), onfocus: show, onpointerenter: show },
      () => node.left !== null && onTurn(number),
      svg("circle", { class: `node${isOff ? " off" : ""}${isAbove(node) ? " changed" : ""}`, cx, cy, r: RADIUS, fill: colour }),
      svg("text", { x: cx, y: cy, style: `fill: ${ink}` }, node.near === null ? "?" : String(node.near)));
  });
  const letters = symbols.map((symbol, place) => {
    const [cx, cy] = [margin + across * place, bottom + 36];
    return pressable({ "data-part": `s${place}`, "aria-label": `symbol ${place + 1} is ${symbol}; press to change it` },
      () => onSymbol(place),
      svg("rect", { class: `node${changed === place ? " changed" : ""}`, x: cx - across / 2 + 3, y: cy - 13, width: across - 6, height: 26, rx: 5, fill: "transparent" }),
      svg("text", { class: "symbol", x: cx, y: cy }, symbol));
  });
  const [width, tall] = [2 * margin + across * (symbols.length - 1), bottom + 60];
  return svg("svg", { width, height: tall, viewBox: `0 0 ${width} ${tall}`, role: "group", "aria-label": `Tree over ${symbols.length} symbols` },
    lines, circles, letters);
}

// How high each node lies, and how far to the right, in steps.
function layout(nodes) {
  const height = [], x = [];
  for (const { begin, left, right } of nodes) {
    const children = [left, right].filter((child) => child !== null);
    height.push(1 + Math.max(-1, ...children.map((child) => height[child])));
    x.push(left === null ? begin : children.reduce((sum, child) => sum + x[child], 0) / children.length);
  }
  return { height, x };
}

// A part of a picture that acts as a button, for the keyboard too.
function pressable(attributes, press, ...children) {
  const onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press();
  };
  return svg("g", { class: "hit", tabindex: 0, role: "button", onclick: press, onkeydown, ...attributes }, children);
}

export function legend(tree) {
  const colours = [...palette(tree.nodes)].filter(([kind]) => kind !== null).slice(0, 14);
  return html("ul", { class: "legend" }, colours.map(([kind, [colour, ink]]) => html("li", {},
    html("span", { style: `background: ${colour}; color: ${ink}` }, String(kind)), `as ${tree.language.example(kind)}`)));
}
