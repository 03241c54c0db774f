// The tile explorer: pointing at a cell in either picture marks it in the other and spells its address bits.
const data = JSON.parse(document.getElementById("data").textContent);
const drawing = document.querySelector("#stage > svg");
const text = document.getElementById("chunk");
const panels = Object.fromEntries(data.panels.map((panel) => [panel.name, panel]));
const cellAtPlace = new Map(data.place.map((place, cell) => [place, cell]));

function cellAt(panel, x, y) {
  if (!panel) return -1;
  const col = Math.floor((x - panel.x) / panel.cell_width), row = Math.floor((y - panel.y) / panel.cell_height);
  return row >= 0 && col >= 0 && row < panel.rows && col < panel.cols ? row * panel.cols + col : -1;
}

function mark(panel, cell) {
  if (!panel) return;
  const rect = document.getElementById(`mark-${panel.name}`);
  rect.setAttribute("x", panel.x + (cell % panel.cols) * panel.cell_width);
  rect.setAttribute("y", panel.y + Math.floor(cell / panel.cols) * panel.cell_height);
  rect.setAttribute("visibility", "visible");
}

function spell(cell) {
  const before = data.base + data.before[cell], after = data.base + data.after[cell];
  const bits = (value) => value.toString(2).padStart(12, "0").replace(/^(.*)(...)(...)(....)$/, "$1 $2 $3 $4");
  const width = Math.log2(data.chunks);
  const pairs = Array.from({ length: width }, (_, n) => `bit ${4 + n} ^= bit ${7 + n}`).join(", ");
  const along = (first) => (data.span > 1 ? `${first} to ${first + data.span - 1}` : `${first}`);
  const [mn, k] = [data.mn[cell], data.k[cell]];
  const place = data.major === "K" ? `row ${mn}, k ${along(k)}` : `k ${k}, mn ${along(mn)}`;
  const bank = (after >> 2) & 31, last = ((after + data.size - 1) >> 2) & 31;
  return `${data.unit}: ${place}\nbefore ${before} = 0x${before.toString(16)}\n${bits(before)}\nafter  ${after} = 0x${after.toString(16)}\n${bits(after)}\n${pairs || "no XOR in mode none"}\nbank${bank === last ? ` ${bank}` : `s ${bank} to ${last}`}`;
}

function show(cell) {
  mark(panels.logical, cell);
  mark(panels.memory, data.place[cell]);
  text.textContent = spell(cell);
  document.documentElement.dataset.chunk = cell;
}

drawing.addEventListener("pointermove", (event) => {
  const box = drawing.getBoundingClientRect(), scale = drawing.viewBox.baseVal.width / box.width;
  const [x, y] = [(event.clientX - box.x) * scale, (event.clientY - box.y) * scale];
  const cell = cellAt(panels.logical, x, y), place = cellAt(panels.memory, x, y);
  if (cell >= 0) show(cell);
  else if (place >= 0 && cellAtPlace.has(place)) show(cellAtPlace.get(place));
});
drawing.tabIndex = 0;
drawing.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.cols, ArrowDown: data.cols }[event.key];
  if (!step) return;
  event.preventDefault();
  const now = Number(document.documentElement.dataset.chunk ?? 0);
  show(Math.min(data.place.length - 1, Math.max(0, now + step)));
});
// A stride named in the table and its arrow in memory light each other.
for (const one of document.querySelectorAll("[data-stride]")) {
  const both = document.querySelectorAll(`[data-stride=${one.dataset.stride}]`);
  const light = (on) => () => both.forEach((each) => each.classList.toggle("lit", on));
  for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) one.addEventListener(event, light(on));
}
document.documentElement.classList.add("scripted");
const form = document.getElementById("tile");
form.addEventListener("change", () => form.requestSubmit());
