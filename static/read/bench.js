// Pointing at a part of the text lights its row, and the other way round; Edit opens with the cursor in the text.
const parts = [...document.querySelectorAll(".bench [data-piece]")];

function light(piece, on) {
  for (const one of parts) if (one.dataset.piece === piece) one.classList.toggle("lit", on);
}

for (const one of parts) {
  for (const [name, on] of [["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false]]) {
    one.addEventListener(name, () => light(one.dataset.piece, on));
  }
}
for (const edit of document.querySelectorAll(".bench details.edit")) {
  edit.addEventListener("toggle", () => { if (edit.open) edit.querySelector("textarea").focus(); });
}
