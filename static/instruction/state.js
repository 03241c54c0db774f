// The page's state and its URL. The server states its names, defaults and the form of a pin.
import { $ } from "../kit/dom.js";
import { given, keep, onServer } from "../kit/place.js";
import { fill, read } from "../kit/template.js";

export const data = JSON.parse($("data").textContent);
export const state = { ...data.state };
export const view = $("view");

for (const [name, value] of Object.entries(given())) {
  if (!(name in state)) continue;
  state[name] = value;
  if (view.elements[name]) view.elements[name].value = value;
}

/** The query of a state: what differs from the defaults and is not left out. Colons and commas stay as they are. */
export function query(values, ...without) {
  const changed = Object.entries(values).filter(([name, value]) => String(value) !== String(data.defaults[name]));
  const kept = changed.filter(([name]) => !without.includes(name));
  return kept.map(([name, value]) => `${name}=${spelled(value)}`).join("&");
}
const spelled = (value) => encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",");

/** Puts the state into the URL and into the addresses of the page's pictures, which show everything but the pin. */
export function remember() {
  keep(query(state));
  const drawn = query(state, "pin");
  if (!onServer) return;
  for (const link of document.querySelectorAll("a[data-form]")) {
    link.href = `${data.path}.${link.dataset.form}${drawn ? `?${drawn}` : ""}`;
  }
}

export const pinOf = (cell) => fill(data.pin, { panel: cell.panel.name, row: cell.row, col: cell.col });
export const readPin = () => read(data.pin, state.pin);

/** The threads that `lanes` names, null for all. */
export function shownThreads() {
  if (!state.lanes) return null;
  const shown = new Set();
  for (const [first, last = first] of spans(state.lanes)) {
    for (let thread = first; thread <= last; thread++) shown.add(thread);
  }
  return shown;
}

/** [first, last] of every range in a list such as 0-3,9; a single number has no last. */
export const spans = (text) => text.split(",").map((span) => span.split("-").map(Number));
