// Lines over a number, with a shaded range.

import { svg } from "./dom.js";

export function chart({ lines, across, low = 0, high = 1, shaded = null, format = (v) => v, title, marked = null }) {
  const [width, height, left, bottom, top, right] = [640, 260, 56, 34, 12, 24];
  const most = across ?? Math.max(1, ...lines.flat().map(([x]) => x));
  const px = (x) => left + (width - left - right) * x / most;
  const py = (y) => height - bottom - (height - bottom - top) * (y - low) / (high - low);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": title },
    shaded === null ? null : svg("rect", { class: "shade", x: px(0), y: top, width: px(Math.min(most, shaded)) - px(0), height: height - bottom - top }),
    ticks.map((y) => [
      svg("line", { class: "axis", x1: left, x2: width - right, y1: py(y), y2: py(y) }),
      svg("text", { class: "tick", x: left - 26, y: py(y) }, format(y)),
    ]),
    [0, 0.25, 0.5, 0.75, 1].map((share) => svg("text", { class: "tick", x: px(share * most), y: height - 14 }, Math.round(share * most).toLocaleString("en"))),
    lines.map((points, index) => points.length === 0 ? null :
      svg("path", { class: index ? "plot second" : "plot", d: `M${points.map(([x, y]) => `${px(x)} ${py(Math.min(high, Math.max(low, y)))}`).join("L")}` })),
    marked === null ? null : svg("line", { class: "edge taken", x1: px(Math.min(most, marked)), x2: px(Math.min(most, marked)), y1: top, y2: height - bottom }),
  );
}
