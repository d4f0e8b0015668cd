// Sorting by a column and filtering of the table of models. Without it the table stands as it is.
const table = document.getElementById("tiles"), body = table.tBodies[0], rows = [...body.rows];
const only = document.getElementById("only"), beyond = document.getElementById("beyond");
document.querySelector(".controls").hidden = false;
const filter = () => rows.forEach((row) => {
  const named = row.cells[0].textContent.toLowerCase().includes(only.value.toLowerCase());
  row.hidden = !named || (beyond.checked && !row.querySelector(".tile.beyond"));
});
only.oninput = beyond.onchange = filter;
[...table.tHead.rows[0].cells].forEach((head, at) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "⇅";
  button.setAttribute("aria-label", "sort by " + head.firstChild.textContent.trim());
  (head.firstElementChild ?? head.firstChild).after(button);
  button.onclick = () => {
    const up = at === 0 ? head.getAttribute("aria-sort") !== "ascending" : head.getAttribute("aria-sort") === "descending";
    const key = (row) => at === 0 ? row.cells[0].textContent.trim() : Number(row.cells[at].dataset.order ?? NaN);
    const less = (a, b) => at === 0 ? a.localeCompare(b) : (isNaN(a) - isNaN(b)) || (a === b ? 0 : a < b ? -1 : 1);
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return at > 0 && (isNaN(x) || isNaN(y)) ? less(x, y) : (up ? 1 : -1) * less(x, y);
    });
    body.append(...rows);
    [...table.tHead.rows[0].cells].forEach((cell) => cell.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  };
});
