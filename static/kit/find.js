// The find field: F goes there from anywhere but another field. It is a plain form; a page that names its pins answers
// in place: the server reads the text, so that the language has one reader, and says which cells to pin.
import { $ } from "./dom.js";

const TYPING = "input, select, textarea, dialog, [contenteditable]", SILENT = "The server does not answer.";
export const findField = () => document.querySelector("[data-find] input");
let asked = 0;

function refuse(input, text) {
  $("find-refusal").textContent = text;
  input.closest("[data-find]").classList.toggle("bad", Boolean(text));
  if (text) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** {pin, pin2} of an answer, or {refusal}: where it leads, or what the page that it is says. {moved}: a page to open,
 *  because the answer is more than pins: the lanes of a row, another product. */
async function readAnswer(answer) {
  if (answer.redirected) {
    const found = Object.fromEntries(new URL(answer.url).searchParams);
    return found.pin ? found : { moved: answer.url };
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const refusal = page.getElementById("find-refusal")?.textContent;
  return refusal ? { refusal } : { ...page.getElementById("answer")?.dataset };
}

async function find(input, { address, show }, more) {
  const text = input.value.trim(), mine = ++asked;
  if (!text) return refuse(input, "");
  const place = address();
  place.searchParams.set("find", text);
  const found = await fetch(place).then(readAnswer).catch(() => ({}));
  if (mine !== asked) return;
  if (found.moved) return location.assign(found.moved);
  if (!found.pin) return refuse(input, found.refusal || SILENT);
  refuse(input, "");
  show(found.pin, found.pin2 ?? "", more);
}

/** page: {address() → what the page shows, without its pins; show(pin, second, more)}; more: beside what is pinned. */
export function followFind(page = null) {
  const input = findField();
  if (!input) return;
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest?.(TYPING)) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  if (page) input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value) { // the pins go with the next Escape
      event.stopPropagation();
      input.value = "";
      asked += 1; // an answer that is on its way comes too late
      refuse(input, "");
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      find(input, page, event.shiftKey);
    }
  });
}
