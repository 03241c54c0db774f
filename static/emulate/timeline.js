// A timeline: a wait shows the arrival that ends it, an arrival the waits that it ends. The pointer chooses one, or in
// the rows that have the focus the arrow keys, which go from wait to wait.
const at = (part, from = "") => `[data-${from}lane="${part.lane}"][data-${from}step="${part.step}"]`;
const source = (link) => ({ lane: link.dataset.fromLane, step: link.dataset.fromStep });

for (const timeline of document.querySelectorAll("[data-timeline]")) {
  const rows = timeline.querySelector(".rows");
  const said = timeline.parentElement.querySelector(".said");
  const waits = [...timeline.querySelectorAll(".span.run-wait, .span.run-stuck")];
  waits.sort((a, b) => a.dataset.step - b.dataset.step || a.dataset.lane - b.dataset.lane);
  let shown = [];
  let chosen = -1;

  function show(part) {
    for (const one of shown) one.classList.remove("on");
    shown = [];
    if (said) said.textContent = "";
    if (!part) return;
    const links = [...timeline.querySelectorAll(`.link${at(part.dataset)}, .link${at(part.dataset, "from-")}`)];
    shown = [part, ...links];
    for (const link of links)
      for (const end of [link.dataset, source(link)])
        shown.push(...timeline.querySelectorAll(`.span${at(end)}, .mark${at(end)}`));
    for (const one of shown) one.classList.add("on");
    if (!said) return;
    const ends = links.filter((link) => link.matches(at(part.dataset))).map((link) => link.dataset.by);
    const ended = ends.length ? `; ended by ${ends.join(" and ")}` : "";
    said.textContent = part.querySelector("title").textContent + ended;
  }

  timeline.addEventListener("pointerover", (event) => show(event.target.closest(".span, .mark")));
  timeline.addEventListener("pointerleave", () => show(null));
  rows.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") {
      chosen = -1;
      show(null);
    } else if (step && waits.length && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      chosen = Math.min(waits.length - 1, Math.max(0, chosen + step));
      show(waits[chosen]);
      waits[chosen].scrollIntoView({ block: "nearest", inline: "center" });
    }
  });
}
