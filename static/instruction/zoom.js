// Plotly owns axes, zoom, pan and the toolbar; the canvases below and above follow its ranges.

/** Load plotly.js once the page is idle and lay one transparent subplot over each panel of the stage. */
export function attachZoom(stage, url, redraw) {
  const start = () => {
    const script = document.createElement("script");
    script.src = url;
    script.addEventListener("load", () => build(stage, redraw));
    document.head.append(script);
  };
  const idle = () => {
    if ("requestIdleCallback" in window) requestIdleCallback(start, { timeout: 3000 });
    else setTimeout(start, 200);
  };
  if (document.readyState === "complete") idle();
  else addEventListener("load", idle, { once: true });
}

async function build(stage, redraw) {
  const holder = document.createElement("div");
  holder.className = "zoom";
  stage.element.insertBefore(holder, stage.over);
  const { width, height } = stage;
  const mapped = stage.panels.filter((panel) => panel.operand);
  const layout = {
    width, height, margin: { l: 0, r: 0, t: 0, b: 0 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false, dragmode: "zoom", hovermode: false, modebar: { orientation: "h" },
  };
  const traces = mapped.map((panel, n) => {
    const id = n ? String(n + 1) : "";
    const axis = { visible: false, zeroline: false, showgrid: false, minallowed: 0 };
    const across = [panel.left / width, (panel.left + panel.width) / width];
    const up = [1 - (panel.top + panel.height) / height, 1 - panel.top / height];
    const { x0, x1, y0, y1 } = panel.window;
    const x = { range: [x0, x1], maxallowed: panel.cols, anchor: `y${id}`, domain: across };
    const y = { range: [y1, y0], maxallowed: panel.rows, anchor: `x${id}`, domain: up };
    Object.assign(layout, { [`xaxis${id}`]: { ...axis, ...x }, [`yaxis${id}`]: { ...axis, ...y } });
    return { type: "scatter", x: [], y: [], xaxis: `x${id}`, yaxis: `y${id}` };
  });
  const at = Object.fromEntries(mapped.map((panel, n) => [panel.name, n ? String(n + 1) : ""]));
  if ("a" in at && "d" in at) layout[`yaxis${at.a}`].matches = `y${at.d}`;
  if ("b" in at && "d" in at) layout[`xaxis${at.b}`].matches = `x${at.d}`;
  await Plotly.newPlot(holder, traces, layout, {
    displaylogo: false, showSendToCloud: false, doubleClick: "reset", responsive: false, scrollZoom: false,
    modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d", "autoScale2d"], displayModeBar: "hover",
  });
  const follow = () => {
    mapped.forEach((panel, n) => {
      const id = n ? String(n + 1) : "";
      const [x0, x1] = holder.layout[`xaxis${id}`].range, [y1, y0] = holder.layout[`yaxis${id}`].range;
      panel.window = { x0, x1, y0, y1 };
    });
    redraw();
  };
  holder.on("plotly_relayout", follow);
  holder.on("plotly_relayouting", (change) => {
    mapped.forEach((panel, n) => {
      const id = n ? String(n + 1) : "";
      const get = (axis, end) => change[`${axis}axis${id}.range[${end}]`];
      if (get("x", 0) !== undefined) Object.assign(panel.window, { x0: get("x", 0), x1: get("x", 1) });
      if (get("y", 0) !== undefined) Object.assign(panel.window, { y0: get("y", 1), y1: get("y", 0) });
    });
    redraw();
  });
  stage.rescale = () => {
    return Plotly.relayout(holder, { width: stage.width, height: stage.height });
  };
  document.documentElement.dataset.zoom = "ready";
}
