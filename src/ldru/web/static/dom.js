// Elements from data. Text always becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style") element.style.cssText = value; // the page's policy forbids the attribute
    else element.setAttribute(name, value === true ? "" : value);
  }
  return put(element, ...children);
}

// Appends children, lists of children, and nothing for null.
export function put(element, ...children) {
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export const html = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const field = (name, control, wide = false) =>
  html("label", { class: wide ? "wide" : null }, name, control);

export const button = (text, onclick, attributes = {}) =>
  html("button", { type: "button", onclick, ...attributes }, text);

export const wordInput = (value, oninput) =>
  html("input", { class: "word", value, oninput, spellcheck: "false", autocomplete: "off" });

export function choice(options, value, onchange, attributes = {}) {
  const select = html("select", { onchange: () => onchange(select.value), ...attributes });
  for (const [group, names] of options) {
    if (!names.length) continue;
    select.append(html("optgroup", { label: group }, names.map((name) => html("option", { value: name }, name))));
  }
  select.value = value;
  return select;
}

// Calls a function once no call has come for a while.
export function settled(milliseconds, call) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;
