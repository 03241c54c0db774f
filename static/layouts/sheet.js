// Tables of indices that follow the pointer and the arrow keys: the coordinate and its index in words, the same index outlined in every
// picture of the step.
import "../kit/tool.js";
import { stepCell } from "../kit/cells.js";
import { $ } from "../kit/dom.js";

const SVG = "http://www.w3.org/2000/svg";

/** A picture with the server's numbers of its cells. */
function sheetOf(figure) {
  const data = JSON.parse(figure.dataset.sheet);
  const svg = figure.querySelector("svg");
  const mark = document.createElementNS(SVG, "path");
  mark.classList.add("follows");
  mark.setAttribute("fill", "none");
  svg.append(mark);
  return { data, svg, mark, step: figure.closest("section") };
}

function cellAt({ data, svg }, event) {
  const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
  const col = Math.floor(((event.clientX - box.x) * scale - data.x) / data.w);
  const row = Math.floor(((event.clientY - box.y) * scale - data.y) / data.h);
  return row >= 0 && col >= 0 && row < data.rows && col < data.cols ? row * data.cols + col : -1;
}

const outline = (data, wanted) => wanted.map((cell) => {
  const x = data.x + (cell % data.cols) * data.w, y = data.y + Math.floor(cell / data.cols) * data.h;
  return `M${x + .5} ${y + .5}h${data.w - 1}v${data.h - 1}h${1 - data.w}z`;
}).join("");

const withIndex = (data, index) => index < 0 ? [] :
  data.place.flatMap((place, cell) => place === index ? [cell] : []);

const spot = (data, cell) => data.folded ? `${cell}` : `(${Math.floor(cell / data.cols)},${cell % data.cols})`;

const sheets = [...document.querySelectorAll("[data-sheet]")].map(sheetOf);
const said = $("said"), silent = said?.textContent;

function show(sheet, cell) {
  const { data } = sheet;
  for (const other of sheets) {
    const wanted = other.step === sheet.step ? withIndex(other.data, data.place[cell]) : [];
    other.mark.setAttribute("d", outline(other.data, wanted));
  }
  said.textContent = `Coordinate ${spot(data, cell)}: index ${data.place[cell]}`;
  document.documentElement.dataset.cell = cell;
}

for (const sheet of sheets) {
  let now = -1;
  sheet.svg.addEventListener("pointermove", (event) => {
    const cell = cellAt(sheet, event);
    if (cell >= 0 && cell !== now) show(sheet, now = cell);
  });
  const leave = () => {
    now = -1;
    for (const other of sheets) other.mark.setAttribute("d", "");
    said.textContent = silent;
  };
  sheet.svg.addEventListener("pointerleave", leave);
  sheet.svg.addEventListener("blur", leave);
  sheet.svg.tabIndex = 0;
  sheet.svg.addEventListener("keydown", (event) => {
    const { cols } = sheet.data, cell = stepCell(sheet.data, now < 0 ? null : [Math.floor(now / cols), now % cols], event.key);
    if (!cell) return;
    event.preventDefault();
    show(sheet, now = cell[0] * cols + cell[1]);
  });
}
