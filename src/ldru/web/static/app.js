// Chooses the view that the address names.

import { getStart, guarded, isStatic, tell } from "./api.js";
import { html } from "./dom.js";
import { read } from "./link.js";
import * as compare from "./views/compare.js";
import * as language from "./views/language.js";
import * as length from "./views/length.js";
import * as network from "./views/network.js";
import * as proof from "./views/proof.js";
import * as train from "./views/train.js";

const VIEWS = { language, network, length, proof, ...(isStatic ? {} : { train }), compare };
const main = document.getElementById("main");
let leave = new AbortController();

const links = Object.fromEntries(Object.entries(VIEWS)
  .map(([name, view]) => [name, html("a", { href: `#${name}` }, view.title)]));
document.getElementById("views").append(...Object.values(links).map((link) => html("li", {}, link)));

const theme = document.getElementById("theme");
const root = document.documentElement;
if (localStorage.getItem("theme")) root.dataset.theme = localStorage.getItem("theme");
theme.addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

// A view fills `main` and ends what it began when its signal is aborted.
async function open() {
  const { view, given } = read();
  const name = view in VIEWS ? view : "language";
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  tell(null);
  for (const [other, link] of Object.entries(links)) {
    if (other === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[name].title} · ldru playground`;
  main.replaceChildren();
  await guarded(async () => {
    const start = await getStart();
    if (signal.aborted) return;
    document.getElementById("version").textContent = `ldru ${start.version}`;
    await VIEWS[name].show(main, given, start, signal);
  });
}

addEventListener("hashchange", open);
open();
