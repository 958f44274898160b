// A machine in layers: states where the server put them, a bow for each pair of states.

import { html, svg } from "./dom.js";

const SCALE = 72, RADIUS = 19, MARGIN = 50;

export function drawMachine(machine, path = [], place = 0) {
  if (machine.places === null) return html("p", { class: "note" }, "Too many states for a picture; a word can be followed all the same.");
  const points = machine.places.map(([x, y]) => [SCALE * x, -SCALE * y]);
  const taken = place > 0 ? `${path[place - 1]},${path[place]}` : null;
  const here = path.length ? path[place] : machine.start;
  const arrows = [...arrowsOf(machine)].map(([key, symbols]) => {
    const [from, to] = key.split(",").map(Number);
    return { ...(from === to ? loop(points[from]) : bow(points[from], points[to], points)), symbols, isTaken: key === taken };
  });
  // Bows may reach beyond the states.
  const marks = [...points, ...arrows.map((arrow) => arrow.label)];
  const [left, top, right, bottom] = [0, 1].flatMap((axis) => Math.min(...marks.map((mark) => mark[axis])) - MARGIN)
    .concat([0, 1].flatMap((axis) => Math.max(...marks.map((mark) => mark[axis])) + MARGIN));
  const [sx, sy] = points[machine.start];
  return svg("svg", { width: right - left, height: bottom - top, viewBox: `${left} ${top} ${right - left} ${bottom - top}`, role: "img",
    "aria-label": `Machine of ${machine.labels.length} states; state ${here} is marked` },
    svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto-start-reverse" },
      svg("path", { class: "arrow", d: "M0 0 8 4 0 8z" }))),
    svg("path", { class: "edge", d: `M${sx - 46} ${sy}L${sx - RADIUS - 2} ${sy}`, "marker-end": "url(#head)" }),
    arrows.map(({ d, label, symbols, isTaken }) => svg("g", {},
      svg("path", { class: isTaken ? "edge taken" : "edge", "marker-end": "url(#head)", d }), text(...label, symbols))),
    points.map((point, state) => drawState(machine, point, state, state === here)));
}

// The symbols that lead from a state to another, as text, by "from,to".
function arrowsOf(machine) {
  const found = new Map();
  machine.moves.forEach((row, from) => row.forEach((to, symbol) => {
    const key = `${from},${to}`;
    found.set(key, found.has(key) ? `${found.get(key)}, ${machine.alphabet[symbol]}` : machine.alphabet[symbol]);
  }));
  return found;
}

function drawState({ isAccepting, labels }, [x, y], state, isHere) {
  return svg("g", {},
    svg("circle", { class: isHere ? "state here" : "state", cx: x, cy: y, r: RADIUS }),
    isAccepting && labels[state] === 1 ? svg("circle", { class: "ring", cx: x, cy: y, r: RADIUS - 4 }) : null,
    svg("text", { x, y: isAccepting ? y : y - 5 }, String(state)),
    isAccepting ? null : svg("text", { x, y: y + 8, class: "tick" }, labels[state] === null ? "–" : `→${labels[state]}`));
}

// An arrow is a path and the place of its label.
const loop = ([x, y]) => ({
  d: `M${x - 8} ${y - RADIUS + 2}C${x - 26} ${y - 56} ${x + 26} ${y - 56} ${x + 8} ${y - RADIUS + 1}`,
  label: [x, y - 50],
});

function bow(from, to, points) {
  const way = [to[0] - from[0], to[1] - from[1]], length = Math.hypot(...way);
  const side = [-way[1] / length, way[0] / length];
  const beside = (bend) => [0, 1].map((axis) => (from[axis] + to[axis]) / 2 + bend * side[axis]);
  const others = points.filter((point) => point !== from && point !== to);
  const room = (bend) => Math.min(...others.map((point) => distance(beside(bend / 2), point)));
  // A long bow keeps away from the states between its ends.
  const far = 0.45 * length + 30;
  const bend = length <= 1.7 * SCALE ? 34 : room(far) >= room(-far) ? far : -far;
  const control = beside(bend);
  const [begin, end] = [from, to].map((point) => towards(point, control, RADIUS + 2));
  return { d: `M${begin}Q${control} ${end}`, label: beside(bend / 2) };
}

const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
const towards = (from, to, by) => [0, 1].map((axis) => from[axis] + (to[axis] - from[axis]) * by / distance(from, to));

const text = (x, y, symbols) => svg("g", {},
  svg("rect", { class: "halo", x: x - 4 * symbols.length - 3, y: y - 8, width: 8 * symbols.length + 6, height: 16, rx: 4 }),
  svg("text", { x, y }, symbols));
