// The catalogue narrows while typing: the server renders the matrices, this puts them in place.
import "../kit/scripted.js";
import { element } from "../kit/dom.js";
import { root } from "../kit/place.js";

const form = document.getElementById("filters");
const box = form.elements.q;
const results = document.getElementById("results");
const PAUSE = 150; // ms without a key before the server is asked
let running = null, waiting = 0;
let current = true; // whether the results are those of the box

async function narrow() {
  clearTimeout(waiting);
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.replaceState(null, "", `${root}/instructions${query.size ? `?${query}` : ""}`);
  running?.abort();
  running = new AbortController();
  query.set("part", "rows");
  const asked = box.value;
  try {
    const answer = await fetch(`${root}/instructions?${query}`, { signal: running.signal });
    results.innerHTML = await answer.text();
    current = box.value === asked;
  } catch (error) {
    if (error.name === "AbortError") return;
    results.prepend(element("p", { className: "notice" }, `The server did not answer: ${error.message}`));
  }
}

// What Enter opens: the line's own page, or whatever the box above would make of the text.
function open() {
  const guess = document.getElementById("guess");
  if (guess && current) location.href = guess.href;
  else if (box.value.trim()) location.href = `${root}/read?${new URLSearchParams({ text: box.value })}`;
}

box.addEventListener("input", () => {
  form.elements.family.value = ""; // the first group with a form found
  current = false;
  clearTimeout(waiting);
  waiting = setTimeout(narrow, PAUSE);
});
form.addEventListener("change", (event) => { if (event.target !== box) narrow(); });
results.addEventListener("click", (event) => {
  const tab = event.target.closest(".groups a");
  if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  form.elements.family.value = tab.dataset.family;
  narrow().then(() => results.querySelector(".groups [aria-current]")?.focus());
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  open();
});
