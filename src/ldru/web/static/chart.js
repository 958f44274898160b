// Lines and points over a number, with a shaded range.

import { svg } from "./dom.js";

const [HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [260, 56, 34, 12, 30];
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];

// lines: of points [x, y]; dots: [x, y, class], drawn apart; shaded: up to this x; marked: an x.
// isLog: x goes from 1 by equal ratios, else from 0.
export function chart({ lines, across, high = 1, shaded = null, format, title, marked = null, dots = [], isLog = false }) {
  const width = Math.min(640, Math.max(300, innerWidth - 64)); // letters stay as large on a phone
  const share = (x) => (isLog ? Math.log(Math.max(1, x)) / Math.log(across) : x / across);
  const px = (x) => LEFT + (width - LEFT - RIGHT) * Math.min(1, share(x));
  const py = (y) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * Math.min(1, Math.max(0, y / high));
  const ticks = isLog ? powers(across) : QUARTERS.map((quarter) => Math.round(quarter * across));
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title },
    shaded === null ? null : svg("rect", { class: "shade", x: LEFT, y: TOP, width: px(shaded) - LEFT, height: HEIGHT - BOTTOM - TOP }),
    QUARTERS.map((quarter) => quarter * high).map((y) => [
      svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: py(y), y2: py(y) }),
      svg("text", { class: "tick", x: LEFT - 26, y: py(y) }, format(y)),
    ]),
    ticks.map((x) => svg("text", { class: "tick", x: px(x), y: HEIGHT - 14 }, x.toLocaleString("en"))),
    marked === null ? null : svg("line", { class: "mark", x1: px(marked), x2: px(marked), y1: TOP, y2: HEIGHT - BOTTOM }),
    lines.map((points) => (points.length === 0 ? null
      : svg("path", { class: "plot", d: `M${points.map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}` }))),
    dots.map(([x, y, kind]) => svg("circle", { class: `dot ${kind}`, cx: px(x), cy: py(y), r: 4 })));
}

const powers = (most) => Array.from({ length: 1 + Math.floor(Math.log10(most) + 1e-9) }, (_, n) => 10 ** n);
