// The instruction page: one lane lit in every matrix, its registers in the panel, the state in the URL.
import { Panel, Stage, fillOf, readTheme } from "./stage.js";
import { copyButtons } from "../kit/copy.js";
import { given, keep, onServer, pageOf } from "../kit/place.js";
import { attachZoom } from "./zoom.js";

const data = JSON.parse(document.getElementById("data").textContent);
const state = { ...data.state };
const $ = (id) => document.getElementById(id);
const stageElement = $("stage");
const view = $("view");
// An exported site keeps maps in files of their own, named by their content, because many instructions share them.
const operands = Object.fromEntries(Object.entries(data.operands).map(([name, op]) => [name, typeof op === "string" ? structuredClone(window.lanescopeMaps[op]) : op]));
for (const [name, value] of Object.entries(given())) {
  if (!(name in state)) continue;
  state[name] = value;
  if (view.elements[name]) view.elements[name].value = value;
}
const unit = data.threads === 32 ? "lane" : "thread";
let stage, hovered = null, cursor = null, namedDigit = null;

// owners ---------------------------------------------------------------------------------------------------------------

for (const op of Object.values(operands)) {
  op.byThread = new Map();
  for (let at = 0; at < op.thread.length; at++) {
    const list = op.byThread.get(op.thread[at]) ?? op.byThread.set(op.thread[at], []).get(op.thread[at]);
    list.push({ cell: Math.floor(at / op.copies), value: op.value[at] });
  }
}
const owner = (panel, row, col) => {
  const at = (row * panel.cols + col) * panel.operand.copies;
  return { thread: panel.operand.thread[at], value: panel.operand.value[at] };
};
const digitsOf = (op, thread, value) => ({
  ...Object.fromEntries(Object.entries(op.thread_digits).map(([name, all]) => [name, all[thread]])),
  ...Object.fromEntries(Object.entries(op.value_digits).map(([name, all]) => [name, all[value]])),
});
const title = (op) => (op.name === "data" || op.name === "address" ? op.title : op.name.toUpperCase());
const bits = (op, value) => `[${op.bit[value] + op.container_bits - 1}:${op.bit[value]}]`;

function shownThreads() {
  if (!state.lanes) return null;
  const shown = new Set();
  for (const part of state.lanes.split(",")) {
    const [first, last = first] = part.split("-").map(Number);
    for (let thread = first; thread <= last; thread++) shown.add(thread);
  }
  return shown;
}

// drawing --------------------------------------------------------------------------------------------------------------

function categoryOf(op, name) {
  if (name === "register") return [(at) => op.register[op.value[at]], Math.max(...op.register) + 1];
  const onThread = name in op.thread_digits;
  const digit = onThread ? op.thread_digits[name] : op.value_digits[name];
  const held = onThread ? op.thread : op.value;
  return [(at) => digit[held[at]], Math.max(...digit) + 1];
}
const colourFor = (op, wanted) => (op.colours.includes(wanted) ? wanted : op.colours[0]);

function paint() {
  const shown = shownThreads();
  const legend = new Map();
  for (const panel of stage.panels) {
    if (!panel.operand) continue;
    const op = panel.operand;
    const name = colourFor(op, namedDigit ?? state.colour);
    const [category, count] = categoryOf(op, name);
    const visible = (cell) => {
      if (!shown) return true;
      for (let copy = 0; copy < op.copies; copy++) if (shown.has(op.thread[cell * op.copies + copy])) return true;
      return false;
    };
    panel.visibleCell = visible;
    panel.paint(stage.theme, (cell) => (visible(cell) ? category(cell * op.copies) : -1), count);
    legend.set(name, Math.max(count, legend.get(name) ?? 0));
  }
  drawLegend(legend);
  draw();
}

function label(panel, cell) {
  const op = panel.operand;
  if (!panel.visibleCell(cell)) return "";
  const at = cell * op.copies, thread = op.thread[at];
  if (namedDigit && op.colours.includes(namedDigit)) return String(categoryOf(op, namedDigit)[0](at));
  switch (state.label) {
    case "lane:value": return `T${thread}:${[...new Set(op.value.slice(at, at + op.copies))].join(",")}`;
    case "register": return `T${thread} R${op.register[op.value[at]]}`;
    case "row,col": return `${Math.floor(cell / panel.cols)},${cell % panel.cols}`;
    case "index": return String(cell);
    default: return "";
  }
}

