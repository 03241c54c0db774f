// The page's stage: the server's figure with its matrices.
import { $ } from "../kit/dom.js";
import { Stage } from "./canvas.js";
import { Panel } from "./matrix.js";
import { operands } from "./owners.js";
import { data } from "./state.js";

const panels = data.panels.map((spec) => new Panel(spec, operands[spec.name] ?? null));
export const stage = new Stage($("stage"), data.figure, panels);
