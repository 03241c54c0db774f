// The workbench stays one page: its buttons and fields are sent, and what the server answers takes its place. Pointing
// at a cell tells both its addresses. Without this script every button is a form's, and the tokens light by CSS.
import { copies } from "../kit/copy.js";

const SVG = "http://www.w3.org/2000/svg";

const placeNow = () => location.pathname + location.search;
const readForm = (form, submitter) => String(new URLSearchParams(new FormData(form, submitter)));
let asked = null; // what is under way: {data, control}
let shown = placeNow();
let sent = ""; // what the page shows, where the address does not have it: the form of a text that is too long for it

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

/** Sends the form of the page; the address follows, or for a long text what the history keeps beside it. */
async function send(form, submitter) {
  const data = readForm(form, submitter);
  if (asked?.data === data) return; // Enter in a field: its change has asked the same
  const held = keepFocus(submitter?.name ? submitter : document.activeElement);
  const address = await put(data, () => leave(form, submitter));
  if (address === null) return;
  if (address !== location.href) history.pushState({ sent }, "", address || undefined);
  shown = placeNow();
  held();
}

/** Puts the answer's bench in place of this one and returns its address, "" if that does not have the text; null if
    there is none. A later question takes the place of one that is not answered yet. */
async function put(data, fail) {
  cancel();
  const mine = asked = { data, control: new AbortController() };
  const bench = document.getElementById("bench") ?? document.querySelector("section.read");
  const place = scrollX;
  bench.setAttribute("aria-busy", "true");
  let page, address;
  try {
    const body = new URLSearchParams(data), { signal } = mine.control;
    const { action } = document.querySelector("form[action$='/read']");
    const answer = await fetch(action, { method: "POST", body, signal });
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
    address = answer.redirected ? answer.url : "";
  } catch {
    if (mine === asked) fail();
    return null;
  }
  if (mine !== asked) return null;
  asked = null;
  const next = page.getElementById("bench");
  if (!next || (!address && location.search)) { // or the address is that of another text
    if (address) location.assign(address);
    else fail();
    return null;
  }
  const scrolled = bench.querySelector(".code .scroll")?.scrollTop ?? 0;
  bench.replaceWith(document.adoptNode(next));
  document.title = page.title;
  sent = address ? "" : data;
  start();
  const scroll = document.querySelector(".code .scroll");
  if (scroll && scrolled) scroll.scrollTop = scrolled;
  else showFirstMistake();
  scrollTo(place, scrollY);
  return address;
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

/** Scrolls the text, in its card and not on the page, to the first line that is wrong. */
function showFirstMistake() {
  const line = document.querySelector(".lines > :is(.line-guilty, .line-suspect)");
  const scroll = line?.closest(".scroll");
  if (scroll && !location.hash) scroll.scrollTop = line.offsetTop - scroll.clientHeight / 3;
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
addEventListener("popstate", ({ state }) => {
  if (placeNow() === shown && (!state?.sent || state.sent === sent)) return; // a line or a part of the text
  cancel();
  if (state?.sent) put(state.sent, () => location.reload());
  else location.reload();
  shown = placeNow();
});
start();
showFirstMistake();
// A posted text has no address: the history keeps it, so that the page can be loaded again, and left and come back to.
const last = location.search ? "" : history.state?.sent, form = document.getElementById("asked");
if (last && !form) put(last, () => {});
else if (form && !location.search) history.replaceState({ sent: sent = readForm(form) }, "");