function warpEdges(panel) {
  if (data.threads === 32) return [];
  const edges = [];
  for (let row = 1; row < panel.rows; row++) if (owner(panel, row, 0).thread >> 5 !== owner(panel, row - 1, 0).thread >> 5) edges.push(row);
  return edges;
}

function draw() {
  stage.draw(label, warpEdges);
  lightUp();
}

function drawLegend(legend) {
  const parts = [];
  for (const [name, count] of legend) {
    parts.push(Object.assign(document.createElement("span"), { textContent: `colour: ${name}${count > 8 ? " (colours repeat every 8)" : ""}` }));
    for (let n = 0; n < Math.min(count, 8); n++) {
      const item = document.createElement("span"), box = document.createElement("i");
      box.style.background = fillOf(stage.theme, n, count);
      item.append(box, `${n}`);
      parts.push(item);
    }
  }
  $("legend").replaceChildren(...parts);
}

// what is lit ----------------------------------------------------------------------------------------------------------

function pinnedCell() {
  const match = /^([a-z]+\d*):(\d+),(\d+)$/.exec(state.pin);
  const panel = match && stage.panels.find((p) => p.name === match[1] && p.operand);
  return panel ? { panel, row: Number(match[2]), col: Number(match[3]) } : null;
}

function focusCell() {
  return pinnedCell() ?? hovered ?? cursor;
}

function lightUp() {
  const began = performance.now();
  const cell = focusCell();
  if (!cell) {
    stage.light(null, null, null);
  } else {
    const { thread } = owner(cell.panel, cell.row, cell.col);
    const lit = new Map(stage.panels.filter((p) => p.operand).map((p) => [p, (p.operand.byThread.get(thread) ?? []).map((held) => held.cell)]));
    const traced = state.pin && cell.panel.name === "d" ? stage.panels.flatMap((panel) => (panel.name === "a" ? [{ panel, row: cell.row }] : panel.name === "b" ? [{ panel, col: cell.col }] : [])) : [];
    stage.light(lit, traced, cursor ?? cell);
    stageElement.dataset.lit = JSON.stringify({ thread, cells: Object.fromEntries([...lit].map(([p, cells]) => [p.name, cells.length])) });
  }
  if (!cell) delete stageElement.dataset.lit;
  stageElement.dataset.lightMs = (performance.now() - began).toFixed(2);
}

// the panel ------------------------------------------------------------------------------------------------------------

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

function substituted(op, digits, thread, value) {
  const words = { groupID: digits.g, threadID_in_group: digits.t, warp_in_group: digits.w, "%laneid": thread, thread, i: value };
  return op.formula.forward.split("\n").filter((line) => /^(row|col|product|matrix) =/.test(line)).map((line) => {
    const [axis, text] = line.split(" = ");
    const total = op.terms[axis].reduce((sum, term) => sum + term.weight * digits[term.name], 0);
    return `${line}\n${" ".repeat(axis.length)} = ${text.replace(/%?[A-Za-z_]\w*/g, (word) => words[word] ?? word)} = ${total}`;
  }).join("\n");
}

function dotProduct(row, col) {
  const a = stage.panels.find((p) => p.name === "a"), b = stage.panels.find((p) => p.name === "b");
  const lines = [`D[${row},${col}] = C[${row},${col}] + Σk A[${row},k]·B[k,${col}]`];
  for (let k = 0; k < a.cols; k++) {
    const hold = (panel, r, c) => {
      if (!panel.operand) return "shared memory";
      const { thread, value } = owner(panel, r, c);
      return `T${thread} ${panel.name}${value}`;
    };
    lines.push(`k=${String(k).padEnd(3)} A ${hold(a, row, k).padEnd(10)} × B ${hold(b, k, col)}`);
  }
  return lines.join("\n");
}

