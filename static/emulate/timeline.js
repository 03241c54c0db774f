// A timeline: pointing at a wait, or at what ended it, shows the link between both.
for (const timeline of document.querySelectorAll("[data-timeline]")) {
  let shown = [];
  timeline.addEventListener("pointerover", (event) => {
    const span = event.target.closest(".span");
    for (const one of shown) one.classList.remove("on");
    shown = [];
    if (!span) return;
    const at = `[data-lane="${span.dataset.lane}"][data-step="${span.dataset.step}"]`;
    shown = [span, ...timeline.querySelectorAll(`.link${at}`)];
    for (const one of shown) one.classList.add("on");
  });
}
