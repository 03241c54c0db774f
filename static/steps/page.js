// The steps page: Enter sends a formula, and files become rows of numbers.
import { root } from "../kit/place.js";

const form = document.getElementById("steps");

for (const area of form.querySelectorAll("textarea")) {
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || area.value.includes("\n")) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[value=numpy]"));
  });
}
for (const input of form.querySelectorAll("input[type=file]")) {
  const area = form.elements[input.dataset.fills];
  input.closest("label").hidden = false;
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    const headers = { "content-type": "application/octet-stream" };
    const answer = await fetch(`${root}/steps/file.json`, { method: "POST", headers, body: input.files[0] });
    const body = await answer.json();
    area.setCustomValidity(answer.ok ? "" : `${body.error.message} ${body.error.hint}`);
    if (answer.ok) area.value = body.text;
    area.reportValidity();
  });
  area?.addEventListener("input", () => area.setCustomValidity(""));
}