function fillPanel() {
  const cell = focusCell();
  if (!cell) return;
  const { thread, value } = owner(cell.panel, cell.row, cell.col);
  const op = cell.panel.operand, digits = digitsOf(op, thread, value);
  const names = Object.entries(digits).map(([name, digit]) => `${name}=${digit}`).join(" ");
  const parts = [
    element("h2", {}, `${unit} ${thread} `, element("small", {}, state.pin ? "pinned, Esc frees" : "")),
    element("p", { className: "mono" }, op.name === "address" ? `points at row ${cell.row} of ${op.title.replace("address", "matrix ")}` : `${title(op)}[${cell.row},${cell.col}] = ${op.name}${value}, R${op.register[value]}${bits(op, value)}`),
    element("p", { className: "mono muted" }, names),
    element("pre", {}, substituted(op, digits, thread, value)),
  ];
  for (const each of Object.values(operands)) {
    const held = each.byThread.get(thread) ?? [];
    if (!held.length) continue;
    const rows = new Map();
    for (const item of [...held].sort((x, y) => x.value - y.value)) {
      const register = each.register[item.value];
      const span = element("span", { title: `bits ${bits(each, item.value)}` }, each.name === "address" ? `row ${item.cell}` : `${each.name}${item.value} ${title(each)}[${Math.floor(item.cell / each.cols)},${item.cell % each.cols}]`);
      if (each === op && item.value === value) span.className = "lit";
      (rows.get(register) ?? rows.set(register, []).get(register)).push(span, " ");
    }
    const many = [...rows].slice(0, state.pin ? 256 : 16);
    const table = element("table", { className: "registers" }, element("caption", {}, `${title(each)} ${each.element_type}`));
    table.append(element("tbody", {}, ...many.map(([register, spans]) => element("tr", {}, element("th", { scope: "row" }, `R${register}`), element("td", {}, ...spans)))));
    parts.push(table);
    if (many.length < rows.size) parts.push(element("p", { className: "muted small" }, `${rows.size - many.length} more registers; pin the lane to see them.`));
  }
  if (state.pin && cell.panel.name === "d") parts.splice(4, 0, element("h3", {}, "dot product"), element("pre", { id: "trace" }, dotProduct(cell.row, cell.col)));
  $("panel").replaceChildren(...parts);
}

function speak(cell) {
  const { thread, value } = owner(cell.panel, cell.row, cell.col), op = cell.panel.operand;
  $("spoken").textContent = `${title(op)} row ${cell.row} column ${cell.col}: ${unit} ${thread}, value ${op.name}${value}, register ${op.register[value]} bits ${bits(op, value)}`;
}

// state and URL --------------------------------------------------------------------------------------------------------

