// Charts by plotly.js, which is fetched only where a page has one: bars with hover, a legend and their own toolbar.
// Upright bars are stacked; lying ones stand beside each other, with a mark at the promised value.
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
  const told = JSON.parse(figure.dataset.chart);
  if (told.lying) return lying(figure, told);
  const { title, across, up, names, series, fills } = told;
  const ink = colour("--ink"), rule = colour("--rule"), raised = colour("--raised");
  const muted = colour("--muted");
  const bars = series.map(({ name, values }, n) => ({
    type: "bar", name, x: names, y: values,
    marker: { color: colour(fills[n % fills.length]), line: { color: muted, width: .5 } },
    hovertemplate: `${across} %{x}<br>%{y} ${up}<extra>${name}</extra>`,
  }));
  const axis = { gridcolor: rule, zerolinecolor: rule, automargin: true, fixedrange: false };
  return plotted(figure, bars, {
    barmode: "stack", height: 300, margin: { l: 48, r: 16, t: 36, b: 44 },
    paper_bgcolor: raised, plot_bgcolor: raised, font: { color: ink, size: 13 },
    xaxis: { ...axis, title: { text: across }, type: "category" }, yaxis: { ...axis, title: { text: up } },
  }, title);
}

/** Text in lines of about so many letters. */
const folded = (text, most) => text.split(" ").reduce((lines, word) => {
  const last = lines.at(-1);
  return last !== undefined && last.length + word.length < most
    ? [...lines.slice(0, -1), `${last} ${word}`] : [...lines, word];
}, []).join("<br>");

function lying(figure, { title, across, names, series, fills, marks, log }) {
  const ink = colour("--ink"), rule = colour("--rule"), raised = colour("--raised");
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
  const axis = { gridcolor: rule, zerolinecolor: rule, automargin: true };
  return plotted(figure, [...bars, ...promised], {
    barmode: "group", height: holder.clientHeight, margin: { l: 8, r: 40, t: 36, b: 44 },
    paper_bgcolor: raised, plot_bgcolor: raised, font: { color: ink, size: 12 },
    xaxis: { ...axis, title: { text: across }, ...(log ? { type: "log", dtick: 1 } : { rangemode: "tozero" }) },
    yaxis: { ...axis, type: "category", autorange: "reversed", ticks: "outside", tickcolor: raised },
  }, title);
}

function plotted(figure, traces, layout, title) {
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
