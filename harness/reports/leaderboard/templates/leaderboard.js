"use strict";

// Theme: the system's until the reader chooses; the choice is kept where the browser lets a file keep anything.
const root = document.documentElement;
const toggle = document.getElementById("theme");
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function stored(value) {
  try {
    if (value !== undefined) localStorage.setItem("harness-theme", value);
    return localStorage.getItem("harness-theme");
  } catch {
    return null;
  }
}

function showTheme(theme) {
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  const dark = (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  toggle.setAttribute("aria-pressed", String(dark));
  toggle.textContent = dark ? "Light" : "Dark";
  toggle.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
}

toggle.hidden = false;
toggle.addEventListener("click", () => {
  const dark = toggle.getAttribute("aria-pressed") === "true";
  showTheme(stored(dark ? "light" : "dark") || (dark ? "light" : "dark"));
});
prefersDark.addEventListener("change", () => showTheme());
showTheme(stored());

// Sorting: numbers from data-v, words from the text; what is missing stays last both ways.
function sortBy(table, column, heading) {
  const isNumber = heading.dataset.kind === "number";
  const first = isNumber && heading.textContent.includes("Speed") ? "descending" : "ascending";
  const now = heading.getAttribute("aria-sort");
  const order = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
  const sign = order === "ascending" ? 1 : -1;
  const valueOf = (row) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent.trim();
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  };
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => [valueOf(row), row]);
  keyed.sort((a, b) => compare(a[0], b[0]));
  body.append(...keyed.map((pair) => pair[1]));
  for (const other of heading.parentNode.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", order);
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const heading of table.querySelectorAll("th[aria-sort]")) {
    heading.querySelector("button").addEventListener("click", () => sortBy(table, heading.cellIndex, heading));
  }
}

// Filtering the standings.
const form = document.querySelector(".filter");
const find = document.getElementById("find");
const show = document.getElementById("show");
const ofClass = document.getElementById("class");
const rows = Array.from(document.querySelectorAll("#board tbody tr"));

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let visible = 0;
  for (const row of rows) {
    const [solution, problem] = row.cells;
    const text = `${solution.textContent} ${problem.textContent} ${row.dataset.author}`.toLowerCase();
    const fits =
      words.every((word) => text.includes(word)) &&
      (!show.value || row.dataset.kind === show.value) &&
      (!ofClass.value || row.dataset.class === ofClass.value);
    row.hidden = !fits;
    visible += fits;
  }
  document.getElementById("matches").textContent = `${visible} of ${rows.length}`;
}

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("change", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();

// A link to a solution opens it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

window.addEventListener("hashchange", openTarget);
if (location.hash) openTarget();
