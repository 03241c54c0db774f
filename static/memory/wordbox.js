// The word's box: hex is followed while it is typed, any other spelling is read by the server when it is sent.
import { $ } from "../kit/dom.js";
import { root } from "../kit/place.js";
import { first, hex } from "./format.js";
import { follow, now, set, spell, whenSettled } from "./word.js";

const box = $("word"), wrong = $("word-error"), notes = $("word-notes");
let request = null; // the server reads the box
const cancel = () => request?.abort();

follow(() => {
  const kept = document.activeElement === box || (now() === first && box.ariaInvalid === "true");
  if (!kept) box.value = spell();
});
follow(cancel); // an edit is newer than the text that is being read
whenSettled(() => { for (const place of [wrong, notes]) tell(place, ""); });

function tell(place, text) {
  place.textContent = text;
  place.hidden = !text;
  if (place === wrong) box.ariaInvalid = text ? "true" : null;
}

async function send() {
  const asked = JSON.stringify({ text: box.value, start: $("kept-start").value });
  const headers = { "content-type": "application/json" };
  cancel();
  request = new AbortController();
  const { signal } = request;
  const answer = await fetch(`${root}/descriptor/read.json`, { method: "POST", headers, body: asked, signal });
  const body = await answer.json();
  if (!answer.ok) {
    tell(notes, "");
    return tell(wrong, `${body.error.message} ${body.error.hint}`);
  }
  if (body.leads) return location.assign(root + body.leads);
  set(BigInt(body.descriptor));
  box.value = body.descriptor;
  tell(wrong, "");
  tell(notes, body.notices.join(" "));
}

$("word-form").addEventListener("submit", (event) => {
  event.preventDefault();
  send().catch((error) => {
    if (error.name !== "AbortError") tell(wrong, `The server did not answer: ${error.message}`);
  });
});
box.addEventListener("input", () => {
  cancel();
  const text = box.value.replace(/[\s_]/g, "");
  if (/^0x[0-9a-f]{1,16}$/i.test(text)) set(BigInt(text));
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    cancel();
    box.value = spell();
    tell(wrong, "");
  } else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    $("word-form").requestSubmit();
  }
});
$("copy-word").addEventListener("click", () => navigator.clipboard.writeText(hex(now())));
