// Pictures answer the pointer: the cell under it, what the server says of it, and every cell of the page's pictures
// that the same lane holds. A picture carries where its cells are and their texts (layouts/render/pointing.py), or
// layers of numbers with a sentence each (app/kit/sheets.py).
import { cellUnder, frameOf } from "./cells.js";
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
let shown = "";

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

function show(panel, [row, col], event) {
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
  const left = Math.max(4, Math.min(event.clientX + ASIDE, room - width - 4));
  const above = event.clientY + ASIDE + height > innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${event.clientY + (above ? -ASIDE - height : ASIDE)}px`;
}

function hide() {
  if (!shown) return;
  shown = "";
  tip.hidden = true;
  for (const { mark } of panels) mark.setAttribute("d", "");
}

function follow(svg) {
  for (const title of svg.querySelectorAll("rect > title")) title.remove(); // a second answer beside ours
  const own = panels.filter((panel) => panel.svg === svg);
  const point = (event) => {
    for (const panel of own) {
      const cell = cellUnder(panel, event);
      if (cell) return show(panel, cell, event);
    }
    hide();
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
}

if (panels.length) {
  document.body.append(tip);
  for (const svg of new Set(panels.map((panel) => panel.svg))) follow(svg);
  addEventListener("scroll", hide, { passive: true, capture: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}
