// Colours of Okabe and Ito, which the colour-blind can tell apart, with the ink that is read on each.

export const COLOURS = [["#e69f00", "#000"], ["#56b4e9", "#000"], ["#009e73", "#000"], ["#f0e442", "#000"],
  ["#0072b2", "#fff"], ["#d55e00", "#000"], ["#cc79a7", "#000"]];

export const OTHER = ["#b8bec5", "#000"];
