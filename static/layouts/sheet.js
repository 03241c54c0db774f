// Tiles that follow the pointer: the cell in words, its thread outlined in every picture, its bits lit in the matrix.
import "../kit/tool.js";
import { $, element } from "../kit/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const LISTED = 32;

/** A picture with the server's numbers of its cells. */
function sheetOf(figure) {
  const data = JSON.parse(figure.dataset.sheet);
  const svg = figure.querySelector("svg");
  const mark = document.createElementNS(SVG, "path");
  mark.classList.add("follows");
  mark.setAttribute("fill", "none");
  svg.append(mark);
  const step = figure.closest("section");
  return { data, svg, mark, step, pinned: svg.querySelector(".pinned") };
}

function cellAt({ data, svg }, event) {
  const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
  const col = Math.floor(((event.clientX - box.x) * scale - data.x) / data.w);
  const row = Math.floor(((event.clientY - box.y) * scale - data.y) / data.h);
  return row >= 0 && col >= 0 && row < data.rows && col < data.cols ? row * data.cols + col : -1;
}

const cells = (data, wanted) => wanted.map((cell) => {
  const x = data.x + (cell % data.cols) * data.w, y = data.y + Math.floor(cell / data.cols) * data.h;
  return `M${x + .5} ${y + .5}h${data.w - 1}v${data.h - 1}h${1 - data.w}z`;
}).join("");

function threadCells(data, thread) {
  const found = [];
  for (let cell = 0; cell < data.thread.length; cell++) if (data.thread[cell] === thread) found.push(cell);
  return found;
}

const indexCells = (data, index) => index < 0 ? [] :
  data.place.flatMap((place, cell) => place === index ? [cell] : []);

const spot = (data, cell) => data.folded
  ? `${(data.row0 + Math.floor(cell / data.cols)) * data.cols + cell % data.cols}`
  : `(${data.row0 + Math.floor(cell / data.cols)},${cell % data.cols})`;

function inWords(data, cell) {
  if (data.what === "index") return `Coordinate ${spot(data, cell)}: index ${data.place[cell]}`;
  if (data.what === "tensor") {
    const at = data.place[cell], where = `Lane ${data.row0 + Math.floor(cell / data.cols)}, column ${cell % data.cols}`;
    return at < 0 ? `${where}: nothing` : `${where}: element (${Math.floor(at / data.wide)},${at % data.wide})${
      data.bits < 32 ? " first" : ""}`;
  }
  const place = `Element ${spot(data, cell)}`;
  if (data.place) {
    const at = data.place[cell];
    if (at < 0) return `${place}: not stored`;
    const byte = at * data.bits / 8;
    return `${place}: offset ${at}, byte ${byte} (0x${Math.floor(byte).toString(16)}), bank ${
      Math.floor(byte / 4) % 32}`;
  }
  const thread = data.thread[cell];
  if (thread < 0) return `${place}: no thread holds it`;
  const what = data.letter === "R" ? "register" : "value", copies = data.copies[cell];
  return `${place}: thread ${thread} (warp ${Math.floor(thread / 32)}, lane ${thread % 32}), ${what} ${
    data.value[cell]}${copies > 1 ? `, and ${copies - 1} more` : ""}`;
}

/** Lights the columns of the matrix that are set in the indices of a cell. */
function lightBits(data, cell) {
  const set = new Set();
  const bits = (name, number) => {
    for (let bit = 0; number >> bit; bit++) if (number >> bit & 1) set.add(`${name}-${bit}`);
  };
  if (cell >= 0 && data.place) bits("offset", data.place[cell]);
  if (cell >= 0 && data.thread && data.thread[cell] >= 0) {
    bits("register", data.value[cell]);
    bits("lane", data.thread[cell] % 32);
    bits("warp", Math.floor(data.thread[cell] / 32));
  }
  for (const one of document.querySelectorAll("[data-bit]")) one.classList.toggle("lit", set.has(one.dataset.bit));
}

function list(data, thread) {
  const card = $("held");
  if (!card) return;
  const found = threadCells(data, thread).sort((a, b) => data.value[a] - data.value[b]);
  card.querySelector("[data-thread]").textContent = thread;
  card.querySelector("[data-where]").textContent = `warp ${Math.floor(thread / 32)}, lane ${thread % 32}`;
  card.querySelector("[data-held]").replaceChildren(...found.slice(0, LISTED).map((cell) => element("tr", {},
    element("th", { textContent: `${data.letter}${data.value[cell]}`, scope: "row" }),
    element("td", { textContent: spot(data, cell) }))));
  const more = card.querySelector("[data-more]");
  more.hidden = found.length <= LISTED;
  more.textContent = `${found.length - LISTED} more`;
}

const sheets = [...document.querySelectorAll("[data-sheet]")].map(sheetOf);
const said = $("said"), silent = said?.textContent;

function show(sheet, cell) {
  const { data } = sheet;
  const thread = data.thread ? data.thread[cell] : -1;
  for (const other of sheets) {
    const wanted = other.data.thread && data.thread ? threadCells(other.data, thread)
      : data.what === "index" && other.step === sheet.step ? indexCells(other.data, data.place[cell])
      : other === sheet ? [cell] : [];
    other.mark.setAttribute("d", cells(other.data, wanted));
    other.pinned?.classList.toggle("away", data.thread !== undefined && thread >= 0);
  }
  const twins = sheets.length === 2 && thread >= 0 && sheets.every((one) => one.data.cols === data.cols);
  said.textContent = twins
    ? `${inWords(sheets[0].data, cell)}. Then ${inWords(sheets[1].data, cell).split(": ")[1]}`
    : inWords(data, cell);
  lightBits(data, cell);
  if (thread >= 0) list(data, thread);
  document.documentElement.dataset.cell = cell;
}

for (const sheet of sheets) {
  let now = -1;
  sheet.svg.addEventListener("pointermove", (event) => {
    const cell = cellAt(sheet, event);
    if (cell >= 0 && cell !== now) show(sheet, now = cell);
  });
  sheet.svg.addEventListener("pointerleave", () => {
    now = -1;
    for (const other of sheets) {
      other.mark.setAttribute("d", "");
      other.pinned?.classList.remove("away");
    }
    lightBits(sheet.data, -1);
    said.textContent = silent;
    if (sheet.data.thread && $("held")) list(sheet.data, Number(document.forms[1]?.elements.thread?.value ?? 0));
  });
  // A click pins the thread: it is the form's, and so the address's.
  sheet.svg.addEventListener("click", (event) => {
    const cell = cellAt(sheet, event), field = document.querySelector("[name=thread]");
    if (!field || cell < 0 || sheet.data.thread[cell] < 0) return;
    field.value = sheet.data.thread[cell];
    field.form.requestSubmit();
  });
}
