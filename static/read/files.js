// Files and folders that are dropped on the page are checked, as chosen ones are: the form is filled and sent.
const form = () => document.getElementById("files"); // the workbench replaces it with each answer
const SOURCE = /\.(cu|cuh|h|hh|hpp|hxx|c|cc|cpp|cxx|inl|inc|pyi?|txt|ptx)$/i;
const MOST = 64;

/** Collects the source files of a dropped entry, a folder's with their paths; hidden ones are left out. */
async function collect(entry, files) {
  if (files.length >= MOST || entry.name.startsWith(".")) return;
  if (entry.isFile) {
    const file = await new Promise((done, failed) => { entry.file(done, failed); });
    if (SOURCE.test(file.name)) files.push(new File([file], entry.fullPath.replace(/^\//, ""), { type: file.type }));
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a reader gives a folder's entries in parts
    const part = await new Promise((done, failed) => { reader.readEntries(done, failed); });
    if (!part.length) return;
    for (const one of part) await collect(one, files);
  }
}

const holds = (event) => form() && [...event.dataTransfer?.types ?? []].includes("Files");
addEventListener("dragover", (event) => {
  if (!holds(event)) return;
  event.preventDefault();
  form().classList.add("over");
});
addEventListener("dragleave", () => form()?.classList.remove("over"));
addEventListener("drop", async (event) => {
  if (!holds(event)) return;
  event.preventDefault();
  form().classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const loose = entries.length ? [] : [...event.dataTransfer.files];
  const files = loose.filter((file) => SOURCE.test(file.name)).slice(0, MOST);
  for (const entry of entries) await collect(entry, files);
  if (!files.length) return;
  const chosen = new DataTransfer();
  for (const file of files) chosen.items.add(file);
  form().querySelector("input[type=file]").files = chosen.files;
  form().requestSubmit();
});
document.addEventListener("change", ({ target }) => {
  if (target.matches("#files input[type=file]") && target.files.length) target.form.requestSubmit();
});
