// What a screen reader hears: a cell when the keyboard moves to it or it is pinned, never what the pointer passes.
import { $ } from "../kit/dom.js";
import { fill } from "../kit/template.js";
import { holder, owners } from "./owners.js";
import { data } from "./state.js";

/** Says a word by itself. */
export function say(text) {
  $("spoken").textContent = text;
}

export function speak(cell, more = "") {
  const op = cell.panel.operand, { spoken } = data;
  const all = owners(cell).map(({ thread, value }) => {
    const facts = { register: op.register[value], spoken_bits: op.spoken_bits[value] };
    return fill(spoken.owner, { holder: holder(thread)[0], name: op.name, value, ...facts });
  });
  const said = all.join(spoken.between) || "nobody";
  $("spoken").textContent = fill(spoken.cell, { title: op.title, ...cell, owners: said }) + more;
}
