// A matrix as a real table: a row a thread of one warp, filled when it is opened, with the warps to choose from.
import { element } from "../kit/dom.js";
import { focusCell } from "../instruction/focus.js";
import { heldBy, operands, owner } from "../instruction/owners.js";
import { data } from "../instruction/state.js";
import { linesOf } from "./bench.js";

const ALL = 32; // holders of a table at once: a warp
const held = (op) => op.held_by ?? [];

function head(op) {
  const cells = [data.warp ? "Thread" : data.unit, data.warp ? "Lane" : "", "Holds"].filter(Boolean);
  return element("thead", {}, element("tr", {}, ...cells.map((text) => element("th", { scope: "col" }, text))));
}

function line(op, thread) {
  const said = linesOf(op, heldBy(op, thread)).map(([name, cells]) => `${name} ${cells.join(" ")}`).join(" · ");
  const cells = data.warp ? [`${thread % data.warp}`, said] : [said];
  return element("tr", {}, element("th", { scope: "row" }, `${thread}`),
    ...cells.map((text) => element("td", {}, text)));
}

function fill(details, op, first) {
  const ids = held(op).slice(first, first + ALL), last = held(op).length;
  const body = element("tbody", {}, ...ids.map((thread) => line(op, thread)));
  const table = element("table", { className: "list mono" }, head(op), body);
  const parts = [element("div", { className: "scroll" }, table)];
  if (last > ALL) {
    const choice = element("select", {}, ...Array.from({ length: Math.ceil(last / ALL) }, (_, n) =>
      element("option", { value: n * ALL, selected: n * ALL === first }, `${n}`)));
    choice.addEventListener("change", () => fill(details, op, Number(choice.value)));
    parts.unshift(element("label", { className: "small" }, "Warp ", choice));
  }
  const rows = details.querySelector("[data-rows]"), kept = rows.querySelector("p:last-child");
  rows.replaceChildren(...parts, kept);
}

export function followTables() {
  for (const details of document.querySelectorAll("details[data-table]")) {
    const op = operands[details.dataset.table];
    details.addEventListener("toggle", () => {
      if (!details.open) return;
      const cell = focusCell(), thread = (cell && owner(cell)?.thread) ?? 0;
      const at = Math.max(0, held(op).indexOf(thread));
      fill(details, op, at - (at % ALL));
    });
  }
}
