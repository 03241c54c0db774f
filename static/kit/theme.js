"use strict";
// Light or dark before the first paint; the choice is kept for this browser, a link does not carry it.
(() => {
  const root = document.documentElement;
  const stored = localStorage.getItem("theme");
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const changed = () => document.dispatchEvent(new CustomEvent("theme"));
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const flip = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    changed();
  };
  system.addEventListener("change", changed);
  // What scrolls by itself can be reached by keyboard. A box is measured when it has been laid out: one that is closed
  // is not laid out for it.
  const boxes = new ResizeObserver((entries) => {
    const scrolling = entries.map(({ target }) => target).filter((box) =>
      box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    for (const box of scrolling) if (!box.hasAttribute("tabindex")) box.tabIndex = 0;
  });
  const watch = () => {
    for (const box of document.querySelectorAll("pre, .scroll, .figure, [data-scrolls]")) boxes.observe(box);
  };
  addEventListener("load", watch);
  addEventListener("resize", watch);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", flip);
  });
  // A form whose fields are too long for an address is posted: data-long has the most characters of a query.
  document.addEventListener("submit", ({ target: form }) => {
    if (!form.dataset.long && form.id !== "files") return;
    form.setAttribute("aria-busy", "true"); // reading code takes up to a few seconds
    if (!form.dataset.long) return;
    const texts = [...new FormData(form)].filter(([, value]) => typeof value === "string");
    form.method = String(new URLSearchParams(texts)).length > Number(form.dataset.long) ? "post" : "get";
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[aria-busy]")) form.removeAttribute("aria-busy");
  });
  // The bar's box has one line and would join those of a paste: a text of several is sent whole.
  document.addEventListener("paste", (event) => {
    const box = event.target;
    const text = event.clipboardData?.getData("text/plain").trim() ?? "";
    if (box.id !== "paste" || !/[\r\n]/.test(text)) return;
    event.preventDefault();
    const whole = Object.assign(document.createElement("textarea"), { name: box.name, hidden: true });
    whole.value = box.value.slice(0, box.selectionStart) + text + box.value.slice(box.selectionEnd);
    box.disabled = true;
    box.form.append(whole);
    box.form.requestSubmit();
    whole.remove();
    box.disabled = false;
  });
  // A menu closes when something else is clicked, or with Escape.
  const close = (kept) => {
    for (const open of document.querySelectorAll("details.menu[open], details.drop[open]")) {
      if (!open.contains(kept)) open.open = false;
    }
  };
  document.addEventListener("click", (event) => close(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const open = event.target.closest?.("details.menu[open], details.drop[open]");
      close(null);
      open?.querySelector("summary").focus();
    }
    const typing = event.target.matches?.("input, select, textarea, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      document.querySelector("[aria-keyshortcuts='/']")?.focus();
      event.preventDefault();
    } else if (event.key === "?") document.querySelector("a[aria-keyshortcuts='?']").click();
    else if (event.key === "t") flip();
  });
})();
