// What a page says first of its pins: a line for each, then sentences; on a phone the lines stay at the bottom.
import { $, element } from "./dom.js";

/** Text whose words between backticks are code. */
export const ticked = (text) => text.split("`").map((part, n) => (n % 2 ? element("code", {}, part) : part));

let shown = "";
export function showAnswer({ lines, text }, pinned) {
  const card = $("answer"), now = [...lines, text].join("\n");
  if (now === shown) return;
  shown = now;
  const heads = lines.map((line) => element("h2", {}, ...ticked(line)));
  card.firstElementChild.replaceChildren(...heads, element("p", {}, text));
  card.querySelector(".sticky").replaceChildren(...ticked(lines.join("; ")));
  card.classList.toggle("none", !pinned);
}
