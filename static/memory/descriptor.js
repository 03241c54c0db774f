// One word, many equal views: bits, hex, fields. Edit any, all follow; the one being typed in is never rewritten. BigInt throughout.
import { copyButtons } from "../kit/copy.js";
import { root } from "../kit/place.js";

const { format, start, fields, number: spelling } = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const bits = [...document.querySelectorAll("#bits .bit")];
const inputs = [...document.querySelectorAll("#fields [data-field]")];
const origin = fields.find((field) => field.name === start);
const WIDTH = 64n, ALL = (1n << WIDTH) - 1n;
let word = BigInt(location.pathname.match(/0x[0-9a-f]{16}/i)?.[0] ?? "0");
let past = [], future = [], request = null;

const hex = (value) => `0x${value.toString(16).padStart(16, "0")}`;
const mask = (field) => (1n << BigInt(field.high - field.low + 1)) - 1n;
const get = (field) => (word >> BigInt(field.low)) & mask(field);
const put = (field, value) => (word & ~(mask(field) << BigInt(field.low)) & ALL) | (value << BigInt(field.low));

function render() {
  for (const bit of bits) {
    const one = (word >> BigInt(bit.dataset.bit)) & 1n;
    bit.lastElementChild.textContent = one;
    bit.classList.toggle("one", one === 1n);
    bit.setAttribute("aria-pressed", one === 1n);
  }
  for (const input of inputs) {
    if (input === document.activeElement && input.tagName === "INPUT") continue;
    const field = fields.find((f) => f.name === input.dataset.field);
    if (input.tagName === "SELECT") input.selectedIndex = [...input.options].findIndex((option) => BigInt(option.dataset.code) === get(field));
    else input.value = String(get(field) * BigInt(field.unit));
  }
  if (document.activeElement !== $("word")) $("word").value = hex(word);
  $("kept-start").value = String(get(origin) * BigInt(origin.unit));
  $("undo").disabled = !past.length;
  $("redo").disabled = !future.length;
  for (const link of document.querySelectorAll("a[data-form]")) link.href = `${root}/descriptor/${format}/${hex(word)}.${link.dataset.form}`;
  $("as-json").href = `${root}/api/v1/descriptors/${hex(word)}`;
  $("verify-form").action = `${root}/descriptor/${format}/${hex(word)}`;
  document.title = `${format} descriptor ${hex(word)} – Lanescope`;
}

function verifyQuery() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData($("verify-form"))) if (value !== "") query.set(name, value);
  return query;
}

async function analyse() {
  request?.abort();
  request = new AbortController();
  const query = verifyQuery();
  history.replaceState(null, "", `${root}/descriptor/${format}/${hex(word)}?${query}${location.hash}`);
  query.set("part", "analysis");
  try {
    const answer = await fetch(`${root}/descriptor/${format}/${hex(word)}?${query}`, { signal: request.signal });
    $("analysis").innerHTML = await answer.text();
    afterAnalysis();
  } catch (error) {
    if (error.name !== "AbortError") $("analysis").textContent = `The server did not answer: ${error.message}`;
  }
}

function afterAnalysis() {
  copyButtons($("analysis"));
  for (const label of document.querySelectorAll("#fields label")) label.classList.remove("unread");
  for (const note of document.querySelectorAll("[data-unused]")) {
    const label = $(note.dataset.unused);
    label?.classList.add("unread");
    if (label) label.title = note.textContent;
  }
  document.documentElement.dataset.analysed = hex(word);
}

function set(next, keep = true) {
  if (next === word) return render();
  if (keep) { past.push(word); future = []; }
  word = next;
  $("word-error").hidden = $("word-notes").hidden = true;
  render();
  analyse();
}

function refuse(text) {
  $("field-note").textContent = text;
}

// bits: click toggles, drag paints the first bit's new value, space and enter work as on any button
let painting = null;
$("bits").addEventListener("pointerdown", (event) => {
  const bit = event.target.closest(".bit");
  if (!bit) return;
  event.preventDefault();
  bit.focus();
  bit.releasePointerCapture?.(event.pointerId);
  painting = { value: 1n - ((word >> BigInt(bit.dataset.bit)) & 1n), before: word };
  paintBit(bit);
});
function paintBit(bit) {
  const at = BigInt(bit.dataset.bit);
  word = (word & ~(1n << at) & ALL) | (painting.value << at);
  render();
}
$("bits").addEventListener("pointerover", (event) => {
  const bit = painting && event.target.closest(".bit");
  if (bit) paintBit(bit);
});
addEventListener("pointerup", () => {
  if (!painting) return;
  if (painting.before !== word) { past.push(painting.before); future = []; render(); analyse(); }
  painting = null;
});
$("bits").addEventListener("keydown", (event) => {
  const bit = event.target.closest(".bit");
  if (!bit) return;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -32, ArrowDown: 32 }[event.key];
  if (step) { bits[bits.indexOf(bit) + step]?.focus(); event.preventDefault(); }
  if (event.key === " " || event.key === "Enter") { set(word ^ (1n << BigInt(bit.dataset.bit))); event.preventDefault(); }
});

