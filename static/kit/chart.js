// Charts by plotly.js, which is fetched only where a page has one: bars with hover, a legend and their own toolbar.
// Upright bars are stacked; lying ones stand beside each other, with a mark at the promised value.
// What a chart shows stands beside it as a picture or a table, so a page without scripts misses nothing.
import { axisOf, base, colour, labelled, plotted, walkCells, whenSeen } from "./plot.js";

const figures = [...document.querySelectorAll("figure.chart[data-chart]")];
function drawn(figure) {
  const data = JSON.parse(figure.dataset.chart);
  if (data.lying) return lying(figure, data);
  if (data.wavefronts) return turns(figure, data);
  const { title, across, up, names, series, fills } = data;
  const muted = colour("--muted");
  const bars = series.map(({ name, values }, n) => ({
    type: "bar", name, x: names, y: values,
    marker: { color: colour(fills[n % fills.length]), line: { color: muted, width: .5 } },
    hovertemplate: `${across} %{x}<br>%{y} ${up}<extra>${name}</extra>`,
  }));
  return plotted(figure, bars, {
    ...base(13), barmode: "stack", height: 300, margin: { l: 48, r: 16, t: 36, b: 44 },
    xaxis: axisOf({ title: { text: across }, type: "category" }), yaxis: axisOf({ title: { text: up } }),
  }, title);
}

/** Text in lines of about so many letters. */
const folded = (text, most) => text.split(" ").reduce((lines, word) => {
  const last = lines.at(-1);
  return last !== undefined && last.length + word.length < most
    ? [...lines.slice(0, -1), `${last} ${word}`] : [...lines, word];
}, []).join("<br>");

function lying(figure, { title, across, names, series, fills, marks, log }) {
  const ink = colour("--ink"), raised = colour("--raised");
  const holder = figure.querySelector(".plot");
  const rows = names.map((name) => folded(name, holder.clientWidth < 600 ? 16 : 34));
  const bars = series.map(({ name, values }, n) => ({
    type: "bar", orientation: "h", name, x: values, y: rows, text: values.map((x) => x?.toLocaleString("en") ?? ""),
    textposition: "auto", textfont: { color: ink }, insidetextfont: { color: colour("--cell-ink") }, cliponaxis: false,
    marker: { color: colour(fills[n % fills.length]), line: { color: colour("--muted"), width: .5 } },
    hovertemplate: `%{y}<br>%{x}<extra>${name}</extra>`,
  }));
  const promised = !marks ? [] : [{
    type: "scatter", mode: "markers", name: "promised", x: marks, y: rows,
    marker: { symbol: "line-ns", size: 24, line: { color: colour("--accent"), width: 3 } },
    hovertemplate: "%{y}<br>promised: %{x}<extra></extra>",
  }];
  return plotted(figure, [...bars, ...promised], {
    ...base(12), barmode: "group", height: holder.clientHeight, margin: { l: 8, r: 40, t: 36, b: 44 },
    xaxis: axisOf({ title: { text: across }, ...(log ? { type: "log", dtick: 1 } : { rangemode: "tozero" }) }),
    yaxis: axisOf({ type: "category", autorange: "reversed", ticks: "outside", tickcolor: raised }),
  }, title);
}

const BANKS = 32, LINE = 17; // pixels of a wavefront
const lanesOf = (lanes) => `lane${lanes.length > 1 ? "s" : ""} ${lanes.join(", ")}`;

/** Banks over time: a line a wavefront, a column a bank, the lane that each bank serves. Colours tell phases apart. */
function turns(figure, { title, wavefronts, fills }) {
  const cells = (make, idle = null) => wavefronts.map(({ phase, words }, turn) => {
    const line = new Array(BANKS).fill(idle);
    for (const [bank, address, lanes] of words) line[bank] = make({ phase, turn, bank, address, lanes });
    return line;
  });
  const say = ({ phase, turn, bank, address, lanes }) =>
    `wavefront ${turn}, phase ${phase}, bank ${bank}: word at ${address} for ${lanesOf(lanes)}`;
  const said = cells(say), steps = fills.length;
  const scale = fills.flatMap((fill, n) => [[n / steps, colour(fill)], [(n + 1) / steps, colour(fill)]]);
  const cell = { xgap: 1, ygap: 1, showscale: false, zmin: -.5, zmax: steps - .5, colorscale: scale };
  const text = cells(({ lanes }) => (lanes.length > 1 ? `${lanes[0]}+` : String(lanes[0])), "");
  const busy = { type: "heatmap", z: cells(({ phase }) => phase % steps), customdata: said, ...cell,
    ...labelled(figure, text), hoverongaps: false,
    hovertemplate: "%{customdata}<extra></extra>" };
  walkCells(figure, () => [wavefronts.length, BANKS], (turn, bank) =>
    said[turn][bank] ?? `wavefront ${turn}, bank ${bank}: nothing`);
  return plotted(figure, [busy], {
    ...base(12), height: 90 + LINE * Math.max(wavefronts.length, 6), margin: { l: 48, r: 16, t: 36, b: 44 },
    xaxis: axisOf({ title: { text: "Bank" }, dtick: 4, range: [-.5, BANKS - .5], showgrid: false, zeroline: false }),
    yaxis: axisOf({ title: { text: "Wavefront" }, autorange: "reversed", showgrid: false, zeroline: false,
      ...(wavefronts.length < 20 ? { dtick: 1 } : {}) }),
  }, title);
}

whenSeen(figures, () => figures.forEach(drawn));
