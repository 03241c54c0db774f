// The fields as inputs: typed amounts, arrows that step by the unit, Enter that commits, Escape that restores.
import { $ } from "../kit/dom.js";
import { amountOf, codeOf, fields, origin, read, withCode } from "./format.js";
import { follow, now, set } from "./word.js";

const ARROWS = { ArrowUp: 1n, ArrowDown: -1n };
const inputs = [...document.querySelectorAll("#fields [data-field]")];
const fieldOf = (input) => fields[input.dataset.field];

function say(text) {
  $("field-note").textContent = text;
}

function draw(input) {
  if (input.tagName === "INPUT") input.value = amountOf(now(), fieldOf(input));
  else {
    const code = codeOf(now(), fieldOf(input));
    input.selectedIndex = [...input.options].findIndex((option) => BigInt(option.dataset.code) === code);
  }
}
follow(() => {
  // What is being typed in is never rewritten.
  for (const input of inputs) if (input !== document.activeElement || input.tagName === "SELECT") draw(input);
  $("kept-start").value = amountOf(now(), origin);
  $("start-hex").textContent = `= 0x${BigInt(amountOf(now(), origin)).toString(16)}`;
});

function choose(input, code) {
  set(withCode(now(), fieldOf(input), code));
}

function type(input) {
  const { code, problem } = read(fieldOf(input), input.value);
  say(problem);
  input.classList.toggle("wrong", Boolean(problem));
  if (!problem) choose(input, code);
}

function step(input, by) {
  const field = fieldOf(input), next = codeOf(now(), field) + by;
  if (next < 0n || next > field.most) return say(`${field.label}: 0 to ${field.most * field.unit}`);
  choose(input, next);
  restore(input);
}

function restore(input) {
  draw(input);
  input.classList.remove("wrong");
  say("");
}

function press(event) {
  const input = event.currentTarget;
  if (ARROWS[event.key]) step(input, ARROWS[event.key]);
  else if (event.key === "Enter") input.blur();
  else if (event.key === "Escape") restore(input);
  if (event.key in ARROWS || event.key === "Enter") event.preventDefault();
}

for (const input of inputs) {
  if (input.tagName === "SELECT") {
    input.addEventListener("input", () => choose(input, BigInt(input.selectedOptions[0].dataset.code)));
  } else {
    input.addEventListener("input", () => type(input));
    input.addEventListener("keydown", press);
  }
  input.addEventListener("blur", () => { if (!input.classList.contains("wrong")) draw(input); });
  const mark = `#${fieldOf(input).name}`;
  input.addEventListener("focus", () => history.replaceState(null, "", location.pathname + location.search + mark));
}
