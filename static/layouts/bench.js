// A layout's page: the bench of whole tiles over it, the bits of the cell in focus lit in the matrix over F2.
import "../kit/auto.js";
import "../tiles/mma.js";
import { focus, focusCell, listeners } from "../instruction/focus.js";
import { factsOf, owners } from "../instruction/owners.js";
import { data, state } from "../instruction/state.js";

const columns = [...document.querySelectorAll("[data-bit]")];

function set(name, number) {
  return Array.from({ length: 31 }, (_, bit) => bit).filter((bit) => number >> bit & 1).map((bit) => `${name}-${bit}`);
}

/** The bits of the indices of a cell: register, lane and warp, or the offset. */
function bitsOf(cell) {
  if (!cell || focus.region || !owners(cell).length) return new Set();
  const { thread, value, offset } = factsOf(cell);
  if (offset !== undefined) return new Set(set("offset", offset));
  const warp = Math.floor(thread / data.warp);
  return new Set([...set("register", value), ...set("lane", thread % data.warp), ...set("warp", warp)]);
}

function light() {
  const lit = bitsOf(focusCell());
  for (const one of columns) one.classList.toggle("lit", lit.has(one.dataset.bit));
}

listeners.push(light);
light();

// Another layout keeps the look of this one.
for (const form of document.querySelectorAll("form[data-keeps]")) {
  form.addEventListener("submit", () => {
    for (const name of ["colour", "label", "warps", "lanes"]) {
      let input = form.querySelector(`[name=${name}]`);
      if (String(state[name]) === String(data.defaults[name])) {
        input?.remove();
        continue;
      }
      input ??= form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name }));
      input.value = state[name];
    }
  }, true);
}
