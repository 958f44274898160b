// The states of an extraction in a plane: a circle for each, as wide as the tolerance.

import { COLOURS, OTHER } from "./colours.js";
import { svg } from "./dom.js";

const [WIDTH, HEIGHT] = [480, 320];
const REACH = 1.3; // from the middle to the upper edge, in lengths of a state

export function drawStates({ tolerance, radius, states, places }) {
  const scale = HEIGHT / 2 / (REACH * radius / tolerance); // one scale for all tolerances of a network
  const spot = ([x, y]) => ({ cx: WIDTH / 2 + scale * x, cy: HEIGHT / 2 - scale * y });
  const colour = ([, , label]) => (COLOURS[label] ?? OTHER)[0];
  const more = states > places.length ? `, the first ${places.length} of them drawn` : "";
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: "100%", role: "img",
    "aria-label": `${states} states at tolerance ${tolerance}${more}` },
    places.map((place) => svg("circle", { class: "ball", ...spot(place), r: scale * radius, fill: colour(place) })),
    places.map((place) => svg("circle", { class: "point", ...spot(place), r: 4, fill: colour(place) })));
}
