// How the labels of cells are written so that none touches its neighbour: the rule of layouts/render/labels.py, by the
// width of a glyph as this browser draws it. tests/browser/test_pure.py holds both equal.
export const MONO = 'ui-monospace, "DejaVu Sans Mono", monospace';
const SMALLEST = 6.5, SHORTEN_BELOW = 7.5, LARGEST_PAIR = 10;
const ABOVE = 2.5, PAIR_HEIGHT = 2.1;

let glyph = 0;
function glyphWidth() {
  if (!glyph) {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `100px ${MONO}`;
    glyph = context.measureText("0").width / 100;
  }
  return glyph;
}

/** A label's two parts: holder and value, or row and column. */
export function splitLabel(text) {
  for (const separator of [":", " ", ","]) {
    const at = text.indexOf(separator);
    if (at >= 0) return [text.slice(0, at), text.slice(at + 1)];
  }
  return [text, ""];
}

/** {size, form} of the labels of cells; form: "one" line, "two", or the "first" part alone; null where none fits. */
export function fitLabels(texts, width, height, largest, ems = glyphWidth()) {
  const said = texts.filter((text) => text);
  if (!said.length) return null;
  const longest = (list) => list.reduce((most, { length }) => Math.max(most, length), 0) + 1;
  const room = width / ems, parts = said.map(splitLabel), firsts = parts.map(([first]) => first);
  const one = Math.min(largest, room / longest(said), height - ABOVE);
  if (one >= SHORTEN_BELOW) return { size: one, form: "one" };
  const two = Math.min(LARGEST_PAIR, room / longest(parts.flat()), (height - 2) / PAIR_HEIGHT);
  if (two >= SMALLEST && parts.some(([, rest]) => rest)) return { size: two, form: "two" };
  if (one >= SMALLEST) return { size: one, form: "one" };
  const first = Math.min(largest, room / longest(firsts), height - ABOVE);
  const held = ([name, rest]) => rest && /^\p{L}/u.test(name); // half of a coordinate would be another place
  return first >= SMALLEST && parts.every(held) ? { size: first, form: "first" } : null;
}
