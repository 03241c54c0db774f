// The tile explorer: pointing at 16 bytes in either picture marks them in the other and spells their address bits.
const data = JSON.parse(document.getElementById("data").textContent);
const drawing = document.querySelector("#stage > svg");
const text = document.getElementById("chunk");
const plain = document.querySelector("select[name=plain]").value === "1";
const [logical, memory] = data.panels;
const position = plain ? data.before : data.after;
const chunkAt = new Map(position.map((place, chunk) => [place, chunk]));
const marks = { logical: document.getElementById("mark-logical"), memory: document.getElementById("mark-memory") };

function cellAt(panel, x, y) {
  const col = Math.floor((x - panel.x) / panel.cell_width), row = Math.floor((y - panel.y) / panel.cell_height);
  return row >= 0 && col >= 0 && row < panel.rows && col < panel.cols ? row * panel.cols + col : -1;
}

function mark(panel, cell) {
  const rect = marks[panel.name];
  rect.setAttribute("x", panel.x + (cell % panel.cols) * panel.cell_width);
  rect.setAttribute("y", panel.y + Math.floor(cell / panel.cols) * panel.cell_height);
  rect.setAttribute("visibility", "visible");
}

function spell(chunk) {
  const before = data.base + data.before[chunk] * 16, after = data.base + data.after[chunk] * 16;
  const bits = (value) => value.toString(2).padStart(12, "0").replace(/^(.*)(...)(...)(....)$/, "$1 $2 $3 $4");
  const row = Math.floor(chunk / data.across), first = (chunk % data.across) * data.per;
  const width = Math.log2(data.chunks);
  const pairs = Array.from({ length: width }, (_, n) => `bit ${4 + n} ^= bit ${7 + n}`).join(", ");
  const place = data.major === "K" ? `row ${row}, k ${first} to ${first + data.per - 1}` : `k ${row}, mn ${first} to ${first + data.per - 1}`;
  const banks = ((after >> 2) & 31);
  return `chunk ${chunk}: ${place}\nbefore ${before} = 0x${before.toString(16)}\n${bits(before)}\nafter  ${after} = 0x${after.toString(16)}\n${bits(after)}\n${pairs || "no XOR in mode none"}\nbanks ${banks} to ${banks + 3}`;
}

function show(chunk) {
  mark(logical, chunk);
  mark(memory, position[chunk]);
  text.textContent = spell(chunk);
  document.documentElement.dataset.chunk = chunk;
}

drawing.addEventListener("pointermove", (event) => {
  const box = drawing.getBoundingClientRect(), scale = drawing.viewBox.baseVal.width / box.width;
  const [x, y] = [(event.clientX - box.x) * scale, (event.clientY - box.y) * scale];
  const cell = cellAt(logical, x, y), place = cellAt(memory, x, y);
  if (cell >= 0) show(cell);
  else if (place >= 0 && chunkAt.has(place)) show(chunkAt.get(place));
});
drawing.tabIndex = 0;
drawing.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.across, ArrowDown: data.across }[event.key];
  if (!step) return;
  event.preventDefault();
  const now = Number(document.documentElement.dataset.chunk ?? 0);
  show(Math.min(position.length - 1, Math.max(0, now + step)));
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
