// Chooses the view that the address names.

import { get, tell } from "./api.js";
import { html } from "./dom.js";
import { read } from "./link.js";
import * as compare from "./views/compare.js";
import * as language from "./views/language.js";
import * as length from "./views/length.js";
import * as network from "./views/network.js";
import * as proof from "./views/proof.js";
import * as train from "./views/train.js";

const VIEWS = { language, network, length, proof, train, compare };
const main = document.getElementById("main");
let leave = null, current = null;

const links = Object.fromEntries(Object.entries(VIEWS).map(([name, view]) => [name, html("a", { href: `#${name}` }, view.title)]));
document.getElementById("views").append(...Object.values(links).map((link) => html("li", {}, link)));

const theme = document.getElementById("theme");
const root = document.documentElement;
if (localStorage.getItem("theme")) root.dataset.theme = localStorage.getItem("theme");
theme.addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

async function open() {
  const { view, given } = read();
  const name = view in VIEWS ? view : "language";
  leave?.();
  leave = null;
  tell(null);
  for (const [other, link] of Object.entries(links)) {
    if (other === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const here = (current = {});
  main.replaceChildren();
  document.title = `${VIEWS[name].title} · ldru playground`;
  try {
    const start = await get("start");
    document.getElementById("version").textContent = `ldru ${start.version}`;
    const left = await VIEWS[name].show(main, given, start);
    if (here === current) leave = left;
    else left?.();
  } catch (problem) {
    tell(problem);
  }
}

addEventListener("hashchange", open);
open();
