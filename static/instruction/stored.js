// A matrix in shared memory is the server's picture: when another part of it is shown, the server draws that.
import { onServer } from "../kit/place.js";
import { served, stage } from "./stage.js";
import { spelled } from "./window.js";

const slots = stage.panels.filter((panel) => panel.slot && !panel.operand);

async function follow() {
  const view = spelled(), address = new URL(location.href);
  address.searchParams.set("view", view);
  const answer = await fetch(address), text = await answer.text();
  if (!answer.ok || spelled() !== view) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const { name, slot } of slots) {
    slot.replaceChildren(...page.querySelector(`.mat[data-panel="${name}"] .slot`).childNodes);
  }
}

export function followStored() {
  if (!onServer || !slots.length) return;
  document.addEventListener("view", follow);
  if (!served) follow();
}
