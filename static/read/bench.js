// The workbench stays one page: its buttons and fields are sent, and what the server answers takes its place. Pointing
// at a cell tells both its addresses. Without this script every button is a form's, and the tokens light by CSS.
import { copies } from "../kit/copy.js";

const SVG = "http://www.w3.org/2000/svg";

const placeNow = () => location.pathname + location.search;
let asked = null; // what is under way: {data, control}
let shown = placeNow();

function cancel() {
  asked?.control.abort();
  asked = null;
}

/** Leaves the page by its form, as without this script: the browser says what goes wrong. */
function leave(form, submitter) {
  if (submitter?.name) {
    const pressed = Object.assign(document.createElement("input"), { type: "hidden" });
    pressed.name = submitter.name;
    pressed.value = submitter.value;
    form.append(pressed);
  }
  form.submit();
}

/** Sends the form of the page and puts the answer's bench in place of this one; the address follows. A later question
    takes the place of one that is not answered yet. */
async function send(form, submitter) {
  const data = String(new URLSearchParams(new FormData(form, submitter)));
  if (asked?.data === data) return; // Enter in a field: its change has asked the same
  cancel();
  const mine = asked = { data, control: new AbortController() };
  const bench = document.getElementById("bench"), place = scrollX;
  bench.setAttribute("aria-busy", "true");
  let page, address;
  try {
    const body = new URLSearchParams(data), { signal } = mine.control;
    const answer = await fetch(form.action, { method: "POST", body, signal });
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
    address = answer.redirected ? answer.url : "";
  } catch {
    if (mine === asked) leave(form, submitter);
    return;
  }
  if (mine !== asked) return;
  asked = null;
  const next = page.getElementById("bench");
  if (!next) {
    if (address) location.assign(address);
    else leave(form, submitter);
    return;
  }
  const held = keepFocus(submitter?.name ? submitter : document.activeElement);
  const scrolled = bench.querySelector(".code .scroll")?.scrollTop ?? 0;
  bench.replaceWith(document.adoptNode(next));
  document.title = page.title;
  if (address && address !== location.href) history.pushState({ bench: true }, "", address);
  shown = placeNow();
  start();
  const scroll = document.querySelector(".code .scroll");
  if (scroll) scroll.scrollTop = scrolled;
  scrollTo(place, scrollY);
  held();
}

/** Returns what gives the focus to the element that stands for this one on the next page. */
function keepFocus(element) {
  const { id, name, value } = element ?? {};
  return () => {
    const again = (id && document.getElementById(id))
      || [...document.querySelectorAll("#bench button[name]")].find((one) => one.name === name && one.value === value)
      || document.querySelector(name === "apply" ? "#bench .acts [name=undo]" : "#bench .acts [name=apply]");
    again?.focus({ preventScroll: true });
  };
}

function start() {
  const bench = document.getElementById("bench");
  if (!bench) return;
  lightPieces(bench);
  for (const edit of bench.querySelectorAll("details.edit")) {
    edit.addEventListener("toggle", () => { if (edit.open) edit.querySelector("textarea").focus(); });
  }
  for (const button of bench.querySelectorAll("[data-copy-text]")) {
    button.hidden = false;
    copies(button, () => document.getElementById("text").value);
  }
  pointCells(bench);
}

/** Pointing at a part of the text lights its row, and the other way round. */
function lightPieces(bench) {
  const parts = [...bench.querySelectorAll("[data-piece]")];
  const light = (piece, on) => {
    for (const one of parts) if (one.dataset.piece === piece) one.classList.toggle("lit", on);
  };
  for (const one of parts) {
    const events = [["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false]];
    for (const [name, on] of events) one.addEventListener(name, () => light(one.dataset.piece, on));
  }
}

/** Pointing at a cell, or tapping it, marks the byte that it is read from and the one where it is stored. */
function pointCells(bench) {
  const picture = bench.querySelector(".pairs svg.pair"), saying = bench.querySelector(".saying");
  if (!picture || !saying) return;
  const over = picture.querySelector(".over");
  const chunk = (address) => `0x${(Number(address) & ~15).toString(16)}`;
  const memory = new Map([...picture.querySelectorAll("[data-at]")].map((cell) => [cell.dataset.at, cell]));
  const readers = new Map();
  for (const cell of picture.querySelectorAll("[data-read]")) {
    const at = chunk(cell.dataset.read);
    readers.set(at, [...(readers.get(at) ?? []), cell]);
  }
  const said = document.createElement("p");
  const draw = (name, attributes, kind) => {
    const shape = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    shape.dataset.end = kind;
    over.append(shape);
  };
  const box = (cell) => ["x", "y", "width", "height"].map((name) => Number(cell.getAttribute(name)));
  const outline = (cell, kind) => {
    const [x, y, width, height] = box(cell);
    draw("rect", { x: x - 1, y: y - 1, width: width + 2, height: height + 2 }, kind);
  };
  const join = (cell, to, kind) => {
    const [x, y, width, height] = box(cell), [tx, ty, , tall] = box(to);
    const from = [x + width, y + height / 2], end = [tx, ty + tall / 2];
    draw("path", { d: `M${from}C${from[0] + 60} ${from[1]} ${end[0] - 60} ${end[1]} ${end}` }, kind);
  };
  const write = (...words) => {
    said.replaceChildren(...words.map((word, n) => {
      const part = document.createElement(n % 2 ? "b" : "span");
      part.textContent = word;
      return part;
    }));
    said.className = "pointed";
    if (!said.isConnected) saying.append(said);
  };
  const clear = () => {
    over.replaceChildren();
    said.remove();
  };
  const pointOperand = (cell) => {
    const { name, read, stored } = cell.dataset, from = memory.get(chunk(read));
    clear();
    outline(cell, "from");
    if (from) {
      outline(from, "from");
      join(cell, from, "from");
    }
    if (!stored) return write("", name, ` is read from ${read}.`);
    if (stored === read) return write("", name, ` is stored at ${stored} and read from there.`);
    const to = memory.get(chunk(stored));
    if (to) {
      outline(to, "to");
      join(cell, to, "to");
    }
    const there = from?.dataset.holds;
    const where = there ? [", where ", there, " lies."] : ["."];
    write("", name, ` is stored at ${stored}, but read from ${read}${where[0]}`, ...where.slice(1));
  };
  const point = (event) => {
    const { dataset } = event.target;
    if (dataset?.read) return pointOperand(event.target);
    if (!dataset?.at) return;
    const cell = readers.get(dataset.at)?.at(-1);
    if (cell) return pointOperand(cell);
    clear();
    outline(event.target, "to");
    write("", dataset.at, " holds ", dataset.holds ?? "nothing of this step", "; this step does not read it.");
  };
  picture.addEventListener("pointerover", point);
  picture.addEventListener("click", point);
  picture.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") rest(); });
  const rest = () => {
    clear();
    const wrong = picture.querySelector(".c-wrong");
    if (!wrong) return;
    pointOperand(wrong);
    said.remove(); // the sentence of the page says the same in full
  };
  rest();
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "asked") return;
  event.preventDefault();
  send(event.target, event.submitter);
});
document.addEventListener("change", ({ target }) => {
  if (target.matches("#bench .asm :is(input, select)")) target.form.requestSubmit();
});
addEventListener("popstate", () => {
  if (placeNow() === shown) return; // a line or a part of the text
  cancel();
  location.reload();
});
start();
