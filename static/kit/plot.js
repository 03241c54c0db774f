// plotly.js, fetched where a chart is in sight, and what all charts have in common: the page's colours and a toolbar.
// Its heat maps have no colour bar, whose style attribute the page's policy would refuse.
const url = document.querySelector("script[data-plotly]")?.dataset.plotly;

/** The colour of a CSS variable, as plotly.js takes it. */
export function colour(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

let fetched = null; // once a page, whoever asks

function fetchPlotly() {
  fetched ??= new Promise((done) => {
    const loaded = document.createElement("script");
    loaded.src = url;
    loaded.addEventListener("load", done);
    document.head.append(loaded);
  });
  return fetched;
}

/** Draws when one of the figures comes into sight, and again when the theme changes. */
export function whenSeen(figures, draw) {
  if (!figures.length || !url) return;
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    fetchPlotly().then(() => {
      draw();
      document.addEventListener("theme", draw);
    });
  }, { rootMargin: "200px" });
  for (const figure of figures) seen.observe(figure);
}

/** The layout of a chart in the page's colours. */
export const base = (size) => ({
  paper_bgcolor: colour("--raised"), plot_bgcolor: colour("--raised"), font: { color: colour("--ink"), size },
});

export const axisOf = (more) =>
  ({ gridcolor: colour("--rule"), zerolinecolor: colour("--rule"), automargin: true, ...more });

export function plotted(figure, traces, layout, title) {
  return Plotly.react(figure.querySelector(".plot"), traces, {
    ...layout, bargap: .12, legend: { orientation: "h", y: 1.16 }, showlegend: traces.length > 1,
    modebar: {
      orientation: "h", color: colour("--muted"), activecolor: colour("--accent"), bgcolor: colour("--raised"),
    },
  }, {
    displaylogo: false, showSendToCloud: false, responsive: true, displayModeBar: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d"], toImageButtonOptions: { filename: title, format: "svg" },
  });
}

const ROOM = 13; // pixels of a cell that a label of two letters needs

/** The labels of a heat map's cells, [row][column], where there is room for them. */
export const labelled = (figure, text) => (figure.querySelector(".plot").clientWidth < ROOM * text[0].length ? {}
  : { text, texttemplate: "%{text}", textfont: { color: colour("--cell-ink"), size: 10 } });

/** Arrow keys walk over the cells of a heat map, whose text the page says; say: what a cell is in words. */
export function walkCells(figure, sizes, say) {
  const plot = figure.querySelector(".plot"), spoken = figure.querySelector("[data-spoken]");
  let at = [0, 0];
  plot.tabIndex = 0;
  plot.onkeydown = (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    at = at.map((now, n) => Math.max(0, Math.min(sizes()[n] - 1, now + step[n])));
    Plotly.Fx.hover(plot, [{ curveNumber: 0, pointNumber: at }]);
    spoken.textContent = say(...at);
  };
}
