// The find field: F goes there from anywhere but another field. It is a plain form; a page may answer it in place.
const TYPING = "input, select, textarea, dialog, [contenteditable]";
export const findField = () => document.querySelector("[data-find] input");

export function followFind() {
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest?.(TYPING)) return;
    const input = findField();
    if (!input) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}
