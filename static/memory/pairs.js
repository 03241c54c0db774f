// Pointing at an element marks the byte it is read from and the byte where it is stored; at a byte, its elements.
import { $ } from "../kit/dom.js";

const outline = (svg, name, x, y, width, height) => {
  const rect = document.createElementNS(svg.namespaceURI, "rect");
  for (const [key, value] of Object.entries({ x, y, width, height, "data-pointed": name })) {
    rect.setAttribute(key, value);
  }
  svg.append(rect);
};

export function pairing(root) {
  const held = root.querySelector("#pairs"), operand = $("picture-operand"), memory = $("picture-memory");
  if (!held || !operand || !memory) return;
  const data = JSON.parse(held.textContent), said = $("paired");
  const left = Number(operand.dataset.left), top = Number(operand.dataset.top), tall = Number(operand.dataset.tall);
  const sizeOf = (svg, columns) => (svg.viewBox.baseVal.width - left - 1) / columns;
  const wide = { operand: sizeOf(operand, data.across), memory: sizeOf(memory, 8) };
  const byte = (chunk) => `0x${(chunk * 16).toString(16)}`;
  const name = (cell) => {
    const line = Math.floor(cell / data.across), at = (cell % data.across) * data.per;
    const span = data.per > 1 ? `${at} to ${at + data.per - 1}` : at;
    return data.down === "row" ? `${data.operand}[${line}, ${span}]` : `${data.operand}[${span}, ${line}]`;
  };
  const clear = () => { for (const old of root.querySelectorAll("[data-pointed]")) old.remove(); };
  const cellMark = (cell, kind) => outline(
    operand, kind, left + (cell % data.across) * wide.operand, top + Math.floor(cell / data.across) * tall,
    wide.operand, tall,
  );
  const chunkMark = (chunk, kind) => {
    const at = chunk - data.low;
    if (at < 0 || at >= data.lines * 8) return;
    outline(memory, kind, left + (at % 8) * wide.memory, top + Math.floor(at / 8) * tall, wide.memory, tall);
  };
  const cellAt = (svg, width, columns, event) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const col = Math.floor(((event.clientX - box.x) * scale - left) / width);
    const row = Math.floor(((event.clientY - box.y) * scale - top) / tall);
    return col >= 0 && col < columns && row >= 0 ? row * columns + col : -1;
  };
  const sayCell = (cell) => {
    if (cell < 0 || cell >= data.read.length) return;
    clear();
    cellMark(cell, "from");
    chunkMark(data.read[cell], "from");
    said.textContent = `${name(cell)} is read from ${byte(data.read[cell])}`;
    if (!data.stored) return;
    if (data.stored[cell] !== data.read[cell]) {
      chunkMark(data.stored[cell], "to");
      said.textContent += `; it is stored at ${byte(data.stored[cell])}`;
    } else said.textContent += data.right[cell] ? ", where it is stored" : "; its elements are stored in another order";
  };
  const sayChunk = (chunk) => {
    clear();
    chunkMark(chunk, "from");
    const readers = data.read.flatMap((at, cell) => (at === chunk ? [cell] : []));
    const holds = (data.stored ?? []).flatMap((at, cell) => (at === chunk ? [cell] : []));
    for (const cell of readers) cellMark(cell, "from");
    for (const cell of holds) if (!readers.includes(cell)) cellMark(cell, "to");
    const parts = [readers.length ? `read as ${readers.map(name).join(", ")}` : "not read"];
    if (data.stored) parts.push(holds.length ? `holds ${holds.map(name).join(", ")}` : "holds no element of this step");
    said.textContent = `${byte(chunk)}: ${parts.join("; ")}`;
  };
  operand.addEventListener("pointermove", (event) => sayCell(cellAt(operand, wide.operand, data.across, event)));
  memory.addEventListener("pointermove", (event) => {
    const at = cellAt(memory, wide.memory, 8, event);
    if (at >= 0 && at < data.lines * 8) sayChunk(data.low + at);
  });
}
