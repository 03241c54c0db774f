// The find field of a stage: the server reads what is asked for and answers with the address of the pin, so that the
// language has one reader; the page goes there without loading anew. Shift+Enter adds a second pin.
import { $ } from "../kit/dom.js";
import { findField, followFind } from "../kit/find.js";
import { onServer } from "../kit/place.js";
import { readPins } from "./focus.js";
import { pinTexts } from "./pin.js";
import { heldBy } from "./owners.js";
import { stage } from "./stage.js";
import { query, state } from "./state.js";
import { reveal } from "./window.js";

let asked = 0;

function refuse(input, text) {
  $("find-refusal").textContent = text;
  input.closest("[data-find]").classList.toggle("bad", Boolean(text));
  if (text) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** The first cell that a thread holds of the matrices. */
function heldCell(thread) {
  const panel = stage.panels.find(({ operand }) => operand && !operand.shared && heldBy(operand, thread).length);
  const cell = panel && heldBy(panel.operand, thread)[0].cell;
  return panel && { panel, row: Math.floor(cell / panel.cols), col: cell % panel.cols };
}

async function find(input, more) {
  const text = input.value.trim(), mine = ++asked;
  if (!text) return refuse(input, "");
  const address = new URL(location.pathname, location.href);
  const kept = new URLSearchParams(query(state, "pin", "pin2", "sel", "view"));
  for (const [name, value] of kept) address.searchParams.set(name, value);
  address.searchParams.set("find", text);
  let answer = null;
  try {
    answer = await fetch(address);
  } catch {
    if (mine === asked) refuse(input, "The server does not answer.");
    return;
  }
  if (mine !== asked) return;
  if (!answer.redirected) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return refuse(input, page.getElementById("find-refusal")?.textContent || "The server does not answer.");
  }
  refuse(input, "");
  const found = new URL(answer.url).searchParams, pin = found.get("pin") ?? "", second = found.get("pin2") ?? "";
  if (more && state.pin) pinTexts(state.pin, pin);
  else pinTexts(pin, second);
  const [first] = readPins(), cell = first?.cell ?? heldCell(first?.thread);
  if (cell) reveal(cell);
}

export function followFinding() {
  const input = findField();
  if (!input) return;
  if (!onServer) { // an exported site has nobody to ask
    input.closest("[data-find]").hidden = true;
    return;
  }
  followFind();
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value) { // the pins go with the next Escape
      event.stopPropagation();
      input.value = "";
      find(input, false);
      return;
    }
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    find(input, event.shiftKey);
  });
}
