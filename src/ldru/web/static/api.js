// What the page asks for: of the server, or, in the static edition, of the files that were written
// once from the server's answers.

import { Language } from "./engine/language.js";
import { Model } from "./engine/model.js";

export const isStatic = document.documentElement.dataset.edition === "static";

const place = document.getElementById("problem");

export function tell(problem) {
  place.textContent = problem ? String(problem.message ?? problem) : "";
  place.hidden = !problem;
}

// Does some work, and shows the problem where it fails.
export async function guarded(work) {
  try {
    const found = await work();
    tell(null);
    return found;
  } catch (problem) {
    tell(problem);
    return null;
  }
}

function address(name, given) {
  if (!isStatic) return `api/${name}?${new URLSearchParams(known(given))}`;
  const file = Object.values(given)[0] ?? "all";
  return `data/${name}/${encodeURIComponent(file)}.${name === "weights" ? "safetensors" : "json"}`;
}

export const known = (given) => Object.fromEntries(
  Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== ""));

async function answered(response) {
  if (response.ok) return response;
  if (isStatic) throw new Error("this edition has no such file; `ldru play` on your machine answers everything");
  throw new Error((await response.json()).error ?? `the server answered ${response.status}`);
}

const get = async (name, given = {}) => answered(await fetch(address(name, given)));
const getJson = async (name, given) => (await get(name, given)).json();

export const getStart = () => getJson("start");
export const getLanguage = async (given) => new Language(await getJson("machine", known(given)));

const models = new Map(); // by name; a run that is trained anew has a name of its own

export function getModel(name) {
  if (!models.has(name)) {
    const loading = loadModel(name);
    models.set(name, loading);
    loading.catch(() => models.delete(name));
  }
  return models.get(name);
}

async function loadModel(name) {
  const [described, weights] = await Promise.all([getJson("model", { model: name }), get("weights", { model: name })]);
  return new Model(name, described, await weights.arrayBuffer());
}

export async function post(name, given) {
  const response = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(given),
  });
  return (await answered(response)).json();
}

// Follows a longer work: calls the handler of each event's kind. Ends when the work does, or when
// `stop` is aborted. In the static edition the events are those that were recorded.
export async function follow(name, given, handlers, stop) {
  if (isStatic) {
    for (const [kind, data] of await getJson(name, given)) {
      await new Promise((later) => setTimeout(later, 120));
      if (stop.aborted) return;
      handlers[kind]?.(data);
    }
    return;
  }
  try {
    const response = await answered(await fetch(address(name, given), { signal: stop }));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (text + part.value).split("\n\n");
      text = events.pop();
      for (const event of events) {
        const [kind, data] = event.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
        handlers[kind]?.(JSON.parse(data));
      }
    }
  } catch (problem) {
    if (!stop.aborted) throw problem;
  }
}
