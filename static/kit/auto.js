// Forms that show their result at once: a choice sends its form; typed text does when the focus is on no field, outside
// the form, so that nothing typed next is lost. What may be blank is left out of the address.
const TEXT = "textarea, input:not([type=checkbox], [type=radio], [type=range], [type=file])";
const FOCUS = "auto-focus"; // action and name of the control that had the focus when its form was sent
let typed = null; // the last control whose text is not sent yet

function send(control) {
  const byKeyboard = document.activeElement.matches(":focus-visible");
  if (byKeyboard) sessionStorage.setItem(FOCUS, JSON.stringify([control.form.action, control.name]));
  control.form.requestSubmit();
}

const [action, name] = JSON.parse(sessionStorage.getItem(FOCUS) ?? "[]");
sessionStorage.removeItem(FOCUS);
for (const form of document.querySelectorAll("form[data-auto]")) {
  if (form.action === action) form.querySelector(`[name="${name}"]:not([type=hidden])`)?.focus();
  form.addEventListener("change", ({ target }) => {
    if (target.matches(TEXT)) typed = target;
    else send(target);
  });
  form.addEventListener("submit", () => {
    typed = null;
    for (const input of form.elements) {
      if (input.name && input.value === "" && input.ariaRequired !== "true") input.disabled = true;
    }
  });
}
document.addEventListener("focusout", () => setTimeout(() => { // then the focus has arrived, or has left the window
  const active = document.activeElement;
  if (typed && !active.matches(TEXT) && active.form !== typed.form && !typed.form.contains(active)) send(typed);
}));
addEventListener("pageshow", () => {
  for (const input of document.querySelectorAll("form[data-auto] :disabled")) input.disabled = false;
});
