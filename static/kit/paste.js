// The paste box: Enter sends it, Shift and Enter break the line. It grows by CSS (field-sizing). A long text is posted,
// as every text is without scripts; the server answers with its address, compressed if need be. One that is longer than
// any page reads stays in the box.
for (const form of document.querySelectorAll("form.paste")) {
  const area = form.querySelector("textarea"), most = Number(area.dataset.most);
  area.addEventListener("input", () => {
    const { length } = area.value, [has, reads] = [length, most].map((count) => count.toLocaleString("en"));
    area.setCustomValidity(length <= most ? "" : `The text has ${has} characters; this box reads up to ${reads}. `
      + "Choose it as a source file on the page /read.");
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
