// Forms that show the result of a choice at once, and leave what may be blank out of the address.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", () => form.requestSubmit());
  form.addEventListener("submit", () => {
    for (const input of form.elements) {
      if (input.name && input.value === "" && input.ariaRequired !== "true") input.disabled = true;
    }
  });
}
addEventListener("pageshow", () => {
  for (const input of document.querySelectorAll("form[data-auto] :disabled")) input.disabled = false;
});
