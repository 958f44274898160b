// The view and its settings stand behind the # of the address, so that a link restores them.

export function read() {
  const [view, rest = ""] = location.hash.replace(/^#/, "").split("?");
  return { view, given: Object.fromEntries(new URLSearchParams(rest)) };
}

export function href(view, given) {
  const known = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const rest = new URLSearchParams(known).toString();
  return `#${view}${rest ? `?${rest}` : ""}`;
}

// Keeps the address in step with a view, without a new entry in the history.
export function keep(view, given) {
  history.replaceState(null, "", href(view, given));
}
