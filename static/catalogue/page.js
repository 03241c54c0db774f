// The catalogue narrows while typing: the server renders the rows, this puts them in place.
import "../kit/scripted.js";
import { element } from "../kit/dom.js";
import { root } from "../kit/place.js";

const form = document.getElementById("filters");
const box = form.elements.q;
const results = document.getElementById("results");
let running = null;

async function narrow() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.replaceState(null, "", `${root}/instructions${query.size ? `?${query}` : ""}`);
  running?.abort();
  running = new AbortController();
  query.set("part", "rows");
  try {
    const answer = await fetch(`${root}/instructions?${query}`, { signal: running.signal });
    results.innerHTML = await answer.text();
    const guess = document.getElementById("guess");
    if (guess) box.dataset.guess = guess.getAttribute("href");
    else delete box.dataset.guess;
  } catch (error) {
    if (error.name === "AbortError") return;
    results.prepend(element("p", { className: "notice" }, `The server did not answer: ${error.message}`));
  }
}

form.addEventListener("input", (event) => { if (event.target.matches("input:not([type=radio])")) narrow(); });
form.addEventListener("change", (event) => { if (!event.target.matches("input[type=search]")) narrow(); });
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (box.dataset.guess) location.href = box.dataset.guess;
  else narrow();
});
