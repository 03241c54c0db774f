// The API's reference narrows while typing, by the same words as the server: all of them, in any case. What a link
// names opens, in browsers that would leave it closed, too.
import "../kit/scripted.js";
import { copyButtons } from "../kit/copy.js";

const form = document.getElementById("filter"), box = form.elements.q, output = form.querySelector("output");
const sections = [...document.querySelectorAll("[data-section]")];
const rows = [...document.querySelectorAll(".route")].map((row) => ({ row, model: row.matches(".model"),
  text: row.textContent.toLowerCase() }));

function narrow() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const each of rows) each.row.hidden = !words.every((word) => each.text.includes(word));
  for (const section of sections) section.hidden = !section.querySelector(".route:not([hidden])");
  const routes = rows.filter(({ model }) => !model), shown = (list) => list.filter(({ row }) => !row.hidden).length;
  output.value = `${shown(routes)} of ${routes.length} routes, ${shown(rows) - shown(routes)} models`;
  const query = box.value ? `?${new URLSearchParams({ q: box.value })}` : "";
  history.replaceState(null, "", location.pathname + query + location.hash);
}

function openNamed() {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest(".route");
  if (!row) return;
  row.hidden = row.closest("[data-section]").hidden = false;
  row.open = true;
  row.scrollIntoView();
}

box.addEventListener("input", narrow);
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", openNamed);
copyButtons();
openNamed();