function query() {
  const changed = Object.entries(state).filter(([name, value]) => String(value) !== String(data.defaults[name]));
  return changed.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",")}`).join("&");
}

function remember() {
  const search = query();
  keep(search);
  const drawn = Object.entries(state).filter(([name, value]) => name !== "pin" && String(value) !== String(data.defaults[name])).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  if (onServer) for (const link of document.querySelectorAll("a[data-form]")) link.href = `${data.path}.${link.dataset.form}${drawn ? `?${drawn}` : ""}`;
}

function pin(cell) {
  const same = cell && state.pin === `${cell.panel.name}:${cell.row},${cell.col}`;
  state.pin = cell && !same ? `${cell.panel.name}:${cell.row},${cell.col}` : "";
  remember();
  lightUp();
  fillPanel();
}

// events ---------------------------------------------------------------------------------------------------------------

const point = (event) => {
  const box = stage.base.getBoundingClientRect();
  return stage.hit(event.clientX - box.left, event.clientY - box.top);
};
const sameCell = (one, other) => one?.panel === other?.panel && one?.row === other?.row && one?.col === other?.col;

function listen() {
  stageElement.tabIndex = 0;
  stageElement.setAttribute("role", "application");
  stageElement.setAttribute("aria-label", `Matrices of ${data.ptx}. Arrow keys move, Enter pins, Escape frees, a b d change the matrix.`);
  stageElement.addEventListener("pointermove", (event) => {
    const cell = point(event);
    if (sameCell(cell, hovered)) return;
    hovered = cell;
    cursor = null;
    if (state.pin) return;
    lightUp();
    fillPanel();
  });
  stageElement.addEventListener("pointerleave", () => {
    hovered = null;
    if (!state.pin) lightUp();
  });
  let down = null;
  stageElement.addEventListener("pointerdown", (event) => { down = event.button === 0 && !event.target.closest(".modebar") ? [event.clientX, event.clientY] : null; }, true);
  addEventListener("pointerup", (event) => {
    if (!down || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
    down = null;
    const cell = point(event);
    if (cell) pin(cell);
  }, true);
  stageElement.addEventListener("keydown", moveCursor);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.pin) pin(null);
  });
  for (const name of document.querySelectorAll(".name")) {
    const show = (digit) => () => { namedDigit = digit; paint(); };
    name.addEventListener("pointerenter", show(name.dataset.name));
    name.addEventListener("focus", show(name.dataset.name));
    name.addEventListener("pointerleave", show(null));
    name.addEventListener("blur", show(null));
  }
  view.addEventListener("submit", (event) => event.preventDefault());
  view.addEventListener("change", (event) => {
    const control = event.target;
    if (!control.reportValidity()) return;
    const spans = control.name === "lanes" && control.value ? control.value.split(",").map((span) => span.split("-").map(Number)) : [];
    if (spans.some((span) => span.at(-1) >= data.threads || span[0] > span.at(-1))) {
      control.setCustomValidity(`${unit}s run from 0 to ${data.threads - 1}, ranges upwards: 0-3`);
      control.reportValidity();
      control.setCustomValidity("");
      return;
    }
    state[control.name] = control.value;
    remember();
    if (control.name === "product") location.reload();
    paint();
  });
  for (const picker of document.querySelectorAll("select[data-picker]")) {
    picker.addEventListener("change", () => {
      const kept = { ...state, pin: "", product: 0 };
      const search = Object.entries(kept).filter(([name, value]) => name !== "lanes" && String(value) !== String(data.defaults[name])).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
      location.href = pageOf(picker.value, search);
    });
  }
  $("copy-link").hidden = false;
  $("copy-link").addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href);
    $("copy-link").textContent = "copied";
    setTimeout(() => { $("copy-link").textContent = "copy link"; }, 1500);
  });
  addEventListener("resize", () => { stage.resize(); stage.rescale?.(); draw(); });
  document.addEventListener("theme", () => { stage.theme = readTheme(); paint(); });
}

function moveCursor(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== stageElement) return;
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const first = stage.panels.find((p) => p.operand);
  const jump = stage.panels.find((p) => p.operand && p.name === event.key);
  const from = cursor ?? pinnedCell() ?? { panel: first, row: 0, col: 0 };
  if (step) {
    const start = cursor ?? pinnedCell();
    cursor = start ? { panel: from.panel, row: Math.min(from.panel.rows - 1, Math.max(0, from.row + step[0])), col: Math.min(from.panel.cols - 1, Math.max(0, from.col + step[1])) } : from;
  } else if (jump) cursor = { panel: jump, row: 0, col: 0 };
  else if ((event.key === "Enter" || event.key === " ") && cursor) pin(cursor);
  else return;
  event.preventDefault();
  hovered = null;
  if (state.pin && event.key !== "Enter" && event.key !== " ") { state.pin = ""; remember(); }
  speak(cursor ?? from);
  lightUp();
  fillPanel();
}

// start ----------------------------------------------------------------------------------------------------------------

document.documentElement.classList.add("scripted");
stage = new Stage(stageElement, data.figure, data.panels.map((spec) => new Panel(spec, operands[spec.name] ?? null)));
paint();
listen();
if (state.pin) fillPanel();
copyButtons();
document.documentElement.dataset.painted = performance.now().toFixed(1);
window.lanescope = { stage, state };
attachZoom(stage, document.querySelector("script[data-plotly]").dataset.plotly, draw);
