// The metadata editor: a click on a group takes its nibble to the next legal value; the server answers with the new picture.
const editor = document.getElementById("editor");
let running = null;

async function show(words, selector) {
  const query = new URLSearchParams({ words, selector });
  history.replaceState(null, "", `${location.pathname}?${query}`);
  query.set("part", "editor");
  running?.abort();
  running = new AbortController();
  try {
    editor.innerHTML = await (await fetch(`${location.pathname}?${query}`, { signal: running.signal })).text();
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

editor.addEventListener("click", (event) => {
  const cell = event.target.closest("td[data-lane]");
  if (!cell) return;
  const form = document.getElementById("words-form");
  const legal = document.getElementById("dense").dataset.nibbles.split(",").map(Number);
  const words = form.words.value.trim().split(/[\s,]+/).map((word) => parseInt(word.replace(/^0x|_/gi, ""), 16) >>> 0);
  if (words.length === 1) words.push(...Array(Number(document.getElementById("dense").dataset.lanes) - 1).fill(words[0]));
  const [lane, bit] = [Number(cell.dataset.lane), Number(cell.dataset.bit)];
  const nibble = (words[lane] >>> bit) & 15;
  const next = legal[(legal.indexOf(nibble) + 1) % legal.length];
  words[lane] = ((words[lane] & ~(15 << bit)) | (next << bit)) >>> 0;
  // The box is the state: a second click before the answer goes on from this one.
  form.words.value = words.map((word) => `0x${word.toString(16).toUpperCase().padStart(8, "0")}`).join(" ");
  show(form.words.value, form.selector.value);
});
editor.addEventListener("submit", (event) => {
  event.preventDefault();
  show(event.target.words.value, event.target.selector.value);
});
editor.addEventListener("change", (event) => {
  if (event.target.name === "selector") show(event.target.form.words.value, event.target.value);
});
