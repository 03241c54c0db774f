// The legend below the stage: which colour is which number.
import { $, element } from "../kit/dom.js";
import { data } from "./state.js";

/** legend: Map name → its category; colours repeat where a name has more numbers than the wheel has colours. */
export function drawLegend(legend, theme) {
  const parts = [];
  for (const [name, { count, wheel, names }] of legend) {
    const repeat = count > wheel.length ? ` mod ${wheel.length} (${count} in ${wheel.length} colours)` : "";
    parts.push(element("span", {}, `Colour = ${data.colours[name]}${repeat}`));
    for (let n = 0; n < Math.min(count, wheel.length); n++) {
      const box = element("i");
      box.style.background = theme.of(wheel[n]);
      parts.push(element("span", {}, box, names?.[n] ?? `${n}`));
    }
  }
  $("legend").replaceChildren(...parts);
}
