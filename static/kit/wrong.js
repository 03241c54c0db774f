/** Marks a control as wrong, with a message in its label as in templates/kit/form.html; an empty text clears both. */
import { element } from "./dom.js";

export function markWrong(control, text) {
  const label = control.closest("label"), id = `${control.name}-error`;
  label.querySelector("small.bad")?.remove();
  control.toggleAttribute("aria-invalid", false);
  control.removeAttribute("aria-describedby");
  if (!text) return;
  label.append(element("small", { className: "bad", id, role: "alert", textContent: text }));
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", id);
}
