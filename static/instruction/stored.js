// A matrix in shared memory is the server's picture: when another part of it is shown, the server draws that.
import { onServer } from "../kit/place.js";
import { stage } from "./stage.js";

const slots = stage.panels.filter((panel) => panel.slot && !panel.operand);

async function follow() {
  const address = location.href, answer = await fetch(address);
  if (!answer.ok || location.href !== address) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const { name, slot } of slots) {
    slot.replaceChildren(...page.querySelector(`.mat[data-panel="${name}"] .slot`).childNodes);
  }
}

export function followStored() {
  if (onServer && slots.length) document.addEventListener("view", follow);
}
