// Answers of the server. A problem is shown, and stops what asked for it.

const place = document.getElementById("problem");

export function tell(problem) {
  place.textContent = problem ? String(problem.message ?? problem) : "";
  place.hidden = !problem;
}

const query = (given) => {
  const known = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return new URLSearchParams(known).toString();
};

export async function get(name, given = {}) {
  const response = await fetch(`api/${name}?${query(given)}`);
  return answered(response);
}

export async function post(name, given) {
  const response = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(given),
  });
  return answered(response);
}

async function answered(response) {
  const data = await response.json();
  if (!response.ok) throw new Error(data.error ?? `the server answered ${response.status}`);
  tell(null);
  return data;
}

// Events of a longer work; `handlers` by kind. Returns a function that stops listening.
export function listen(name, given, handlers, closed = () => {}) {
  const source = new EventSource(`api/${name}?${query(given)}`);
  for (const [kind, handle] of Object.entries(handlers)) {
    source.addEventListener(kind, (event) => handle(JSON.parse(event.data)));
  }
  source.onerror = () => {
    source.close(); // the end of the work closes the connection too
    closed();
  };
  return () => source.close();
}
