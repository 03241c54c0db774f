// The legend below the stage: which colour is which number.
import { $, element } from "../kit/dom.js";
import { data } from "./state.js";

/** legend: Map name → its category; colours repeat where a name has more numbers than the wheel has colours.
 *  subjects: Map name → the matrices that it colours, said where they differ. */
export function drawLegend(legend, theme, subjects) {
  const parts = [], of = (name) => {
    const each = [...new Set(subjects.get(name))];
    return legend.size > 1 && each.every(Boolean) ? ` of ${each.join(", ")}` : "";
  };
  for (const [name, { count, wheel, names }] of legend) {
    const repeat = count > wheel.length ? ` mod ${wheel.length} (${count} in ${wheel.length} colours)` : "";
    parts.push(element("span", {}, `Colour${of(name)} = ${data.colours[name]}${repeat}`));
    for (let n = 0; n < Math.min(count, wheel.length); n++) {
      const box = element("i");
      box.style.background = theme.of(wheel[n]);
      parts.push(element("span", {}, box, names?.[n] ?? `${n}`));
    }
  }
  $("legend").replaceChildren(...parts);
}