// fields: bytes in any spelling of a number that the server reads; arrows step by the unit; Enter commits, Esc restores
const number = (text) => (new RegExp(spelling).test(text) ? BigInt(text.trim().replace(/[_']|[uUlLzZ]+$/g, "")) : null);
function fieldValue(field, text) {
  const amount = number(text), unit = BigInt(field.unit);
  if (amount === null) return [null, `${field.label} is '${text}': a whole number from 0, in decimal, 0x… or 0b…`];
  if (amount % unit) return [null, `${field.label}: a multiple of ${unit}, e.g. ${(amount / unit) * unit}`];
  if (amount / unit > mask(field)) return [null, `${field.label}: at most ${mask(field) * unit}`];
  return [amount / unit, ""];
}
for (const input of inputs) {
  const field = fields.find((f) => f.name === input.dataset.field);
  input.addEventListener("input", () => {
    if (input.tagName === "SELECT") return set(put(field, BigInt(input.selectedOptions[0].dataset.code)));
    const [value, problem] = fieldValue(field, input.value);
    refuse(problem);
    input.classList.toggle("wrong", Boolean(problem));
    if (!problem) set(put(field, value));
  });
  input.addEventListener("keydown", (event) => {
    if (input.tagName === "SELECT") return;
    const step = { ArrowUp: 1n, ArrowDown: -1n }[event.key];
    if (step) {
      event.preventDefault();
      const next = get(field) + step;
      if (next >= 0n && next <= mask(field)) { set(put(field, next)); input.value = String(next * BigInt(field.unit)); refuse(""); }
      else refuse(`${field.label}: 0 to ${mask(field) * BigInt(field.unit)}`);
    } else if (event.key === "Enter") { event.preventDefault(); input.blur(); }
    else if (event.key === "Escape") { input.value = String(get(field) * BigInt(field.unit)); input.classList.remove("wrong"); refuse(""); }
  });
  input.addEventListener("blur", () => { if (!input.classList.contains("wrong")) render(); });
  input.addEventListener("focus", () => history.replaceState(null, "", `${location.pathname}${location.search}#${field.name}`));
}

// the word: validated while typing, committed when it is one; the server reads every spelling
$("word-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = JSON.stringify({ text: $("word").value, start: $("kept-start").value });
  const answer = await fetch(`${root}/descriptor/read.json`, { method: "POST", headers: { "content-type": "application/json" }, body: asked });
  const body = await answer.json();
  $("word-error").hidden = answer.ok;
  if (!answer.ok) { $("word-notes").hidden = true; $("word-error").textContent = `${body.error.message} ${body.error.hint}`; return; }
  set(BigInt(body.descriptor));
  $("word").value = body.descriptor;
  $("word-notes").textContent = body.notices.join(" ");
  $("word-notes").hidden = !body.notices.length;
});
$("word").addEventListener("input", () => {
  const text = $("word").value.replace(/[\s_]/g, "");
  if (/^0x[0-9a-f]{1,16}$/i.test(text)) set(BigInt(text));
});
$("word").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { $("word").value = hex(word); $("word-error").hidden = true; }
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); $("word-form").requestSubmit(); }
});

// undo, copy, links that change the word, the verifier's form
$("undo").addEventListener("click", () => { if (past.length) { future.push(word); set(past.pop(), false); } });
$("redo").addEventListener("click", () => { if (future.length) { past.push(word); set(future.pop(), false); } });
$("copy-word").addEventListener("click", () => navigator.clipboard.writeText(hex(word)));
$("analysis").addEventListener("click", (event) => {
  const link = event.target.closest("a[data-word]");
  if (!link) return;
  event.preventDefault();
  set(BigInt(link.dataset.word));
});
const kind = document.querySelector("select[name=s_kind]");
const showKind = () => {
  for (const label of document.querySelectorAll(".stored")) label.hidden = !label.classList.contains(`for-${kind.value}`);
};
$("verify-form").addEventListener("change", () => { showKind(); analyse(); });
$("verify-form").addEventListener("submit", (event) => { event.preventDefault(); analyse(); });

document.documentElement.classList.add("scripted");
$("tools").hidden = false;
showKind();
render();
afterAnalysis();
if (location.hash) $(location.hash.slice(1))?.querySelector("input, select")?.focus();
