// Pictures answer the pointer and the arrow keys: the cell, what the server says of it, and every cell of the page's
// pictures that the same lane holds. A picture carries where its cells are and their texts (layouts/render/pointing.py), or
// layers of numbers with a sentence each (app/kit/sheets.py).
import { cellUnder, cornerOf, frameOf, stepCell } from "./cells.js";
import { element } from "./dom.js";
import { holderOf as groupOf, linesOf } from "./layers.js";
import { fill } from "./template.js";

const SVG = "http://www.w3.org/2000/svg", ASIDE = 14; // pixels from the pointer to its words

/** The holder that a cell's text begins with, T13 of T13:2; "" where it names none. */
const namedIn = (text) => /^✗?(w\d+ )?(T\d+)/.exec(text)?.slice(1).join("") ?? "";

/** What holds a cell, as text: its lane, or the group that the picture says. */
function holderOf(data, row, col) {
  const number = data.layers && groupOf(data, row, col);
  if (data.layers) return number === undefined ? "" : `${data.group} ${number}`;
  return data.groups?.[row][col] ?? namedIn(data.texts[row][col]);
}

function panelOf(group) {
  const data = JSON.parse(group.dataset.cells), mark = document.createElementNS(SVG, "path");
  mark.classList.add("under-pointer");
  group.ownerSVGElement.append(mark);
  const { x, y, w, h, top, left, rows, cols } = data; // a picture may draw a part of the cells
  const grid = { x, y, cell_width: w, cell_height: h, row: top, col: left, rows, cols };
  return { data, grid, mark, svg: group.ownerSVGElement };
}

const panels = [...document.querySelectorAll("svg [data-cells]")].map(panelOf);
const tip = element("div", { className: "cell-tip", hidden: true });
tip.setAttribute("role", "status");
let shown = "", keyed = null; // the cell that has words, and the one the keys are at: { panel, cell }

/** The frames of a panel's cells by their holder, listed when it is first asked. */
function framesOf(panel) {
  if (panel.frames) return panel.frames;
  panel.frames = new Map();
  for (let row = panel.data.top ?? 0; row < panel.data.rows; row++) {
    for (let col = panel.data.left ?? 0; col < panel.data.cols; col++) {
      const holder = holderOf(panel.data, row, col);
      if (holder) panel.frames.set(holder, (panel.frames.get(holder) ?? "") + frameOf(panel.grid, row, col));
    }
  }
  return panel.frames;
}

function sentence(data, row, col) {
  if (data.layers) return linesOf(data, row, col).join(". ").replaceAll("`", "");
  const { title, said, row0, col0, down, across, texts } = data;
  const text = texts[row][col], [holder, value = ""] = text.replace(/^T/, "").split(":");
  const named = { title, text: text || "empty", holder, value };
  return fill(said, { ...named, row: down?.[row] ?? row + row0, col: across?.[col] ?? col + col0 });
}

/** Says what a cell is, beside a point of the window. */
function show(panel, [row, col], { clientX, clientY }) {
  const { data } = panel, now = [panels.indexOf(panel), row, col].join();
  if (now !== shown) {
    shown = now;
    const holder = holderOf(data, row, col);
    for (const each of panels) {
      const held = (holder && framesOf(each).get(holder)) || "";
      each.mark.setAttribute("d", held + (each === panel ? frameOf(panel.grid, row, col) : ""));
    }
    tip.textContent = sentence(data, row, col);
    tip.hidden = false;
  }
  const { width, height } = tip.getBoundingClientRect(), room = document.documentElement.clientWidth;
  const left = Math.max(4, Math.min(clientX + ASIDE, room - width - 4));
  const above = clientY + ASIDE + height > innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${clientY + (above ? -ASIDE - height : ASIDE)}px`;
}

function hide() {
  if (!shown) return;
  [shown, keyed] = ["", null];
  tip.hidden = true;
  for (const { mark } of panels) mark.setAttribute("d", "");
}

/** Says what the cell is that the keys are at, where it is on the screen now. */
function showKeyed() {
  const { panel, cell: [row, col] } = keyed, { x, y, cell_width, cell_height } = panel.grid;
  const at = new DOMPoint(x + (col + 0.5) * cell_width, y + (row + 0.5) * cell_height);
  const { x: clientX, y: clientY } = at.matrixTransform(panel.svg.getScreenCTM());
  show(panel, [row, col], { clientX, clientY });
}

/** Puts the keys at a cell and brings that into the picture's box. */
function goTo(panel, cell) {
  const place = document.createElementNS(SVG, "path");
  place.setAttribute("d", frameOf(panel.grid, ...cell));
  panel.svg.append(place);
  place.scrollIntoView({ block: "nearest", inline: "nearest" });
  place.remove();
  keyed = { panel, cell };
  showKeyed();
}

/** The arrow keys move within a panel, and beyond its end to the next one of the picture. */
function followKeys(svg, own) {
  const first = (panel) => goTo(panel, cornerOf(panel.grid));
  const name = svg.querySelector(":scope > title")?.textContent ?? svg.getAttribute("aria-label") ?? "Picture";
  svg.tabIndex = 0;
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-label", `${name.replace(/\.$/, "")}: the arrow keys move from cell to cell`);
  svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) first(own[0]); });
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const from = keyed ?? { panel: own[0], cell: null }, cell = stepCell(from.panel.grid, from.cell, event.key);
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const beyond = from.cell && cell.join() === from.cell.join();
    const next = beyond && own[own.indexOf(from.panel) + (/Left|Up/.test(event.key) ? -1 : 1)];
    if (next) first(next);
    else goTo(from.panel, cell);
  });
}

function follow(svg) {
  for (const title of svg.querySelectorAll("rect > title")) title.remove(); // a second answer beside ours
  const own = panels.filter((panel) => panel.svg === svg);
  const point = (event) => {
    for (const panel of own) {
      const cell = cellUnder(panel, event);
      if (!cell) continue;
      keyed = null;
      return show(panel, cell, event);
    }
    hide();
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  followKeys(svg, own);
}

if (panels.length) {
  document.body.append(tip);
  for (const svg of new Set(panels.map((panel) => panel.svg))) follow(svg);
  addEventListener("scroll", () => (keyed ? showKeyed() : hide()), { passive: true, capture: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}
