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

/** What is shown of each dimension: {m: [0, 16], …}. The server sends what it shows at first, and how far each goes. */
export function ranges(view = state.view) {
  if (!view) return data.opening;
  if (view === "all") return {};
  return Object.fromEntries(view.split(",").map((part) => part.split(":")).map(([dim, span]) =>
    [dim, span.split("-").map(Number)]));
}

/** The name that cells are coloured by: of the automatic colour that of the warps, or what tells one's lanes apart. */
export function colour() {
  const auto = data.automatic;
  if (!auto || state.colour !== auto.name) return state.colour;
  const [first, past] = ranges().m ?? [0, Infinity];
  return Math.floor(first / auto.rows) === Math.ceil(past / auto.rows) - 1 ? auto.within : auto.whole;
}

/** The query of a state: what differs from the defaults and is not left out. Colons and commas stay as they are. */
export function query(values, ...without) {
  return changedFrom(data.defaults, values, without);
}
function changedFrom(defaults, values, without) {
  const changed = Object.entries(values).filter(([name, value]) => String(value) !== String(defaults[name]));
  const kept = changed.filter(([name]) => !without.includes(name));
  return kept.map(([name, value]) => `${name}=${spelled(value)}`).join("&");
}
const spelled = (value) => encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",");

// What no picture's address has.
const UNPICTURED = ["view", "a_major", "b_major", "sel", "selector", "byte_id_a", "thread_id_a",
  "byte_id_b", "thread_id_b"];
const LOOK = ["colour", "label", "lanes", "warps", "pin", "pin2", "view"]; // what a page changes in place

/** Takes the state from the URL, after Back and Forward. Whether another page has to be loaded for it. */
export function recall() {
  const address = onServer ? location.search : location.hash.slice(1);
  const now = { ...data.defaults, ...Object.fromEntries(new URLSearchParams(address)) };
  const changed = (name) => String(now[name]) !== String(state[name]);
  const other = Object.keys(state).some((name) => !LOOK.includes(name) && changed(name));
  for (const name of Object.keys(state)) {
    state[name] = now[name];
    if (view.elements[name]) view.elements[name].value = now[name];
  }
  return other;
}
/** Puts the state into the URL and into the links that carry it: to pictures, to the figure page, to other views. */
export function remember(pushed = false) {
  keep(query(state), pushed);
  if (!onServer) return;
  const painted = { ...state, colour: colour() };
  const unpictured = data.unpictured ?? UNPICTURED;
  const own = Object.entries(data.drawn ?? {}).map(([name, value]) => `${name}=${spelled(value)}`);
  const drawn = [...own, changedFrom(data.pictured, painted, unpictured)].filter(Boolean).join("&");
  for (const link of document.querySelectorAll("a[data-form]")) {
    link.href = `${data.path}.${link.dataset.form}${drawn ? `?${drawn}` : ""}`;
  }
  for (const link of document.querySelectorAll("a[data-figure]")) {
    const asked = new URL(link.href);
    for (const name of ["colour", "label", "lanes", "pin", "pin2"]) {
      if (painted[name]) asked.searchParams.set(name, painted[name]);
      else asked.searchParams.delete(name);
    }
    link.href = asked;
  }
  for (const link of document.querySelectorAll("a[data-state]")) {
    const shown = query({ ...state, ...Object.fromEntries(new URLSearchParams(link.dataset.state)) });
    link.href = data.path + (shown ? `?${shown}` : "");
  }
  for (const link of document.querySelectorAll("a[data-view]")) {
    const shown = query({ ...state, view: link.dataset.view });
    link.href = data.path + (shown ? `?${shown}` : "");
  }
}

export const pinOf = (cell) => fill(data.pin, { panel: cell.panel.name, row: cell.row, col: cell.col });
export const readPin = (text) => read(data.pin, text);

const named = (text) => new Set(spans(text).flatMap(([first, last = first]) =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n)));

/** Which threads are shown, null for all: those that `lanes` names, or these lanes of the warps that `warps` names. */
export function shownThreads() {
  const { lanes, warps } = state;
  if (!lanes && !warps) return null;
  const threads = lanes && named(lanes);
  if (!data.warps) return threads;
  const whole = warps && named(warps), { warp } = data;
  return { has: (id) => (!whole || whole.has(Math.floor(id / warp))) && (!threads || threads.has(id % warp)) };
}

const RANGES = /^ *\d+ *(- *\d+ *)?(, *\d+ *(- *\d+ *)?)*$/;

/**
 * [first, last] of every range in a list such as 0-3,9; a single number has no last; null for other text. The server's
 * reader is parse_ranges of layouts/inputs.py: exported pages have no server. tests/browser/test_pure.py compares them.
 */
export const spans = (text) =>
  RANGES.test(text) ? text.split(",").map((span) => span.split("-").map(Number)) : null;
