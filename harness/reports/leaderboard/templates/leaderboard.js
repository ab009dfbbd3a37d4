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
  toggle.textContent = dark ? "Light" : "Dark";
  toggle.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
}

toggle.hidden = false;
toggle.addEventListener("click", () => {
  const dark = toggle.textContent === "Light";
  showTheme(stored(dark ? "light" : "dark") || (dark ? "light" : "dark"));
});
prefersDark.addEventListener("change", () => showTheme());
showTheme(stored());

// The standings: rows of the table, and on a large board others, of which cells are made when they are shown.
const MOST_ROWS = 300;
const SPEEDUP = 4;
const VERDICT = 5;
const board = document.getElementById("board");
const headings = Array.from(board.tHead.rows[0].cells);
const looks = Array.from(board.tBodies[0].rows[0]?.cells ?? [], (cell) => cell.className);
const form = document.querySelector(".filter");
const find = document.getElementById("find");
const show = document.getElementById("show");
const ofClass = document.getElementById("class");

function rowOf(element) {
  const [solution, problem] = element.cells;
  return {
    kind: element.dataset.kind,
    precision: solution.dataset.class,
    words: `${solution.textContent} ${problem.textContent} ${element.dataset.author}`.toLowerCase(),
    value(column, isNumber) {
      const cell = element.cells[column];
      if (!isNumber) return (column === 0 ? cell.firstElementChild : cell).textContent.trim();
      return cell.dataset.v === "" ? null : Number(cell.dataset.v);
    },
    element: () => element,
  };
}

function linked(text, anchor, title) {
  const node = document.createElement(anchor ? "a" : "span");
  if (anchor) node.href = `#${anchor}`;
  else node.title = title;
  node.textContent = text;
  return node;
}

// Numbers name words that stand once in the page.
function rowFrom(words, [kind, precision, author, solution, problem, problemAnchor, anchor, verdict, date, why, id, cells]) {
  const [rank, speedup, ...others] = cells;
  const named = { precision: words[precision], solution: words[solution], problem: words[problem] };
  const texts = [named.solution, named.problem, named.precision, rank[0], speedup[0], words[verdict]];
  texts.push(...others.map((cell) => cell[0]), "—", words[date]);
  const values = [null, null, null, rank[1], speedup[1], null, ...others.map((cell) => cell[1]), null, null];
  let made = null;
  function make() {
    const row = document.createElement("tr");
    texts.forEach((text, column) => {
      const cell = row.appendChild(document.createElement(column ? "td" : "th"));
      cell.className = looks[column];
      if (column === 0) cell.append(linked(text, words[anchor], `harness show ${id}`), ...written(words[author]));
      else if (column === 1) cell.append(linked(text, words[problemAnchor], ""));
      else if (column === SPEEDUP) cell.append(...estimated(text));
      else if (column === VERDICT) cell.append(...judged(text, words[kind], words[why]));
      else cell.textContent = text;
    });
    row.cells[0].scope = "row";
    row.cells[0].dataset.problem = named.problem;
    row.cells[0].dataset.class = named.precision;
    return row;
  }
  return {
    kind: words[kind],
    precision: named.precision,
    words: `${named.solution} ${named.problem} ${words[author]}`.toLowerCase(),
    value: (column, isNumber) => (isNumber ? values[column] : texts[column]),
    element: () => (made ??= make()),
  };
}

function written(author) {
  if (!author || !("authors" in board.dataset)) return [];
  const by = linked(author, "", "");
  by.className = "why";
  return [document.createElement("br"), by];
}

function estimated(text) {
  const [estimate, ...bounds] = text.split(" ");
  const strong = document.createElement("b");
  const faint = document.createElement("span");
  strong.textContent = estimate;
  faint.textContent = bounds.join(" ");
  faint.className = "faint";
  return [strong, " ", faint];
}

function judged(verdict, kind, why) {
  const shown = linked(verdict, "", "");
  shown.className = `verdict ${kind}`;
  if (kind !== "passed" && kind !== "apart") return [shown];
  const reason = linked(why, "", why);
  reason.className = "why";
  return [shown, " ", reason];
}

const more = document.getElementById("more");
let rows = Array.from(board.tBodies[0].rows, rowOf);
if (more) {
  const [words, others] = JSON.parse(more.textContent);
  rows = rows.concat(others.map((row) => rowFrom(words, row)));
}

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = rows.filter(
    (row) =>
      words.every((word) => row.words.includes(word)) &&
      (!show.value || row.kind === show.value) &&
      (!ofClass.value || row.precision === ofClass.value)
  );
  board.tBodies[0].replaceChildren(...fitting.slice(0, MOST_ROWS).map((row) => row.element()));
  const first = fitting.length > MOST_ROWS ? `, the first ${MOST_ROWS} shown` : "";
  document.getElementById("matches").textContent = `${fitting.length} of ${rows.length}${first}`;
}

// Sorting: numbers from their values, words from the text; what is missing stays last both ways.
function sortBy(heading) {
  const column = heading.cellIndex;
  const isNumber = heading.dataset.kind === "number";
  const first = isNumber && heading.textContent.includes("Speed") ? "descending" : "ascending";
  const now = heading.getAttribute("aria-sort");
  const order = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
  const sign = order === "ascending" ? 1 : -1;
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  };
  const keyed = rows.map((row) => [row.value(column, isNumber), row]);
  keyed.sort((a, b) => compare(a[0], b[0]));
  rows = keyed.map((pair) => pair[1]);
  for (const other of headings) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", order);
  filter();
}

for (const heading of headings) {
  const button = heading.querySelector("button");
  if (button) button.addEventListener("click", () => sortBy(heading));
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("change", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();

// "More in the standings" looks there for its problem, or for what is ranked in its class, the fastest first.
for (const link of document.querySelectorAll("a[data-find], a[data-class]")) {
  link.addEventListener("click", () => {
    find.value = link.dataset.find ?? "";
    ofClass.value = link.dataset.class ?? "";
    show.value = link.dataset.class ? "ranked" : "";
    if (link.dataset.class && headings[SPEEDUP].getAttribute("aria-sort") !== "descending") sortBy(headings[SPEEDUP]);
    filter();
  });
}

// A link to a solution opens it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }
}

window.addEventListener("hashchange", openTarget);
if (location.hash) openTarget();
