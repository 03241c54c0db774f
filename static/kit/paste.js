// The paste box: Enter sends it, Shift and Enter break the line. It grows by CSS (field-sizing). A long text is posted,
// as every text is without scripts; the server answers with its address, compressed if need be.
const LONGEST = 2500;
for (const form of document.querySelectorAll("form.paste")) {
  form.addEventListener("submit", () => {
    form.method = form.querySelector("textarea").value.length > LONGEST ? "post" : "get";
  });
  form.querySelector("textarea").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
