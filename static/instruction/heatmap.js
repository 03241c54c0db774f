// A matrix as a Plotly heat map: plotly.js is loaded when somebody asks for it, and not before.
import { $, element } from "../kit/dom.js";
import { holder, numberOf, owner } from "./owners.js";
import { colourOf, labelOf } from "./picture.js";
import { fill } from "../kit/template.js";
import { stage } from "./stage.js";
import { data } from "./state.js";

let loading = null;

/** Loads a script once. */
function load(url) {
  loading ??= new Promise((done, failed) => {
    const script = element("script", { src: url });
    script.addEventListener("load", done);
    script.addEventListener("error", () => { loading = null; failed(new Error(url)); });
    document.head.append(script);
  });
  return loading;
}

const drawn = () => stage.panels.filter((panel) => panel.operand);
const cellsOf = ({ rows, cols }, make) =>
  Array.from({ length: rows }, (_, row) => Array.from({ length: cols }, (_, col) => make(row, col)));

function told(panel, row, col) {
  const cell = { panel, row, col }, op = panel.operand, { thread, value } = owner(cell);
  const facts = { name: op.name, title: op.title, value, row, col, register: op.register[value], bits: op.bits[value] };
  return `${holder(thread).filter(Boolean).join(" · ")}<br>${fill(op.head, { ...facts, ...op.extra })}`;
}

function figure(panel) {
  const op = panel.operand, name = colourOf(op), { count, wheel } = op.categories[name], steps = wheel.length;
  const n = Math.min(count, steps), colours = wheel.slice(0, n).map((variable) => stage.theme.of(variable));
  const numbers = colours.map((_, index) => index);
  const style = getComputedStyle(document.body), [ink, paper] = [style.color, style.backgroundColor];
  const label = panel.rows * panel.cols <= 1024;
  return [[{
    type: "heatmap", zmin: -0.5, zmax: n - 0.5, xgap: 1, ygap: 1,
    z: cellsOf(panel, (row, col) => numberOf(op, name, owner({ panel, row, col })) % steps),
    text: cellsOf(panel, (row, col) => labelOf({ panel, row, col })), texttemplate: label ? "%{text}" : "",
    customdata: cellsOf(panel, (row, col) => told(panel, row, col)), hovertemplate: "%{customdata}<extra></extra>",
    colorscale: colours.flatMap((colour, index) => [[index / n, colour], [(index + 1) / n, colour]]),
    textfont: { color: stage.theme.ink }, colorbar: { title: { text: data.colours[name] }, tickvals: numbers },
  }], {
    paper_bgcolor: paper, plot_bgcolor: paper, font: { color: ink }, autosize: true,
    margin: { t: 60, r: 10, b: 40, l: 50 },
    xaxis: { side: "top", constrain: "domain", title: { text: "column" } },
    yaxis: { autorange: "reversed", title: { text: "row" } },
  }];
}

async function show() {
  const holderOf = $("heatmap").querySelector(".chart"), status = $("heatmap").querySelector("[role=status]");
  const panel = drawn().find((each) => each.name === $("heatmap").querySelector("select").value);
  status.textContent = "Loading Plotly …";
  try {
    await load($("heatmap").dataset.plotly);
  } catch {
    status.textContent = "Plotly did not load.";
    return;
  }
  status.textContent = "";
  const [traces, layout] = figure(panel), filename = `${data.ptx}-${panel.name}`;
  const config = { displaylogo: false, displayModeBar: true, responsive: true, toImageButtonOptions: { filename } };
  await window.Plotly.react(holderOf, traces, layout, config);
}

export function openHeatmap(cell) {
  const dialog = $("heatmap");
  if (!dialog) return;
  const wanted = (cell?.panel ?? drawn().at(-1)).name;
  dialog.querySelector("select").value = wanted;
  if (!dialog.open) dialog.showModal();
  show();
}

export function followHeatmap() {
  const dialog = $("heatmap"), select = dialog.querySelector("select");
  select.replaceChildren(...drawn().map((panel) => element("option", { value: panel.name }, panel.title)));
  select.addEventListener("change", show);
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  document.addEventListener("theme", () => dialog.open && show());
  document.querySelector("[data-heatmap]").addEventListener("click", () => openHeatmap(null));
}
