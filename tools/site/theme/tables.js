// Tables of at least five rows sort by a click on a heading; a second click turns them round.

const SMALLEST = 5;

/** The number that a cell begins with, or null: "99.9 ± 0.0 (100.0 ± 0.0)" is 99.9. */
function numberOf(text) {
  const found = text.replaceAll(",", "").match(/^[^\d-]*(-?\d+(\.\d+)?(e-?\d+)?)/);
  return found && !/^[a-z]/i.test(text) ? Number(found[1]) : null;
}

/** Numbers come before texts, texts before empty cells and dashes. */
function compare(a, b) {
  const isEmpty = (text) => text === "" || text === "-";
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== null && y !== null) return x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return a.localeCompare(b, undefined, { numeric: true });
}

function sortBy(table, column, heading) {
  const isTurned = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", isTurned ? "descending" : "ascending");
  const body = table.tBodies[0];
  const text = (row) => row.cells[column]?.textContent.trim() ?? "";
  const rows = [...body.rows].sort((a, b) => compare(text(a), text(b)) * (isTurned ? -1 : 1));
  body.append(...rows);
}

for (const table of document.querySelectorAll("article table:not([class])")) {
  if (!table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < SMALLEST) continue;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, column, heading));
    heading.append(button);
  });
}
