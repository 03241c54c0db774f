// The fields as inputs: typed amounts, arrows that step by the unit, Enter that commits, Escape that restores.
import { $ } from "../kit/dom.js";
import { markWrong } from "../kit/wrong.js";
import { amountOf, codeOf, codeOfMode, fields, maskOf, origin, read, withCode } from "./format.js";
import { follow, isUnknown, now, set } from "./word.js";

const ARROWS = { ArrowUp: 1n, ArrowDown: -1n };
const inputs = [...document.querySelectorAll("#fields [data-field]")];
const fieldOf = (input) => fields[input.dataset.field];

function draw(input) {
  if (input.tagName === "INPUT") input.value = amountOf(now(), fieldOf(input));
  else {
    const code = codeOf(now(), fieldOf(input));
    input.selectedIndex = [...input.options].findIndex((option) => codeOfMode(option.value) === code);
  }
}
const codes = new Map(inputs.map((input) => [input, codeOf(now(), fieldOf(input))]));
follow(() => {
  // What is being typed in is never rewritten, nor what says the same; what is wrong is when its field has changed.
  for (const input of inputs) {
    const field = fieldOf(input), code = codeOf(now(), field);
    if (isUnknown(field.low) || (input.ariaInvalid === "true" && code === codes.get(input))) continue;
    codes.set(input, code);
    if (input.tagName === "INPUT" && read(field, input.value).code === code) continue;
    if (input !== document.activeElement || input.tagName === "SELECT") restore(input);
  }
  $("kept-start").value = amountOf(now(), origin);
  const start = isUnknown(origin.low) ? "" : `= 0x${BigInt(amountOf(now(), origin)).toString(16)}`;
  $("start-hex").textContent = start;
});

function choose(input, code) {
  markWrong(input, "");
  set(withCode(now(), fieldOf(input), code), maskOf(fieldOf(input)));
}

function type(input) {
  const { code, problem } = read(fieldOf(input), input.value);
  markWrong(input, problem);
  if (!problem) choose(input, code);
}

function step(input, by) {
  const field = fieldOf(input), next = codeOf(now(), field) + by;
  if (next < 0n || next > field.most) return markWrong(input, `0 to ${field.most * field.unit}`);
  choose(input, next);
  restore(input);
}

function restore(input) {
  draw(input);
  markWrong(input, "");
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
    input.addEventListener("input", () => choose(input, codeOfMode(input.value)));
  } else {
    input.addEventListener("input", () => type(input));
    input.addEventListener("keydown", press);
  }
  input.addEventListener("blur", () => { if (!read(fieldOf(input), input.value).problem) restore(input); });
  const mark = `#${fieldOf(input).name}`;
  input.addEventListener("focus", () => history.replaceState(null, "", location.pathname + location.search + mark));
}
