// How rows and columns spread over lanes and registers: a heat map of how many elements of a line each holder has. The
// canvas shows who holds an element; this shows what a sum along a row or a column has to combine.
import { onServer, root } from "../kit/place.js";
import { axisOf, base, colour, labelled, plotted, walkCells, whenSeen } from "../kit/plot.js";

const MOST_TEXTS = 4096, LINE = 15; // cells with a number each; pixels of a line
const figure = document.querySelector("figure[data-spread]"), maps = new Map();

/** [thread][value] of a matrix, asked for once. */
function mapOf({ name, map }) {
  if (!maps.has(name)) maps.set(name, fetch(root + map).then((answer) => answer.json()));
  return maps.get(name);
}

/** How many elements of each line each lane has, or of each line each register has in any lane. */
function countElements(map, line, across, [lines, holders]) {
  const counts = Array.from({ length: lines }, () => new Array(holders).fill(0));
  map[line].forEach((values, thread) => values.forEach((at, value) => {
    counts[at][across === "lanes" ? thread : map.register[thread][value]]++;
  }));
  return counts;
}

const chosen = (name) => figure.querySelector(`[name=${name}]:checked`).value;

async function draw() {
  const { matrices, unit } = JSON.parse(figure.dataset.spread);
  const matrix = matrices.find(({ name }) => name === chosen("spread-of"));
  const line = chosen("spread-line"), across = chosen("spread-over");
  const sizes = [matrix[line], matrix[across]];
  const map = await mapOf(matrix);
  if (matrix.name !== chosen("spread-of")) return; // another was chosen meanwhile
  const counts = countElements(map, line, across, sizes);
  const named = line === "row" ? "row" : "column", holder = across === "lanes" ? unit : "register";
  const most = Math.max(...counts.flat()), where = across === "lanes" ? "" : ` of all ${unit}s`;
  const say = (at, of) => `${named} ${at} of ${matrix.name.toUpperCase()}, ${holder} ${of}${where}: `
    + `${counts[at][of] || "no"} element${counts[at][of] === 1 ? "" : "s"}`;
  const shown = counts.map((all) => all.map((count) => count || null));
  const labels = sizes[0] * sizes[1] > MOST_TEXTS ? {}
    : labelled(figure, counts.map((all) => all.map((count) => (count ? String(count) : ""))));
  const cells = { type: "heatmap", z: shown, xgap: 1, ygap: 1, showscale: false, zmin: 0, zmax: most, ...labels,
    colorscale: [[0, colour("--fill-3")], [1, colour("--fill-0")]], hoverongaps: false,
    customdata: counts.map((all, at) => all.map((_, of) => say(at, of))),
    hovertemplate: "%{customdata}<extra></extra>" };
  walkCells(figure, () => sizes, say);
  const title = (text) => ({ title: { text }, showgrid: false, zeroline: false });
  await plotted(figure, [cells], {
    ...base(12), height: Math.min(90 + LINE * Math.max(sizes[0], 8), 720), margin: { l: 56, r: 16, t: 36, b: 44 },
    xaxis: axisOf({ ...title(holder), range: [-.5, sizes[1] - .5] }),
    yaxis: axisOf({ ...title(named), range: [sizes[0] - .5, -.5] }),
  }, `spread_${matrix.name}_${line}_${across}`);
}

if (figure && !onServer) figure.remove(); // the maps are a server's; the table says the same of every line
else if (figure) {
  whenSeen([figure], draw);
  figure.addEventListener("change", () => { if (window.Plotly) draw(); });
}
