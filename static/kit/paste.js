// The paste box: Enter sends it, Shift and Enter break the line. It grows by CSS (field-sizing).
for (const form of document.querySelectorAll("form.paste")) {
  form.querySelector("textarea").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
