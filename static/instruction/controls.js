// Everything around the stage that changes it: the strip of controls, the pickers, names of patterns, size and theme.
import { pageOf } from "../kit/place.js";
import { markWrong } from "../kit/wrong.js";
import { focus, notify } from "./focus.js";
import { draw, paint } from "./picture.js";
import { stage } from "./stage.js";
import { data, query, remember, spans, state, view } from "./state.js";
import { readTheme } from "./theme.js";

/** Why a choice of lanes or warps cannot be shown, in the server's words; "" where it can. */
function problem(control) {
  const { name, value } = control;
  const count = { lanes: data.threads, warps: data.warps }[name];
  if (!count || !value.trim()) return "";
  const right = spans(value)?.every((span) => span[0] <= span.at(-1) && span.at(-1) < count);
  const label = control.closest("label").firstChild.data.trim();
  const hint = `Write numbers from 0 to ${count - 1} and ranges`;
  return right ? "" : `${label} is '${value}'. ${hint}, as in 0-3,8.`;
}

function choose({ target: control }) {
  const wrong = problem(control);
  markWrong(control, wrong);
  if (wrong) return;
  state[control.name] = control.value.trim();
  if ("opens" in control.dataset) return open();
  remember();
  if ("reload" in control.dataset) location.reload();
  paint();
  notify();
}

/** Another tile is another page: what was pinned or zoomed has no place there. */
function open() {
  const shown = query(state, "pin", "view", "sel");
  location.href = location.pathname + (shown ? `?${shown}` : "");
}

/** One tab stop for all names of the patterns: arrows move among them. */
function walkNames(names) {
  const stop = (at) => names.forEach((name, n) => { name.tabIndex = n === at ? 0 : -1; });
  stop(0);
  names.forEach((name, n) => name.addEventListener("keydown", (event) => {
    const next = { ArrowRight: n + 1, ArrowDown: n + 1, ArrowLeft: n - 1, ArrowUp: n - 1 }[event.key];
    if (!names[next]) return;
    event.preventDefault();
    stop(next);
    names[next].focus();
  }));
}

/** A name of a pattern colours the matrices while it is pointed at or has the focus. */
function followName(name) {
  for (const [event, shown] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    name.addEventListener(event, () => {
      focus.name = shown ? name.dataset.name : null;
      paint();
    });
  }
}

export function followControls() {
  view.addEventListener("submit", (event) => event.preventDefault());
  view.addEventListener("change", choose);
  for (const picker of document.querySelectorAll("select[data-picker]")) {
    picker.addEventListener("change", () => {
      location.href = pageOf(picker.value, query(state, "lanes", "pin", "product", "view"));
    });
  }
  const names = [...document.querySelectorAll(".name")];
  names.forEach(followName);
  walkNames(names);
  new ResizeObserver(() => {
    if (!stage.changed()) return;
    stage.resize();
    draw();
  }).observe(stage.element);
  document.addEventListener("theme", () => {
    stage.theme = readTheme();
    paint();
  });
}
