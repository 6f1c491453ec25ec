// Columns of a table sort on a click or with the keyboard; a third time brings the first order back.
// Without this script the tables are whole, only in the order in which they were written.
"use strict";
(() => {
  const WORDS = new Map([["infinite", Infinity], ["minus infinite", -Infinity]]);

  // "0.1 to 0.2" and "0.1 or more" sort by their first number, "up to 0.2" by its only one.
  const value = (text) => {
    const word = text.trim();
    if (WORDS.has(word)) return WORDS.get(word);
    const found = /^(?:up to |class )?([-+−]?\d[\d.]*(?:e[-+]?\d+)?)/i.exec(word);
    return found ? Number(found[1].replace("−", "-")) : null;
  };

  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x !== null && y !== null) return x - y;
    if (x !== null || y !== null) return x !== null ? -1 : 1; // words after numbers
    return a.localeCompare(b, undefined, { numeric: true });
  };

  const sort = (table, column, direction) => {
    const body = table.tBodies[0];
    const rows = body.credibly_rows ??= [...body.rows];
    const sorted = [...rows];
    if (direction !== "none") {
      const sign = direction === "ascending" ? 1 : -1;
      const text = (row) => row.cells[column].textContent.trim();
      // An empty cell has no place in an order: it stays at the end in both directions.
      sorted.sort((a, b) => {
        const [x, y] = [text(a), text(b)];
        return !x || !y ? (x ? -1 : y ? 1 : 0) : sign * compare(x, y);
      });
    }
    body.append(...sorted);
    [...table.tHead.rows[0].cells].forEach((cell, place) => {
      if (cell.hasAttribute("aria-sort")) cell.setAttribute("aria-sort", place === column ? direction : "none");
    });
  };

  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
  for (const table of document.querySelectorAll("table")) {
    if (!table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      cell.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, column, NEXT[cell.getAttribute("aria-sort")]));
    });
  }
})();

// A link of the contents opens the part that it leads to.
const opened = () => {
  const part = location.hash && document.getElementById(location.hash.slice(1));
  if (part instanceof HTMLDetailsElement) part.open = true;
};
addEventListener("hashchange", opened);
opened();
