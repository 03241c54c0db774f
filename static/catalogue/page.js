// The catalogue narrows while typing: the server renders the rows, this puts them in place.
import "../kit/scripted.js";
import { element } from "../kit/dom.js";
import { root } from "../kit/place.js";

const form = document.getElementById("filters");
const box = document.querySelector("input[type=search]");
const results = document.getElementById("results");
const first = results.innerHTML;
const startsEmpty = results.hasAttribute("data-empty");
let running = null;

async function narrow() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.replaceState(null, "", query.size ? `${root}/?${query}` : `${root}/`);
  running?.abort();
  if (!query.size && startsEmpty) {
    results.innerHTML = first;
    return;
  }
  running = new AbortController();
  query.set("part", "rows");
  try {
    const answer = await fetch(`${root}/?${query}`, { signal: running.signal });
    results.innerHTML = await answer.text();
    const guess = document.getElementById("guess");
    if (guess) box.dataset.guess = guess.getAttribute("href");
    else delete box.dataset.guess;
  } catch (error) {
    if (error.name === "AbortError") return;
    results.prepend(element("p", { className: "notice" }, `The server did not answer: ${error.message}`));
  }
}

box.addEventListener("input", narrow);
form.addEventListener("change", narrow);
form.addEventListener("input", (event) => { if (event.target.name === "shape") narrow(); });
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (box.dataset.guess) location.href = box.dataset.guess;
  else narrow();
});
