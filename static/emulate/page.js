// The page /emulate: PTX that is dropped on its box, and the timeline's links.
import "./timeline.js";

for (const box of document.querySelectorAll("[data-drop]")) {
  box.addEventListener("dragover", (event) => {
    event.preventDefault();
    box.classList.add("over");
  });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", async (event) => {
    const [file] = event.dataTransfer.files;
    box.classList.remove("over");
    if (!file) return; // text: the browser puts it where it is dropped
    event.preventDefault();
    box.value = await file.text();
  });
}
