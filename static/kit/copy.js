// A copy button on every piece of generated text.
export function copyButtons(root = document) {
  for (const text of root.querySelectorAll("pre[data-copy]")) {
    const holder = document.createElement("div"), button = document.createElement("button");
    holder.className = "copyable";
    button.type = "button";
    button.textContent = "copy";
    text.replaceWith(holder);
    holder.append(text, button);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
}
