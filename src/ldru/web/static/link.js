// The view and its settings stand behind the # of the address, so that a link restores them.

import { known } from "./api.js";

export function read() {
  const [view, rest = ""] = location.hash.replace(/^#/, "").split("?");
  return { view, given: Object.fromEntries(new URLSearchParams(rest)) };
}

export function href(view, given) {
  const rest = new URLSearchParams(known(given)).toString();
  return `#${view}${rest ? `?${rest}` : ""}`;
}

// Keeps the address in step with a view, without a new entry in the history.
export function keep(view, given) {
  history.replaceState(null, "", href(view, given));
}
