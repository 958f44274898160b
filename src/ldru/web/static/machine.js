// A machine in layers: states where the server put them, a bow for each pair of states.

import { svg } from "./dom.js";

const SCALE = 72, RADIUS = 19, MARGIN = 58;

export function drawMachine(machine, path = [], place = 0) {
  const tallest = Math.max(...machine.places.map(([, y]) => y));
  const points = machine.places.map(([x, y]) => [MARGIN + SCALE * x, MARGIN + SCALE * (tallest - y)]);
  const width = Math.max(...points.map(([x]) => x)) + MARGIN;
  const height = Math.max(...points.map(([, y]) => y)) + MARGIN;
  const bows = new Map();
  machine.moves.forEach((row, from) => row.forEach((to, symbol) => {
    const key = `${from},${to}`;
    bows.set(key, [...(bows.get(key) ?? []), machine.alphabet[symbol]]);
  }));
  const taken = place > 0 ? `${path[place - 1]},${path[place]}` : null;
  const here = path.length ? path[place] : null;
  const accepts = new Set(machine.labels.filter((label) => label !== null)).size <= 2;
  const states = points.map(([x, y], state) => svg("g", {},
    svg("circle", { class: state === here ? "state here" : "state", cx: x, cy: y, r: RADIUS }),
    accepts && machine.labels[state] === 1 ? svg("circle", { class: "ring", cx: x, cy: y, r: RADIUS - 4 }) : null,
    svg("text", { x, y: accepts ? y : y - 5 }, String(state)),
    accepts ? null : svg("text", { x, y: y + 8, class: "tick" }, machine.labels[state] === null ? "–" : `→${machine.labels[state]}`),
  ));
  const [sx, sy] = points[machine.start];
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Machine of ${machine.labels.length} states; state ${here ?? machine.start} is marked` },
    svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
      svg("path", { class: "arrow", d: "M0 0 8 4 0 8z" }))),
    svg("path", { class: "edge", d: `M${sx - 48} ${sy}L${sx - RADIUS - 2} ${sy}`, "marker-end": "url(#head)" }),
    [...bows].map(([key, symbols]) => {
      const [from, to] = key.split(",").map(Number);
      return bow(points[from], points[to], symbols.join(", "), key === taken, points);
    }),
    states,
  );
}

function bow([x, y], [u, v], symbols, isTaken, points) {
  const edge = { class: isTaken ? "edge taken" : "edge", "marker-end": "url(#head)" };
  if (x === u && y === v) {
    const d = `M${x - 8} ${y - RADIUS + 2}C${x - 26} ${y - 56} ${x + 26} ${y - 56} ${x + 8} ${y - RADIUS + 1}`;
    return svg("g", {}, svg("path", { ...edge, d }), label(x, y - 50, symbols));
  }
  const length = Math.hypot(u - x, v - y);
  const side = [(y - v) / length, (u - x) / length];
  const middle = [(x + u) / 2, (y + v) / 2];
  // A long bow keeps away from the states between its ends.
  const isLong = length > 1.7 * SCALE;
  const room = (bend) => Math.min(...points.filter(([a, b]) => !(a === x && b === y) && !(a === u && b === v))
    .map(([a, b]) => Math.hypot(middle[0] + bend / 2 * side[0] - a, middle[1] + bend / 2 * side[1] - b)));
  const far = 0.45 * length + 30;
  const bend = isLong ? (room(far) >= room(-far) ? far : -far) : 34;
  const control = [middle[0] + bend * side[0], middle[1] + bend * side[1]];
  const cut = (from, towards) => {
    const distance = Math.hypot(towards[0] - from[0], towards[1] - from[1]);
    return [from[0] + (towards[0] - from[0]) * (RADIUS + 2) / distance, from[1] + (towards[1] - from[1]) * (RADIUS + 2) / distance];
  };
  const [a, b] = [cut([x, y], control), cut([u, v], control)];
  return svg("g", {},
    svg("path", { ...edge, d: `M${a}Q${control} ${b}` }),
    label(middle[0] + bend / 2 * side[0], middle[1] + bend / 2 * side[1], symbols));
}

const label = (x, y, text) => svg("g", {},
  svg("rect", { class: "halo", x: x - 4 * text.length - 3, y: y - 8, width: 8 * text.length + 6, height: 16, rx: 4 }),
  svg("text", { x, y }, text));
