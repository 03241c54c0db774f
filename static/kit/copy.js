// Copying that works over plain http, too, and says whether it did.

/** Copies a text: with the clipboard API where the page may use it, else through a selected text area. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea"), focused = document.activeElement;
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    try {
      return document.execCommand("copy");
    } catch {
      return false;
    } finally {
      area.remove();
      focused?.focus();
    }
  }
}

/** Makes a button copy what `text()` gives, and say so. */
export function copies(button, text) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    button.textContent = await copied(text()) ? "Copied" : "Copy failed";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}

/** A copy button on every piece of generated text, and life in every "Copy link"; what has it already is left. */
export function copyButtons(root = document) {
  for (const text of root.querySelectorAll("pre[data-copy]:not(.copyable > pre)")) {
    const holder = document.createElement("div"), button = document.createElement("button");
    holder.className = "copyable";
    text.classList.toggle("block", text.textContent.trim().includes("\n"));
    button.type = "button";
    button.textContent = "Copy";
    text.replaceWith(holder);
    holder.append(text, button);
    copies(button, () => text.textContent);
  }
  for (const button of root.querySelectorAll("button[data-copy-link][hidden]")) {
    button.hidden = false;
    copies(button, () => location.href);
  }
}
