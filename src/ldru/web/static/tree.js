// The tree over a word. Nodes are coloured by the class that they lie near; a dashed rim marks one
// whose true class is another.

import { html, svg } from "./dom.js";

// Colours of Okabe and Ito, which the colour-blind can tell apart, with the ink that is read on each.
const COLOURS = [["#e69f00", "#000"], ["#56b4e9", "#000"], ["#009e73", "#000"], ["#f0e442", "#000"],
  ["#0072b2", "#fff"], ["#d55e00", "#000"], ["#cc79a7", "#000"]];
const OTHER = ["#b8bec5", "#000"];
const ACROSS = 30, DOWN = 52, RADIUS = 13;

// The most frequent classes have a colour of their own.
export function palette(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.near, (counts.get(node.near) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([kind]) => kind);
  return new Map(order.map((kind, rank) => [kind, kind === null ? OTHER : COLOURS[rank] ?? OTHER]));
}

// Brackets of a (sub)tree as text, a dot for each symbol; what rises alone is passed on.
export function brackets(nodes, number = nodes.length - 1) {
  const { left, right } = nodes[number];
  if (left === null) return ".";
  if (right === null) return brackets(nodes, left);
  return `(${brackets(nodes, left)}${brackets(nodes, right)})`;
}

// The same with one node turned: (ab)c becomes a(bc), and a(bc) becomes (ab)c.
export function turned(nodes, number) {
  const inner = (n) => (nodes[n].right === null && nodes[n].left !== null ? inner(nodes[n].left) : n);
  const write = (given) => {
    const n = inner(given);
    const { left, right } = nodes[n];
    if (left === null) return ".";
    const [l, r] = [inner(left), inner(right)];
    if (n === inner(number)) {
      if (nodes[l].left !== null) return `(${write(nodes[l].left)}(${write(nodes[l].right)}${write(r)}))`;
      if (nodes[r].left !== null) return `((${write(l)}${write(nodes[r].left)})${write(nodes[r].right)})`;
    }
    return `(${write(l)}${write(r)})`;
  };
  return write(nodes.length - 1);
}

export function describe(tree, number) {
  const node = tree.nodes[number];
  const stretch = tree.symbols.slice(node.begin, node.end).join("");
  const named = (kind) => (kind === null ? "unknown" : `${kind}, as ${tree.representatives[kind] ?? "?"}`);
  const place = node.end - node.begin === 1 ? `symbol ${node.begin + 1}` : `symbols ${node.begin + 1} to ${node.end}`;
  const near = node.near === null ? "" : `; its vector lies near class ${named(node.near)} (${node.distance} of its length away)`;
  return `${place}: ${stretch}. Class ${named(node.class)}${near}. Read here, the label would be ${node.label}.`;
}

// onTurn(number), onSymbol(place), onShow(number); changed: places of symbols that were just edited.
export function drawTree(tree, { onTurn, onSymbol, onShow, changed = null }) {
  const { nodes, symbols } = tree;
  const colours = palette(nodes);
  const height = [], x = [];
  nodes.forEach((node, number) => {
    if (node.left === null) {
      height[number] = 0;
      x[number] = node.begin;
    } else {
      height[number] = 1 + Math.max(height[node.left], node.right === null ? 0 : height[node.right]);
      x[number] = node.right === null ? x[node.left] : (x[node.left] + x[node.right]) / 2;
    }
  });
  const tallest = Math.max(...height);
  const spot = (number) => [24 + ACROSS * x[number], 24 + DOWN * (tallest - height[number])];
  const wide = 24 + ACROSS * symbols.length + 10, high = 24 + DOWN * tallest + 62;
  const lines = nodes.flatMap((node, number) => [node.left, node.right].filter((child) => child !== null)
    .map((child) => svg("path", { class: "edge", d: `M${spot(number)}L${spot(child)}` })));
  const circles = nodes.map((node, number) => {
    const [cx, cy] = spot(number);
    const [colour, ink] = colours.get(node.near);
    const isOff = node.class !== null && node.near !== null && node.class !== node.near;
    const isChanged = changed !== null && node.begin <= changed && changed < node.end;
    const show = () => onShow(number);
    const turn = () => node.left !== null && onTurn(number);
    return svg("g", { class: "hit", tabindex: 0, role: "button", "aria-label": describe(tree, number),
      onfocus: show, onpointerenter: show, onclick: turn,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); } } },
      svg("circle", { class: `node${isOff ? " off" : ""}${isChanged ? " changed" : ""}`, cx, cy, r: RADIUS, style: null, fill: colour }),
      number_(cx, cy, node.near, ink));
  });
  const letters = symbols.map((symbol, place) => {
    const [cx, cy] = [24 + ACROSS * place, 24 + DOWN * tallest + 36];
    const edit = () => onSymbol(place);
    return svg("g", { class: "hit", tabindex: 0, role: "button", "aria-label": `symbol ${place + 1} is ${symbol}; press to change it`,
      onclick: edit, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); edit(); } } },
      svg("rect", { class: `node${changed === place ? " changed" : ""}`, x: cx - 12, y: cy - 13, width: 24, height: 26, rx: 5, fill: "transparent" }),
      svg("text", { class: "symbol", x: cx, y: cy }, symbol));
  });
  return svg("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": `Tree over ${symbols.length} symbols` },
    lines, circles, letters);
}

function number_(x, y, kind, ink) {
  const text = svg("text", { x, y }, kind === null ? "?" : String(kind));
  text.style.fill = ink;
  return text;
}

export function legend(tree) {
  const colours = [...palette(tree.nodes)].filter(([kind]) => kind !== null).slice(0, 14);
  return html("ul", { class: "legend" }, colours.map(([kind, [colour, ink]]) => {
    const mark = html("span", {}, String(kind));
    mark.style.background = colour;
    mark.style.color = ink;
    return html("li", {}, mark, `as ${tree.representatives[kind] ?? "?"}`);
  }));
}
