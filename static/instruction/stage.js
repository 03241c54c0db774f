// The page's stage: its matrices, each in the slot that the page has for it.
import { $ } from "../kit/dom.js";
import { Stage } from "./canvas.js";
import { Panel } from "./matrix.js";
import { operands } from "./owners.js";
import { data, ranges } from "./state.js";

const slotOf = (name) => document.querySelector(`.mat[data-panel="${name}"] .slot`);
const panels = data.panels.map((spec) =>
  new Panel(spec, operands[spec.name] ?? null, slotOf(spec.name), ranges()));
export const stage = new Stage($("stage"), panels);
for (const { operand, slot } of panels) if (operand) slot.replaceChildren(); // the canvas draws what stood there
