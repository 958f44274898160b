// Browsers do not load the playground's modules from a disk: say so instead of showing nothing.

if (location.protocol === "file:") {
  for (const frame of document.querySelectorAll("iframe.playground")) {
    const note = document.createElement("p");
    note.className = "no-playground";
    note.append(
      "The playground runs where the site is served, also on your own machine: ",
      Object.assign(document.createElement("code"), { textContent: "make docs-serve" }),
      ". Or start it alone: ",
      Object.assign(document.createElement("code"), { textContent: "ldru play" }),
      ".",
    );
    frame.replaceWith(note);
  }
}
