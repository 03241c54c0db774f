// Charts by plotly.js, which is fetched only where a page has one: bars with hover, a legend and their own toolbar.
// What a chart shows stands beside it as a picture or a table, so a page without scripts misses nothing.
const figures = [...document.querySelectorAll("figure.chart[data-chart]")];
const url = document.querySelector("script[data-plotly]")?.dataset.plotly;
const colour = (name) => {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

function drawn(figure) {
  const { title, across, up, names, series, fills } = JSON.parse(figure.dataset.chart);
  const ink = colour("--ink"), rule = colour("--rule"), raised = colour("--raised");
  const muted = colour("--muted");
  const bars = series.map(({ name, values }, n) => ({
    type: "bar", name, x: names, y: values,
    marker: { color: colour(fills[n % fills.length]), line: { color: muted, width: .5 } },
    hovertemplate: `${across} %{x}<br>%{y} ${up}<extra>${name}</extra>`,
  }));
  const holder = figure.querySelector(".plot");
  const axis = { gridcolor: rule, zerolinecolor: rule, automargin: true, fixedrange: false };
  return Plotly.react(holder, bars, {
    barmode: "stack", height: 300, margin: { l: 48, r: 16, t: 36, b: 44 }, bargap: .12,
    paper_bgcolor: raised, plot_bgcolor: raised, font: { color: ink, size: 13 },
    xaxis: { ...axis, title: { text: across }, type: "category" }, yaxis: { ...axis, title: { text: up } },
    legend: { orientation: "h", y: 1.16 }, showlegend: bars.length > 1,
    modebar: { orientation: "h", color: muted, activecolor: colour("--accent"), bgcolor: raised },
  }, {
    displaylogo: false, showSendToCloud: false, responsive: true, displayModeBar: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d"], toImageButtonOptions: { filename: title, format: "svg" },
  });
}

if (figures.length && url) {
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    const loaded = document.createElement("script");
    loaded.src = url;
    loaded.addEventListener("load", () => {
      const all = () => figures.forEach(drawn);
      all();
      document.addEventListener("theme", all);
    });
    document.head.append(loaded);
  }, { rootMargin: "200px" });
  seen.observe(figures[0]);
}
